"""Both ends of every message in recordings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from apps.recording.events import Kind
from predictor.learned.skeleton import Trace

_ENDS = (Kind.SEND, Kind.RECV)


class Pairs(NamedTuple):
    """Both ends of every message, as places in the events of all traces, one trace behind the other."""

    sends: np.ndarray
    receives: np.ndarray


def pairs_of(traces: Sequence[Trace]) -> Pairs:
    """Return the messages of recordings; none where sends and receives do not match."""
    kind, peer, tag, comm = (
        np.concatenate([trace.events[name].astype(np.int64) for trace in traces])
        for name in ("kind", "peer", "tag", "comm")
    )
    lengths = [len(trace.events) for trace in traces]
    rank = np.repeat([trace.rank for trace in traces], lengths)
    nranks = np.repeat([trace.nranks for trace in traces], lengths)
    sides = []
    for end in _ENDS:
        which = np.flatnonzero(kind == end)
        ends = (rank[which], peer[which]) if end == Kind.SEND else (peer[which], rank[which])
        columns = [nranks[which], *ends, tag[which], comm[which]]
        order = np.lexsort((which, *reversed(columns)))
        sides.append((which[order], np.stack(columns)[:, order]))
    (sends, sent), (receives, received) = sides
    if not np.array_equal(sent, received):
        return Pairs(np.zeros(0, np.int64), np.zeros(0, np.int64))
    return Pairs(sends, receives)
