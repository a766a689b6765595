"""Farms in a recording: ranks that serve whoever comes first, so that the course depends on the speeds of the hosts."""

from __future__ import annotations

import numpy as np

from apps.recording.events import FROM_ANY, Kind, Recording


def answers_in_turn(recording: Recording) -> int:
    """Return how many messages from any source, of several senders of one rank, are answered before the next one.

    The receiver then decides what the sender does by the order in which messages come, as the master of a farm does.
    Receives from any source that are not answered, or whose tag names the sender, decide nothing.
    """
    return sum(_of_rank(events) for events in recording.events)


def _of_rank(events: np.ndarray) -> int:
    received = np.flatnonzero((events["kind"] == Kind.RECV) & (events["mode"] == FROM_ANY))
    if len(received) < 2:
        return 0
    sent = np.flatnonzero(events["kind"] == Kind.SEND)
    peers, tags = events["peer"], events["tag"]
    senders: dict[tuple[int, int], set[int]] = {}
    for at in received.tolist():
        senders.setdefault((int(events["comm"][at]), int(tags[at])), set()).add(int(peers[at]))
    answered = 0
    for at, until in zip(received.tolist(), [*received[1:].tolist(), len(events)], strict=True):
        between = sent[np.searchsorted(sent, at) : np.searchsorted(sent, until)]
        several = len(senders[int(events["comm"][at]), int(tags[at])]) > 1
        answered += several and bool((peers[between] == peers[at]).any())
    return answered
