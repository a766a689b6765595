"""Numbers of ranks as users write them: ``4,8,12``, ``4:1024`` for powers of two between, ``4:64:4`` for steps."""

import re

from platforms.errors import UserError

MOST_COUNTS = 1000
MOST_RANKS = 1_000_000
_RANGE = re.compile(r"(\d{1,7}):(\d{1,7})(?::(\d{1,7}))?")
_REMEDY = "Write for example 4,8,12, or 4:1024 for the powers of two between, or 4:64:4 for steps of 4"


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
        match = _RANGE.fullmatch(part)
        if match is not None:
            first, last, step = (None if number is None else int(number) for number in match.groups())
            assert first is not None and last is not None
            numbers.update(_range(f"{option} {text}", first, last, step))
        elif re.fullmatch(r"\d{1,7}", part):
            numbers.add(int(part))
        else:
            raise UserError(f"{option} {text}", f"{part!r} is neither a number nor a range", _REMEDY)
        if len(numbers) > MOST_COUNTS:
            raise UserError(f"{option} {text}", f"more than {MOST_COUNTS} numbers of ranks", "Give larger steps")
    if not 1 <= min(numbers) <= max(numbers) <= MOST_RANKS:
        raise UserError(f"{option} {text}", f"not all between 1 and {MOST_RANKS}", _REMEDY)
    return tuple(sorted(numbers))


def _range(where: str, first: int, last: int, step: int | None) -> list[int]:
    if first > last or first < 1:
        raise UserError(where, f"{first}:{last} holds no number of ranks", "Give the smaller number first, from 1")
    if step is None:
        return [first, *(2**power for power in range(last.bit_length()) if first < 2**power < last), last]
    if step < 1 or (last - first) // step >= MOST_COUNTS:
        raise UserError(where, f"steps of {step} give no end or more than {MOST_COUNTS} numbers", "Give larger steps")
    return [*range(first, last, step), last]
