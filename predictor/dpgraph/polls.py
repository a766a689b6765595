"""Polls in a recording, such as loops of MPI_Test: repeated polls become loops.

How often a program polls depends on the network.  If a poll fails and is repeated from the same place, with only
computation and other failed polls in between, it is repeated until it finds what it found in the recording.
``MPI_Testsome`` and ``MPI_Testany`` must find as many requests as in the recording, but not necessarily the same ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from apps.recording.events import Kind, PollKind, Recording
from predictor.dpgraph.instructions import AGAIN, ANY, EACH, FOR, FOUND, RECEIVED, SEND, SENT, Polls

_MOST_OTHERS = 64  # messages that a poll may find instead of the recorded one
BACK_EVENT = 250  # kind of an added event; its `request` is the number of events to go back
_STYLES = {PollKind.EACH: EACH, PollKind.SOME: EACH, PollKind.ANY: ANY, PollKind.FOR: FOR}


class Poll(NamedTuple):
    """A poll of a rank."""

    style: int
    need: int  # operations that must be complete; 0: the poll is made once
    skip: int  # number of events to skip once they are complete
    numbers: tuple[int, ...]  # of the operations; -1: one that never completes
    found: frozenset[int]  # those complete in the recording when the poll ends
    # Indices of the PROBE events of the message that it polls for and of those that it could find instead; empty: none.
    probes: tuple[int, ...]


@dataclass
class PollingRank:
    """A rank's polls, and its events, in which `request` of each POLL event is the index of its poll."""

    events: np.ndarray
    polls: list[Poll] = field(default_factory=list)


def has_polls(recording: Recording) -> bool:
    """Tell whether ranks poll for messages in the recording."""
    return any((events["kind"] == Kind.POLL).any() for events in recording.events)


def with_loops(ranks: Sequence[np.ndarray], counts: Sequence[np.ndarray]) -> list[PollingRank]:
    """Return the events of all ranks, with repeated polls as loops.

    If the first poll at a place succeeded, the recording does not show what the rank does between two polls.  The rank
    then computes what it computed there at another time, or what another rank computed there.
    """
    seen = [_Folding(events, counted, {}) for events, counted in zip(ranks, counts, strict=True)]
    for folding in seen:
        folding.made()
    anywhere: dict[int, np.ndarray] = {}
    for folding in reversed(seen):
        anywhere |= folding.computed
    return [
        _Folding(events, counted, anywhere | folding.computed).made()
        for events, counted, folding in zip(ranks, counts, seen, strict=True)
    ]


def polls_of(
    ranks: Sequence[np.ndarray],
    polls: Sequence[Sequence[Poll]],
    place: np.ndarray,
    *,
    code: np.ndarray,
    argument: np.ndarray,
) -> Polls:
    """Return the polls of all ranks for the messages of a program.

    Args:
        ranks: The events of each rank.
        polls: The polls of each rank.
        place: Index of the first instruction of each event, then the number of instructions.
        code: The instructions.
        argument: The argument of each instruction.
    """
    styles: list[int] = []
    needs: list[int] = []
    wants: list[list[int]] = []
    expected: list[bool] = []
    begin = 0
    for events, polls_of_rank in zip(ranks, polls, strict=True):
        posts = np.flatnonzero((events["kind"] == Kind.SEND) | (events["kind"] == Kind.RECV))
        at = place[begin + posts]
        side = np.where(code[at] == SEND, SENT, RECEIVED)
        known = dict(zip(events["request"][posts].tolist(), (4 * argument[at] + side).tolist(), strict=True))
        for poll in polls_of_rank:
            need, want, already = _wanted(poll, known)
            if poll.probes:
                probes = [begin + probe for probe in poll.probes if probe < len(events)]
                want = [4 * int(argument[place[i]]) + FOUND for i in probes if place[i] < place[i + 1]]
                already = [False] * len(want)
            styles.append(AGAIN if poll.style == EACH and poll.numbers[:1] == (-1,) else poll.style)
            needs.append(max(need, 1) if poll.need else 0)
            wants.append(want)
            expected += already
        begin += len(events)
    return Polls(
        style=np.array(styles, np.uint8),
        need=np.array(needs, np.int32),
        skip=np.array([poll.skip for polls_of_rank in polls for poll in polls_of_rank], np.int32),
        first=np.concatenate([[0], np.cumsum([len(want) for want in wants])]).astype(np.int64),
        want=np.array([number for want in wants for number in want], np.int32),
        expected=np.array(expected, np.uint8),
        other=np.zeros(1, np.int64),
    )


def _wanted(poll: Poll, known: Mapping[int, int]) -> tuple[int, list[int], list[bool]]:
    """Return how many operations a poll needs, which ones it tests, and which the recording completed."""
    want = [known.get(number, -1) for number in poll.numbers]  # -1 also for cancelled operations
    already = [number in poll.found for number in poll.numbers]
    need = poll.need - (want.count(-1) - poll.numbers.count(-1))
    if poll.style == ANY:  # SimGrid tests only receives here
        received = [i for i, number in enumerate(want) if number >= 0 and number & 3 == RECEIVED]
        need -= len(want) - len(received)
        want, already = [want[i] for i in received], [already[i] for i in received]
    return need, want, already


@dataclass
class _Series:
    """Looks for some of the same operations."""

    numbers: tuple[int, ...]
    found: frozenset[int] = frozenset()


class _Found(NamedTuple):
    """A message found by a poll."""

    poll: int
    probe: int  # index of its PROBE in the new events
    event: int  # the same in the recorded events
    wild: int  # bit 1: the poll accepts any source; bit 2: any tag
    answers: bool  # the rank replies before it polls again


class _Folding:
    """Turns the repeated polls of one rank into loops."""

    def __init__(self, events: np.ndarray, counts: np.ndarray, known: Mapping[int, np.ndarray]):
        self.computed: dict[int, np.ndarray] = {}  # by place: the first computation recorded between two polls
        self._known, self._rows = known, [events]  # the recorded events, then those added
        self._events, self._counts = events, counts
        self._kinds = events["kind"].tolist()
        self._length = len(events)  # of the recorded events
        self._latest = -1, -1  # index after the latest successful poll, and its place
        self._made: list[int] = []  # the new events, as indices of recorded or added ones; -1: goes back
        self._numbered: dict[int, int] = {}  # by index of a new event: its request
        self._polls: list[Poll] = []
        self._series: dict[int, _Series] = {}  # by place
        self._bodies: dict[int, list[int]] = {}  # by place: the latest events between two polls
        self._searched: list[tuple[int, int]] = []  # failed polls for a message: index of the poll, place
        self._found: dict[int, list[_Found]] = {}  # by place

    def made(self) -> PollingRank:
        """Return the rank's events with loops."""
        at, end = 0, len(self._kinds)
        while at < end:
            begin = at
            while at < end and self._is_local(at):
                at += 1
            if at < end and self._kinds[at] == Kind.POLL:
                at = self._until_found(begin, at)
                continue
            self._once(range(begin, at))
            begin = at
            while at < end and not self._is_local(at) and self._kinds[at] != Kind.POLL:
                at += 1
            self._made += range(begin, at)
        self._aim()
        return PollingRank(self._events_made(), self._polls)

    def _events_made(self) -> np.ndarray:
        made = np.array(self._made, np.int64)
        events = np.concatenate(self._rows)[made]
        events["kind"][made < 0] = BACK_EVENT
        events["request"][list(self._numbered)] = list(self._numbered.values())
        return events

    def _is_local(self, at: int) -> bool:
        """Tell whether an event may be repeated: it is local and not a successful poll."""
        kind = self._kinds[at]
        if kind == Kind.POLL:
            return not self._events["mode"][at] & 1
        return kind in (Kind.COMPUTE, Kind.ELAPSE) or (kind == Kind.WAIT and self._is_found(at))

    def _is_found(self, at: int) -> bool:
        """Tell whether an event is a WAIT for an operation that a poll completed."""
        return at < self._length and self._kinds[at] == Kind.WAIT and bool(self._events["mode"][at])

    def _place(self, at: int) -> int:
        event = self._events[at]
        return int(event["request"] if event["op"] == PollKind.FOR else event["tag"])

    def _numbers(self, at: int) -> tuple[int, ...]:
        event = self._events[at]
        if event["op"] == PollKind.FOR:
            return ()
        return tuple(self._counts[event["request"] : event["request"] + event["size_bytes"]].tolist())

    def _poll(
        self, at: int, need: int, skip: int, numbers: tuple[int, ...], already: frozenset[int] = frozenset()
    ) -> None:
        self._numbered[len(self._made)] = len(self._polls)
        self._made.append(at)
        self._polls.append(Poll(_STYLES[PollKind(self._events["op"][at])], need, skip, numbers, already, ()))

    def _once(self, indices: Sequence[int], *, waits: bool = True) -> None:
        """Add events that are not repeated; failed polls among them are made once."""
        for at in indices:
            kind = self._kinds[at]
            if kind == Kind.POLL:
                if self._events["op"][at] == PollKind.FOR:
                    self._searched.append((len(self._polls), self._place(at)))
                self._poll(at, 0, 1, self._numbers(at))
            elif kind != Kind.WAIT or waits:
                self._made.append(at)

    def _added(self, events: np.ndarray) -> list[int]:
        """Add events recorded elsewhere, and return their indices."""
        begin = len(self._kinds)
        self._rows.append(events)
        self._events = np.concatenate(self._rows)
        self._kinds += events["kind"].tolist()
        return list(range(begin, len(self._kinds)))

    def _until_found(self, begin: int, at: int) -> int:
        """Add the events from ``begin`` on and the successful poll at ``at``; return the index after it."""
        place, numbers, style = self._place(at), self._numbers(at), self._events["op"][at]
        end = at + 1
        while self._is_found(end):
            end += 1
        same = [
            i
            for i in range(begin, at)
            if self._kinds[i] == Kind.POLL
            and self._place(i) == place
            and self._events["op"][i] == style
            and set(numbers) <= set(self._numbers(i))
        ]
        if same:
            self._once(range(begin, same[0]))
            self._bodies[place] = body = [i for i in range(same[-1] + 1, at) if self._kinds[i] != Kind.WAIT]
            self.computed.setdefault(place, self._events[[i for i in body if self._computes(i)]])
            numbers = self._numbers(same[0])
        else:
            self._once(range(begin, at))
            if style in (PollKind.SOME, PollKind.ANY) and self._latest == (begin, place):
                self.computed.setdefault(place, self._events[[i for i in range(begin, at) if self._computes(i)]])
        if place not in self._bodies and place in self._known:
            self._bodies[place] = self._added(self._known[place])
        body = self._bodies.get(place, [])
        need, already = 1 if style == PollKind.FOR else len(numbers) - numbers.count(-1), frozenset(numbers)
        if style in (PollKind.SOME, PollKind.ANY):
            series = self._series.get(place)
            if (
                series is None
                or not set(numbers) <= set(series.numbers)
                or len(series.found) + len(numbers) > len(series.numbers)
            ):
                series = self._series[place] = _Series(numbers)
            series.found |= frozenset(self._events["request"][at + 1 : end].tolist())
            need, numbers, already = len(series.found), series.numbers, series.found
        self._poll(at, need, len(body) + 2, numbers, already)
        self._once(body, waits=False)
        self._numbered[len(self._made)] = len(body) + 1
        self._made.append(-1)
        if style == PollKind.FOR and end < self._length and self._kinds[end] == Kind.PROBE:
            poll = len(self._polls) - 1 - sum(self._kinds[i] == Kind.POLL for i in body)
            wild = int(self._events["mode"][at]) >> 1
            self._found.setdefault(place, []).append(_Found(poll, len(self._made), end, wild, self._answers(end)))
            self._made.append(end)
            end += 1
        self._latest = end, place
        return end

    def _computes(self, at: int) -> bool:
        return self._kinds[at] in (Kind.COMPUTE, Kind.ELAPSE)

    def _aim(self) -> None:
        """Assign to each poll for a message the message it found, and those found later at the same place.

        A failed poll gets the message that was found next.
        """
        for aims in self._found.values():
            for i, aim in enumerate(aims):
                others = [other for other in aims[i + 1 : i + _MOST_OTHERS] if self._could_be(aim, other)]
                need = 2 if aim.answers or any(other.answers for other in others) else 1
                probes = (aim.probe, *(other.probe for other in others))
                self._polls[aim.poll] = self._polls[aim.poll]._replace(probes=probes, need=need)
        for poll, place in self._searched:
            later = [aim.probe for aim in self._found.get(place, ()) if aim.poll >= poll]
            self._polls[poll] = self._polls[poll]._replace(probes=tuple(later[:1]))

    def _answers(self, at: int) -> bool:
        """Tell whether the rank sends to the source of a message before it polls again or waits for something else."""
        source, begun = self._events["peer"][at], set()
        for i in range(at + 1, self._length):
            kind, event = self._kinds[i], self._events[i]
            if kind == Kind.SEND and event["peer"] == source:
                return True
            if kind in (Kind.POLL, Kind.MARK) or (kind == Kind.WAIT and event["request"] not in begun):
                return False
            if kind in (Kind.SEND, Kind.RECV):
                begun.add(event["request"])
        return False

    def _could_be(self, message: _Found, other: _Found) -> bool:
        """Tell whether a poll that found one message could have found the other."""
        first, second = self._events[message.event], self._events[other.event]
        return bool(
            first["comm"] == second["comm"]
            and (message.wild & 1 or first["peer"] == second["peer"])
            and (message.wild & 2 or first["tag"] == second["tag"])
        )
