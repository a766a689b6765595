"""What a collective sends: its messages, as the MPI library makes them of sends and receives.

These are the algorithms that SMPI's selector ``default`` takes (SimGrid's manual, "Simulating MPI applications",
collectives).  A step is a list of operations that are begun together and waited for together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from apps.recording import Op
from platforms.errors import UserError

SELECTOR = "default"  # smpi/coll-selector: the one that is known here
# What SMPI's selector ``ompi`` takes for an all-to-all, by ranks (below) and bytes of a block (from, below), where it
# is not all at once: the decisions of Open MPI 4's module "tuned" as SimGrid 3.26 to 4.1 has them.
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


@dataclass(frozen=True)
class Call:
    """One rank's call of a collective.  Ranks are places in the communicator."""

    op: Op
    rank: int
    ranks: int
    root: int  # -1: the operation has none
    size_bytes: int
    counts: Sequence[int]  # bytes by member, of vector variants


@dataclass(frozen=True)
class Step:
    """Operations that begin in this order and are then all waited for: (is it a send, partner, bytes)."""

    operations: tuple[tuple[bool, int, int], ...]


def _send(partner: int, size_bytes: int) -> tuple[bool, int, int]:
    return True, partner, size_bytes


def _receive(partner: int) -> tuple[bool, int, int]:
    return False, partner, 0


def steps(call: Call) -> Iterator[Step]:
    """The steps of one rank's part in a collective; none in a communicator of one rank."""
    if call.ranks > 1:
        yield from _ALGORITHMS[call.op](call)


def _others(call: Call) -> list[int]:
    return [rank for rank in range(call.ranks) if rank != call.rank]


def _to_root(call: Call) -> Iterator[Step]:
    """Everybody sends to the root at once: reduce, gather."""
    if call.rank == call.root:
        yield Step(tuple(_receive(rank) for rank in _others(call)))
    else:
        yield Step((_send(call.root, call.size_bytes),))


def _from_root(call: Call) -> Iterator[Step]:
    """The root sends to everybody at once: scatter."""
    if call.rank == call.root:
        sizes = call.counts if len(call.counts) else [call.size_bytes] * call.ranks
        yield Step(tuple(_send(rank, sizes[rank]) for rank in _others(call)))
    else:
        yield Step((_receive(call.root),))


def _barrier(call: Call) -> Iterator[Step]:
    """Linear: all tell rank 0, then rank 0 tells all."""
    if call.rank == 0:
        yield Step(tuple(_receive(rank) for rank in _others(call)))
        yield Step(tuple(_send(rank, 0) for rank in _others(call)))
    else:
        yield Step((_send(0, 0),))
        yield Step((_receive(0),))


def _broadcast(call: Call) -> Iterator[Step]:
    """Binomial tree: who has the vector passes it on to the place 2^k further, largest k first."""
    place = (call.rank - call.root) % call.ranks
    reach = 1
    while reach < call.ranks and not place & reach:
        reach *= 2
    if place:
        yield Step((_receive((call.rank - reach) % call.ranks),))
    while reach > 1:
        reach //= 2
        if place + reach < call.ranks:
            yield Step((_send((call.rank + reach) % call.ranks, call.size_bytes),))


def _all_reduce(call: Call) -> Iterator[Step]:
    rooted = Call(call.op, call.rank, call.ranks, 0, call.size_bytes, ())
    yield from _to_root(rooted)
    yield from _broadcast(rooted)


def _all_gather(call: Call) -> Iterator[Step]:
    """Everybody sends to everybody at once, in the order of the ranks."""
    operations = []
    for rank in _others(call):
        operations += [_send(rank, call.size_bytes), _receive(rank)]
    yield Step(tuple(operations))


def all_to_all_algorithm(ranks: int, size_bytes: float) -> str:
    """What SMPI takes for blocks of this size: "linear" (all at once), "bruck" or "pairwise".

    It has no pairwise exchange for numbers of ranks that are no power of two, and stops where it would take it.
    """
    rules = next(rules for below, rules in _ALL_TO_ALL if below > ranks)
    chosen = [name for name, spans in rules.items() for low, high in spans if low <= size_bytes < high]
    return chosen[0] if chosen else "linear"


def _all_to_all(call: Call) -> Iterator[Step]:
    """All at once, Bruck's, or one partner after the other, by size and ranks."""
    P, size_bytes = call.ranks, call.size_bytes
    chosen = all_to_all_algorithm(P, size_bytes)
    if chosen == "bruck":
        reach = 1
        while reach < P:
            blocks = sum(1 for block in range(1, P) if block & reach)
            yield Step((_send((call.rank + reach) % P, blocks * size_bytes), _receive((call.rank - reach) % P)))
            reach *= 2
    elif chosen == "pairwise":
        if P & (P - 1):
            problem = f"SMPI has no algorithm for blocks of {size_bytes} bytes among {P} ranks, and would stop"
            raise UserError("MPI_Alltoall", problem, "Use a power of two of ranks, or MPI_Alltoallv")
        for step in range(1, P):
            yield Step((_send(call.rank ^ step, size_bytes), _receive(call.rank ^ step)))
    else:
        ahead = [(call.rank + step) % P for step in range(1, P)]
        yield Step(tuple(map(_receive, ahead)) + tuple(_send(rank, size_bytes) for rank in reversed(ahead)))


def _all_to_all_v(call: Call) -> Iterator[Step]:
    others = _others(call)
    yield Step(tuple(map(_receive, others)) + tuple(_send(rank, call.counts[rank]) for rank in others))


def _reduce_scatter(call: Call) -> Iterator[Step]:
    """Equal blocks: a reduction to rank 0, then a scatter.  SMPI takes another algorithm for unequal ones."""
    if len(set(call.counts)) > 1:
        problem = "blocks of unequal size: what SMPI sends for them is not represented"
        raise UserError("MPI_Reduce_scatter", problem, "Use equal blocks, or another predictor")
    yield from _to_root(Call(call.op, call.rank, call.ranks, 0, sum(call.counts), ()))
    yield from _from_root(Call(call.op, call.rank, call.ranks, 0, 0, call.counts))


def _scan(call: Call) -> Iterator[Step]:
    """Everybody sends to all higher ranks at once."""
    below = tuple(_receive(rank) for rank in range(call.rank))
    yield Step(below + tuple(_send(rank, call.size_bytes) for rank in range(call.rank + 1, call.ranks)))


_ALGORITHMS = {
    Op.BARRIER: _barrier,
    Op.BCAST: _broadcast,
    Op.REDUCE: _to_root,
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
}
