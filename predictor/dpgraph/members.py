"""The messages of common collectives for all members of a communicator at once, as rows of events."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from apps.recording.events import Kind, Op, Reduction
from apps.traffic.collectives import STAGED, stages


class Members(NamedTuple):
    """Rows as in predictor.dpgraph.expanding: those of member m from ``first[m]`` to ``first[m + 1]``."""

    rows: np.ndarray
    first: np.ndarray


def is_covered(op: int, mode: int) -> bool:
    """Return whether a collective with this kind of reduction is among the common ones."""
    return op in STAGED and mode == Reduction.COMMUTES


@lru_cache(maxsize=8)
def of_members(op: int, ranks: int, root: int, size_bytes: int) -> Members:
    """Return the rows of a collective that is covered.

    Args:
        op: The operation.
        ranks: Number of members.
        root: The place of the root; -1: none.
        size_bytes: As in ``Op``.
    """
    none = np.empty(0, np.int64)
    parts = [
        side
        for at, stage in enumerate(stages(Op(op), ranks, root, size_bytes))
        for side in (
            (stage.source, Kind.SEND, stage.destination, stage.size_bytes, at),
            (stage.destination, Kind.RECV, stage.source, 0, at),
        )
    ]
    member, partner = (np.concatenate([none, *(side[field] for side in parts)]) for field in (0, 2))
    kind, size, stage = (
        np.concatenate([none, *(np.full(len(side[0]), side[field]) for side in parts)]) for field in (1, 3, 4)
    )
    order = np.lexsort((stage, member))
    member, stage = member[order], stage[order]
    count = np.bincount(member, minlength=ranks)
    before = np.cumsum(count) - count
    number = np.arange(len(member)) - before[member] + 1
    posts = np.column_stack([kind[order], partner[order], number, size[order]])
    waits = np.column_stack([np.full(len(member), Kind.WAIT), np.full(len(member), -1), number, 0 * number])
    places = np.lexsort((np.repeat([0, 1], len(member)), np.tile(stage, 2), np.tile(member, 2)))
    return Members(np.concatenate([posts, waits])[places], np.concatenate([[0], np.cumsum(2 * count)]))
