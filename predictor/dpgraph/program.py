"""Programs from recordings: the instructions of each rank as flat arrays, collectives expanded, messages matched."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from apps.recording.events import EVENT, Elapse, Kind, Mark, Mode, Op, Recording, Reduction, Tag
from platforms.errors import UserError
from predictor.dpgraph.instructions import (
    BACK,
    COMPUTE,
    LOOK,
    MARK,
    NO_CHOICES,
    NO_LOOKS,
    PROBE,
    RECV,
    SEND,
    SLEEP,
    WAIT_RECEIVED,
    WAIT_SENT,
    Choices,
    Loop,
    Polls,
)
from predictor.dpgraph.looks import BACK_EVENT, OneLook, has_looks, looks_at, with_loops
from predictor.network.collectives import Call, steps

# The tag of a collective's messages is this minus the Op; no tag of a program is negative.
_COLLECTIVE_TAG = -1000
OPEN = -1_000_000  # communicator of messages whose ends meet while a graph is evaluated (Choices); no other is so low
_PROGRAMS_KEPT = 4
_LOOPED_KEPT = 16  # they share most of their arrays
LEAST_FOR_LOOP = 3  # iterations: the first, the one that is repeated, and the last
_WITH_COUNTS = (Op.SCATTERV, Op.ALLTOALLV, Op.REDUCE_SCATTER)  # operations whose sent sizes are in `counts`


class Kinds(NamedTuple):
    """The kinds of a program's messages, and the kind of each message."""

    pair: np.ndarray  # i8, by kind: index of Program.pairs
    size_bytes: np.ndarray  # i8, by kind
    mode: np.ndarray  # u1, by kind: apps.recording.events.Mode
    kind: np.ndarray  # i4, by message


@dataclass(frozen=True)
class Program:
    """The instructions of all ranks, as in predictor.dpgraph.instructions, and the messages between them."""

    code: np.ndarray  # u1
    argument: (
        np.ndarray
    )  # i4: the message of SEND, RECV, PROBE and the two WAITs; the Mark of MARK; the Elapse of SLEEP
    value: np.ndarray  # f8
    first: np.ndarray  # i8, ranks + 1: where each rank's instructions begin
    source: np.ndarray  # i4, by message
    destination: np.ndarray  # i4, by message
    size_bytes: np.ndarray  # i8, by message
    mode: np.ndarray  # u1, by message: apps.recording.events.Mode
    loop: Loop | None = None  # the instructions that are repeated
    # i8, by instruction: the path of calls that leads to it, as in EVENT; without a loop
    site: np.ndarray | None = None
    looks: Polls = NO_LOOKS
    choices: Choices = NO_CHOICES

    @property
    def nranks(self) -> int:
        """Number of ranks."""
        return len(self.first) - 1

    @property
    def nmessages(self) -> int:
        """Number of messages."""
        return len(self.source)

    @cached_property
    def timed(self) -> np.ndarray:
        """Indices of the SLEEPs that pass on a core."""
        return np.flatnonzero((self.code == SLEEP) & (self.argument == Elapse.ON_CORE))

    @cached_property
    def pairs(self) -> np.ndarray:
        """Pairs of ranks that exchange messages, as source x ranks + destination."""
        return np.unique(self._pair)

    @cached_property
    def kinds(self) -> Kinds:
        """Kinds of messages, which agree in their pair, size and mode."""
        order = np.lexsort((self.mode, self.size_bytes, self._pair))
        columns = [column[order] for column in (self._pair, self.size_bytes, self.mode)]
        begins = np.ones(len(order), bool)
        if len(order):
            begins[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
        kind = np.empty(len(order), np.int32)
        kind[order] = np.cumsum(begins) - 1
        pair, size_bytes, mode = (column[begins] for column in columns)
        return Kinds(np.searchsorted(self.pairs, pair), size_bytes, mode, kind)

    @cached_property
    def marks(self) -> np.ndarray:
        """The marks of each rank, in order, as ranks x marks; behind a rank's last one, -1."""
        rows = []
        for rank in range(self.nranks):
            parts = [self._marks_between(self.first[rank], self.first[rank + 1])]
            if self.loop is not None:
                borders = self.first[rank], self.loop.first[rank], self.loop.last[rank], self.first[rank + 1]
                head, body, tail = (self._marks_between(a, b) for a, b in itertools.pairwise(borders))
                parts = [head, np.tile(body, self.loop.copies), tail]
            rows.append(np.concatenate(parts))
        marks = np.full((self.nranks, max(1, *map(len, rows))), -1, np.int32)
        for rank, row in enumerate(rows):
            marks[rank, : len(row)] = row
        return marks

    @cached_property
    def _pair(self) -> np.ndarray:
        pair: np.ndarray = self.source.astype(np.int64) * self.nranks + self.destination
        return pair

    def _marks_between(self, begin: int, end: int) -> np.ndarray:
        marks: np.ndarray = self.argument[begin:end][self.code[begin:end] == MARK]
        return marks


class Sections:
    """The recorded iterations of a program, from which programs of more iterations are made.

    Events after the end of the timed section are left out, unless the section of one rank counts: the others may send
    it messages in theirs that it receives afterwards.

    Raises:
        UserError: The ranks mark different numbers of iterations.
    """

    def __init__(self, recording: Recording):
        self.timed_rank = recording.timed_rank
        splits = _splits(recording)
        self._ranks = [_expanded(recording, rank, splits) for rank in range(recording.nranks)]
        self._looks: list[list[OneLook]] = []
        if has_looks(recording):
            looking = with_loops(self._ranks, recording.counts)
            self._ranks, self._looks = [folded.events for folded in looking], [folded.looks for folded in looking]
        for rank, events in enumerate(self._ranks):  # looks behind the end are not used
            stop = np.flatnonzero((events["kind"] == Kind.MARK) & (events["op"] == Mark.STOP))
            if len(stop) and self.timed_rank is None:
                self._ranks[rank] = events[: stop[0] + 1]
        self._ends = [
            np.flatnonzero((events["kind"] == Kind.MARK) & (events["op"] == Mark.ITERATION)) + 1
            for events in self._ranks
        ]
        counts = {len(ends) for ends in self._ends}
        if len(counts) > 1:
            problem = f"its ranks mark different numbers of iterations ({min(counts)} to {max(counts)})"
            raise UserError("recording", problem, "Mark each iteration on every rank")
        self.iterations = counts.pop()  # number of recorded iterations; 0: the program has none
        self._programs: dict[int, Program] = {}
        self._looped: dict[int, Program] = {}

    @property
    def polls(self) -> bool:
        """True if ranks ask whether messages have come."""
        return bool(self._looks)

    def program(self, iterations: int | None = None) -> Program:
        """Return the program with a number of iterations; None: the recorded number.

        The iterations between the first and the last are copies of the second one.  The latest few programs are kept.

        Raises:
            UserError: The numbers of recorded and of wanted iterations differ and are not both at least three, or the
                messages do not match.
        """
        iterations = self.iterations if iterations is None else iterations
        if iterations not in self._programs:
            if len(self._programs) == _PROGRAMS_KEPT:
                self._programs.pop(next(iter(self._programs)))
            self._programs[iterations] = self._made(iterations)
        return self._programs[iterations]

    def _made(self, iterations: int) -> Program:
        if iterations == self.iterations:
            program, place = _matched(self._ranks, self._looks)
            if not self._looks:
                return program
            looks = looks_at(self._ranks, self._looks, place, code=program.code, argument=program.argument)
            return replace(program, looks=looks)
        if self.iterations < 3 or iterations < 3:
            problem = f"{self.iterations} iterations were recorded, {iterations} are needed"
            raise UserError("recording", problem, "Record at least three iterations, or as many as are needed")
        return _matched([self._unrolled(rank, iterations) for rank in range(len(self._ranks))])[0]

    def looped(self, iterations: int) -> Program:
        """Return the program with a number of iterations, of which those that are copies are a loop.

        The program does the same as ``program``, but takes little memory however many iterations there are.  Where
        messages go from one iteration to the next, or are not waited for, no iteration is in a loop.

        Raises:
            UserError: As ``program``.
        """
        if iterations == self.iterations or min(iterations, self.iterations) < LEAST_FOR_LOOP or self._once is None:
            return self.program(iterations)
        if iterations not in self._looped:
            if len(self._looped) == _LOOPED_KEPT:
                self._looped.pop(next(iter(self._looped)))
            loop = self._once.loop
            assert loop is not None
            self._looped[iterations] = replace(self._once, loop=loop._replace(copies=iterations - LEAST_FOR_LOOP + 1))
        return self._looped[iterations]

    @cached_property
    def _once(self) -> Program | None:
        """The program whose loop is executed once; None: its iterations cannot be a loop."""
        parts = [self._unrolled(rank, LEAST_FOR_LOOP) for rank in range(len(self._ranks))]
        program, place = _matched(parts)
        begins = np.concatenate([[0], np.cumsum([len(events) for events in parts])])[:-1]
        borders = [begins + [ends[at] for ends in self._ends] for at in (0, 1)]
        return looped_once(program, place[borders[0]], place[borders[1]])

    def time_s(self, elapsed_s: np.ndarray) -> float:
        """Return the time of the program, s, from that of each rank: the longest, or that of the rank that counts."""
        return float(elapsed_s.max() if self.timed_rank is None else elapsed_s[self.timed_rank])

    def flops(self, iterations: int) -> np.ndarray:
        """Return the flops of each rank in the timed section of a number of iterations."""
        return np.array([self._amount(rank, iterations, _computes) for rank in range(len(self._ranks))])

    def elapsed_s(self, iterations: int, how: Elapse) -> np.ndarray:
        """Return the seconds of each rank that pass in this way, the same on every host, in the timed section."""
        return np.array(
            [self._amount(rank, iterations, lambda events: _elapses(events, how)) for rank in range(len(self._ranks))]
        )

    @cached_property
    def partners(self) -> set[tuple[int, int]]:
        """Pairs of ranks of which the first sends to the second."""
        partners_found = set()
        for rank, events in enumerate(self._ranks):
            fetched = (events["kind"] == Kind.RECV) & (events["mode"] == Mode.GET)
            partners_found |= {(rank, int(peer)) for peer in np.unique(events["peer"][events["kind"] == Kind.SEND])}
            partners_found |= {(int(peer), rank) for peer in np.unique(events["peer"][fetched])}
        return partners_found

    def _amount(self, rank: int, iterations: int, which: Callable[[np.ndarray], np.ndarray]) -> float:
        events, ends = self._ranks[rank], self._ends[rank]
        flops = np.where(which(events), events["amount"], 0.0)
        start, stop = (
            np.flatnonzero((events["kind"] == Kind.MARK) & (events["op"] == mark)) for mark in (Mark.START, Mark.STOP)
        )
        section = slice(start[0] if len(start) else 0, stop[0] if len(stop) else None)
        more = iterations - self.iterations if self.iterations else 0
        body = flops[ends[0] : ends[1]].sum() if more else 0.0
        return float(flops[section].sum() + more * body)

    def _unrolled(self, rank: int, iterations: int) -> np.ndarray:
        events, ends = self._ranks[rank], self._ends[rank]
        head, body, tail = events[: ends[0]], events[ends[0] : ends[1]], events[ends[-2] :]
        copies = iterations - 2
        posts = np.isin(body["kind"], (Kind.SEND, Kind.RECV))
        posted, inner = np.count_nonzero(body["request"][posts] >= 0), np.count_nonzero(body["request"][posts] < 0)

        def moved(part: np.ndarray, by: int) -> np.ndarray:
            """Renumber the operations of a copy: numbers ascend from 0, inside collectives they descend from -1."""
            part["request"] += np.where(part["request"] >= 0, by * posted, -by * inner)
            return part

        middle = [moved(body.copy(), copy) for copy in range(copies)]
        return np.concatenate([head, *middle, moved(tail.copy(), copies - (len(ends) - 2))])


def _computes(events: np.ndarray) -> np.ndarray:
    computing: np.ndarray = events["kind"] == Kind.COMPUTE
    return computing


def _elapses(events: np.ndarray, how: Elapse) -> np.ndarray:
    elapsing: np.ndarray = (events["kind"] == Kind.ELAPSE) & (events["op"] == how)
    return elapsing


_Splits = Mapping[tuple[int, int], list[int]]  # by rank and index of the event: color and key of every member


def _splits(recording: Recording) -> _Splits:
    """Return the arguments that all members give to each split of a communicator, the n-th with the n-th."""
    calls: dict[tuple[int, int], list[tuple[int, int]]] = {}  # by communicator and turn: rank and index of the event
    for rank, events in enumerate(recording.events):
        turns: Counter[int] = Counter()
        for at in np.flatnonzero((events["kind"] == Kind.COLLECTIVE) & (events["op"] == Op.SPLIT)).tolist():
            comm = int(events["comm"][at])
            calls.setdefault((comm, turns[comm]), []).append((rank, at))
            turns[comm] += 1
    told: dict[tuple[int, int], list[int]] = {}
    for (comm, _), members in calls.items():
        place = {member: at for at, member in enumerate(recording.communicators[comm])}
        together = [-1, 0] * len(place)
        for rank, at in members:
            first = int(recording.events[rank]["request"][at])
            together[2 * place[rank] : 2 * place[rank] + 2] = recording.counts[rank][first : first + 2].tolist()
        told.update(dict.fromkeys(members, together))
    return told


def _expanded(recording: Recording, rank: int, splits: _Splits) -> np.ndarray:
    """Return a rank's events with every collective replaced by its messages."""
    events = recording.events[rank]
    where = np.flatnonzero(events["kind"] == Kind.COLLECTIVE)
    if not len(where):
        return events.copy()
    parts, since, number = [], 0, 0
    for at in where.tolist():
        parts.append(events[since:at])
        inner, number = _messages_of(recording, rank, events[at], number, told=splits.get((rank, at), ()))
        parts.append(inner)
        since = at + 1
    parts.append(events[since:])
    return np.concatenate(parts)


def _messages_of(
    recording: Recording, rank: int, event: np.void, number: int, *, told: Sequence[int]
) -> tuple[np.ndarray, int]:
    """Return the events inside one collective, whose operations are numbered downwards from -1 - number.

    ``told``: the color and the key of every member, for a split.
    """
    members = recording.communicators[event["comm"]]
    place = {member: at for at, member in enumerate(members)}
    at = event["request"]
    counts = recording.counts[rank][at : at + len(members)].tolist() if event["op"] in _WITH_COUNTS else told
    call = Call(
        op=Op(event["op"]),
        rank=place[rank],
        ranks=len(members),
        root=place.get(int(event["peer"]), -1),
        size_bytes=int(event["size_bytes"]),
        counts=counts,
        reduction=Reduction(event["mode"]),
    )
    rows: list[tuple[int, ...]] = []
    tag, site = _COLLECTIVE_TAG - int(event["op"]), int(event["site"])
    for step in steps(call):
        begun = []
        for is_send, partner, size_bytes in step.operations:
            number += 1
            begun.append(-number)
            kind = Kind.SEND if is_send else Kind.RECV
            rows.append((kind, Mode.STANDARD, 0, event["comm"], members[partner], tag, -number, size_bytes, 0, 0, site))
        rows += [(Kind.WAIT, 0, 0, event["comm"], -1, tag, request, 0, 0, 0, site) for request in begun]
    return np.array(rows, dtype=EVENT), number


def looped_once(program: Program, first: np.ndarray, last: np.ndarray) -> Program | None:
    """Return the program with the instructions from ``first`` to ``last`` of each rank as a loop that is executed once.

    The messages of the loop get the highest numbers.  None: they are not its own, or it does not wait for all of them.
    """
    inside = np.zeros(len(program.code) + 1, np.int8)
    np.add.at(inside, first, 1)
    np.add.at(inside, last, -1)
    inside = np.cumsum(inside[:-1]).astype(bool)
    of_message = ~np.isin(program.code, (COMPUTE, MARK, SLEEP))
    within, outside, waited = (
        np.bincount(program.argument[of_message & which], minlength=program.nmessages) > 0
        for which in (inside, ~inside, inside & (program.code == WAIT_RECEIVED))
    )
    if (within & outside).any() or (within & ~waited).any():
        return None
    order = np.argsort(within, kind="stable")
    number = np.empty(len(order), np.int32)
    number[order] = np.arange(len(order))
    argument = program.argument.copy()
    argument[of_message] = number[argument[of_message]]
    changed = {name: getattr(program, name)[order] for name in ("source", "destination", "size_bytes", "mode")}
    loop = Loop(first, last, 1, int(np.count_nonzero(~within)))
    return replace(program, argument=argument, loop=loop, **changed)


def _matched(ranks: list[np.ndarray], looks: Sequence[Sequence[OneLook]] = ()) -> tuple[Program, np.ndarray]:
    """Return the program of these events, and the number of instructions before each event.

    The n-th receive of a pair, tag and communicator gets its n-th send.  A message that a rank gets out of another's
    window is sent and received by the rank that gets it.  Open receives get the numbers behind all messages.
    """
    first = np.concatenate([[0], np.cumsum([len(events) for events in ranks])])
    events = np.concatenate(ranks)
    rank = np.repeat(np.arange(len(ranks)), np.diff(first))
    kind = events["kind"]
    fetched = (kind == Kind.RECV) & (events["mode"] == Mode.GET)
    sends, probes = np.flatnonzero((kind == Kind.SEND) | fetched), np.flatnonzero(kind == Kind.PROBE)
    receives = np.flatnonzero((kind == Kind.RECV) & ~fetched)
    message = np.full(len(events), -1, np.int64)
    alone = (events["mode"] == Mode.PUT) & (events["tag"] == Tag.LOCKED)  # nobody receives it
    is_open = events["comm"] == OPEN
    open_receives = receives[is_open[receives]]
    ordered_sends = np.flatnonzero((kind == Kind.SEND) & ~alone & ~is_open)
    ordered_sends = ordered_sends[_order(events, ordered_sends, rank[ordered_sends], events["peer"][ordered_sends])]
    ordered_receives = receives[~is_open[receives]]
    ordered_receives = ordered_receives[
        _order(events, ordered_receives, events["peer"][ordered_receives], rank[ordered_receives])
    ]
    _check(events, rank, ordered_sends, ordered_receives)
    message[sends] = np.arange(len(sends))
    message[ordered_receives] = message[ordered_sends]
    message[open_receives] = len(sends) + np.arange(len(open_receives))
    for at in probes:  # a probe stands for the message of the next matching receive
        same = receives[(receives > at) & (rank[receives] == rank[at])]
        same = same[
            (events["peer"][same] == events["peer"][at])
            & (events["tag"][same] == events["tag"][at])
            & (events["comm"][same] == events["comm"][at])
        ]
        message[at] = message[same[0]] if len(same) else -1

    code = np.full(len(events), COMPUTE, np.uint8)
    for which, instruction in _CODES.items():
        code[kind == which] = instruction
    code[fetched] = SEND
    waits = np.flatnonzero(kind == Kind.WAIT)
    posts = np.flatnonzero((kind == Kind.SEND) | (kind == Kind.RECV))
    post_of_wait = posts[
        _find(_key(rank[waits], events["request"][waits]), _key(rank[posts], events["request"][posts]))
    ]
    message[waits] = message[post_of_wait]
    code[waits] = np.where(kind[post_of_wait] == Kind.SEND, WAIT_SENT, WAIT_RECEIVED)
    argument = np.where((kind == Kind.MARK) | (kind == Kind.ELAPSE), events["op"], message)
    if looks:
        base = np.cumsum([0, *map(len, looks)])
        argument = np.where(kind == Kind.LOOK, events["request"] + base[rank], argument)
        argument = np.where(kind == BACK_EVENT, events["request"], argument)
    keep = ~((kind == Kind.PROBE) & (message < 0)) & ~((kind == Kind.COMPUTE) & (events["amount"] == 0))
    timed = (kind == Kind.COMPUTE) | (kind == Kind.ELAPSE)
    kept = np.concatenate([[0], np.cumsum(keep)])
    program = Program(
        code=code[keep],
        argument=argument[keep].astype(np.int32),
        value=np.where(timed, events["amount"], 0.0)[keep],
        first=kept[first],
        source=np.where(fetched, events["peer"], rank)[sends].astype(np.int32),
        destination=np.where(fetched, rank, events["peer"])[sends].astype(np.int32),
        size_bytes=events["size_bytes"][sends],
        mode=events["mode"][sends],
        site=events["site"][keep],
    )
    return program, kept


_CODES = {
    Kind.SEND: SEND,
    Kind.RECV: RECV,
    Kind.PROBE: PROBE,
    Kind.MARK: MARK,
    Kind.ELAPSE: SLEEP,
    Kind.LOOK: LOOK,
    BACK_EVENT: BACK,
}


def _order(events: np.ndarray, at: np.ndarray, source: np.ndarray, destination: np.ndarray) -> np.ndarray:
    """Return the order by pair, communicator and tag, within which the order of the program is kept."""
    return np.lexsort((events["tag"][at], events["comm"][at], destination, source))


def _check(events: np.ndarray, rank: np.ndarray, sends: np.ndarray, receives: np.ndarray) -> None:
    names = ("comm", "tag")
    if len(sends) == len(receives):
        same = (rank[sends] == events["peer"][receives]) & (events["peer"][sends] == rank[receives])
        for name in names:
            same &= events[name][sends] == events[name][receives]
        if same.all():
            return
    problem = f"{len(sends)} messages are sent and {len(receives)} received, and they do not match"
    raise UserError("recording", problem, "Receive every message before the end of the timed section")


def _key(rank: np.ndarray, request: np.ndarray) -> np.ndarray:
    key: np.ndarray = (rank.astype(np.int64) << 40) + request + (1 << 39)
    return key


def _find(wanted: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Return the index of each wanted key."""
    order = np.argsort(keys, kind="stable")
    at = np.searchsorted(keys[order], wanted)
    if len(wanted) and (at.max(initial=0) >= len(keys) or (keys[order][at] != wanted).any()):
        raise UserError("recording", "it waits for an operation that it has not begun", "Record the program again")
    return order[at]
