"""Known sizes of a problem: parameters of a kernel, numbers among arguments, and those that the user gives."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from apps.programs.problem import Problem
from platforms.errors import UserError

_MOST = 12
_LARGEST = 1 << 40


def numbers_of(problem: Problem, known: Mapping[str, int]) -> tuple[int, ...]:
    """Return the known sizes of a problem, those that the user gives first."""
    if problem.program is None:
        values: Iterable[object] = (value for _, value in problem.params)
        mine = [value for value in values if isinstance(value, int) and not isinstance(value, bool)]
    else:
        mine = [int(digits) for argument in problem.program.arguments for digits in re.findall(r"\d+", argument)]
    numbers = dict.fromkeys([*known.values(), *(n for n in mine if 0 < n <= _LARGEST)])
    return tuple(numbers)[:_MOST]


def parse_known(texts: Iterable[str]) -> dict[str, int]:
    """Return the sizes given as NAME=VALUE.

    >>> parse_known(["n=4100"])
    {'n': 4100}

    Raises:
        UserError: A text has another form.
    """
    known = {}
    for text in texts:
        name, _, value = text.partition("=")
        if not name or not value.isdigit() or int(value) == 0:
            raise UserError(f"--known {text}", "not of the form NAME=VALUE", "Write for example --known n=4100")
        known[name] = int(value)
    return known


def parse_recorded(text: str) -> tuple[int, ...]:
    """Return the numbers of ranks to record, ascending.

    >>> parse_recorded("16,8,12")
    (8, 12, 16)

    Raises:
        UserError: They are no list of at least three different numbers.
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdigit() and int(part) > 0 for part in parts) or len(set(parts)) < 3:
        problem = "not a list of at least three numbers of ranks"
        raise UserError(f"--recorded {text}", problem, "Write for example --recorded 8,12,16,24")
    return tuple(sorted({int(part) for part in parts}))
