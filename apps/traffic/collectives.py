"""The messages of which the MPI library makes each collective, and the choice among its algorithms.

The algorithms are those of SMPI's selector ``default`` (SimGrid's manual, "Simulating MPI applications", collectives).
``stages`` has the messages of common collectives for all ranks, as arrays, and ``rounds`` those of an all-to-all;
``steps`` has those of any collective for one rank, in lists of operations that begin together and are then waited for.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from apps.recording.events import Op, Reduction
from platforms.errors import UserError

SELECTOR = "default"  # the value of smpi/coll-selector that this module represents
_Ranks = TypeVar("_Ranks", int, npt.NDArray[np.int64])
_COLOR_AND_KEY_BYTES, _GROUP_BYTES, _NUMBER_BYTES = 8, 8, 4  # two ints, a pointer, an int

# The algorithms of an all-to-all that are not "linear", by ranks (below) and bytes of a block (from, below): what
# SMPI's selector ``ompi`` takes, the decisions of Open MPI 4's module "tuned" as SimGrid 3.26 to 4.1 has them.
_ALL_TO_ALL: tuple[tuple[float, Mapping[str, tuple[tuple[float, float], ...]]], ...] = (
    (3, {"pairwise": ((0, 2), (4, 16), (64, 256), (4096, 32768), (1048576, math.inf))}),
    (8, {"pairwise": ((524288, 1048576),)}),
    (16, {}),
    (32, {"bruck": ((4, 512),)}),
    (64, {"bruck": ((0, 512),)}),
    (256, {"bruck": ((0, 1024),), "pairwise": ((262144, math.inf),)}),
    (512, {"bruck": ((0, 1024),), "pairwise": ((32768, math.inf),)}),
    (1024, {"bruck": ((0, 512),), "pairwise": ((262144, math.inf),)}),
    (2048, {"bruck": ((0, 512),)}),
    (4096, {"bruck": ((0, 1024),)}),
    (math.inf, {"bruck": ((0, 2048),)}),
)


def all_to_all_algorithm(ranks: int, size_bytes: float) -> str:
    """Return what SMPI takes for blocks of this size: "linear" (all at once), "bruck" or "pairwise".

    SMPI has no pairwise exchange for numbers of ranks that are not a power of two, and aborts where it would take it.
    """
    rules = next(rules for below, rules in _ALL_TO_ALL if below > ranks)
    chosen = [name for name, spans in rules.items() for low, high in spans if low <= size_bytes < high]
    return chosen[0] if chosen else "linear"


def rounds(algorithm: str, rank: _Ranks, ranks: int) -> Iterator[tuple[_Ranks, _Ranks, Sequence[_Ranks | int]]]:
    """Yield the rounds of an all-to-all; with "linear" all of them begin at once.

    Args:
        algorithm: As ``all_to_all_algorithm`` returns it.
        rank: One rank, or an array of ranks.
        ranks: Number of ranks.

    Yields:
        The rank to which it sends, the one from which it receives, and how far behind it those are whose blocks it
        sends.
    """
    for k in range((ranks - 1).bit_length() if algorithm == "bruck" else 0):
        blocks = [distance for distance in range(1, ranks) if distance >> k & 1]
        yield (rank + (1 << k)) % ranks, (rank - (1 << k)) % ranks, blocks
    for k in range(1, ranks if algorithm == "pairwise" else 0):
        yield rank ^ k, rank ^ k, [((rank ^ k) - rank) % ranks]
    for distance in range(1, ranks if algorithm == "linear" else 0):
        yield (rank + distance) % ranks, (rank - distance) % ranks, [distance]


@dataclass(frozen=True)
class Call:
    """One rank's call of a collective.  Ranks are numbered within the communicator."""

    op: Op
    rank: int
    ranks: int
    root: int  # -1: the operation has no root
    size_bytes: int
    counts: Sequence[int]  # bytes by member, for vector variants; color and key by member, for a split
    reduction: Reduction = Reduction.COMMUTES


@dataclass(frozen=True)
class Step:
    """Operations (is a send, partner, bytes) that begin in this order and are then all waited for."""

    operations: tuple[tuple[bool, int, int], ...]


def _send(partner: int, size_bytes: int) -> tuple[bool, int, int]:
    return True, partner, size_bytes


def _receive(partner: int) -> tuple[bool, int, int]:
    return False, partner, 0


class Stage(NamedTuple):
    """Messages of one size that begin together; each rank waits for its own before it goes on."""

    source: npt.NDArray[np.int64]
    destination: npt.NDArray[np.int64]
    size_bytes: int
    at_once: bool = False  # a rank begins several sends


def stages(op: Op, ranks: int, root: int, size_bytes: int) -> list[Stage]:
    """Return the messages of a collective of STAGED.

    Args:
        op: The operation.
        ranks: Number of ranks of the communicator.
        root: The root; -1: the operation has none.
        size_bytes: As in ``Op``.
    """
    return list(STAGED[op](ranks, root, size_bytes)) if ranks > 1 else []


def _staged_to_root(ranks: int, root: int, size_bytes: int) -> Iterator[Stage]:
    """All ranks send to the root at once (reduce, gather)."""
    others = np.flatnonzero(np.arange(ranks) != root)
    yield Stage(others, np.full(ranks - 1, root), size_bytes)


def _staged_broadcast(ranks: int, root: int, size_bytes: int) -> Iterator[Stage]:
    """Binomial tree: a rank that has the vector sends it to the place 2^k further on, largest k first."""
    reach = 1 << (ranks - 1).bit_length() - 1
    while reach:
        senders = np.arange(0, ranks - reach, 2 * reach)
        yield Stage((senders + root) % ranks, (senders + reach + root) % ranks, size_bytes)
        reach //= 2


def _staged_barrier(ranks: int, root: int, size_bytes: int) -> Iterator[Stage]:
    """Linear barrier: all ranks send to rank 0, then rank 0 sends to all."""
    yield from _staged_to_root(ranks, 0, 0)
    others = np.arange(1, ranks)
    yield Stage(0 * others, others, 0, at_once=True)


def _staged_all_reduce(ranks: int, root: int, size_bytes: int) -> Iterator[Stage]:
    yield from _staged_to_root(ranks, 0, size_bytes)
    yield from _staged_broadcast(ranks, 0, size_bytes)


def _staged_create(ranks: int, root: int, size_bytes: int) -> Iterator[Stage]:
    yield from _staged_broadcast(ranks, 0, _NUMBER_BYTES)


STAGED: Mapping[Op, Callable[[int, int, int], Iterator[Stage]]] = {
    Op.BARRIER: _staged_barrier,
    Op.BCAST: _staged_broadcast,
    Op.REDUCE: _staged_to_root,
    Op.ALLREDUCE: _staged_all_reduce,
    Op.GATHER: _staged_to_root,
    Op.CREATE: _staged_create,
}


@lru_cache(maxsize=64)
def _by_rank(op: Op, ranks: int, root: int) -> tuple[tuple[tuple[tuple[bool, int, int], ...], ...], ...]:
    """Return the operations of each rank by stage, with 1 for the size of the collective."""
    of_ranks: tuple[list[tuple[tuple[bool, int, int], ...]], ...] = tuple([] for _ in range(ranks))
    for stage in stages(op, ranks, root, 1):
        operations: defaultdict[int, list[tuple[bool, int, int]]] = defaultdict(list)
        for source, destination in zip(stage.source.tolist(), stage.destination.tolist(), strict=True):
            operations[source].append(_send(destination, stage.size_bytes))
            operations[destination].append(_receive(source))
        for rank, its in operations.items():
            of_ranks[rank].append(tuple(its))
    return tuple(map(tuple, of_ranks))


def _staged(op: Op, call: Call) -> Iterator[Step]:
    for operations in _by_rank(op, call.ranks, call.root)[call.rank]:
        yield Step(tuple((is_send, partner, size * call.size_bytes) for is_send, partner, size in operations))


_to_root, _broadcast, _barrier = (partial(_staged, op) for op in (Op.GATHER, Op.BCAST, Op.BARRIER))


def steps(call: Call) -> Iterator[Step]:
    """Yield the steps of one rank's part in a collective; a communicator of one rank has none."""
    if call.ranks > 1:
        yield from _ALGORITHMS[call.op](call)


def _others(call: Call) -> list[int]:
    return [rank for rank in range(call.ranks) if rank != call.rank]


def _reduce(call: Call) -> Iterator[Step]:
    """The root receives from all ranks at once, or one after the other from the last on if the order matters."""
    if call.reduction is Reduction.COMMUTES:
        yield from _to_root(call)
    elif call.rank == call.root:
        for rank in reversed(_others(call)):
            yield Step((_receive(rank),))
    else:
        yield Step((_send(call.root, call.size_bytes),))


def _split(call: Call) -> Iterator[Step]:
    """All ranks send color and key to rank 0, which sends each its group: one group after the other."""
    yield from _to_root(replace(call, root=0, size_bytes=_COLOR_AND_KEY_BYTES))
    if call.rank:
        if call.counts[2 * call.rank] >= 0:
            yield Step((_receive(0),))
        return
    groups: dict[int, list[int]] = {}
    for rank, color in enumerate(call.counts[::2]):
        groups.setdefault(color, []).append(rank)
    for color, group in groups.items():
        members = sorted(group, key=lambda rank: (call.counts[2 * rank + 1], rank))
        if color >= 0 and members != [0]:
            yield Step(tuple(_send(rank, _GROUP_BYTES) for rank in members if rank))


def _create(call: Call) -> Iterator[Step]:
    """The first member broadcasts the number of the new communicator."""
    yield from _broadcast(replace(call, root=0, size_bytes=_NUMBER_BYTES))


def _from_root(call: Call) -> Iterator[Step]:
    """The root sends to all other ranks at once (scatter)."""
    if call.rank == call.root:
        sizes = call.counts if len(call.counts) else [call.size_bytes] * call.ranks
        yield Step(tuple(_send(rank, sizes[rank]) for rank in _others(call)))
    else:
        yield Step((_receive(call.root),))


def _all_reduce(call: Call) -> Iterator[Step]:
    """A reduction to rank 0, then a broadcast.  SMPI uses another algorithm for derived types."""
    if call.reduction is Reduction.DERIVED:
        problem = "SMPI's messages for a derived type are not modelled"
        raise UserError("MPI_Allreduce", problem, "Reduce elements of a basic type, or use another predictor")
    rooted = replace(call, root=0)
    yield from _reduce(rooted)
    yield from _broadcast(rooted)


def _all_gather(call: Call) -> Iterator[Step]:
    """Every rank sends to every other at once, in the order of the ranks."""
    operations = []
    for rank in _others(call):
        operations += [_send(rank, call.size_bytes), _receive(rank)]
    yield Step(tuple(operations))


def _all_to_all(call: Call) -> Iterator[Step]:
    """All at once, Bruck's algorithm, or one partner after the other, by block size and number of ranks."""
    yield from ALGORITHMS[f"alltoall-{all_to_all_algorithm(call.ranks, call.size_bytes)}"](call)


def _all_at_once(call: Call) -> Iterator[Step]:
    """Every rank sends to every other one at once."""
    ahead = [partner for partner, _, _ in rounds("linear", call.rank, call.ranks)]
    yield Step(tuple(map(_receive, ahead)) + tuple(_send(rank, call.size_bytes) for rank in reversed(ahead)))


def _in_rounds(algorithm: str, call: Call) -> Iterator[Step]:
    for partner, source, blocks in rounds(algorithm, call.rank, call.ranks):
        yield Step((_send(partner, len(blocks) * call.size_bytes), _receive(source)))


def _pairwise(call: Call) -> Iterator[Step]:
    if call.ranks & (call.ranks - 1):
        problem = f"SMPI has no algorithm for blocks of {call.size_bytes} bytes among {call.ranks} ranks and would stop"
        raise UserError("MPI_Alltoall", problem, "Use a power of two of ranks, or MPI_Alltoallv")
    yield from _in_rounds("pairwise", call)


def _all_to_all_v(call: Call) -> Iterator[Step]:
    others = _others(call)
    yield Step(tuple(map(_receive, others)) + tuple(_send(rank, call.counts[rank]) for rank in others))


def _reduce_scatter(call: Call) -> Iterator[Step]:
    """Reduce to rank 0, then scatter, for equal blocks.  SMPI uses another algorithm for unequal blocks."""
    if len(set(call.counts)) > 1:
        problem = "SMPI's messages for blocks of unequal size are not modelled"
        raise UserError("MPI_Reduce_scatter", problem, "Use equal blocks, or another predictor")
    yield from _reduce(replace(call, root=0, size_bytes=sum(call.counts)))
    yield from _from_root(Call(call.op, call.rank, call.ranks, 0, 0, call.counts))


def _scan(call: Call) -> Iterator[Step]:
    """Every rank sends to all higher ranks at once."""
    below = tuple(_receive(rank) for rank in range(call.rank))
    yield Step(below + tuple(_send(rank, call.size_bytes) for rank in range(call.rank + 1, call.ranks)))


# By name, for those who choose an algorithm themselves (predictor/blocks/calibration).
ALGORITHMS: Mapping[str, Callable[[Call], Iterator[Step]]] = {
    "bcast-binomial": _broadcast,
    "scatter-linear": _from_root,
    "gather-linear": _to_root,
    "barrier-linear": _barrier,
    "alltoall-linear": _all_at_once,
    "alltoall-bruck": partial(_in_rounds, "bruck"),
    "alltoall-pairwise": _pairwise,
}
_ALGORITHMS: Mapping[Op, Callable[[Call], Iterator[Step]]] = {
    Op.BARRIER: _barrier,
    Op.BCAST: _broadcast,
    Op.REDUCE: _reduce,
    Op.ALLREDUCE: _all_reduce,
    Op.GATHER: _to_root,
    Op.GATHERV: _to_root,
    Op.SCATTER: _from_root,
    Op.SCATTERV: _from_root,
    Op.ALLGATHER: _all_gather,
    Op.ALLGATHERV: _all_gather,
    Op.ALLTOALL: _all_to_all,
    Op.ALLTOALLV: _all_to_all_v,
    Op.REDUCE_SCATTER: _reduce_scatter,
    Op.SCAN: _scan,
    Op.EXSCAN: _scan,
    Op.SPLIT: _split,
    Op.CREATE: _create,
}
