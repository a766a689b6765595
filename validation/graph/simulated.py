"""Times of a program's elements by place in the program, in a simulation: from events that the recorder notes.

T_exec is the time of the process that is longest in its timed section, as in the record of a run: processes do not
begin it at the same moment.  The critical path is followed backwards from the last process: where a process waits for a
message, on to the process that let the message begin last; out of a collective, on to the member that entered it last.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from apps.recording.events import Kind, Mark, Recording
from predictor.dpgraph.instructions import COMPUTE, SEND, SLEEP

if TYPE_CHECKING:
    from predictor.graph.dates import Step
    from predictor.graph.on_platform import Analysis

COMPUTATION, MPI = "computation", "MPI"
Element = tuple[str, str | None]  # COMPUTATION or MPI, and the place; None: not known


@dataclass(frozen=True)
class Elements:
    """Times of a timed section, s."""

    time_s: float  # T_exec: the largest time of a process
    compute_s: np.ndarray  # by process
    ended_s: np.ndarray  # by process: T_exec without its own time
    spent_s: Mapping[Element, float]  # sums over the processes
    path_s: Mapping[Element, float]  # the parts of the critical path; of a message, under the place that sends it
    path_by_rank_s: np.ndarray  # the parts of the critical path that a process computes or waits for

    @property
    def idle_s(self) -> np.ndarray:
        """Time of each process without computation, after its end included."""
        return self.time_s - self.compute_s

    @property
    def places(self) -> list[Element]:
        """The elements, the one with the largest sum first."""
        return sorted(self.spent_s, key=lambda place: -self.spent_s[place])


def elements_of_analysis(analysis: Analysis) -> Elements:
    """Return the predicted times of an analysis' elements."""
    dates, places = analysis.timed.dates, analysis.places
    program = dates.program
    site = np.zeros(len(program.code), np.int64) if program.site is None else program.site
    computing = np.isin(program.code, (COMPUTE, SLEEP))
    rank_of = np.repeat(np.arange(program.nranks), np.diff(program.first))
    takes_s = dates.end_s - dates.begin_s

    def element(at: int) -> Element:
        return COMPUTATION if computing[at] else MPI, place_at(places, int(site[at]))

    spent_s = sums((element(at), float(takes_s[at])) for at in np.flatnonzero(takes_s > 0).tolist())
    sent_at = np.full(program.nmessages, -1, np.int64)
    sends = np.flatnonzero(program.code == SEND)
    sent_at[program.argument[sends]] = sends

    def of_step(step: Step) -> Element:
        sent = -1 if step.post is None else int(sent_at[program.argument[step.instruction]])
        return element(step.instruction if sent < 0 else sent)  # one-sided messages have no send

    steps = [(step.instruction, step.end_s - step.begin_s) for step in dates.critical]
    by_rank_s = np.zeros(program.nranks)
    for at, lasts_s in steps:
        by_rank_s[rank_of[at]] += lasts_s
    processes = analysis.timed.processes
    return Elements(
        time_s=dates.time_s,
        compute_s=np.array([process.compute_s for process in processes]),
        ended_s=np.array([process.ended_s for process in processes]),
        spent_s=spent_s,
        path_s=sums((of_step(step), step.end_s - step.begin_s) for step in dates.critical),
        path_by_rank_s=by_rank_s,
    )


def place_at(places: Sequence[str | None], site: int) -> str | None:
    """Return the place of a path of calls, which is numbered from 1; 0: not known."""
    return places[site - 1] if 0 < site <= len(places) else None


def sums(parts: Iterable[tuple[Element, float]]) -> dict[Element, float]:
    """Return the sum of each element's parts."""
    totals: defaultdict[Element, float] = defaultdict(float)
    for key, value in parts:
        totals[key] += value
    return dict(totals)


_COMPUTING = (Kind.COMPUTE, Kind.ELAPSE)


def simulated_elements(recording: Recording, places: Sequence[str | None]) -> Elements:
    """Return the times of the timed section of a recording that was made on the target's platform.

    Args:
        recording: The recording, with clocks.
        places: The place of each of its paths of calls.
    """
    sections = [_Section.of(events) for events in recording.events]
    own_s = np.array([section.stop_s - section.start_s for section in sections])

    def spent(section: _Section) -> dict[Element, float]:
        computes = np.isin(section.events["kind"], _COMPUTING)
        names = [COMPUTATION if value else MPI for value in computes.tolist()]
        keys = zip(names, (place_at(places, site) for site in section.events["site"].tolist()), strict=True)
        return sums(zip(keys, section.lasts_s.tolist(), strict=True))

    computed_s = [float(section.lasts_s[np.isin(section.events["kind"], _COMPUTING)].sum()) for section in sections]
    path = _Path(recording, sections, places)
    path.follow()
    return Elements(
        time_s=float(own_s.max()),
        compute_s=np.array(computed_s),
        ended_s=own_s.max() - own_s,
        spent_s=sums(item for section in sections for item in spent(section).items()),
        path_s=sums(path.parts),
        path_by_rank_s=path.by_rank_s,
    )


@dataclass(frozen=True)
class _Section:
    """The events of a process between the marks of its timed section."""

    events: np.ndarray
    start_s: float
    stop_s: float

    @classmethod
    def of(cls, events: np.ndarray) -> _Section:
        marks = events["kind"] == Kind.MARK
        start, stop = (int(np.flatnonzero(marks & (events["op"] == mark))[0]) for mark in (Mark.START, Mark.STOP))
        clock_s = events["clock_s"]
        return cls(events[start:stop], float(clock_s[start]), float(clock_s[stop]))

    @property
    def begins_s(self) -> np.ndarray:
        begins_s: np.ndarray = self.events["clock_s"]
        return begins_s

    @property
    def lasts_s(self) -> np.ndarray:
        return np.diff(self.events["clock_s"], append=self.stop_s)


_At = tuple[int, int]  # a process, and the number of an event in its section


@dataclass
class _Path:
    """The critical path of a simulated program."""

    recording: Recording
    sections: Sequence[_Section]
    places: Sequence[str | None]
    parts: list[tuple[Element, float]] = field(init=False, default_factory=list)  # the last one first
    by_rank_s: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.by_rank_s = np.zeros(len(self.sections))
        self._kinds = [section.events["kind"].tolist() for section in self.sections]
        self._clocks_s = [section.begins_s.tolist() for section in self.sections]
        self._posts: dict[tuple[int, int], _At] = {}  # by process and request
        self._other: dict[_At, _At] = {}  # the receive of each send, and the reverse
        self._members: dict[_At, list[_At]] = {}  # of each collective, by each call
        self._match()

    def _match(self) -> None:
        """Match the sends with the receives, and the calls of each collective."""
        sent: defaultdict[tuple[int, ...], list[_At]] = defaultdict(list)
        received: defaultdict[tuple[int, ...], list[_At]] = defaultdict(list)
        called: defaultdict[tuple[int, int], list[_At]] = defaultdict(list)
        for rank, section in enumerate(self.sections):
            number: defaultdict[int, int] = defaultdict(int)
            fields = (section.events[name].tolist() for name in ("kind", "peer", "tag", "comm", "request"))
            for at, (kind, peer, tag, comm, request) in enumerate(zip(*fields, strict=True)):
                if kind == Kind.SEND:
                    sent[rank, peer, tag, comm].append((rank, at))
                elif kind == Kind.RECV:
                    received[peer, rank, tag, comm].append((rank, at))
                elif kind == Kind.COLLECTIVE:
                    called[comm, number[comm]].append((rank, at))
                    number[comm] += 1
                if kind in (Kind.SEND, Kind.RECV):
                    self._posts[rank, request] = rank, at
        for key, sends in sent.items():
            for a, b in zip(sends, received.get(key, []), strict=False):  # a put into a window has no receive
                self._other[a], self._other[b] = b, a
        for calls in called.values():
            self._members |= dict.fromkeys(calls, calls)

    def follow(self) -> None:
        """Follow the path from the process that ends last to its begin."""
        rank = max(range(len(self.sections)), key=lambda process: self.sections[process].stop_s)
        at, now_s = len(self._kinds[rank]) - 1, self.sections[rank].stop_s
        while at >= 0:
            then, begun_s = self._before((rank, at), now_s)
            if now_s > begun_s:
                what = COMPUTATION if self._kinds[rank][at] in _COMPUTING else MPI
                named, event = self._named((rank, at))
                place = place_at(self.places, int(self.sections[named].events["site"][event]))
                self.parts.append(((what, place), now_s - begun_s))
                self.by_rank_s[rank] += now_s - begun_s
            (rank, at), now_s = then, min(now_s, begun_s)

    def _before(self, here: _At, now_s: float) -> tuple[_At, float]:
        """Return the event before on the path, and the date at which the time of this one begins to count."""
        rank, at = here
        begun_s = self._clocks_s[rank][at]
        before = (rank, at - 1), begun_s
        if now_s <= begun_s:
            return before
        if self._kinds[rank][at] == Kind.COLLECTIVE:
            calls = [call for call in self._members[here] if self._clock_s(call) <= now_s]
            last = max(calls, key=self._clock_s)
            return ((last[0], last[1] - 1), self._clock_s(last)) if self._clock_s(last) > begun_s else before
        if self._kinds[rank][at] != Kind.WAIT:
            return before
        post = self._posts.get((rank, int(self.sections[rank].events["request"][at])))
        other = None if post is None else self._other.get(post)
        if post is None or other is None:
            return before
        # The message begins with the later one of its two ends.
        first = max((post, other), key=self._clock_s)
        return ((first[0], first[1] - 1), self._clock_s(first)) if self._clock_s(first) < now_s else before

    def _named(self, here: _At) -> _At:
        """Return the event under whose place a part of the path stands: of a wait for a message, its send."""
        rank, at = here
        if self._kinds[rank][at] != Kind.WAIT:
            return here
        post = self._posts.get((rank, int(self.sections[rank].events["request"][at])))
        ends: list[_At | None] = [] if post is None else [post, self._other.get(post)]
        return next((end for end in ends if end is not None and self._kinds[end[0]][end[1]] == Kind.SEND), here)

    def _clock_s(self, at: _At) -> float:
        clock_s: float = self._clocks_s[at[0]][at[1]]
        return clock_s
