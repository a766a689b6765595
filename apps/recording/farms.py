"""Farms in a recording: ranks that serve requests in order of arrival, so the course depends on host speeds."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from apps.recording.events import FROM_ANY, Kind, Recording


@lru_cache(maxsize=1)  # a search asks for every configuration on as many ranks
def answers_in_turn(recording: Recording) -> int:
    """Return how many messages from any source, with several senders per receiver, are answered before the next.

    The arrival order of messages then decides what each sender does next, as with the master of a farm.  It does not
    for receives from any source that are not answered, or whose tag names the sender.
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
