"""Receives from any source, in an order that does not depend on time."""

from __future__ import annotations

import numpy as np

from apps.recording.events import FROM_ANY, Kind

_MESSAGE = ("peer", "tag", "size_bytes")


def by_source(events: np.ndarray) -> np.ndarray:
    """Return the events of a rank, with consecutive receives from any source sorted by source.

    Which of them gets which message depends on which comes first.  Between them may be nothing but waits for them.
    """
    any_source = (events["kind"] == Kind.RECV) & (events["mode"] == FROM_ANY)
    if any_source.sum() < 2:
        return events
    receives = np.flatnonzero(any_source)
    other = np.cumsum(~any_source & (events["kind"] != Kind.WAIT))
    begins = np.flatnonzero(np.append(True, (np.diff(other[receives]) > 0) | (np.diff(events["site"][receives]) != 0)))
    made: np.ndarray = events.copy()
    for first, last in zip(begins.tolist(), [*begins[1:].tolist(), len(receives)], strict=True):
        run = receives[first:last]
        begun = set(events["request"][run].tolist())
        waits = events["request"][run[0] : run[-1] + 1][events["kind"][run[0] : run[-1] + 1] == Kind.WAIT]
        if len(run) > 1 and set(waits.tolist()) <= begun:
            order = run[np.lexsort(tuple(events[name][run] for name in reversed(_MESSAGE)))]
            for name in _MESSAGE:
                made[name][run] = events[name][order]
    return made
