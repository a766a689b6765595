"""Times on a line: those of processes in their order, with equal steps.

A master that serves thousands of equal processes in turn gives them times that lie on a line, so that the times of
10 million processes are three numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import ceil
from typing import TypeVar

import numpy as np

from predictor.blocks.processes.progression import Part

AT_ONCE = 1e-9  # relative difference of times that count as one moment
_SAME = 1e-13  # relative difference at both ends up to which two lines count as one
_Timed = TypeVar("_Timed")


@dataclass(frozen=True)
class Line:
    """The ``count`` times ``first``, ``first + step``, ..., s."""

    count: int
    first: float
    step: float = 0.0

    @property
    def last(self) -> float:
        """The last time, s."""
        return self.first + self.step * (self.count - 1)

    @property
    def least(self) -> float:
        """The earliest time, s."""
        return min(self.first, self.last)

    @property
    def most(self) -> float:
        """The latest time, s."""
        return max(self.first, self.last)

    @property
    def total(self) -> float:
        """The sum of the times, s."""
        return self.count * (self.first + self.last) / 2

    @property
    def at_once(self) -> bool:
        """True if all times are the same moment."""
        return self.most - self.least <= AT_ONCE * self.most

    def values(self) -> np.ndarray:
        """Return the time of each process, s."""
        return self.first + self.step * np.arange(self.count)

    def plus(self, first_s: float, step_s: float = 0.0) -> Line:
        """Return the times with that of process i later by ``first_s + i step_s``."""
        return Line(self.count, self.first + first_s, self.step + step_s)

    def part(self, part: Part) -> Line:
        """Return the times at these places."""
        return Line(part.count, self.first + self.step * part.first, self.step * part.stride)


def later(line: Line, other: Line) -> list[tuple[Part, Line]]:
    """Return the later of the two times of each process, on one line or two, each with its places."""
    begin, end = line.first - other.first, line.last - other.last
    whole = Part(0, 1, line.count)
    if begin >= 0 and end >= 0:
        return [(whole, line)]
    if begin <= 0 and end <= 0:
        return [(whole, other)]
    if begin > 0:
        line, other, begin = other, line, -begin
    crossing = min(line.count - 1, max(1, ceil(-begin / (line.step - other.step))))  # where `one` becomes the later
    parts = Part(0, 1, crossing), Part(crossing, 1, line.count - crossing)
    return [(parts[0], other.part(parts[0])), (parts[1], line.part(parts[1]))]


def moments(some: Iterable[_Timed], clock: Callable[[_Timed], Line]) -> Iterator[list[_Timed]]:
    """Yield together what has all its times at the same moment; what has different times is alone."""
    together: list[_Timed] = []
    for side in sorted(some, key=lambda side: clock(side).least):
        time = clock(side)
        if not time.at_once:
            yield [side]
            continue
        if together and time.least - clock(together[0]).least > AT_ONCE * time.least:
            yield together
            together = []
        together.append(side)
    if together:
        yield together


def joined(lines: Iterable[Line]) -> list[Line]:
    """Return the lines one after the other, with neighbours that lie on one line as one."""
    joined_lines: list[Line] = []
    for line in lines:
        whole = followed(joined_lines[-1], line) if joined_lines else None
        if whole is None:
            joined_lines.append(line)
        else:
            joined_lines[-1] = whole
    return joined_lines


def followed(first: Line, other: Line) -> Line | None:
    """Return the times of ``one`` and then those of ``other``; None if they do not lie on one line."""
    step = first.step if first.count > 1 else other.step if other.count > 1 else other.first - first.first
    line = Line(first.count + other.count, first.first, step)
    near = _SAME * max(abs(line.first), abs(line.last))
    first_off = abs(line.first + step * first.count - other.first)
    return line if first_off <= near and abs(line.last - other.last) <= near else None


def interleaved(even: Line, odd: Line) -> Line | None:
    """Return the times of both in turn, the first of ``even`` first; None if they do not lie on one line."""
    step = (even.last - even.first) / (2 * (even.count - 1)) if even.count > 1 else odd.first - even.first
    line = Line(even.count + odd.count, even.first, step)
    near = _SAME * max(abs(line.first), abs(line.last))
    last = line.first + line.step * (2 * odd.count - 1)
    fits = abs(line.first + line.step - odd.first) <= near and abs(last - odd.last) <= near
    return line if fits else None


def serve(ready_s: float, arrivals: Line, service_s: float) -> list[Line]:
    """Return the ends of the services of a server that serves the arrivals in their order, on one line or two.

    M_i = max(M_(i-1), a_i) + s with M_(-1) = ``ready_s``.  For arrivals on a line, a_i = a + b i, the recursion has a
    closed form.  If b <= s, the server waits for no client after the first.  If b > s, each client that arrives after
    the queue has emptied is served at once.
    """
    count = arrivals.count
    if arrivals.step <= service_s or count == 1:
        return [Line(count, max(ready_s, arrivals.first) + service_s, service_s)]
    queued = 0
    if ready_s > arrivals.first:
        queued = min(count, ceil((ready_s - arrivals.first) / (arrivals.step - service_s)))
    lines = [Line(queued, ready_s + service_s, service_s)] if queued else []
    if queued < count:
        lines.append(arrivals.part(Part(queued, 1, count - queued)).plus(service_s))
    return lines
