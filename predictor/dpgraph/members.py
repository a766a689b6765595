"""The messages of common collectives for all members of a communicator at once.

They equal those of predictor.network.collectives for one member.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from apps.recording.events import Kind, Op, Reduction

_NUMBER_BYTES = 4  # of a new communicator, which its first member broadcasts


class _Stage(NamedTuple):
    """Operations that a member begins in this order and then waits for together."""

    member: np.ndarray
    kind: Kind
    partner: np.ndarray
    size_bytes: int


class Members(NamedTuple):
    """Rows as in predictor.dpgraph.expanding: those of member m from ``first[m]`` to ``first[m + 1]``."""

    rows: np.ndarray
    first: np.ndarray


def is_covered(op: int, mode: int) -> bool:
    """Return whether a collective with this kind of reduction is among the common ones."""
    return op in _STAGES and mode == Reduction.COMMUTES


@lru_cache(maxsize=8)
def of_members(op: int, ranks: int, root: int, size_bytes: int) -> Members:
    """Return the rows of a collective that is covered.

    Args:
        op: The operation.
        ranks: Number of members.
        root: The place of the root; -1: none.
        size_bytes: As in ``Op``.
    """
    stages = list(_STAGES[Op(op)](ranks, root, size_bytes)) if ranks > 1 else []
    none = np.empty(0, np.int64)
    member, kind, partner, size, stage = (
        np.concatenate([none, *parts])
        for parts in (
            [stage.member for stage in stages],
            [np.full(len(stage.member), stage.kind) for stage in stages],
            [stage.partner for stage in stages],
            [np.full(len(stage.member), stage.size_bytes if stage.kind == Kind.SEND else 0) for stage in stages],
            [np.full(len(stage.member), at) for at, stage in enumerate(stages)],
        )
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


def _to_root(ranks: int, root: int, size_bytes: int) -> Iterator[_Stage]:
    others = np.flatnonzero(np.arange(ranks) != root)
    yield _Stage(others, Kind.SEND, np.full(ranks - 1, root), size_bytes)
    yield _Stage(np.full(ranks - 1, root), Kind.RECV, others, 0)


def _broadcast(ranks: int, root: int, size_bytes: int) -> Iterator[_Stage]:
    place, reach = np.arange(ranks), 1 << (ranks - 1).bit_length() - 1
    while reach:
        senders = place[(place % (2 * reach) == 0) & (place + reach < ranks)]
        ends = (senders + root) % ranks, (senders + reach + root) % ranks
        yield _Stage(ends[0], Kind.SEND, ends[1], size_bytes)
        yield _Stage(ends[1], Kind.RECV, ends[0], 0)
        reach //= 2


def _barrier(ranks: int, root: int, size_bytes: int) -> Iterator[_Stage]:
    yield from _to_root(ranks, 0, 0)
    others = np.arange(1, ranks)
    yield _Stage(0 * others, Kind.SEND, others, 0)
    yield _Stage(others, Kind.RECV, 0 * others, 0)


def _all_reduce(ranks: int, root: int, size_bytes: int) -> Iterator[_Stage]:
    yield from _to_root(ranks, 0, size_bytes)
    yield from _broadcast(ranks, 0, size_bytes)


def _create(ranks: int, root: int, size_bytes: int) -> Iterator[_Stage]:
    yield from _broadcast(ranks, 0, _NUMBER_BYTES)


_STAGES: Mapping[Op, Callable[[int, int, int], Iterator[_Stage]]] = {
    Op.BARRIER: _barrier,
    Op.BCAST: _broadcast,
    Op.REDUCE: _to_root,
    Op.ALLREDUCE: _all_reduce,
    Op.GATHER: _to_root,
    Op.CREATE: _create,
}
