"""Serial service: one process that sends to many others, or receives from them, one after the other."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

from predictor.blocks.evaluation.line import Line, joined, serve
from predictor.blocks.processes.progression import Part

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
    heap: list[_Waiting] = [(one.in_row.first, one.order, number, 0) for number, one in enumerate(clients)]
    heapify(heap)
    served: dict[int, Served[_Owner]] = {}  # by number of the client
    place = 0
    while heap and heap[0][0] == place:
        _, order, number, member = heappop(heap)
        one = clients[number]
        if number not in served:
            served[number] = Served(one, member, [])
        done = served[number]
        if done.first + done.count != member:
            break
        end = place + (one.in_row.count - member if one.in_row.stride == 1 else 1)
        while heap and heap[0][0] < end and heap[0][1] > order:
            other = heappop(heap)
            _wait(heap, clients[other[2]].in_row, other, end)
        count, service_s = _run(one, place, min(end, heap[0][0]) if heap else end)
        ends = serve(ready_s, one.times.part(Part(member, 1, count)), service_s)
        ready_s = ends[-1].last
        done.ends[-1:] = joined((*done.ends[-1:], *ends))
        done.sent_s += count * service_s
        place += count
        _wait(heap, one.in_row, (place, order, number, member), place)
    return place, ready_s, list(served.values())


def _wait(heap: list[_Waiting], row: Part, who: _Waiting, place: int) -> None:
    """Let a client wait with its first member at this place of the row or after it, if there is one."""
    _, order, number, _ = who
    member = max(0, -((row.first - place) // row.stride))
    if member < row.count:
        heappush(heap, (row.first + row.stride * member, order, number, member))


def _run(one: Client[_Owner], place: int, end: int) -> tuple[int, float]:
    """Return how many places up to ``end`` have the same service time, and that time, s."""
    at = bisect_left(one.near, place)
    if at == len(one.near):
        return end - place, one.service_s
    if one.near[at] > place:
        return min(end, one.near[at]) - place, one.service_s
    return (min(end, one.near.stop) - place if one.near.step == 1 else 1), one.near_s
