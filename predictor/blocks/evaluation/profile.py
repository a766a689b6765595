"""Times of the processes of a cohort, in their order, stored as a few pieces with equal steps.

A master that serves thousands of equal processes in turn gives them times that lie on a line, so that the times of
10 million processes are a handful of numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import ceil

import numpy as np

AT_ONCE = 1e-9  # relative difference of times that count as one moment
_SAME = 1e-13  # relative difference at both ends up to which two lines count as one


@dataclass(frozen=True)
class Piece:
    """The ``count`` times ``first``, ``first + step``, ..., s."""

    count: int
    first: float
    step: float

    @property
    def last(self) -> float:
        """The last time, s."""
        return self.first + self.step * (self.count - 1)

    def part(self, first: int, stride: int, count: int) -> Piece:
        """Return the times at the places ``first``, ``first + stride``, ..."""
        return Piece(count, self.first + self.step * first, self.step * stride)


@dataclass(frozen=True)
class Profile:
    """One time per process, s."""

    pieces: tuple[Piece, ...]

    @staticmethod
    def constant(count: int, time_s: float) -> Profile:
        """Return the profile of ``count`` processes with the same time, s."""
        return Profile((Piece(count, time_s, 0.0),))

    @staticmethod
    def of(values: np.ndarray) -> Profile:
        """Return a profile with these values (to _SAME), built from the left with the longest possible pieces."""
        return Profile(tuple(_pieces_of(values)))

    @property
    def count(self) -> int:
        """Number of processes."""
        return sum(piece.count for piece in self.pieces)

    @property
    def first(self) -> float:
        """Time of the first process, s."""
        return self.pieces[0].first

    def least(self) -> float:
        """Return the earliest time, s."""
        return min(min(piece.first, piece.last) for piece in self.pieces)

    def most(self) -> float:
        """Return the latest time, s."""
        return max(max(piece.first, piece.last) for piece in self.pieces)

    def total(self) -> float:
        """Return the sum of the times, s."""
        return sum(one.count * (one.first + one.last) / 2 for one in self.pieces)

    def values(self) -> np.ndarray:
        """Return the time of each process, s."""
        return np.concatenate([piece.first + piece.step * np.arange(piece.count) for piece in self.pieces])

    def plus(self, first_s: float, step_s: float = 0.0) -> Profile:
        """Return the profile with process i later by ``first_s + i step_s``."""
        if first_s == 0 and step_s == 0:
            return self
        pieces, at = [], 0
        for piece in self.pieces:
            pieces.append(Piece(piece.count, piece.first + first_s + step_s * at, piece.step + step_s))
            at += piece.count
        return Profile(tuple(pieces))

    def part(self, first: int, stride: int, count: int) -> Profile:
        """Return the times of the members ``first``, ``first + stride``, ...; a negative stride goes backwards."""
        if len(self.pieces) == 1:
            return Profile((self.pieces[0].part(first, stride, count),))
        if stride < 0:
            forward = self.part(first + stride * (count - 1), -stride, count)
            return Profile(tuple(piece.part(piece.count - 1, -1, piece.count) for piece in reversed(forward.pieces)))
        found, begin, taken = [], 0, 0
        for piece in self.pieces:
            end = begin + piece.count
            here = min(count, -(-(end - first) // stride)) - taken  # members below `end` that are not yet taken
            if here > 0:
                found.append(piece.part(first + stride * taken - begin, stride, here))
                taken += here
            begin = end
        return Profile(_joined(found))

    def later(self, other: Profile) -> Profile:
        """Return the later of the two times of each process."""
        found = []
        for mine, theirs in _aligned(self.pieces, other.pieces):
            found += _later(mine, theirs)
        return Profile(_joined(found))


def join(profiles: Iterable[Profile]) -> Profile:
    """Return the profiles one after the other, as one profile."""
    return Profile(_joined(piece for profile in profiles for piece in profile.pieces))


def interleaved(even: Profile, odd: Profile) -> Profile | None:
    """Return the profile in which the members of both alternate; None if they do not lie on one line."""
    if len(even.pieces) != 1 or len(odd.pieces) != 1:
        return None
    one, other = even.pieces[0], odd.pieces[0]
    count = one.count + other.count
    line = Piece(
        count, one.first, (one.last - one.first) / (2 * (one.count - 1)) if one.count > 1 else other.first - one.first
    )
    near = _SAME * max(abs(line.first), abs(line.last))
    last = line.first + line.step * (2 * other.count - 1)
    fits = abs(line.first + line.step - other.first) <= near and abs(last - other.last) <= near
    return Profile((line,)) if fits else None


def serve(ready_s: float, arrivals: Profile, service_s: float) -> tuple[Profile, float]:
    """Return the end of each service and of the last one, for a server that serves the arrivals in their order.

    M_i = max(M_(i-1), a_i) + s with M_(-1) = ``ready_s``.  For arrivals on a line, a_i = a + b i, the recursion has a
    closed form.  If b <= s, the server waits for no client after the first.  If b > s, each client that arrives after
    the queue has emptied is served at once.
    """
    found = []
    for piece in arrivals.pieces:
        if piece.step <= service_s or piece.count == 1:
            found.append(Piece(piece.count, max(ready_s, piece.first) + service_s, service_s))
        else:
            queued = 0
            if ready_s > piece.first:
                queued = min(piece.count, ceil((ready_s - piece.first) / (piece.step - service_s)))
                found.append(Piece(queued, ready_s + service_s, service_s))
            if queued < piece.count:
                rest = piece.part(queued, 1, piece.count - queued)
                found.append(Piece(rest.count, rest.first + service_s, rest.step))
        ready_s = found[-1].last
    return Profile(_joined(found)), ready_s


def serve_each(ready_s: float, arrivals_s: np.ndarray, services_s: np.ndarray) -> np.ndarray:
    """Return the ends of services for arbitrary arrivals and service times (as ``serve``).

    M_i = S_i + max_(j <= i) (a_j - S_(j-1)), where S_i is the sum of the service times up to i; no service begins
    before ``ready_s``.
    """
    ends_s = np.cumsum(services_s)
    starts_s = np.maximum.accumulate(arrivals_s - (ends_s - services_s))
    return ends_s + np.maximum(starts_s, ready_s)


def _aligned(one: tuple[Piece, ...], other: tuple[Piece, ...]) -> Iterator[tuple[Piece, Piece]]:
    """Yield the pieces of both, cut to the same lengths."""
    if len(one) == 1 == len(other):
        yield one[0], other[0]
        return
    i = j = done_i = done_j = 0
    while i < len(one) and j < len(other):
        count = min(one[i].count - done_i, other[j].count - done_j)
        yield one[i].part(done_i, 1, count), other[j].part(done_j, 1, count)
        done_i, done_j = done_i + count, done_j + count
        if done_i == one[i].count:
            i, done_i = i + 1, 0
        if done_j == other[j].count:
            j, done_j = j + 1, 0


def _later(one: Piece, other: Piece) -> list[Piece]:
    begin, end = one.first - other.first, one.last - other.last
    if begin >= 0 and end >= 0:
        return [one]
    if begin <= 0 and end <= 0:
        return [other]
    if begin > 0:
        one, other, begin = other, one, -begin
    crossing = min(one.count - 1, max(1, ceil(-begin / (one.step - other.step))))  # where `one` becomes the later
    return [other.part(0, 1, crossing), one.part(crossing, 1, one.count - crossing)]


def _joined(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    """Join neighbouring pieces that lie on one line."""
    found: list[Piece] = []
    for piece in pieces:
        if found:
            together = _together(found[-1], piece)
            if together is not None:
                found[-1] = together
                continue
        found.append(piece)
    return tuple(found)


def _together(one: Piece, other: Piece) -> Piece | None:
    count = one.count + other.count
    step = one.step if one.count > 1 else other.step if other.count > 1 else other.first - one.first
    line = Piece(count, one.first, step)
    near = _SAME * max(abs(line.first), abs(line.last))
    first_off = abs(line.first + step * one.count - other.first)
    return line if first_off <= near and abs(line.last - other.last) <= near else None


def _pieces_of(values: np.ndarray) -> Iterator[Piece]:
    """Yield the runs of values with equal differences."""
    if len(values) <= 2:
        yield Piece(len(values), float(values[0]), float(values[-1] - values[0]))
        return
    steps = np.diff(values)
    near = 4 * _SAME * max(abs(float(values[0])), abs(float(values[-1])), float(np.abs(values).max()))
    breaks = np.flatnonzero(np.abs(np.diff(steps)) > near) + 1  # the step after value i differs from the one before
    begin = 0
    for at in (*breaks.tolist(), len(values) - 1):
        if begin == at < len(values) - 1:  # a single value between two pieces begins the next one
            continue
        count = at - begin + 1
        first, last = float(values[begin]), float(values[at])
        yield Piece(count, first, (last - first) / (count - 1) if count > 1 else 0.0)
        begin = at + 1
