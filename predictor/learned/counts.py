"""Numbers of ranks to record: few and small, so that what is learned from them can be continued."""

from __future__ import annotations

import math
from collections.abc import Collection

from apps.programs.problem import Problem

LEAST = 3  # recordings: two to learn from, and one that is held out
# Along each axis a grid needs a side of 3, to tell left from right, and ranks inside it at two numbers of ranks:
# in two dimensions from 12 ranks on, in three from 27.
_ANY = ((4, 8, 12, 18, 27), (45,), (64,))
_POWERS = ((4, 8, 16, 32), (12, 18, 27), (45,), (64,))
_SQUARES = ((4, 9, 16, 25, 36), (12, 18, 27), (45,), (64,))  # a multi-partition of a cube takes squares
_POWERS_AND_SQUARES = ((4, 8, 16, 32), (9, 25, 36), (12, 18, 27), (45,), (64,))
_OTHERS = (4, 6, 8, 9, 16, 18, 24, 25, 32, 36, 49, 64)
_STEPS = ((0, 4), (4, 6), (6, 7))  # of those, the first four, and then more
# Further numbers of ranks that may be advised: they have sides from 3 on, or factors of 3.
FURTHER = (3, 4, 6, 8, 9, 12, 16, 18, 24, 27, 32, 36, 45, 48, 49, 64, 81, 96, 100, 125, 128)


def counts_to_record(problem: Problem, nranks: int) -> tuple[tuple[int, ...], ...]:
    """Return the numbers of ranks to record for a prediction on ``nranks`` ranks: first, and then step by step.

    A program of the user's own is taken to run on any number of ranks.  Powers of two come first for a power of two,
    and squares for a square.

    >>> from apps.programs.problem import problem
    >>> counts_to_record(problem("ft", "A"), 128), counts_to_record(problem("bt", "A"), 120)
    (((4, 8, 16, 32), (12, 18, 27), (45,), (64,)), ((4, 8, 12, 18, 27), (45,), (64,)))
    """
    steps: tuple[tuple[int, ...], ...] = _ANY
    if _is_square(nranks):
        steps = _POWERS_AND_SQUARES if _is_power(nranks) else _SQUARES
    elif _is_power(nranks):
        steps = _POWERS
    if not all(problem.allows(count) for count in (*steps[0], *steps[1][:1])):
        others = [count for count in _OTHERS if problem.allows(count)]
        steps = tuple(tuple(others[a:b]) for a, b in _STEPS)
    allowed = (tuple(count for count in step if count < nranks) for step in steps)
    return tuple(step for step in allowed if step)


def alike(nranks: int, recorded: Collection[int]) -> tuple[tuple[int, ...], ...]:
    """Return choices of recorded numbers of ranks to learn from: all, and those that share a property with ``nranks``.

    Some programs choose another layout for a power of two or for a square.

    >>> alike(64, (4, 8, 9, 16, 25, 32, 36)), alike(60, (4, 8, 9, 16))
    (((4, 8, 9, 16, 25, 32, 36), (4, 8, 16, 32), (4, 9, 16, 25, 36)), ((4, 8, 9, 16),))
    """
    choices = [tuple(sorted(recorded))]
    for shared in (_is_power, _is_square):
        choices.append(tuple(count for count in choices[0] if shared(count)) if shared(nranks) else ())
    return tuple(dict.fromkeys(choice for choice in choices if len(choice) > LEAST or choice == choices[0]))


def _is_power(count: int) -> bool:
    return count & (count - 1) == 0


def _is_square(count: int) -> bool:
    return math.isqrt(count) ** 2 == count


def next_counts(problem: Problem, nranks: int, recorded: Collection[int]) -> tuple[int, ...]:
    """Return the numbers of ranks of the first step that has no recording yet; empty after the last step."""
    return next((step for step in counts_to_record(problem, nranks) if not set(step) & set(recorded)), ())


def advised(problem: Problem, nranks: int, recorded: Collection[int]) -> int | None:
    """Return one more number of ranks to record, above those recorded; None where there is none below ``nranks``.

    >>> from apps.programs.problem import problem
    >>> advised(problem("cg", "A"), 256, (4, 8, 16, 32)), advised(problem("cg", "A"), 32, (4, 8, 16))
    (64, 18)
    """
    powers = all(map(_is_power, (nranks, *recorded))) and len(recorded) > LEAST
    return next(
        (
            count
            for count in FURTHER
            if max(recorded) < count < nranks and problem.allows(count) and not (powers and not _is_power(count))
        ),
        None,
    )
