"""Recordings from the events of all ranks: messages are matched, collectives checked and sized, clocks compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import numpy.typing as npt

from apps.errors import TraceError
from apps.recording.events import EVENT, Kind, Op, Recording
from apps.traces.events import COMM, DROPPED, KIND, OP, PEER, REQUEST, SIZE, Collective, RankEvents, Trace
from platforms.wording import number_of

# The sizes of collective calls, from the bytes that OTF2 keeps of them.
#
# An OTF2 archive has two numbers for each rank's part in a collective: all bytes that the rank sends, and all that it
# receives.  Score-P counts what the definition of the call says, the rank's own block included: N times the vector at
# the root of a broadcast to N ranks, the block times N in an all-to-all, the vector times N in an all-reduce
# (``scorep_mpi_coll_bytes_*`` in its MPI adapter).  With MPI_IN_PLACE the own block is left out, which the archive does
# not tell: sizes are then too small by 1/N of themselves.  The blocks of an all-to-all with counts are not kept either;
# they are estimated from the sums.


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


def assembled(trace: Trace, core_flops: Sequence[float]) -> Recording:
    """Return the recording of a trace.

    Args:
        trace: The events of all ranks; they are changed in place.
        core_flops: Speed of the core that each rank ran on, flop/s: times of computation become flops.

    Raises:
        TraceError: Messages or collective calls of the ranks do not fit together.
    """
    estimated = _sized(trace)
    arrays = [_arrays(rank, flops) for rank, flops in zip(trace.ranks, core_flops, strict=True)]
    events, counts = zip(*arrays, strict=True)
    early = _match(trace, events)
    cautions = list(trace.cautions)
    if estimated:
        calls = number_of(estimated, "call")
        cautions.append(f"{calls} of MPI_Alltoallv or MPI_Alltoallw: blocks are estimated from the sums of each rank")
    if len(early):
        said = f"clocks of the ranks disagree: {len(early)} of {_receives(events)} messages are received"
        cautions.append(f"{said} before they are sent, by up to {early.max():.3g} s; only times within ranks are used")
    return Recording(
        events=events,
        counts=counts,
        communicators=tuple(trace.communicators),
        measured=True,
        cautions=tuple(cautions),
    )


def _arrays(rank: RankEvents, core_flops: float) -> tuple[npt.NDArray[np.void], npt.NDArray[np.int64]]:
    """Return the events of a rank and the counts of its vector collectives."""
    counts: list[int] = []
    for call in rank.collectives:
        if len(call.counts):
            call.row[REQUEST] = len(counts)
            counts += call.counts
    try:
        events = np.array([tuple(row) for row in rank.rows if row[KIND] != DROPPED], EVENT)
        vector = np.array(counts, np.int64)
    except (OverflowError, ValueError) as err:
        raise rank.broken("a number in it is too large") from err
    events["amount"] *= core_flops
    return events, vector


def _sized(trace: Trace) -> int:
    """Check the collective calls of all members and set their sizes; return how many were estimated."""
    calls: dict[int, dict[int, list[Collective]]] = {}
    for rank, recorded in enumerate(trace.ranks):
        for call in recorded.collectives:
            calls.setdefault(call.row[COMM], {}).setdefault(rank, []).append(call)
    estimated = 0
    for comm, by_rank in calls.items():
        members = trace.communicators[comm]
        made = {rank: len(by_rank.get(rank, ())) for rank in members}
        if len(set(made.values())) > 1:
            least, most = min(made, key=made.__getitem__), max(made, key=made.__getitem__)
            problem = f"rank {most} makes {made[most]} collective calls in a communicator, rank {least} {made[least]}"
            raise TraceError(trace.where, problem, "Give the trace of the whole run, with the files of all ranks")
        for together in zip(*(by_rank[rank] for rank in members), strict=True):
            estimated += _sized_call(trace, members, together)
    return estimated


def _sized_call(trace: Trace, members: Sequence[int], together: Sequence[Collective]) -> bool:
    """Check one collective call and set its sizes; return whether its blocks were estimated."""
    first = together[0].row
    for rank, call in zip(members, together, strict=True):
        if (call.row[OP], call.row[PEER]) != (first[OP], first[PEER]):
            said = f"rank {rank} calls {_named(call)} where rank {members[0]} calls {_named(together[0])}"
            raise TraceError(trace.where, said, "Give the files of one run, without any left out")
    op = Op(first[OP])
    if together[0].sent_bytes is not None:
        root = members.index(first[PEER]) if first[PEER] >= 0 else -1
        sent, received = [side.sent_bytes or 0 for side in together], [side.received_bytes for side in together]
        sizes = sizes_of(op, Bytes(sent, received, root))
        for at, call in enumerate(together):
            call.row[SIZE], call.counts = sizes.size_bytes[at], sizes.counts.get(at, ())
    for place, (rank, call) in enumerate(zip(members, together, strict=True)):
        if len(call.counts) and len(call.counts) != len(members):
            raise trace.ranks[rank].broken(f"{_named(call)} has {len(call.counts)} counts for {len(members)} members")
        if len(call.counts) and op in (Op.GATHERV, Op.SCATTERV, Op.ALLGATHERV):
            call.row[SIZE] = call.counts[place]  # the rank's own block
    return op is Op.ALLTOALLV and together[0].sent_bytes is not None


def _named(call: Collective) -> str:
    root = f" of root {call.row[PEER]}" if call.row[PEER] >= 0 else ""
    return f"MPI_{Op(call.row[OP]).name.capitalize()}{root}"


def _receives(events: Sequence[npt.NDArray[np.void]]) -> int:
    return sum(int((event["kind"] == Kind.RECV).sum()) for event in events)


def _match(trace: Trace, events: Sequence[npt.NDArray[np.void]]) -> npt.NDArray[np.float64]:
    """Set the size of each receive to that of its send; return by how much messages arrive before they are sent, s.

    The n-th receive of a pair, tag and communicator gets its n-th send.

    Raises:
        TraceError: Some messages are sent or received only.
    """
    ends = []
    for kind in (Kind.SEND, Kind.RECV):
        rows = [np.flatnonzero(event["kind"] == kind) for event in events]
        rank = np.repeat(np.arange(len(events)), [len(row) for row in rows])
        at = np.concatenate(rows)
        messages = np.concatenate([event[row] for event, row in zip(events, rows, strict=True)])
        source, target = (rank, messages["peer"]) if kind is Kind.SEND else (messages["peer"], rank)
        order = np.lexsort((messages["tag"], messages["comm"], target, source))
        keys = np.stack([source, target, messages["tag"], messages["comm"]], axis=1)[order]
        ends.append((keys.astype(np.int64), rank[order], at[order], messages[order]))
    (sent, _, _, sends), (received, rank, at, receives) = ends
    if sent.shape != received.shape or (sent != received).any():
        raise _unmatched(trace, sent, received)
    for sender, row, size_bytes in zip(rank.tolist(), at.tolist(), sends["size_bytes"].tolist(), strict=True):
        events[sender]["size_bytes"][row] = size_bytes
    arrived_s = [
        trace.ranks[source].arrived_s.get(number, np.inf)
        for source, number in zip(rank.tolist(), receives["request"].tolist(), strict=True)
    ]
    early_s = sends["clock_s"] - np.array(arrived_s, np.float64)
    return early_s[early_s > 0]


def _unmatched(trace: Trace, sent: npt.NDArray[np.int64], received: npt.NDArray[np.int64]) -> TraceError:
    """Return the error for messages that are only sent or only received."""
    numbers = [{key: len(list(same)) for key, same in groupby(map(tuple, keys.tolist()))} for keys in (sent, received)]
    key = min(key for key in {*numbers[0], *numbers[1]} if numbers[0].get(key) != numbers[1].get(key))
    times = [number_of(counts.get(key, 0), "message") for counts in numbers]
    problem = f"{times[0]} with tag {key[2]} from rank {key[0]} to rank {key[1]} sent, {times[1]} received"
    return TraceError(trace.where, problem, "Give the trace of the whole run, with the files of all ranks")
