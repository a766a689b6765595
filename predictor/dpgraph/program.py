"""Programs from recordings: the instructions of each rank as flat arrays, collectives expanded, messages matched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from apps.recording.events import Elapse, Kind, Mark, Mode, Recording, Tag
from platforms.errors import UserError
from predictor.dpgraph.expanding import Flat, expanded, flat, ranges
from predictor.dpgraph.instructions import (
    BACK,
    COMPUTE,
    MARK,
    NO_CHOICES,
    NO_POLLS,
    POLL,
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
from predictor.dpgraph.polls import BACK_EVENT, Poll, has_polls, polls_of, with_loops

OPEN = -1_000_000  # communicator of open messages (Choices), lower than any other
_PROGRAMS_KEPT = 4
_LOOPED_KEPT = 16  # looped programs share most of their arrays
_DEFINING = ("kind", "mode", "op", "comm", "peer", "tag", "size_bytes", "amount")  # fields of equal events
LEAST_FOR_LOOP = 3  # iterations: the first, the repeated one, and the last


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
    loop: Loop | None = None  # the repeated instructions
    # i8, by instruction: the call path that leads to it, as in EVENT; only without a loop
    site: np.ndarray | None = None
    polls: Polls = NO_POLLS
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
        """Indices of the SLEEPs that occupy a core."""
        return np.flatnonzero((self.code == SLEEP) & (self.argument == Elapse.ON_CORE))

    @cached_property
    def pairs(self) -> np.ndarray:
        """Pairs of ranks that exchange messages, as source x ranks + destination."""
        return np.unique(self._pair)

    @cached_property
    def kinds(self) -> Kinds:
        """The message kinds; messages of one kind have the same pair, size and mode."""
        order = np.lexsort((self.mode, self.size_bytes, self._pair))
        columns = [column[order] for column in (self._pair, self.size_bytes, self.mode)]
        begins = np.ones(len(order), bool)
        if len(order):
            begins[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
        kind = np.empty(len(order), np.int32)
        kind[order] = np.cumsum(begins) - 1
        pair, size_bytes, mode = (column[begins] for column in columns)
        return Kinds(np.searchsorted(self.pairs, pair), size_bytes, mode, kind)

    def with_copies(self, copies: int) -> Program:
        """Return the program with a number of copies of its loop."""
        if copies not in self._with_copies:
            assert self.loop is not None
            self._with_copies[copies] = replace(self, loop=self.loop._replace(copies=copies))
        return self._with_copies[copies]

    @cached_property
    def _with_copies(self) -> dict[int, Program]:
        return {}

    @cached_property
    def marks(self) -> np.ndarray:
        """The marks of each rank, in order, as ranks x marks; after a rank's last one, -1."""
        at = np.flatnonzero(self.code == MARK)
        border = np.searchsorted(at, self.first)[:, None]
        begin, end = border[:-1], border[1:]
        if self.loop is not None:
            low, high = (np.searchsorted(at, part)[:, None] for part in (self.loop.first, self.loop.last))
            begin = np.hstack([begin, *[low] * self.loop.copies, high])
            end = np.hstack([low, *[high] * self.loop.copies, end])
        length = (end - begin).sum(axis=1)
        marks = np.full((self.nranks, max(1, int(length.max(initial=0)))), -1, np.int32)
        marks[np.arange(marks.shape[1]) < length[:, None]] = self.argument[at[ranges(begin.ravel(), end.ravel())]]
        return marks

    @cached_property
    def _pair(self) -> np.ndarray:
        pair: np.ndarray = self.source.astype(np.int64) * self.nranks + self.destination
        return pair


class Sections:
    """The recorded iterations of a program, from which programs of more iterations are made.

    Events after the end of the timed section are left out, unless only one rank is timed: it may receive messages that
        the others send after theirs.

    Raises:
        UserError: The ranks mark different numbers of iterations.
    """

    def __init__(self, recording: Recording):
        self.timed_rank = recording.timed_rank
        events = expanded(recording)
        self._polls: list[list[Poll]] = []
        if has_polls(recording):
            polling = with_loops(events.ranks(), recording.counts)
            events, self._polls = flat([folded.events for folded in polling]), [folded.polls for folded in polling]
        self._all = until_stop(events) if self.timed_rank is None else events  # polls after the end are not used
        ends = np.flatnonzero((self._all.events["kind"] == Kind.MARK) & (self._all.events["op"] == Mark.ITERATION)) + 1
        counts = np.diff(np.searchsorted(ends, self._all.first, side="right"))
        if counts.min() < counts.max():
            problem = f"its ranks mark different numbers of iterations ({counts.min()} to {counts.max()})"
            raise UserError("recording", problem, "Mark each iteration on every rank")
        self.iterations = int(counts[0])  # number of recorded iterations; 0: the program has none
        self._ends = ends.reshape(len(counts), self.iterations)  # event after each iteration, ranks x iterations
        self._programs: dict[int, Program] = {}
        self._looped: dict[int, Program] = {}
        self._totals: dict[tuple[int, Elapse | None], np.ndarray] = {}  # of flops, or of seconds spent in a way

    @property
    def polls(self) -> bool:
        """True if ranks poll for messages."""
        return bool(self._polls)

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
            program, place = matched(self._all, self._polls)
            if not self._polls:
                return program
            polls = polls_of(self._all.ranks(), self._polls, place, code=program.code, argument=program.argument)
            return replace(program, polls=polls)
        if self.iterations < 3 or iterations < 3:
            problem = f"{self.iterations} iterations were recorded, {iterations} are needed"
            raise UserError("recording", problem, "Record at least three iterations, or as many as are needed")
        return matched(self._unrolled(iterations)[0])[0]

    def looped(self, iterations: int) -> Program:
        """Return the program with a number of iterations, the repeated ones as a loop.

        It does the same as the result of ``program``, but its memory does not grow with the iterations.  If messages
        cross iterations, or no rank waits for them, there is no loop.

        Raises:
            UserError: As ``program``.
        """
        if iterations == self.iterations or min(iterations, self.iterations) < LEAST_FOR_LOOP or self._once is None:
            return self.program(iterations)
        if iterations not in self._looped:
            if len(self._looped) == _LOOPED_KEPT:
                self._looped.pop(next(iter(self._looped)))
            once, least = self._once
            assert once.loop is not None
            self._looped[iterations] = replace(once, loop=once.loop._replace(copies=iterations - least + 1))
        return self._looped[iterations]

    @cached_property
    def _once(self) -> tuple[Program, int] | None:
        """The program whose loop is executed once, and its iterations; None: they cannot form a loop."""
        for iterations in (2, LEAST_FOR_LOOP) if self._first_is_alike else (LEAST_FOR_LOOP,):
            unrolled, ends = self._unrolled(iterations)
            program, place = matched(unrolled)
            last = ends[:, iterations - 2]
            made = looped_once(program, place[last - (self._ends[:, 1] - self._ends[:, 0])], place[last])
            if made is not None:
                return made, iterations
        return None

    @property
    def _first_is_alike(self) -> bool:
        """True if the events of the first iteration end with those of the second one."""
        events, ends = self._all.events, self._ends
        length = ends[:, 1] - ends[:, 0]
        begin = ends[:, 0] - length
        if self._polls or (begin < self._all.first[:-1]).any():
            return False
        first, second = events[ranges(begin, ends[:, 0])], events[ranges(ends[:, 0], ends[:, 1])]
        if any((first[name] != second[name]).any() for name in _DEFINING):
            return False
        outer, inner = (np.repeat(posted, length) for posted in self._posted)
        expected = first["request"] + np.where(first["request"] >= 0, outer, -inner)
        return bool((expected == second["request"])[np.isin(second["kind"], (Kind.SEND, Kind.RECV, Kind.WAIT))].all())

    @cached_property
    def _posted(self) -> tuple[np.ndarray, np.ndarray]:
        """The operations that each rank begins in the second iteration: outside of collectives, and inside."""
        events, ends = self._all.events, self._ends
        body = ranges(ends[:, 0], ends[:, 1])
        rank = np.repeat(np.arange(len(ends)), ends[:, 1] - ends[:, 0])
        posts = np.isin(events["kind"][body], (Kind.SEND, Kind.RECV))
        outer = events["request"][body] >= 0
        posted, inner = (np.bincount(rank[posts & side], minlength=len(ends)) for side in (outer, ~outer))
        return posted, inner

    def time_s(self, elapsed_s: np.ndarray) -> float:
        """Return the time of the program, s, from that of each rank: the longest, or that of the timed rank."""
        return float(elapsed_s.max() if self.timed_rank is None else elapsed_s[self.timed_rank])

    def flops(self, iterations: int) -> np.ndarray:
        """Return the flops of each rank in the timed section of a number of iterations."""
        return self._total(iterations, None)

    def elapsed_s(self, iterations: int, how: Elapse) -> np.ndarray:
        """Return the seconds of each rank spent in this way in the timed section; they are the same on every host."""
        return self._total(iterations, how)

    @cached_property
    def pairs(self) -> np.ndarray:
        """Pairs of ranks whose first sends to the second, ascending, as pairs x 2."""
        events, nranks = self._all.events, len(self._all.first) - 1
        rank, peer = self._all.rank, events["peer"].astype(np.int64)
        sent, fetched = self._moving
        pairs = np.concatenate([rank[sent] * nranks + peer[sent], peer[fetched] * nranks + rank[fetched]])
        return np.stack(np.divmod(np.unique(pairs), nranks), axis=1)

    @property
    def _moving(self) -> tuple[np.ndarray, np.ndarray]:
        """The events that send a message, and those that get one from another rank's window, as masks."""
        events = self._all.events
        return events["kind"] == Kind.SEND, (events["kind"] == Kind.RECV) & (events["mode"] == Mode.GET)

    @property
    def sizes(self) -> frozenset[int]:
        """The sizes of all messages, bytes."""
        sent, fetched = self._moving
        return frozenset(np.unique(self._all.events["size_bytes"][sent | fetched]).tolist())

    @property
    def partners(self) -> set[tuple[int, int]]:
        """Pairs of ranks whose first sends to the second."""
        return set(zip(*self.pairs.T.tolist(), strict=True))

    def host_pairs(self, placement: Sequence[str]) -> list[tuple[str, str]]:
        """Return the pairs of hosts that exchange messages, each in both directions."""
        names = list(dict.fromkeys(placement))
        number = {name: at for at, name in enumerate(names)}
        host = np.array([number[name] for name in placement])
        a, b = host[self.pairs].T
        pairs = np.unique(np.concatenate([a * len(names) + b, b * len(names) + a]))
        return [
            (names[a], names[b]) for a, b in zip(*(part.tolist() for part in np.divmod(pairs, len(names))), strict=True)
        ]

    def _total(self, iterations: int, how: Elapse | None) -> np.ndarray:
        """Return the flops, or the seconds spent in a way, of each rank in the timed section; not to be written."""
        if (iterations, how) not in self._totals:
            kind = self._all.events["kind"]
            elapsing = (kind == Kind.ELAPSE) & (self._all.events["op"] == how)
            made = self._amount(iterations, kind == Kind.COMPUTE if how is None else elapsing)
            made.flags.writeable = False
            self._totals[iterations, how] = made
        return self._totals[iterations, how]

    def _amount(self, iterations: int, which: np.ndarray) -> np.ndarray:
        """Return the sum of the amounts of some events in the timed section, by rank."""
        first, events = self._all.first, self._all.events
        start, stop = first_mark(self._all, Mark.START, first[:-1]), first_mark(self._all, Mark.STOP, first[1:])
        more = iterations - self.iterations if self.iterations else 0

        def added(begin: np.ndarray, end: np.ndarray) -> np.ndarray:
            at = np.flatnonzero(which)
            rank = np.searchsorted(first, at, side="right") - 1
            inside = (at >= begin[rank]) & (at < end[rank])
            return np.bincount(rank[inside], events["amount"][at[inside]], minlength=len(first) - 1)

        total = added(start, stop)
        return total + more * added(self._ends[:, 0], self._ends[:, 1]) if more else total

    def _unrolled(self, iterations: int) -> tuple[Flat, np.ndarray]:
        """Return the events of a number of iterations, and the event after each iteration, ranks x iterations."""
        if iterations == self.iterations:
            return self._all, self._ends
        events, first, ends = self._all.events, self._all.first, self._ends
        copies, nranks = iterations - 2, len(ends)
        posted, inner = self._posted
        begin = np.column_stack([first[:-1], *[ends[:, 0]] * copies, ends[:, -2]])
        end = np.column_stack([ends[:, 0], *[ends[:, 1]] * copies, first[1:]])
        length = end - begin
        unrolled = events[ranges(begin.ravel(), end.ravel())]
        by = np.repeat(np.tile([0, *range(copies), iterations - self.iterations], nranks), length.ravel())
        rank = np.repeat(np.arange(nranks), length.sum(axis=1))
        # Operations are renumbered: their numbers ascend from 0, inside collectives they descend from -1.
        unrolled["request"] += by * np.where(unrolled["request"] >= 0, posted[rank], -inner[rank])
        made = Flat(unrolled, np.concatenate([[0], np.cumsum(length.sum(axis=1))]))
        within = np.column_stack([length[:, : copies + 1], ends[:, -1] - ends[:, -2]])
        return made, made.first[:-1, None] + np.cumsum(within, axis=1)


def first_mark(given: Flat, mark: Mark, otherwise: np.ndarray) -> np.ndarray:
    """Return the event of the first such mark of each rank, or a default for ranks without it."""
    found = otherwise.copy()
    at = np.flatnonzero((given.events["kind"] == Kind.MARK) & (given.events["op"] == mark))[::-1]
    found[np.searchsorted(given.first, at, side="right") - 1] = at  # the first mark of a rank is written last
    return found


def until_stop(given: Flat) -> Flat:
    """Return the events up to the end of each rank's timed section."""
    events, first = given
    last = np.minimum(first_mark(given, Mark.STOP, first[1:]) + 1, first[1:])
    if np.array_equal(last, first[1:]):
        return given
    return given.only(np.arange(len(events)) < np.repeat(last, np.diff(first)))


def looped_once(program: Program, first: np.ndarray, last: np.ndarray) -> Program | None:
    """Return the program with the instructions from ``first`` to ``last`` of each rank as a loop that is executed once.

    The messages of the loop get the highest numbers.  None: they are also used outside it, or not all are waited for.
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


def matched(given: Flat, polls: Sequence[Sequence[Poll]] = ()) -> tuple[Program, np.ndarray]:
    """Return the program of these events, and the number of instructions before each event.

    The n-th receive of a pair, tag and communicator matches its n-th send.  For a get from another rank's window, the
    calling rank both sends and receives the message.  Open receives are numbered after all messages.
    """
    events, first = given
    rank, kind = given.rank, events["kind"]
    fetched = (kind == Kind.RECV) & (events["mode"] == Mode.GET)
    sends, probes = np.flatnonzero((kind == Kind.SEND) | fetched), np.flatnonzero(kind == Kind.PROBE)
    receives = np.flatnonzero((kind == Kind.RECV) & ~fetched)
    message = np.full(len(events), -1, np.int64)
    alone = (events["mode"] == Mode.PUT) & (events["tag"] == Tag.LOCKED)  # no rank receives it
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
    for at in probes:  # a probe finds the message of the next matching receive
        same = receives[(receives > at) & (rank[receives] == rank[at])]
        same = same[
            (events["peer"][same] == events["peer"][at])
            & (events["tag"][same] == events["tag"][at])
            & (events["comm"][same] == events["comm"][at])
        ]
        message[at] = message[same[0]] if len(same) else -1

    code = np.full(len(events), COMPUTE, np.uint8)
    for which, instruction in CODES.items():
        code[kind == which] = instruction
    code[fetched] = SEND
    waits = np.flatnonzero(kind == Kind.WAIT)
    posts = np.flatnonzero((kind == Kind.SEND) | (kind == Kind.RECV))
    post_of_wait = posts[
        find(operation_key(rank[waits], events["request"][waits]), operation_key(rank[posts], events["request"][posts]))
    ]
    message[waits] = message[post_of_wait]
    code[waits] = np.where(kind[post_of_wait] == Kind.SEND, WAIT_SENT, WAIT_RECEIVED)
    argument = np.where((kind == Kind.MARK) | (kind == Kind.ELAPSE), events["op"], message)
    if polls:
        base = np.cumsum([0, *map(len, polls)])
        argument = np.where(kind == Kind.POLL, events["request"] + base[rank], argument)
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


CODES: dict[int, int] = {
    Kind.SEND: SEND, Kind.RECV: RECV, Kind.PROBE: PROBE, Kind.MARK: MARK, Kind.ELAPSE: SLEEP, Kind.POLL: POLL
}  # fmt: skip
CODES[BACK_EVENT] = BACK


def _order(events: np.ndarray, at: np.ndarray, source: np.ndarray, destination: np.ndarray) -> np.ndarray:
    """Return the order by pair, communicator and tag; within them, program order is kept."""
    return np.lexsort((events["tag"][at], events["comm"][at], destination, source))


def _check(events: np.ndarray, rank: np.ndarray, sends: np.ndarray, receives: np.ndarray) -> None:
    if len(sends) == len(receives):
        same = (rank[sends] == events["peer"][receives]) & (events["peer"][sends] == rank[receives])
        for name in ("comm", "tag"):
            same &= events[name][sends] == events[name][receives]
        if same.all():
            return
    problem = f"{len(sends)} messages are sent and {len(receives)} received, and they do not match"
    raise UserError("recording", problem, "Receive every message before the end of the timed section")


def operation_key(rank: np.ndarray, request: np.ndarray) -> np.ndarray:
    """Return a number for each operation of a rank."""
    key: np.ndarray = (rank.astype(np.int64) << 40) + request + (1 << 39)
    return key


def find(wanted: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Return the index of each wanted key."""
    order = np.argsort(keys, kind="stable")
    at = np.searchsorted(keys[order], wanted)
    if len(wanted) and (at.max(initial=0) >= len(keys) or (keys[order][at] != wanted).any()):
        raise UserError("recording", "it waits for an operation that it did not begin", "Record the program again")
    return order[at]
