"""Grids of parameters: ``NAME=V1,V2,...`` or ``NAME=FIRST:LAST``, and all combinations of such lists."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from platforms.errors import UserError

MOST_POINTS = 10_000  # of a grid
_RANGE = re.compile(r"(\d{1,15}):(\d{1,15})(?::(x?)(\d{1,15}))?")
_EXAMPLE = "Write for example n=2,4,16 or n=1:8, n=0:100:20, n=2:64:x2"


def varied(option: str, texts: Sequence[str]) -> dict[str, list[str]]:
    """Return the values of each name.

    Args:
        option: The option that has these texts, for error messages.
        texts: ``NAME=VALUES`` each.  The values are separated by commas; ``2:8`` stands for 2, 3, ..., 8, ``2:8:3`` for
            2, 5, 8, and ``2:16:x2`` for 2, 4, 8, 16.

    Raises:
        UserError: A text is not of this form, a name or a value is given twice, or there are too many combinations.

    >>> varied("--vary", ["n=1:3", "system=small,large"])
    {'n': ['1', '2', '3'], 'system': ['small', 'large']}
    """
    by_name: dict[str, list[str]] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        name = name.strip()
        if not name or not equals:
            raise UserError(f"{option} {text}", "not of the form NAME=VALUES", _EXAMPLE)
        if name in by_name:
            raise UserError(f"{option} {text}", f"{name} is varied twice", "Give all its values at once")
        by_name[name] = list(_values(f"{option} {text}", values))
        if math.prod(map(len, by_name.values())) > MOST_POINTS:
            raise UserError(f"{option} {text}", f"more than {MOST_POINTS} combinations", "Give fewer values")
    return by_name


def combinations(axes: Mapping[str, Iterable[Any]]) -> list[dict[str, Any]]:
    """Return all combinations of the values of some axes, the last axis varying fastest.

    >>> combinations({"network": [1, 10], "efficiency": [0.5]})
    [{'network': 1, 'efficiency': 0.5}, {'network': 10, 'efficiency': 0.5}]

    Without axes there is one combination, which is empty.
    """
    return [dict(zip(axes, chosen, strict=True)) for chosen in product(*axes.values())]


def _values(where: str, text: str) -> Iterator[str]:
    seen = set()
    for part in text.split(","):
        part = part.strip()
        if not part:
            raise UserError(where, "an empty value", _EXAMPLE)
        for value in _range(where, part):
            if value in seen:
                raise UserError(where, f"the value {value} is given twice", "Keep one")
            seen.add(value)
            yield value


def _range(where: str, text: str) -> list[str]:
    """Return the numbers of a range, or the text itself if it is none."""
    match = _RANGE.fullmatch(text)
    if match is None:
        return [text]
    first, last, step = int(match[1]), int(match[2]), int(match[4] or 1)
    if match[3]:
        if first < 1 or step < 2:
            raise UserError(where, f"{text} has no end", "Begin with 1 or more, and multiply by 2 or more")
        numbers = [first]
        while numbers[-1] * step <= last:
            numbers.append(numbers[-1] * step)
    else:
        if step < 1:
            raise UserError(where, f"{text} has no end", "Give a step of 1 or more")
        if (last - first) // step >= MOST_POINTS:
            raise UserError(where, f"more than {MOST_POINTS} values", "Give fewer")
        numbers = list(range(first, last + 1, step))
    if first > last:
        raise UserError(where, f"{text} holds no number", "Give the smaller one first")
    return [str(number) for number in numbers]
