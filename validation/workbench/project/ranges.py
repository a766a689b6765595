"""Lists and ranges of whole numbers as users write them."""

from __future__ import annotations

import re

from platforms.errors import UserError

MOST_NUMBERS = 1000
_RANGE = re.compile(r"(\d{1,9})-(\d{1,9})(?::(\d{1,9})|\*(\d{1,3}))?")


def numbers_of(text: str, what: str) -> list[int]:
    """Return the distinct numbers of a text such as ``8, 16-64:16, 100-800*2``, in their order.

    ``16-64:16`` counts in steps of 16, ``100-800*2`` multiplies by 2, and ``1-4`` counts in steps of 1.

    Args:
        text: The text; empty: no numbers.
        what: What the numbers are, for errors.

    Raises:
        UserError: A part is no number and no range, or there are too many numbers.

    >>> numbers_of("8, 16-64:16, 100-800*2", "ranks")
    [8, 16, 32, 48, 64, 100, 200, 400, 800]
    """
    numbers: dict[int, None] = {}
    for part in text.replace(" ", "").split(","):
        for number in _part(part, what) if part else ():
            numbers[number] = None
            if len(numbers) > MOST_NUMBERS:
                raise UserError(what, f"more than {MOST_NUMBERS} numbers", "Give fewer, or larger steps")
    return list(numbers)


def _part(part: str, what: str) -> list[int]:
    if part.isascii() and part.isdecimal() and len(part) <= 9 and int(part) >= 1:
        return [int(part)]
    match = _RANGE.fullmatch(part)
    if match is None:
        raise UserError(what, f"{part!r} is no number and no range", "Write for example 8, 16-64:16, 100-800*2")
    first, last = int(match[1]), int(match[2])
    step, factor = int(match[3] or 1), int(match[4] or 1)
    if first < 1 or last < first or step < 1 or (match[4] is not None and factor < 2):
        raise UserError(what, f"{part!r} has no numbers", "Begin with at least 1, and let it grow")
    if match[4] is None:
        return list(range(first, min(last, first + step * MOST_NUMBERS) + 1, step))
    numbers = [first]
    while numbers[-1] * factor <= last:
        numbers.append(numbers[-1] * factor)
    return numbers


def text_of(numbers: list[int]) -> str:
    """Return numbers as a text that ``numbers_of`` reads."""
    return ", ".join(map(str, numbers))
