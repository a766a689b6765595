"""Traces: the events of every rank as places of the program's text, without what differs from rank to rank."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from apps.programs.problem import Problem
from apps.recording.events import Elapse, Kind, Mark, Op, Recording
from platforms.errors import UserError
from predictor.graph.places import Call, calls_of, places_of
from predictor.learned.errors import CannotContinue
from predictor.learned.matching import by_source, without_finds

NO_TAG = -1
_MOST_TAGS = 12  # of a call, by which it is told apart
LAST = -1  # place of a WAIT's operation among the open ones: the youngest

_LONG_READING_S = 1e-3
_PATH = re.compile(r"0x[0-9a-f]+(?: > 0x[0-9a-f]+)*")  # as Symbol writes it, the outermost call first
_ENDS = (Kind.SEND, Kind.RECV)


@dataclass(frozen=True)
class Symbol:
    """A place of the program's text and a kind of event."""

    kind: int
    path: tuple[int, ...]  # addresses to which the calls return, the outermost first
    op: int  # of collectives, marks and elapses
    mode: int
    section: int  # 0: before the timed section, 1: before its iterations, 2: iterations, 3: behind them
    tag: int = NO_TAG  # of the messages, where calls are told apart by it

    def is_mark(self, *marks: Mark) -> bool:
        """Return whether it is one of these marks."""
        return self.kind == Kind.MARK and self.op in marks

    def __str__(self) -> str:
        name = Op(self.op).name if self.kind == Kind.COLLECTIVE else Kind(self.kind).name
        return f"{name} at {' > '.join(f'{address:#x}' for address in self.path[-3:]) or 'an unknown place'}"


@dataclass(frozen=True, eq=False)
class Trace:
    """Events of a rank, up to the end of its timed section; one entry per event that is no computation."""

    nranks: int
    rank: int
    symbols: np.ndarray  # i8: index into the symbols
    events: np.ndarray
    flops: np.ndarray  # of the computation before the event
    waited: np.ndarray  # of WAITs: the place of its operation among the open ones, the oldest first, or LAST
    # Of WAITs: the kind of the operation (0: of no WAIT) and its place among the open ones of that kind, and the
    # symbol with which it began and its place among the open ones of that symbol, events x 4.
    waited_alike: np.ndarray
    opened: np.ndarray  # number of open operations before the event, and of open sends, events x 2
    counts: np.ndarray  # as in Recording


def traces_of(recordings: Sequence[Recording], *, by_tag: bool = False) -> tuple[list[Symbol], list[Trace]]:
    """Return the symbols of all recordings, and the trace of every rank of each.

    ``by_tag``: calls are told apart by the tags of their messages as well, if they have few.

    Raises:
        CannotContinue: The program polls for messages, so that its course depends on time.
    """
    table: dict[Symbol, int] = {}
    traces = []
    for recording in recordings:
        paths = [(), *(tuple(path[::-1]) for path in recording.paths)]
        for rank, events in enumerate(recording.events):
            traces.append(_trace(recording, rank, events, paths, table, by_tag=by_tag))
    return list(table), traces


def _trace(
    recording: Recording,
    rank: int,
    events: np.ndarray,
    paths: Sequence[tuple[int, ...]],
    table: dict[Symbol, int],
    *,
    by_tag: bool,
) -> Trace:
    stop = np.flatnonzero((events["kind"] == Kind.MARK) & (events["op"] == Mark.STOP))
    events = events[: stop[0] + 1] if len(stop) else events
    if (events["kind"] == Kind.PROBE).any():
        raise CannotContinue("the program polls for messages, and its control flow depends on the answer")
    events = without_finds(by_source(events), recording.counts[rank])
    if recording.measured:  # ranks read the clock for some microseconds at any of their calls, which follows no rule
        reads = (events["kind"] == Kind.ELAPSE) & (events["op"] == Elapse.READING)
        events = events[~reads | (events["amount"] > _LONG_READING_S)]
    computes = events["kind"] == Kind.COMPUTE
    before = np.cumsum(np.where(computes, events["amount"], 0.0)) - np.where(computes, events["amount"], 0.0)
    events, before = events[~computes], before[~computes]
    kind = events["kind"].astype(np.int64)
    tag = _tags(kind, events) if by_tag else np.full(len(events), NO_TAG)
    columns = np.column_stack([kind, events["site"], events["op"], events["mode"], _sections(events), tag])
    unlike, inverse = np.unique(columns, axis=0, return_inverse=True)
    inverse = inverse.reshape(-1)
    order = np.argsort([int(np.argmax(inverse == at)) for at in range(len(unlike))])
    numbers = np.empty(len(unlike), np.int64)
    for at in order.tolist():
        kind_, site, op, mode_, section, its_tag = unlike[at].tolist()
        numbers[at] = table.setdefault(Symbol(kind_, paths[site], op, mode_, section, its_tag), len(table))
    opens = np.isin(kind, (Kind.SEND, Kind.RECV))
    flops = np.diff(before, prepend=0.0)
    waited, alike = _waited(kind, numbers[inverse], events["request"])
    ends = np.column_stack([kind == Kind.WAIT, alike[:, 0] == Kind.SEND])
    change = np.column_stack([opens, kind == Kind.SEND]).astype(np.int64) - ends
    opened = np.cumsum(change, axis=0) - change
    return Trace(recording.nranks, rank, numbers[inverse], events, flops, waited, alike, opened, recording.counts[rank])


def _tags(kind: np.ndarray, events: np.ndarray) -> np.ndarray:
    """Return the tags of messages, those of the operation for waits, and NO_TAG for calls that have many."""
    opens = np.isin(kind, (Kind.SEND, Kind.RECV))
    tag = np.where(opens, events["tag"], NO_TAG).astype(np.int64)
    of_request = np.full(int(events["request"].max(initial=0)) + 1, NO_TAG)
    of_request[events["request"][opens]] = tag[opens]
    waits = kind == Kind.WAIT
    tag[waits] = of_request[events["request"][waits]]
    for site in np.unique(events["site"]).tolist():
        here = events["site"] == site
        if len(np.unique(tag[here])) > _MOST_TAGS:
            tag[here] = NO_TAG
    return tag


def _sections(events: np.ndarray) -> np.ndarray:
    section = np.zeros(len(events), np.int64)
    marks = np.flatnonzero(events["kind"] == Kind.MARK)
    starts, firsts, ends = (
        marks[events["op"][marks] == mark] for mark in (Mark.START, Mark.FIRST_ITERATION, Mark.ITERATION)
    )
    section[starts[0] + 1 if len(starts) else 0 :] = 1
    section[firsts[0] + 1 if len(firsts) else len(events) :] = 2
    section[ends[-1] + 1 if len(ends) else len(events) - 1 :] = 3
    return section


def _waited(kind: np.ndarray, symbols: np.ndarray, request: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Trace.waited and Trace.waited_alike."""
    waited, alike = np.zeros(len(kind), np.int64), np.zeros((len(kind), 4), np.int64)
    open_requests: list[int] = []
    began: dict[int, tuple[int, int]] = {}  # by operation: its kind and its symbol
    alone: dict[tuple[int, int], list[int]] = {}  # the open operations by kind (symbol -1), and by both
    matters = np.flatnonzero(np.isin(kind, (Kind.SEND, Kind.RECV, Kind.WAIT)))
    columns = (matters, kind[matters], symbols[matters], request[matters])
    for at, what, symbol, number in zip(*(column.tolist() for column in columns), strict=True):
        if what != Kind.WAIT:
            began[number] = what, symbol
            for row in (open_requests, alone.setdefault((what, -1), []), alone.setdefault((what, symbol), [])):
                row.append(number)
            continue
        waited[at] = _removed(open_requests, number)
        what, symbol = began.pop(number)
        alike[at] = what, _removed(alone[what, -1], number), symbol, _removed(alone[what, symbol], number)
    return waited, alike


def _removed(open_requests: list[int], number: int) -> int:
    """Remove an operation from the open ones, and return its place, or LAST."""
    place = open_requests.index(number)
    last = place == len(open_requests) - 1 and place > 0
    del open_requests[place]
    return LAST if last else place


Text = Mapping[tuple[int, ...], tuple[Call, ...]]  # by path, the outermost call first: its calls


def with_places(texts: Sequence[str], problem: Problem) -> tuple[str, ...]:
    """Return texts with the places of calls instead of their addresses, as far as these are known.

    >>> from apps.programs.problem import problem
    >>> with_places(["no address in it"], problem("cg", "S"))
    ('no address in it',)
    """
    shown = dict.fromkeys(match[0] for text in texts for match in _PATH.finditer(text))
    if not shown:
        return tuple(texts)
    paths = [tuple(int(address, 16) for address in reversed(path.split(" > "))) for path in shown]
    try:
        places = dict(zip(shown, places_of(problem, paths), strict=True))
    except UserError:  # addr2line is missing: addresses have to do
        return tuple(texts)
    return tuple(_PATH.sub(lambda match: places[match[0]] or match[0], text) for text in texts)


def with_calls_merged(recordings: Sequence[Recording], problem: Problem) -> tuple[list[Recording], Text]:
    """Return recordings in which the copies that the compiler made of a call have the same path, and the calls."""
    paths = sorted({path for recording in recordings for path in recording.paths})
    try:
        calls = calls_of(problem, paths)
    except UserError:  # addr2line is missing: each copy is a call of its own
        return list(recordings), {}
    first: dict[tuple[Call, ...], tuple[int, ...]] = {}
    merged = {path: first.setdefault(call, path) for path, call in zip(paths, calls, strict=True)}
    made = [replace(recording, paths=tuple(merged[path] for path in recording.paths)) for recording in recordings]
    return made, {path[::-1]: call for call, path in first.items()}


class Pairs(NamedTuple):
    """Both ends of every message, as places in the events of all traces, one trace behind the other."""

    sends: np.ndarray
    receives: np.ndarray


def pairs_of(traces: Sequence[Trace]) -> Pairs:
    """Return the messages of recordings; none where sends and receives do not match."""
    kind, peer, tag, comm = (
        np.concatenate([trace.events[name].astype(np.int64) for trace in traces])
        for name in ("kind", "peer", "tag", "comm")
    )
    lengths = [len(trace.events) for trace in traces]
    rank = np.repeat([trace.rank for trace in traces], lengths)
    nranks = np.repeat([trace.nranks for trace in traces], lengths)
    sides = []
    for end in _ENDS:
        which = np.flatnonzero(kind == end)
        ends = (rank[which], peer[which]) if end == Kind.SEND else (peer[which], rank[which])
        columns = [nranks[which], *ends, tag[which], comm[which]]
        order = np.lexsort((which, *reversed(columns)))
        sides.append((which[order], np.stack(columns)[:, order]))
    (sends, sent), (receives, received) = sides
    if not np.array_equal(sent, received):
        return Pairs(np.zeros(0, np.int64), np.zeros(0, np.int64))
    return Pairs(sends, receives)
