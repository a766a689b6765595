"""Receives from any process: whose message each of them takes, found by evaluating the graph again and again.

A receive from any process takes the message that was sent first.  The dates of the sends tell which one that is, and
they depend on the earlier choices only.  So each evaluation makes at least the first choice right that was wrong before
it, and all those before stay right; the choices that no evaluation changes any more are those of the program.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

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


class _Sends(NamedTuple):
    """Messages to processes that receive from any: the earliest first, and in turns where nothing is known."""

    date: np.ndarray  # in units of _SAME_S; infinity: not known
    number: np.ndarray  # among the messages of its pair
    source: np.ndarray
    target: np.ndarray

    def to(self, target: int) -> _Sends:
        """Return the messages to a process."""
        return _Sends(*(column[self.target == target] for column in self))


def has_choices(events: Events) -> bool:
    """Return whether a process receives from any other, or replies."""
    return any(map(_chooses, events.of_process))


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
    resolved = _resolved(stream, events, _sends(events, None))
    for _ in range(MOST_EVALUATIONS):
        again = _resolved(stream, events, _sends(resolved, dates_of(resolved)))
        if all(map(_same_peers, again.of_process, resolved.of_process)):
            return again
        resolved = again
    problem = f"the order of its messages to receivers from any process changes after {MOST_EVALUATIONS} evaluations"
    raise OutOfRange(stream.application.where, problem, "Simulate it: python -m validation.blocks")


def _chooses(own: np.ndarray) -> bool:
    return bool((own["peer"] <= ANY).any())


def _same_peers(one: np.ndarray, other: np.ndarray) -> bool:
    return bool(np.array_equal(one["peer"], other["peer"]))


def _sends(events: Events, dates_s: Dates | None) -> _Sends:
    """Return the messages to processes that receive from any; without dates, those that name their receiver."""
    targets, dates = [], []
    for process, own in enumerate(events.of_process):
        target = own["peer"][np.flatnonzero((own["kind"] == Kind.MARK) & (own["op"] == SENT)) + 1]
        targets.append(target)
        dates.append(np.full(len(target), np.inf) if dates_s is None else np.round(dates_s[process] / _SAME_S))
    source = np.repeat(np.arange(len(targets)), [len(one) for one in targets])
    target, date = np.concatenate(targets), np.nan_to_num(np.concatenate(dates), nan=np.inf, posinf=np.inf)
    pair = source * len(targets) + target
    order = np.argsort(pair, kind="stable")
    begins = np.flatnonzero(np.diff(pair[order], prepend=-1))
    number = np.empty(len(pair), np.int64)
    number[order] = np.arange(len(pair)) - np.repeat(begins, np.diff([*begins, len(pair)]))
    order = np.lexsort((source, number, date))
    return _Sends(date[order], number[order], source[order], target[order])


def _resolved(stream: Stream, events: Events, sends: _Sends) -> Events:
    """Return the events with the choices that these dates of sends decide on."""
    made = [
        _chosen(stream, events, process, sends.to(process)) if _chooses(own) else own
        for process, own in enumerate(events.of_process)
    ]
    return Events(tuple(made), events.places, events.turns)


def _chosen(stream: Stream, events: Events, process: int, sends: _Sends) -> np.ndarray:
    """Return the events of a process with the source of each receive, and the target of each reply."""
    own = events.of_process[process].copy()
    names = {name: number for number, name in enumerate(stream.application.counts())}
    label = np.array([names[name] for name in stream.labels])
    receives = np.flatnonzero((own["kind"] == Kind.RECV) & (own["comm"] == 0))
    asked = own["tag"][receives]
    if (own["peer"][receives] == ANY).all() and len(np.unique(asked)) == 1:  # it takes one after the other
        sources = sends.source[(label[sends.source] == asked[0]) | (asked[0] == NONE)][: len(receives)]
    else:
        sources = _walked(own[receives], sends, label)
    if len(sources) < len(receives):
        where = events.places[int(own["site"][receives[len(sources)]]) - 1]
        problem = f"process {stream.indices[process]} of {stream.labels[process]} waits forever for a message"
        raise UserError(where, problem, "Check what the other processes do then")
    chosen = receives[own["peer"][receives] == ANY]
    own["peer"][receives], own["tag"][receives] = sources, 0
    replies = np.flatnonzero(own["peer"] == LATEST)
    before = np.searchsorted(chosen, replies) - 1
    if (before < 0).any():
        where = events.places[int(own["site"][replies[0]]) - 1]
        problem = f"process {stream.indices[process]} of {stream.labels[process]} replies before it has received"
        raise UserError(where, problem, "Receive from any process first")
    own["peer"][replies] = own["peer"][chosen[before]]
    return own


def _walked(receives: np.ndarray, sends: _Sends, label: np.ndarray) -> list[int]:
    """Return the source of each receive, up to the first from any for which no message is left."""
    queues: dict[int, deque[_Key]] = {}
    for key in zip(sends.date.tolist(), sends.number.tolist(), sends.source.tolist(), strict=True):
        queues.setdefault(key[2], deque()).append(key)
    heads: dict[int, list[_Key]] = {}  # by label; NONE: of all labels

    def show(source: int) -> None:
        for kind in (NONE, int(label[source])):
            heappush(heads.setdefault(kind, []), queues[source][0])

    for source in queues:
        show(source)
    found: list[int] = []
    for peer, tag in zip(receives["peer"].tolist(), receives["tag"].tolist(), strict=True):
        source = _first(heads.get(tag, []), queues) if peer == ANY else peer
        if source == NONE:
            break
        found.append(source)
        if queues.get(source):
            queues[source].popleft()
            if queues[source]:
                show(source)
    return found


def _first(heap: list[_Key], queues: dict[int, deque[_Key]]) -> int:
    """Return the source of the first message; NONE if there is none left."""
    while heap:
        source = heap[0][2]
        if queues[source] and queues[source][0] == heap[0]:
            return source
        heappop(heap)  # another receive has taken it
    return NONE
