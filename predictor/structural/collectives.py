"""Collectives as exchanges of all ranks, by the algorithms of SMPI's selector ``default``.

The algorithms are those of predictor/network/collectives.py.  Equal calls return the same object, so that repeated
steps are recognised.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from apps.recording.events import Op
from apps.s4u.collectives import all_to_all_algorithm
from apps.traffic.steps import AllToAll, Collective, Exchange


def exchanges(step: Collective | AllToAll, nranks: int) -> tuple[Exchange, ...]:
    """Return the messages of a collective; one rank alone has none."""
    if nranks == 1:
        return ()
    return _all_to_all(step) if isinstance(step, AllToAll) else _exchanges(step.op, step.size_bytes, nranks)


@lru_cache(maxsize=256)
def _all_to_all(step: AllToAll) -> tuple[Exchange, ...]:
    """Return the messages of an all-to-all; all its groups use one algorithm."""
    members = step.group.shape[1]
    chosen = {
        all_to_all_algorithm(members, float(size_bytes.max())) if even else "linear"
        for size_bytes, even in zip(step.size_bytes, step.even, strict=True)
    }
    if len(chosen) > 1:  # the groups' blocks lie on both sides of a threshold
        chosen = {"linear"}
    phases = {"linear": _linear, "bruck": _bruck, "pairwise": _pairwise}[chosen.pop()](members)
    found = []
    for phase in phases:
        messages = [
            (int(group[a]), int(group[b]), int(sum(size_bytes[a, (a + block) % members] for block in blocks)))
            for group, size_bytes in zip(step.group, step.size_bytes, strict=True)
            for a, b, blocks in phase
        ]
        found.append(Exchange.of(messages, at_once=True))
    return tuple(found)


# Phases of messages among members: (from, to, blocks), with blocks given by the distance of their receiver.
_Phases = list[list[tuple[int, int, list[int]]]]


def _linear(members: int) -> _Phases:
    distances = range(1, members)
    return [[(a, (a + distance) % members, [distance]) for distance in distances for a in range(members)]]


def _bruck(members: int) -> _Phases:
    """Each member sends, in round k, all blocks whose distance has bit k to the member 2^k further on."""
    reaches = [1 << k for k in range((members - 1).bit_length())]
    return [
        [(a, (a + reach) % members, [d for d in range(1, members) if d & reach]) for a in range(members)]
        for reach in reaches
    ]


def _pairwise(members: int) -> _Phases:
    """Each member exchanges, in round k, with the member whose number differs in the bits of k."""
    return [[(a, a ^ k, [((a ^ k) - a) % members]) for a in range(members)] for k in range(1, members)]


@lru_cache(maxsize=256)
def _exchanges(op: Op, size_bytes: int, nranks: int) -> tuple[Exchange, ...]:
    return tuple(_ALGORITHMS[op](size_bytes, nranks))


def _to_root(size_bytes: int, nranks: int) -> Exchange:
    return Exchange.of((rank, 0, size_bytes) for rank in range(1, nranks))


def _barrier(size_bytes: int, nranks: int) -> list[Exchange]:
    """All ranks send to rank 0, then rank 0 sends to all."""
    told = Exchange.of(((0, rank, size_bytes) for rank in range(1, nranks)), at_once=True)
    return [_to_root(size_bytes, nranks), told]


def _all_reduce(size_bytes: int, nranks: int) -> list[Exchange]:
    """All ranks send to rank 0, then a binomial tree broadcasts, with the largest distance first."""
    found, distance = [_to_root(size_bytes, nranks)], 1
    while distance < nranks:
        distance *= 2
    while distance > 1:
        distance //= 2
        pairs = ((rank, rank + distance) for rank in range(0, nranks - distance, 2 * distance))
        found.append(Exchange.of((source, to, size_bytes) for source, to in pairs))
    return found


def _reduce(size_bytes: int, nranks: int) -> list[Exchange]:
    return [_to_root(size_bytes, nranks)]


_ALGORITHMS: Mapping[Op, Callable[[int, int], list[Exchange]]] = {
    Op.BARRIER: _barrier,
    Op.REDUCE: _reduce,
    Op.ALLREDUCE: _all_reduce,
}
