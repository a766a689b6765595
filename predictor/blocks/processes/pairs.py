"""Rows of sender-receiver pairs with equal steps, and the pairs that two such rows have in common."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import gcd

from predictor.blocks.processes.progression import Part, in_fewest


@dataclass(frozen=True)
class Pairs:
    """A row of pairs: sender ``source + source_step j``, receiver ``target + target_step j``, j = 0 to count - 1."""

    source: int
    source_step: int
    target: int
    target_step: int
    count: int

    def part(self, part: Part) -> Pairs:
        """Return the pairs at these places of the row."""
        return Pairs(
            self.source + self.source_step * part.first,
            self.source_step * part.stride,
            self.target + self.target_step * part.first,
            self.target_step * part.stride,
            part.count,
        )


def common(pairs: Pairs, other: Pairs) -> tuple[Part, Part] | None:
    """Return the places of the common pairs in the first row (ascending) and in the second; None if there are none."""
    if pairs.count == 1 or other.count == 1:
        single, row = (pairs, other) if pairs.count == 1 else (other, pairs)
        at = _place(single, row)
        if at is None:
            return None
        here, there = Part(0, 1, 1), Part(at, 1, 1)
        return (here, there) if pairs.count == 1 else (there, here)
    determinant = pairs.target_step * other.source_step - pairs.source_step * other.target_step
    if determinant:
        return _crossing(pairs, other, determinant)
    return _overlap(pairs, other)


def united(rows: Iterable[Pairs]) -> list[Pairs]:
    """Return the pairs of all rows in as few rows as possible; rows that alternate or follow each other become one."""
    return in_fewest(rows, lambda row: Part(row.source, row.source_step, row.count), _both)


def _both(pairs: Pairs, other: Pairs) -> Pairs | None:
    """Join two rows, of which ``one`` has the first sender; return None if that is impossible."""
    here, there = (Part(row.source, row.source_step, row.count) for row in (pairs, other))
    sources = here.with_others(there)
    here, there = (Part(row.target, row.target_step, row.count) for row in (pairs, other))
    targets = here.with_others(there)
    if sources is None or targets is None:
        return None
    follow = sources.stride == pairs.source_step, targets.stride == pairs.target_step
    if pairs.count > 1 and follow[0] != follow[1]:  # one end alternates, the other does not
        return None
    return Pairs(sources.first, sources.stride, targets.first, targets.stride, sources.count)


def rest(count: int, taken: Part) -> list[Part]:
    """Return the places 0 to ``count - 1`` without those of ``taken``, whose stride is positive."""
    last = taken.first + taken.stride * (taken.count - 1)
    between = [Part(taken.first + r, taken.stride, taken.count - 1) for r in range(1, taken.stride)]
    parts = [Part(0, 1, taken.first), *between, Part(last + 1, 1, count - 1 - last)]
    return [part for part in parts if part.count > 0]


def _place(single: Pairs, row: Pairs) -> int | None:
    """Return the place of a single pair in a row, or None."""
    if row.source_step:
        at, off = divmod(single.source - row.source, row.source_step)
    elif row.target_step:
        at, off = divmod(single.target - row.target, row.target_step)
    else:
        at, off = 0, 0
    fits = not off and 0 <= at < row.count
    fits = fits and row.source + row.source_step * at == single.source
    return at if fits and row.target + row.target_step * at == single.target else None


def _crossing(pairs: Pairs, other: Pairs, determinant: int) -> tuple[Part, Part] | None:
    """Return the common pair of two rows of different directions, which have at most one."""
    sources, targets = other.source - pairs.source, other.target - pairs.target
    j, off_j = divmod(other.source_step * targets - other.target_step * sources, determinant)
    k, off_k = divmod(pairs.source_step * targets - pairs.target_step * sources, determinant)
    if off_j or off_k or not (0 <= j < pairs.count and 0 <= k < other.count):
        return None
    return Part(j, 1, 1), Part(k, 1, 1)


def _overlap(pairs: Pairs, other: Pairs) -> tuple[Part, Part] | None:
    """Return the common pairs of two rows of the same or the opposite direction."""
    if pairs.source_step:
        a, b, off = pairs.source_step, other.source_step, other.source - pairs.source
    else:
        a, b, off = pairs.target_step, other.target_step, other.target - pairs.target
    divisor = gcd(a, b)  # a j - b k = off
    if off % divisor:
        return None
    period, back = abs(b) // divisor, a // divisor * (1 if b > 0 else -1)  # j by period, k by back
    j = off // divisor * pow(a // divisor, -1, period) % period if period > 1 else 0
    k = (a * j - off) // b
    # 0 <= k + back m < other.count, 0 <= j + period m < one.count
    low, high = 0, (pairs.count - 1 - j) // period
    if back > 0:
        low, high = max(low, -(k // back)), min(high, (other.count - 1 - k) // back)
    else:
        low, high = max(low, -((other.count - 1 - k) // -back)), min(high, k // -back)
    count = high - low + 1
    if count <= 0:
        return None
    mine, theirs = Part(j + period * low, period, count), Part(k + back * low, back, count)
    at, there = pairs.part(mine), other.part(theirs)
    return (mine, theirs) if (at.source, at.target) == (there.source, there.target) else None
