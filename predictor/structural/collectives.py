"""Collectives as exchanges of all ranks, by the algorithms of apps/traffic/collectives.py.

Equal calls return the same object, so that repeated steps are recognised.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from apps.recording.events import Op
from apps.traffic.collectives import all_to_all_algorithm, rounds, stages
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
    algorithm, member = chosen.pop(), np.arange(members)
    phases = [(member, to, blocks) for to, _, blocks in rounds(algorithm, member, members)]
    if algorithm == "linear":
        source, destination = np.tile(member, len(phases)), np.concatenate([to for _, to, _ in phases])
        phases = [(source, destination, [(destination - source) % members])]
    messages = []
    for source, destination, blocks in phases:
        # Each member sends the blocks of the members at these distances.
        sizes = [step.size_bytes[:, source, (source + distance) % members] for distance in blocks]
        whole = np.sum(sizes, axis=0)
        senders, receivers = (step.group[:, side].astype(np.int32).ravel() for side in (source, destination))
        messages.append(Exchange(senders, receivers, whole.astype(np.int64).ravel(), at_once=True))
    return tuple(messages)


@lru_cache(maxsize=256)
def _exchanges(op: Op, size_bytes: int, nranks: int) -> tuple[Exchange, ...]:
    """Return the messages of a collective whose root, if it has one, is rank 0."""
    return tuple(
        Exchange(source.astype(np.int32), destination.astype(np.int32), np.full(len(source), size, np.int64), at_once)
        for source, destination, size, at_once in stages(op, nranks, 0, size_bytes)
    )
