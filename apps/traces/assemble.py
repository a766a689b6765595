"""Recordings from the events of all ranks: messages are matched, collective calls are checked, clocks compared."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np
import numpy.typing as npt

from apps.errors import TraceError
from apps.recording.events import EVENT, Kind, Op, Recording
from apps.traces.events import COMM, DROPPED, KIND, OP, PEER, REQUEST, SIZE, Collective, RankEvents, Trace
from apps.traces.sizes import Bytes, sizes_of
from platforms.wording import number_of


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
