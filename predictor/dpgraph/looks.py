"""Looks for messages in a recording, such as loops of MPI_Test: those that are repeated become loops.

How often a program looks depends on the network.  Where it looks in vain and then again from the same place, with
nothing but computation and other looks in vain in between, it does so until it finds what it has found in the
recording.  Of requests that are alike to the program (``MPI_Testsome``, ``MPI_Testany``), as many must have been found
as in the recording, whichever they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from apps.recording.events import Kind, Look, Recording
from predictor.dpgraph.instructions import AGAIN, ANY, EACH, FOR, FOUND, RECEIVED, SEND, SENT, Polls

_MOST_OTHERS = 64  # messages that a look is given beside its own
BACK_EVENT = 250  # kind of an event that the recording does not have: `request` is the number of events to go back
_STYLES = {Look.EACH: EACH, Look.SOME: EACH, Look.ANY: ANY, Look.FOR: FOR}


class OneLook(NamedTuple):
    """A look of a rank."""

    style: int
    need: int  # operations that must have been found; 0: it is made once
    skip: int  # events behind it at which the rank goes on when it has found them
    numbers: tuple[int, ...]  # of the operations; -1: none that is ever complete
    found: frozenset[int]  # those that the recording has found when the look is over
    # Indices of the PROBE events of the message that it looks for and of those that it could find instead; empty: none.
    probes: tuple[int, ...]


@dataclass
class LookingRank:
    """A rank's events, in which each LOOK has the index of its look as request, and its looks."""

    events: np.ndarray
    looks: list[OneLook] = field(default_factory=list)


def has_looks(recording: Recording) -> bool:
    """Tell whether the recording has looks for messages."""
    return any((events["kind"] == Kind.LOOK).any() for events in recording.events)


def with_loops(ranks: Sequence[np.ndarray], counts: Sequence[np.ndarray]) -> list[LookingRank]:
    """Return the events of all ranks, with looks that are repeated as loops.

    Where the recording does not show what a rank does between two looks from a place, because it has found something at
    once, it computes what it, or else another rank, has computed there.
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


def looks_at(
    ranks: Sequence[np.ndarray],
    looks: Sequence[Sequence[OneLook]],
    place: np.ndarray,
    *,
    code: np.ndarray,
    argument: np.ndarray,
) -> Polls:
    """Return the looks of all ranks at the messages of a program.

    Args:
        ranks: The events of each rank.
        looks: The looks of each rank.
        place: The instruction of each event, and the number of instructions.
        code: The instructions.
        argument: The argument of each instruction.
    """
    styles: list[int] = []
    needs: list[int] = []
    wants: list[list[int]] = []
    expected: list[bool] = []
    begin = 0
    for events, looks_of_rank in zip(ranks, looks, strict=True):
        posts = np.flatnonzero((events["kind"] == Kind.SEND) | (events["kind"] == Kind.RECV))
        at = place[begin + posts]
        side = np.where(code[at] == SEND, SENT, RECEIVED)
        known = dict(zip(events["request"][posts].tolist(), (4 * argument[at] + side).tolist(), strict=True))
        for look in looks_of_rank:
            need, want, already = _wanted(look, known)
            if look.probes:
                probes = [begin + probe for probe in look.probes if probe < len(events)]
                want = [4 * int(argument[place[i]]) + FOUND for i in probes if place[i] < place[i + 1]]
                already = [False] * len(want)
            styles.append(AGAIN if look.style == EACH and look.numbers[:1] == (-1,) else look.style)
            needs.append(max(need, 1) if look.need else 0)
            wants.append(want)
            expected += already
        begin += len(events)
    return Polls(
        style=np.array(styles, np.uint8),
        need=np.array(needs, np.int32),
        skip=np.array([look.skip for looks_of_rank in looks for look in looks_of_rank], np.int32),
        first=np.concatenate([[0], np.cumsum([len(want) for want in wants])]).astype(np.int64),
        want=np.array([number for want in wants for number in want], np.int32),
        expected=np.array(expected, np.uint8),
        other=np.zeros(1, np.int64),
    )


def _wanted(look: OneLook, known: Mapping[int, int]) -> tuple[int, list[int], list[bool]]:
    """Return how many operations a look needs, which ones it is at, and whether the recording has found each."""
    want = [known.get(number, -1) for number in look.numbers]  # -1 also for one that is cancelled later
    already = [number in look.found for number in look.numbers]
    need = look.need - (want.count(-1) - look.numbers.count(-1))
    if look.style == ANY:  # SimGrid looks only at messages whose operation waits for them
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
    """A message that a look has found."""

    look: int
    probe: int  # index of its PROBE among the new events
    event: int  # the same, among the old ones
    wild: int  # the look is for any source (1), any tag (2)
    answers: bool  # the rank sends something before it looks again


class _Folding:
    """The making of loops from one rank's events."""

    def __init__(self, events: np.ndarray, counts: np.ndarray, known: Mapping[int, np.ndarray]):
        self.computed: dict[int, np.ndarray] = {}  # by place: the computation that was seen first between two looks
        self._known, self._rows = known, [events]  # the events, then those that are added
        self._events, self._counts = events, counts
        self._kinds = events["kind"].tolist()
        self._length = len(events)  # of the recording
        self._latest = -1, -1  # index behind the latest look that found, and its place
        self._made: list[int] = []  # the new events, by their indices among the old ones; -1: goes back
        self._numbered: dict[int, int] = {}  # by index of a new event: its request
        self._looks: list[OneLook] = []
        self._series: dict[int, _Series] = {}  # by place
        self._bodies: dict[int, list[int]] = {}  # by place: what was last done between two looks
        self._searched: list[tuple[int, int]] = []  # looks in vain for a message: index of the look, place
        self._found: dict[int, list[_Found]] = {}  # by place

    def made(self) -> LookingRank:
        """Return the rank's events with loops."""
        at, end = 0, len(self._kinds)
        while at < end:
            begin = at
            while at < end and self._is_local(at):
                at += 1
            if at < end and self._kinds[at] == Kind.LOOK:
                at = self._until_found(begin, at)
                continue
            self._once(range(begin, at))
            begin = at
            while at < end and not self._is_local(at) and self._kinds[at] != Kind.LOOK:
                at += 1
            self._made += range(begin, at)
        self._aim()
        return LookingRank(self._events_made(), self._looks)

    def _events_made(self) -> np.ndarray:
        made = np.array(self._made, np.int64)
        events = np.concatenate(self._rows)[made]
        events["kind"][made < 0] = BACK_EVENT
        events["request"][list(self._numbered)] = list(self._numbered.values())
        return events

    def _is_local(self, at: int) -> bool:
        """Tell whether an event may be repeated: it is local, and no look that finds."""
        kind = self._kinds[at]
        if kind == Kind.LOOK:
            return not self._events["mode"][at] & 1
        return kind in (Kind.COMPUTE, Kind.ELAPSE) or (kind == Kind.WAIT and self._is_found(at))

    def _is_found(self, at: int) -> bool:
        """Tell whether an event is a WAIT for what a look has found."""
        return at < self._length and self._kinds[at] == Kind.WAIT and bool(self._events["mode"][at])

    def _place(self, at: int) -> int:
        event = self._events[at]
        return int(event["request"] if event["op"] == Look.FOR else event["tag"])

    def _numbers(self, at: int) -> tuple[int, ...]:
        event = self._events[at]
        if event["op"] == Look.FOR:
            return ()
        return tuple(self._counts[event["request"] : event["request"] + event["size_bytes"]].tolist())

    def _look(
        self, at: int, need: int, skip: int, numbers: tuple[int, ...], already: frozenset[int] = frozenset()
    ) -> None:
        self._numbered[len(self._made)] = len(self._looks)
        self._made.append(at)
        self._looks.append(OneLook(_STYLES[Look(self._events["op"][at])], need, skip, numbers, already, ()))

    def _once(self, indices: Sequence[int], *, waits: bool = True) -> None:
        """Add events that are not repeated; looks in vain among them are made once."""
        for at in indices:
            kind = self._kinds[at]
            if kind == Kind.LOOK:
                if self._events["op"][at] == Look.FOR:
                    self._searched.append((len(self._looks), self._place(at)))
                self._look(at, 0, 1, self._numbers(at))
            elif kind != Kind.WAIT or waits:
                self._made.append(at)

    def _added(self, events: np.ndarray) -> list[int]:
        """Add events of another time or rank, and return their indices."""
        begin = len(self._kinds)
        self._rows.append(events)
        self._events = np.concatenate(self._rows)
        self._kinds += events["kind"].tolist()
        return list(range(begin, len(self._kinds)))

    def _until_found(self, begin: int, at: int) -> int:
        """Add the events from ``begin`` on and the look at ``at``, which finds; return the index behind it."""
        place, numbers, style = self._place(at), self._numbers(at), self._events["op"][at]
        end = at + 1
        while self._is_found(end):
            end += 1
        same = [
            i
            for i in range(begin, at)
            if self._kinds[i] == Kind.LOOK
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
            if style in (Look.SOME, Look.ANY) and self._latest == (begin, place):
                self.computed.setdefault(place, self._events[[i for i in range(begin, at) if self._computes(i)]])
        if place not in self._bodies and place in self._known:
            self._bodies[place] = self._added(self._known[place])
        body = self._bodies.get(place, [])
        need, already = 1 if style == Look.FOR else len(numbers) - numbers.count(-1), frozenset(numbers)
        if style in (Look.SOME, Look.ANY):
            series = self._series.get(place)
            if (
                series is None
                or not set(numbers) <= set(series.numbers)
                or len(series.found) + len(numbers) > len(series.numbers)
            ):
                series = self._series[place] = _Series(numbers)
            series.found |= frozenset(self._events["request"][at + 1 : end].tolist())
            need, numbers, already = len(series.found), series.numbers, series.found
        self._look(at, need, len(body) + 2, numbers, already)
        self._once(body, waits=False)
        self._numbered[len(self._made)] = len(body) + 1
        self._made.append(-1)
        if style == Look.FOR and end < self._length and self._kinds[end] == Kind.PROBE:
            look = len(self._looks) - 1 - sum(self._kinds[i] == Kind.LOOK for i in body)
            wild = int(self._events["mode"][at]) >> 1
            self._found.setdefault(place, []).append(_Found(look, len(self._made), end, wild, self._answers(end)))
            self._made.append(end)
            end += 1
        self._latest = end, place
        return end

    def _computes(self, at: int) -> bool:
        return self._kinds[at] in (Kind.COMPUTE, Kind.ELAPSE)

    def _aim(self) -> None:
        """Give each look for a message the one that it finds, and those that were found later from the same place.

        A look in vain has the one that was found next.
        """
        for aims in self._found.values():
            for i, aim in enumerate(aims):
                others = [other for other in aims[i + 1 : i + _MOST_OTHERS] if self._could_be(aim, other)]
                need = 2 if aim.answers or any(other.answers for other in others) else 1
                probes = (aim.probe, *(other.probe for other in others))
                self._looks[aim.look] = self._looks[aim.look]._replace(probes=probes, need=need)
        for look, place in self._searched:
            later = [aim.probe for aim in self._found.get(place, ()) if aim.look >= look]
            self._looks[look] = self._looks[look]._replace(probes=tuple(later[:1]))

    def _answers(self, at: int) -> bool:
        """Tell whether the rank sends to the source of a message before it looks again or waits for anything else."""
        source, begun = self._events["peer"][at], set()
        for i in range(at + 1, self._length):
            kind, event = self._kinds[i], self._events[i]
            if kind == Kind.SEND and event["peer"] == source:
                return True
            if kind in (Kind.LOOK, Kind.MARK) or (kind == Kind.WAIT and event["request"] not in begun):
                return False
            if kind in (Kind.SEND, Kind.RECV):
                begun.add(event["request"])
        return False

    def _could_be(self, message: _Found, other: _Found) -> bool:
        """Tell whether a look for one message would find the other, too."""
        first, second = self._events[message.event], self._events[other.event]
        return bool(
            first["comm"] == second["comm"]
            and (message.wild & 1 or first["peer"] == second["peer"])
            and (message.wild & 2 or first["tag"] == second["tag"])
        )
