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
MOST_COUNTS = 1000
MOST_RANKS = 1_000_000
_COUNTS = re.compile(r"(\d{1,7}):(\d{1,7})(?::(\d{1,7}))?")
_REMEDY = "Write for example 4,8,12, or 4:1024 for the powers of two between, or 4:64:4 for steps of 4"


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


def counts(option: str, text: str) -> tuple[int, ...]:
    """Return the numbers of ranks, ascending; the first and the last number of a range always belong to it.

    Args:
        option: The option that has this text, for error messages.
        text: Numbers and ranges, separated by commas.

    Raises:
        UserError: The text is not of this form, or names too many ranks or numbers.

    >>> counts("--ranks", "4:64"), counts("--ranks", "3:20"), counts("--ranks", "4:14:4,5")
    ((4, 8, 16, 32, 64), (3, 4, 8, 16, 20), (4, 5, 8, 12, 14))
    """
    numbers: set[int] = set()
    for part in (part.strip() for part in text.split(",")):
        match = _COUNTS.fullmatch(part)
        if match is not None:
            first, last, step = (None if number is None else int(number) for number in match.groups())
            assert first is not None and last is not None
            numbers.update(_counts(f"{option} {text}", first, last, step))
        elif re.fullmatch(r"\d{1,7}", part):
            numbers.add(int(part))
        else:
            raise UserError(f"{option} {text}", f"{part!r} is neither a number nor a range", _REMEDY)
        if len(numbers) > MOST_COUNTS:
            raise UserError(f"{option} {text}", f"more than {MOST_COUNTS} numbers of ranks", "Give larger steps")
    if not 1 <= min(numbers) <= max(numbers) <= MOST_RANKS:
        raise UserError(f"{option} {text}", f"not all between 1 and {MOST_RANKS}", _REMEDY)
    return tuple(sorted(numbers))


def _counts(where: str, first: int, last: int, step: int | None) -> list[int]:
    if first > last or first < 1:
        raise UserError(where, f"{first}:{last} holds no number of ranks", "Give the smaller number first, from 1")
    if step is None:
        return [first, *(2**power for power in range(last.bit_length()) if first < 2**power < last), last]
    if step < 1 or (last - first) // step >= MOST_COUNTS:
        raise UserError(where, f"steps of {step} give no end or more than {MOST_COUNTS} numbers", "Give larger steps")
    return [*range(first, last, step), last]
