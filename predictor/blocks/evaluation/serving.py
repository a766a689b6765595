"""Serial service: one process that sends to many others, or receives from them, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Generic, TypeVar

import numpy as np

from predictor.blocks.evaluation.profile import Profile, join, serve, serve_each
from predictor.blocks.processes.progression import Part

_MOST_WALKED = 64  # most clients that are served client by client; more are served member by member


_Owner = TypeVar("_Owner")


@dataclass(frozen=True)
class Client(Generic[_Owner]):
    """Processes that wait for the server, or a part of such processes."""

    owner: _Owner  # the processes, as the caller knows them
    in_row: Part  # their places in the server's row, ascending
    in_owner: Part  # their places in the owner
    times: Profile  # when each is ready, in the order of the row
    order: int  # if several clients have the same place in the row, the one of lowest order is served
    service_s: float  # service time of each
    near_s: float = 0.0  # service time of the processes on the server's own node
    near: tuple[int, ...] = ()  # places in the row of the processes on the server's own node, ascending

    def cut(self, first: int, count: int) -> Client[_Owner]:
        """Return the ``count`` members from ``first`` on."""
        here, there = self.in_row, self.in_owner
        return replace(
            self,
            in_row=Part(here.first + here.stride * first, here.stride, count),
            in_owner=Part(there.first + there.stride * first, there.stride, count),
            times=self.times.part(first, 1, count),
        )

    def services(self) -> Iterator[tuple[int, float]]:
        """Yield runs of members with equal service times: length and service time, s; the stride in the row is 1."""
        begin, count = self.in_row.first, self.in_row.count
        inside = {place - begin for place in self.near if begin <= place < begin + count}
        ends = {place for place in inside if place - 1 not in inside} | {p + 1 for p in inside if p + 1 not in inside}
        cuts = sorted({0, count} | ends)
        return ((end - at, self.near_s if at in inside else self.service_s) for at, end in pairwise(cuts))


_Served = list[tuple[Client[_Owner], Profile]]  # clients with the ends of their services


def serve_row(ready_s: float, count: int, clients: Sequence[Client[_Owner]]) -> tuple[int, float, _Served[_Owner]]:
    """Serve the places of the row in their order, up to the first at which no client waits.

    Args:
        ready_s: When the server is ready, s.
        count: Number of places in the row.
        clients: The waiting clients.

    Returns:
        The number of places served, the end of the last service, s, and the served clients with the ends of their
        services.
    """
    if len(clients) <= _MOST_WALKED and all(one.in_row.stride == 1 for one in clients):
        return _walk(ready_s, count, clients)
    return _spread(ready_s, count, clients)


def _walk(ready_s: float, count: int, clients: Sequence[Client[_Owner]]) -> tuple[int, float, _Served[_Owner]]:
    """Serve client by client; a client that another one interrupts waits for the next call."""
    at = 0
    served: _Served[_Owner] = []
    while at < count:
        here = [c for c in clients if c.in_row.first <= at < c.in_row.first + c.in_row.count]
        client = min(here, key=lambda one: one.order, default=None)
        if client is None or any(client.owner is part.owner for part, _ in served):
            break
        earlier = [c.in_row.first for c in clients if c.order < client.order and c.in_row.first > at]
        end = min(client.in_row.first + client.in_row.count, *earlier, count)
        part = client.cut(at - client.in_row.first, end - at)
        ends, begin = [], 0
        for length, service_s in part.services():
            done, ready_s = serve(ready_s, part.times.part(begin, 1, length), service_s)
            ends.append(done)
            begin += length
        served.append((part, join(ends)))
        at = end
    return at, ready_s, served


def _spread(ready_s: float, count: int, clients: Sequence[Client[_Owner]]) -> tuple[int, float, _Served[_Owner]]:
    """Serve place by place, for clients that have every n-th place and for many clients."""
    count = min(count, max((c.in_row.first + c.in_row.stride * (c.in_row.count - 1) + 1 for c in clients), default=0))
    taken = np.zeros(count, bool)
    arrivals_s, services_s = np.zeros(count), np.zeros(count)
    parts = []
    for client in sorted(clients, key=lambda one: one.order):
        if client.in_row.first >= count:
            continue
        places = slice(client.in_row.first, count, client.in_row.stride)
        free = min(client.in_row.count, len(range(*places.indices(count))))
        before = np.flatnonzero(taken[places][:free])
        free = int(before[0]) if len(before) else free
        if not free:
            continue
        part = client.cut(0, free)
        places = slice(part.in_row.first, part.in_row.first + part.in_row.stride * (free - 1) + 1, part.in_row.stride)
        taken[places] = True
        arrivals_s[places] = part.times.values()
        services_s[places] = part.service_s
        near = [place for place in part.near if place in range(places.start, places.stop, places.step)]
        services_s[near] = part.near_s
        parts.append(part)
    gaps = np.flatnonzero(~taken)
    done = int(gaps[0]) if len(gaps) else count
    if not done:
        return 0, ready_s, []
    ends_s = serve_each(ready_s, arrivals_s[:done], services_s[:done])
    served = []
    for part in parts:
        here = len(range(part.in_row.first, done, part.in_row.stride)) if part.in_row.first < done else 0
        here = min(here, part.in_row.count)
        if here:
            places = slice(part.in_row.first, done, part.in_row.stride)
            served.append((part.cut(0, here), Profile.of(ends_s[places][:here])))
    return done, float(ends_s[-1]), served
