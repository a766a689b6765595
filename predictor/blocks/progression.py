"""Values of processes in arithmetic progressions: those of a cohort's members, and the pairs that exchange messages.

A condition that the members of a cohort answer differently (``index < 5``) has no single answer for the cohort.  Its
evaluation raises Split, which has the parts that the cohort has to be split into.  So cohorts are split only where
necessary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import gcd, inf
from typing import NoReturn, TypeVar, cast

from platforms.errors import UserError

MOST_CLASSES = 200_000  # most parts that a cohort is split into at once
_MOST_REMAINDERS = 64  # most parts that the comparison of a remainder makes

Number = int | float
_Item = TypeVar("_Item")


@dataclass(frozen=True)
class Part:
    """The ``count`` members ``first``, ``first + stride``, ... of a cohort, whose first member is 0."""

    first: int
    stride: int
    count: int

    def within(self, inner: Part) -> Part:
        """Return a part of this part."""
        return Part(self.first + self.stride * inner.first, self.stride * inner.stride, inner.count)

    def turned(self) -> Part:
        """Return the same members in the opposite order."""
        return Part(self.first + self.stride * (self.count - 1), -self.stride, self.count)

    def with_others(self, other: Part) -> Part | None:
        """Return the members of both, if those of ``other`` follow or alternate with these; None if they do not."""
        distance = other.first - self.first
        alike = self.stride == other.stride or other.count == 1
        alternate = self.count - other.count in (0, 1) and alike and self.stride == 2 * distance
        if self.count == other.count == 1 or alternate:
            return Part(self.first, distance, self.count + other.count)
        stride = other.stride if self.count == 1 else self.stride
        follow = (alike or self.count == 1) and distance == stride * self.count
        return Part(self.first, stride, self.count + other.count) if follow else None


def in_fewest(
    some: Iterable[_Item], part: Callable[[_Item], Part], both: Callable[[_Item, _Item], _Item | None]
) -> list[_Item]:
    """Return items joined into few.

    Args:
        some: The items.
        part: Function that returns the members of an item.
        both: Function that returns two items, of which the first has the first member, as one, or None.
    """

    def order(item: _Item) -> tuple[float, int]:
        members = part(item)
        return (members.stride if members.count > 1 else inf), -members.first

    # Wide strides come first: halves of a residue class are joined before the class is joined with others.
    waiting = sorted(some, key=order)
    done: list[_Item] = []
    while waiting:
        row = waiting.pop()
        whole = both(*sorted((done[-1], row), key=lambda it: part(it).first)) if done else None
        if whole is None:
            done.append(row)
        else:
            done.pop()
            waiting.append(whole)
    return done


class Split(Exception):
    """Raised when the members of a cohort differ; ``parts`` has every member once."""

    def __init__(self, parts: Iterable[Part]):
        self.parts = [part for part in parts if part.count > 0]


@dataclass(frozen=True, eq=False)
class Progression:
    """The ``count`` values ``first``, ``first + step``, ...; ``count`` >= 2 and ``step`` != 0.  Created by ``of``."""

    first: Number
    step: Number
    count: int

    @staticmethod
    def of(first: Number, step: Number, count: int) -> Progression | Number:
        """Return a progression, or a plain number if all values are equal."""
        return first if step == 0 or count == 1 else Progression(first, step, count)

    @property
    def last(self) -> Number:
        """The last value."""
        return self.first + self.step * (self.count - 1)

    @property
    def whole(self) -> bool:
        """True if all values are whole numbers."""
        return isinstance(self.first, int) and isinstance(self.step, int)

    @property
    def integers(self) -> tuple[int, int] | None:
        """``first`` and ``step``, or None if some values are not whole numbers."""
        first, step = self.first, self.step
        return (first, step) if isinstance(first, int) and isinstance(step, int) else None

    def split_all(self) -> Split:
        """Return the split into single members.

        Raises:
            UserError: If there are more than MOST_CLASSES members.
        """
        if self.count > MOST_CLASSES:
            problem = f"{self.count} processes would have to be evaluated one by one"
            raise UserError("index", problem, f"Use it with + - * // % and comparisons, or at most {MOST_CLASSES}")
        return Split(Part(i, 1, 1) for i in range(self.count))

    def _split_at(self, *cuts: int) -> Split:
        """Return the split into runs that begin at 0 and at the cuts, which ascend."""
        bounds = [0, *cuts, self.count]
        return Split(Part(a, 1, b - a) for a, b in pairwise(bounds))

    # --- arithmetic ---

    def __add__(self, other: Progression | Number) -> Progression | Number:
        if isinstance(other, Progression):
            return Progression.of(self.first + other.first, self.step + other.step, self.count)
        return Progression(self.first + other, self.step, self.count)

    __radd__ = __add__

    def __neg__(self) -> Progression:
        return Progression(-self.first, -self.step, self.count)

    def __pos__(self) -> Progression:
        return self

    def __sub__(self, other: Progression | Number) -> Progression | Number:
        return self + -other

    def __rsub__(self, other: Number) -> Progression | Number:
        return -self + other

    def __mul__(self, other: Progression | Number) -> Progression | Number:
        if isinstance(other, Progression):
            raise self.split_all()
        return Progression.of(self.first * other, self.step * other, self.count)

    __rmul__ = __mul__

    def __truediv__(self, other: Progression | Number) -> Progression:
        if isinstance(other, Progression):
            raise self.split_all()
        return Progression(self.first / other, self.step / other, self.count)

    def __floordiv__(self, other: Progression | Number) -> Progression | Number:
        return self._divided(other)[0]

    def __mod__(self, other: Progression | Number) -> Progression | Number:
        row = self.integers
        if row is None or not isinstance(other, int) or other == 0:
            return self._divided(other)[1]
        first, step = row
        if step % other == 0 or first // other == self.last // other:
            return self._divided(other)[1]
        # The remainder takes the place of a progression: operations that need its values split it.
        return cast(Progression, Remainder(self, first, step, divisor=other))

    def _divided(self, divisor: Progression | Number) -> tuple[Progression | Number, Progression | Number]:
        """Return quotient and remainder of whole numbers; split where neither is a progression."""
        row = self.integers
        if row is None or not isinstance(divisor, int):
            raise self.split_all()
        if divisor == 0:
            raise ZeroDivisionError
        begin, step = row
        first, rest = divmod(begin, divisor)
        if step % divisor == 0:
            return Progression.of(first, step // divisor, self.count), rest
        if self.last // divisor == first:
            return first, self - first * divisor
        period = abs(divisor) // gcd(step, divisor)  # of the remainders, in members
        runs = abs(self.last // divisor - first) + 1
        if period <= runs:
            raise Split(Part(i, period, -(-(self.count - i) // period)) for i in range(min(period, self.count)))
        cuts, j = [], 0
        while j < self.count:
            j = _first_beyond(begin, step, divisor, j)
            cuts.append(min(j, self.count))
        raise self._split_at(*cuts[:-1])

    def __pow__(self, exponent: Progression | Number) -> Progression:
        if isinstance(exponent, int) and not isinstance(exponent, bool) and exponent == 1:
            return self
        raise self.split_all()

    def __rpow__(self, base: Number) -> Progression:
        raise self.split_all()

    def __rtruediv__(self, other: Number) -> Progression:
        raise self.split_all()

    __rfloordiv__ = __rmod__ = __rtruediv__

    # --- comparisons ---

    def __bool__(self) -> bool:
        return self != 0

    def __lt__(self, other: Progression | Number) -> bool:
        return _below(self - other)

    def __ge__(self, other: Progression | Number) -> bool:
        return not _below(self - other)

    def __gt__(self, other: Progression | Number) -> bool:
        return _below(other - self)

    def __le__(self, other: Progression | Number) -> bool:
        return not _below(other - self)

    def __eq__(self, other: object) -> bool:  # compares each member's value, so that progressions have no hash
        if not isinstance(other, Progression | int | float):
            return NotImplemented
        difference = self - other
        if not isinstance(difference, Progression):
            return difference == 0
        at = round(-difference.first / difference.step)
        if 0 <= at < self.count and difference.first + difference.step * at == 0:
            raise difference._split_at(*(cut for cut in (at, at + 1) if 0 < cut < self.count))
        return False

    def __ne__(self, other: object) -> bool:
        return not self == other


class Remainder:
    """``values % divisor`` that is no progression; every use except comparison with a whole number splits it."""

    def __init__(self, values: Progression, first: int, step: int, *, divisor: int):
        self._values, self._first, self._step, self._count, self._divisor = values, first, step, values.count, divisor

    def __eq__(self, other: object) -> bool:
        """Return False if no remainder is equal; else split off the equal members, the others into few progressions."""
        divisor = abs(self._divisor)
        if not isinstance(other, int):
            self.told_apart()
        common = gcd(self._step, divisor)
        period = divisor // common
        if (other - self._first) % common or other % self._divisor != other:
            return False
        first = (other - self._first) // common * pow(self._step // common, -1, period) % period
        if first >= self._count:
            return False
        others = _without(first, period, self._count)
        if others is None:
            self.told_apart()
        raise Split([Part(first, period, -(-(self._count - first) // period)), *others])

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __bool__(self) -> bool:
        return self != 0

    def told_apart(self, *_: object) -> NoReturn:
        """Split the members, for operations that need the values themselves.

        Raises:
            Split: Always.
        """
        self._values._divided(self._divisor)
        raise AssertionError("remainders of a progression are a progression")


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    setattr(Remainder, f"__{_name}__", Remainder.told_apart)
    setattr(Remainder, f"__r{_name}__", Remainder.told_apart)
for _name in ("lt", "le", "gt", "ge", "neg", "pos", "ceil", "floor", "float", "index"):
    setattr(Remainder, f"__{_name}__", Remainder.told_apart)


def _without(first: int, period: int, count: int) -> list[Part] | None:
    """Return the members other than ``first``, ``first + period``, ...; None if they would be too many parts.

    With the prime factors q1, q2, ... of the period, the parts are: the members that differ from ``first`` modulo q1;
    the members that are equal modulo q1 but differ modulo q1 q2; and so on.  So a period of 2**n takes n parts.
    """
    parts: list[Part] = []
    known = 1
    for prime in _primes(period):
        if prime > _MOST_REMAINDERS or len(parts) > _MOST_REMAINDERS:
            return None
        for turn in range(1, prime):
            begin = (first + turn * known) % (known * prime)
            parts.append(Part(begin, known * prime, max(0, -(-(count - begin) // (known * prime)))))
        known *= prime
    return parts


def _primes(number: int) -> Iterator[int]:
    """Yield the prime factors in ascending order; a rest without small factors is yielded as a whole."""
    for factor in range(2, _MOST_REMAINDERS + 1):
        while number % factor == 0:
            yield factor
            number //= factor
    if number > 1:
        yield number


def _below(difference: Progression | Number) -> bool:
    """Return whether the difference is below 0 for all members; split if it is below 0 for only some of them."""
    if not isinstance(difference, Progression):
        return difference < 0
    first, last = difference.first < 0, difference.last < 0
    if first == last:
        return first
    low, high = 0, difference.count - 1  # the sign changes between them
    while high - low > 1:
        middle = (low + high) // 2
        if (difference.first + difference.step * middle < 0) == first:
            low = middle
        else:
            high = middle
    raise difference._split_at(high)


def _first_beyond(first: int, step: int, divisor: int, start: int) -> int:
    """Return the first place after ``start`` in the progression whose quotient differs from that at ``start``."""
    quotient = (first + step * start) // divisor
    # Equal quotients: values in [quotient * divisor, (quotient + 1) * divisor), mirrored for a negative divisor.
    low, high = sorted((quotient * divisor, (quotient + 1) * divisor))
    if divisor < 0:
        low, high = low + 1, high + 1
    if step > 0:
        return -(-(high - first) // step)
    return (first - low) // -step + 1


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
