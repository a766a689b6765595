"""The sizes of collective calls, from the bytes that OTF2 keeps of them.

An OTF2 archive has two numbers for each rank's part in a collective: all bytes that the rank sends, and all that it
receives.  Score-P counts what the definition of the call says, the rank's own block included: N times the vector at the
root of a broadcast to N ranks, the block times N in an all-to-all, the vector times N in an all-reduce
(``scorep_mpi_coll_bytes_*`` in its MPI adapter).  With MPI_IN_PLACE the own block is left out, which the archive does
not tell: sizes are then too small by 1/N of themselves.  The blocks of an all-to-all with counts are not kept either;
they are estimated from the sums.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from apps.recording.events import Op


@dataclass(frozen=True)
class Bytes:
    """The bytes of one collective call, by member."""

    sent: Sequence[int]
    received: Sequence[int]
    root: int  # place among the members; -1: the call has no root

    @property
    def ranks(self) -> int:
        """Number of members."""
        return len(self.sent)

    @property
    def others(self) -> list[int]:
        """All members but the root; the root if it is alone."""
        return [at for at in range(self.ranks) if at != self.root] or [0]


@dataclass(frozen=True)
class Sizes:
    """The sizes of one collective call, as apps.recording.events.Op defines them, by member."""

    size_bytes: Sequence[int]
    counts: Mapping[int, Sequence[int]]  # by member that has them


def _same(size_bytes: int, ranks: int) -> Sizes:
    return Sizes([size_bytes] * ranks, {})


def _vector_received(call: Bytes) -> Sizes:
    """Every member receives the vector (broadcast) or its block (scatter)."""
    return _same(max(call.received[at] for at in call.others), call.ranks)


def _vector_sent(call: Bytes) -> Sizes:
    """Every member but the root sends its vector (reduce) or block (gather) once."""
    return _same(max(call.sent[at] for at in call.others), call.ranks)


def _to_every_member(call: Bytes) -> Sizes:
    """Every member sends as much to each member."""
    return Sizes([sent // call.ranks for sent in call.sent], {})


def _gather_v(call: Bytes) -> Sizes:
    """The root's own block is the rest of the bytes it receives."""
    blocks = list(call.sent)
    if call.root >= 0:
        others = sum(blocks) - blocks[call.root]
        blocks[call.root] = max(0, call.received[call.root] - others)
    return Sizes(blocks, {call.root: blocks})


def _scatter_v(call: Bytes) -> Sizes:
    return Sizes(call.received, {call.root: call.received})


def _all_gather_v(call: Bytes) -> Sizes:
    blocks = [sent // call.ranks for sent in call.sent]
    return Sizes(blocks, dict.fromkeys(range(call.ranks), blocks))


def _all_to_all_v(call: Bytes) -> Sizes:
    """The blocks that fit the sums of all members: sent by one times received by the other over all bytes."""
    counts = {at: _shares(sent, call.received) for at, sent in enumerate(call.sent)}
    return Sizes(call.sent, counts)


def _reduce_scatter(call: Bytes) -> Sizes:
    """Every member receives N times its block, one part from each member."""
    counts = [received // call.ranks for received in call.received]
    return Sizes([sum(counts)] * call.ranks, dict.fromkeys(range(call.ranks), counts))


def _scan(call: Bytes) -> Sizes:
    """The first member sends its vector to all from itself on; in an exclusive scan to all after itself."""
    return _same(call.sent[0] // call.ranks, call.ranks)


def _exclusive_scan(call: Bytes) -> Sizes:
    return _same(call.sent[0] // max(1, call.ranks - 1), call.ranks)


def _shares(total: int, weights: Sequence[int]) -> list[int]:
    """Return integers in proportion to the weights whose sum is the total; equal ones if all weights are zero.

    >>> _shares(10, [1, 1, 2])
    [2, 3, 5]
    """
    weighed = list(weights) if sum(weights) else [1] * len(weights)
    whole, passed, shares = sum(weighed), 0, []
    for weight in weighed:
        before = total * passed // whole
        passed += weight
        shares.append(total * passed // whole - before)
    return shares


_RULES: Mapping[Op, Callable[[Bytes], Sizes]] = {
    Op.BARRIER: lambda call: _same(0, call.ranks),
    Op.BCAST: _vector_received,
    Op.REDUCE: _vector_sent,
    Op.ALLREDUCE: _to_every_member,
    Op.GATHER: _vector_sent,
    Op.GATHERV: _gather_v,
    Op.SCATTER: _vector_received,
    Op.SCATTERV: _scatter_v,
    Op.ALLGATHER: _to_every_member,
    Op.ALLGATHERV: _all_gather_v,
    Op.ALLTOALL: _to_every_member,
    Op.ALLTOALLV: _all_to_all_v,
    Op.REDUCE_SCATTER: _reduce_scatter,
    Op.SCAN: _scan,
    Op.EXSCAN: _exclusive_scan,
}


def sizes_of(op: Op, call: Bytes) -> Sizes:
    """Return the sizes of a collective call from the bytes of all its members."""
    return _RULES[op](call)
