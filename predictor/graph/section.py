"""The timed section of a recording."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from apps.recording.events import Kind, Mark, Recording


def timed_section(recording: Recording) -> Recording:
    """Return the events of each rank in the timed section; a missing mark of its start or stop cuts nothing off.

    A receive that was posted before the section, and for which the rank waits in it, as that of a ready send, belongs
    to its beginning.
    """
    cut = []
    for events in recording.events:
        marks = events["kind"] == Kind.MARK
        starts, stops = (np.flatnonzero(marks & (events["op"] == mark)) for mark in (Mark.START, Mark.STOP))
        begin = starts[0] + 1 if len(starts) else 0
        before, inside = events[:begin], events[begin : stops[0] if len(stops) else len(events)]
        cut.append(np.concatenate([_posted(before, inside), inside]))
    return replace(recording, events=tuple(cut))


def _posted(before: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """Return the receives among the events before a section for which its rank waits only in the section."""
    waited, done = (part["request"][part["kind"] == Kind.WAIT] for part in (inside, before))
    posted = (before["kind"] == Kind.RECV) & np.isin(before["request"], waited) & ~np.isin(before["request"], done)
    found: np.ndarray = before[posted]
    return found
