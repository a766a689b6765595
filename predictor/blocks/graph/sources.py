"""Receives from any process: whose message each of them takes, found by evaluating the graph again and again.

A receive from any process takes the message that was sent first.  The dates of the sends tell which one that is, and
they depend on the earlier choices only.  So each evaluation makes at least the first choice right that was wrong before
it, and all those before stay right; the choices that no evaluation changes any more are those of the program.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from heapq import heappop, heappush

import numpy as np

from apps.recording.events import Kind
from platforms.errors import UserError
from predictor.base import OutOfRange
from predictor.blocks.graph.events import ANY, LATEST, SENT, Events
from predictor.blocks.stream.instructions import NONE, Stream

MOST_EVALUATIONS = 1000
_SAME_S = 1e-9  # sends less than this apart count as simultaneous: they are taken in the order of the processes

Dates = Sequence[np.ndarray]  # by process: dates of its marks SENT, s; NaN for those that it has not reached
_Key = tuple[float, int, int]  # date of a send, its number among those of its pair, and its process


def has_choices(events: Events) -> bool:
    """Return whether a process receives from any other."""
    return any((own["peer"] == ANY).any() for own in events.of_process)


def settled(stream: Stream, events: Events, dates_of: Callable[[Events], Dates]) -> Events:
    """Return the events in which every receive names its sender, and every reply its receiver.

    Args:
        stream: The instructions, for the labels of the processes.
        events: Their events.
        dates_of: Function that evaluates events and returns the dates of the sends.

    Raises:
        UserError: If a process receives from any when no message is left for it, or replies to nobody.
        OutOfRange: If the choices go on changing.
    """
    resolved = _resolved(stream, events, None)
    for _ in range(MOST_EVALUATIONS):
        again = _resolved(stream, events, _sends(resolved, dates_of(resolved)))
        if all(
            np.array_equal(a["peer"], b["peer"]) for a, b in zip(again.of_process, resolved.of_process, strict=True)
        ):
            return again
        resolved = again
    problem = f"the order of its messages to receivers from any process changes after {MOST_EVALUATIONS} evaluations"
    raise OutOfRange(stream.application.where, problem, "Simulate it: python -m validation.blocks")


def _same_peers(one: np.ndarray, other: np.ndarray) -> bool:
    return bool(np.array_equal(one["peer"], other["peer"]))


def _sends(events: Events, dates_s: Dates) -> dict[tuple[int, int], list[float]]:
    """Return the dates of the messages of each pair of processes, in the order of their sends."""
    found: dict[tuple[int, int], list[float]] = defaultdict(list)
    for process, (own, dates) in enumerate(zip(events.of_process, dates_s, strict=True)):
        peers = own["peer"][np.flatnonzero((own["kind"] == Kind.MARK) & (own["op"] == SENT)) + 1]
        for peer, date_s in zip(peers.tolist(), dates.tolist(), strict=True):
            found[process, peer].append(date_s)
    return found


def _resolved(stream: Stream, events: Events, sends: dict[tuple[int, int], list[float]] | None) -> Events:
    """Return the events with the choices that these dates of sends decide on.

    None: all messages that name their receiver are sent in turns, the first ones of all processes first.
    """
    made = []
    for process, own in enumerate(events.of_process):
        made.append(_chosen(stream, events, process, sends) if (own["peer"] == ANY).any() else own)
    return Events(tuple(made), events.places, events.turns)


def _chosen(
    stream: Stream, events: Events, process: int, sends: dict[tuple[int, int], list[float]] | None
) -> np.ndarray:
    own = events.of_process[process].copy()
    queues = _queues(events, process, sends)
    heads: dict[int, list[_Key]] = {}  # by label; NONE: of all labels
    labels = {name: number for number, name in enumerate(dict.fromkeys(stream.labels))}
    for source, queue in queues.items():
        for label in (NONE, labels[stream.labels[source]]):
            heappush(heads.setdefault(label, []), queue[0])
    receives = np.flatnonzero((own["kind"] == Kind.RECV) & (own["comm"] == 0))
    sources = np.full(len(own), NONE)
    for at in receives.tolist():
        source = int(own["peer"][at])
        if source == ANY:
            source = _first(heads.get(int(own["tag"][at]), []), queues)
            if source == NONE:
                where = events.places[int(own["site"][at]) - 1]
                who = f"process {stream.indices[process]} of {stream.labels[process]}"
                raise UserError(where, f"{who} waits forever for a message", "Check what the other processes do then")
            own["peer"][at], own["tag"][at] = source, 0
            sources[at] = source
        if source in queues:
            queues[source].popleft()
            if queues[source]:
                for label in (NONE, labels[stream.labels[source]]):
                    heappush(heads[label], queues[source][0])
    _reply(stream, events, process, own, sources)
    return own


def _first(heap: list[_Key], queues: dict[int, deque[_Key]]) -> int:
    """Return the source of the first message; NONE if there is none left."""
    while heap:
        source = heap[0][2]
        if queues[source] and queues[source][0] == heap[0]:
            return source
        heappop(heap)  # another receive has taken it
    return NONE


def _queues(events: Events, process: int, sends: dict[tuple[int, int], list[float]] | None) -> dict[int, deque[_Key]]:
    """Return the messages to a process, by source, in their order."""
    queues = {}
    for source, own in enumerate(events.of_process):
        if sends is None:
            count = np.count_nonzero((own["kind"] == Kind.SEND) & (own["comm"] == 0) & (own["peer"] == process))
            dates_s = [np.inf] * count
        else:
            dates_s = sends.get((source, process), [])
        keys = [(_rounded(date_s), number, source) for number, date_s in enumerate(dates_s)]
        if keys:
            queues[source] = deque(keys)
    return queues


def _rounded(date_s: float) -> float:
    return np.inf if not np.isfinite(date_s) else round(date_s / _SAME_S)


def _reply(stream: Stream, events: Events, process: int, own: np.ndarray, sources: np.ndarray) -> None:
    """Send each reply to the source of the latest receive from any before it."""
    replies = np.flatnonzero(own["peer"] == LATEST)
    chosen = np.flatnonzero(sources != NONE)
    before = np.searchsorted(chosen, replies) - 1
    if (before < 0).any():
        where = events.places[int(own["site"][replies[0]]) - 1]
        who = f"process {stream.indices[process]} of {stream.labels[process]}"
        raise UserError(where, f"{who} replies before it has received", "Receive from any process first")
    own["peer"][replies] = sources[chosen[before]]
