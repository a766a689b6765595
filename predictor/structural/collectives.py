"""Collectives as exchanges of all ranks, by the algorithms of apps/traffic/collectives.py.

Equal calls return the same object, so that repeated steps are recognised.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from apps.recording.events import Op
from apps.traffic.collectives import all_to_all_algorithm, stages
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
    if len(chosen) > 1:  # block sizes of the groups lie on both sides of a threshold
        chosen = {"linear"}
    phases = {"linear": _linear, "bruck": _bruck, "pairwise": _pairwise}[chosen.pop()](members)
    messages = []
    for source, destination, blocks in phases:
        # Each member sends the blocks of the members at these distances.
        sizes = [step.size_bytes[:, source, (source + distance) % members] for distance in blocks]
        whole = np.sum(sizes, axis=0)
        senders, receivers = (step.group[:, side].astype(np.int32).ravel() for side in (source, destination))
        messages.append(Exchange(senders, receivers, whole.astype(np.int64).ravel(), at_once=True))
    return tuple(messages)


# Phases of messages among members: source, destination, and the distances from the sender of the members whose blocks #
# are sent; each is a number or an array over the messages.
_Phases = list[tuple[np.ndarray, np.ndarray, Sequence[np.ndarray | int]]]


def _linear(members: int) -> _Phases:
    distance, source = (part.ravel() for part in np.mgrid[1:members, 0:members])
    return [(source, (source + distance) % members, [distance])]


def _bruck(members: int) -> _Phases:
    """Each member sends, in round k, all blocks whose distance has bit k to the member 2^k further on."""
    source, reaches = np.arange(members), [1 << k for k in range((members - 1).bit_length())]
    return [(source, (source + reach) % members, [d for d in range(1, members) if d & reach]) for reach in reaches]


def _pairwise(members: int) -> _Phases:
    """Each member exchanges, in round k, with the member whose number differs in the bits of k."""
    source = np.arange(members)
    return [(source, source ^ k, [((source ^ k) - source) % members]) for k in range(1, members)]


@lru_cache(maxsize=256)
def _exchanges(op: Op, size_bytes: int, nranks: int) -> tuple[Exchange, ...]:
    """Return the messages of a collective whose root, if it has one, is rank 0."""
    return tuple(
        Exchange(source.astype(np.int32), destination.astype(np.int32), np.full(len(source), size, np.int64), at_once)
        for source, destination, size, at_once in stages(op, nranks, 0, size_bytes)
    )
