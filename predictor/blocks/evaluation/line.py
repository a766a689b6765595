"""Times on a line: those of processes in their order, with equal steps, and serial service along it.

A master that serves thousands of equal processes in turn gives them times that lie on a line, so that the times of
10 million processes are three numbers.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import ceil
from typing import Generic, TypeVar

import numpy as np

from predictor.blocks.progression import Part

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


_Owner = TypeVar("_Owner")


@dataclass(frozen=True)
class Client(Generic[_Owner]):
    """Processes that wait for the server, or a part of such processes."""

    owner: _Owner  # the processes, as the caller knows them
    in_row: Part  # their places in the server's row, ascending
    in_owner: Part  # their places in the owner
    times: Line  # when each is ready, in the order of the row
    order: int  # if several clients have the same place in the row, the one of lowest order is served
    service_s: float  # service time of each
    near_s: float  # service time of the processes on the server's own node
    near: range  # places in the row of the processes on the server's own node, ascending


@dataclass
class Served(Generic[_Owner]):
    """Members of a client that have been served."""

    client: Client[_Owner]
    first: int  # number of the first of them
    ends: list[Line]  # of their services, in their order
    sent_s: float = 0.0  # their service times together

    @property
    def count(self) -> int:
        """Number of members."""
        return sum(line.count for line in self.ends)

    def add(self, ends: Sequence[Line], service_s: float) -> None:
        """Add the ends of further services."""
        self.sent_s += service_s * sum(line.count for line in ends)
        self.ends[-1:] = joined((*self.ends[-1:], *ends))

    @property
    def in_owner(self) -> Part:
        """Their places in the owner."""
        return self.client.in_owner.within(Part(self.first, 1, self.count))


_Waiting = tuple[int, int, int, int]  # place of a client's next member, the client's order and number, and the member


def serve_row(ready_s: float, clients: Sequence[Client[_Owner]]) -> tuple[int, float, list[Served[_Owner]]]:
    """Serve the places of the row in their order, up to the first at which no client waits.

    A client is served in one stretch; if another one has places in between, the rest waits for the next call.

    Args:
        ready_s: When the server is ready, s.
        clients: The waiting clients.

    Returns:
        The number of places served, the end of the last service, s, and what was served.
    """
    heap: list[_Waiting] = [(client.in_row.first, client.order, number, 0) for number, client in enumerate(clients)]
    heapify(heap)
    served: dict[int, Served[_Owner]] = {}  # by number of the client
    place = alone_until = 0
    while heap and heap[0][0] == place:
        _, order, number, member = heappop(heap)
        asking = clients[number]
        done = served.setdefault(number, Served(asking, member, []))
        if done.first + done.count != member:
            break
        stride = asking.in_row.stride
        if stride > 1 and place >= alone_until:
            others = [heappop(heap) for _ in range(min(stride - 1, len(heap)))]
            count = _serve_in_turn(heap, [(place, order, number, member), *others], clients, served, ready_s=ready_s)
            ready_s += stride * count * asking.service_s
            alone_until = place if count else place + stride
            place += stride * count
            continue
        end = place + (asking.in_row.count - member if stride == 1 else 1)
        while heap and heap[0][0] < end and heap[0][1] > order:
            other = heappop(heap)
            _wait(heap, clients[other[2]].in_row, other, end)
        count, service_s = _run(asking, place, min(end, heap[0][0]) if heap else end)
        ends_s = serve(ready_s, asking.times.part(Part(member, 1, count)), service_s)
        ready_s = ends_s[-1].last
        done.add(ends_s, service_s)
        place += count
        _wait(heap, asking.in_row, (place, order, number, member), place)
    return place, ready_s, [client for client in served.values() if client.ends]


def _serve_in_turn(
    heap: list[_Waiting],
    turn: Sequence[_Waiting],
    clients: Sequence[Client[_Owner]],
    served: dict[int, Served[_Owner]],
    *,
    ready_s: float,
) -> int:
    """Serve one member of each client in turn as long as the server waits for none; return how many of each."""
    count = _queued(turn, clients, served, ready_s)
    stride, service_s = len(turn), clients[turn[0][2]].service_s
    for at, waiting in enumerate(turn):
        place, _, number, member = waiting
        if count:
            done = served.setdefault(number, Served(clients[number], member, []))
            done.add([Line(count, ready_s + (at + 1) * service_s, stride * service_s)], service_s)
        _wait(heap, clients[number].in_row, waiting, place + stride * count)
    return count


def _queued(
    turn: Sequence[_Waiting],
    clients: Sequence[Client[_Owner]],
    served: Mapping[int, Served[_Owner]],
    ready_s: float,
) -> int:
    """Return how many members each of some clients can be served in turn without the server waiting for one; or 0.

    The clients have to follow each other in the row, with equal strides and service times.
    """
    first = clients[turn[0][2]]
    stride, service_s = first.in_row.stride, first.service_s
    if len(turn) < stride:
        return 0
    count = min(clients[number].in_row.count - member for _, _, number, member in turn)
    for at, (place, _, number, member) in enumerate(turn):
        client = clients[number]
        before = served.get(number)
        alike = place == turn[0][0] + at and client.in_row.stride == stride and client.service_s == service_s
        if not alike or len(client.near) or (before is not None and before.first + before.count != member):
            return 0
        times = client.times.part(Part(member, 1, count))
        begin_s = ready_s + at * service_s
        if times.first > begin_s or times.last > begin_s + stride * (count - 1) * service_s:
            return 0
    return count


def _wait(heap: list[_Waiting], row: Part, who: _Waiting, place: int) -> None:
    """Let a client wait with its first member at this place of the row or after it, if there is one."""
    _, order, number, _ = who
    member = max(0, -((row.first - place) // row.stride))
    if member < row.count:
        heappush(heap, (row.first + row.stride * member, order, number, member))


def _run(client: Client[_Owner], place: int, end: int) -> tuple[int, float]:
    """Return how many places up to ``end`` have the same service time, and that time, s."""
    at = bisect_left(client.near, place)
    if at == len(client.near):
        return end - place, client.service_s
    if client.near[at] > place:
        return min(end, client.near[at]) - place, client.service_s
    return (min(end, client.near.stop) - place if client.near.step == 1 else 1), client.near_s
