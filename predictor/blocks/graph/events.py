"""The events of an application's processes, as those of a recorded program (apps/recording), from its instructions.

Collectives become their messages, and loops their turns, except for one loop: if all processes have a loop of the same
number of turns, its turns are the iterations of the program, of which three stand for all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from apps.recording.events import EVENT, Elapse, Kind, Mark, Mode, Op
from predictor.blocks.graph.disks import PAUSE, Disks
from predictor.blocks.stream.instructions import (
    NONE,
    Collective,
    Compute,
    Disk,
    Instruction,
    Loop,
    Program,
    Receive,
    ReceiveAny,
    Reply,
    Send,
    Stream,
    Wait,
    executed,
)
from predictor.dpgraph.instructions import OWN
from predictor.network.collectives import Call, steps

TURNS = 3  # of the loop of iterations that are written: the first, one that stands for all others, and the last
LEAST_TURNS = 8  # of the loop of iterations
ANY, LATEST = -2, -3  # instead of the peer of a receive from any process (its tag: the label), and of a reply
_COLLECTIVE_TAG = -1000  # minus the Op: the tag of a collective's messages
_WHOLE = -1  # instead of the place of the loop of iterations in a program: there is none
_Row = tuple[int, int, int, int, int, int, int, int, float, float, int]  # an EVENT


@dataclass(frozen=True)
class Events:
    """The events of all processes."""

    of_process: tuple[np.ndarray, ...]  # dtype EVENT; site: index of `places`, plus 1
    places: tuple[str, ...]  # of steps, for error messages
    turns: int  # of the loop of iterations; 0: there is none


def events_of(stream: Stream, disks: Disks) -> Events:
    """Return the events of a stream; the ways of its disk blocks are added to ``disks``.

    Raises:
        UserError: If MPI has no algorithm for a collective.
        OutOfRange: If a process uses a disk and the system has none.
    """
    return _Writing(stream, disks).events()


def number_of_events(stream: Stream) -> int:
    """Return about how many events ``events_of`` makes, with five turns of the loop of iterations."""
    loops, _ = _iterations(stream)
    of_program = []
    for program, at in zip(stream.programs, loops, strict=True):
        total = 0
        for number, one in enumerate(program):
            if number == at and isinstance(one, Loop):
                total += 5 * sum(times * _weight(inner, stream) for inner, times in executed(one.body))
            else:
                total += sum(times * _weight(inner, stream) for inner, times in executed((one,)))
        of_program.append(total)
    return sum(of_program[number] for number in stream.program_of)


def _weight(one: Instruction, stream: Stream) -> int:
    if isinstance(one, Send | Receive):
        return 2 * one.count
    if isinstance(one, Collective):
        members = len(stream.groups[one.group])
        return 4 * members if one.block in ("alltoall", "allgather") else 4
    return 1


def _iterations(stream: Stream) -> tuple[list[int], int]:
    """Return the place of the loop of iterations in each program, and its number of turns (0: there is none).

    The k-th loops with the same number of turns belong together.  Any of them may be chosen: with fewer turns of it the
    application is the same, so it can be seen from a few of them how the others go on.
    """
    used = [stream.programs[number] for number in sorted(set(stream.program_of))]
    none = [_WHOLE] * len(stream.programs), 0
    if not used or any(isinstance(one, ReceiveAny) for program in used for one, _ in executed(program)):
        return none
    counted = [Counter(one.times for one in program if isinstance(one, Loop)) for program in used]
    alike = [t for t in counted[0] if t >= LEAST_TURNS and all(c[t] == counted[0][t] for c in counted)]
    alike = [
        t for t in alike if all(closed(one) for p in used for one in p if isinstance(one, Loop) and one.times == t)
    ]
    best, found = 0, none
    for turns in alike:
        places = [[at for at, one in enumerate(p) if isinstance(one, Loop) and one.times == turns] for p in used]
        for k in range(counted[0][turns]):
            weight = turns * sum(
                times * _weight(inner, stream)
                for program, at in zip(used, places, strict=True)
                for one in (program[at[k]],)
                if isinstance(one, Loop)
                for inner, times in executed(one.body)
            )
            if weight > best:
                best, chosen = weight, [_WHOLE] * len(stream.programs)
                for number, at in zip(sorted(set(stream.program_of)), places, strict=True):
                    chosen[number] = at[k]
                found = chosen, turns
    return found


def closed(loop: Loop) -> bool:
    """Return whether each turn of a loop waits for the requests that it has begun, and for no others."""
    return _open_after(loop.body, frozenset()) == frozenset()


def _open_after(body: Sequence[Instruction], begun: frozenset[int]) -> frozenset[int] | None:
    """Return the requests that are not waited for after some instructions; None: one waits for an earlier request."""
    for one in body:
        if isinstance(one, Send | Receive) and one.request != NONE:
            begun |= {one.request}
        elif isinstance(one, Wait):
            if not begun.issuperset(one.requests):
                return None
            begun -= set(one.requests)
        elif isinstance(one, Loop):
            after = _open_after(one.body, begun)
            if after is None:
                return None
            begun = after
    return begun


@dataclass
class _Writing:
    """Writes the events of one process after the other."""

    stream: Stream
    disks: Disks
    places: dict[str, int] = field(default_factory=dict)
    loops: list[int] = field(init=False)
    turns: int = field(init=False)
    process: int = 0
    posts: int = 0  # sends and receives of the process so far
    begun: dict[int, list[int]] = field(default_factory=dict)  # numbers of the posts of each request
    known: dict[int, tuple[np.ndarray, int]] = field(default_factory=dict)  # events and posts, by id of a loop's body
    rows: dict[int, tuple[list[_Row], int]] = field(default_factory=dict)  # the same, by id of an instruction

    def __post_init__(self) -> None:
        self.loops, self.turns = _iterations(self.stream)

    def events(self) -> Events:
        """Return the events of all processes; many processes of equal programs have equal events."""
        known: dict[int, np.ndarray] = {}
        shared = [not any(isinstance(one, Collective | Disk) for one, _ in executed(p)) for p in self.stream.programs]
        rows = []
        for process, number in enumerate(self.stream.program_of):
            self.process = process
            if number not in known or not shared[number]:
                known[number] = self._whole(self.stream.programs[number], self.loops[number])
            rows.append(known[number])
        return Events(tuple(rows), tuple(self.places), self.turns)

    def _whole(self, program: Program, at: int) -> np.ndarray:
        """Return the events of a program, whose loop of iterations is at this place."""
        self.posts, self.begun, self.known, self.rows = 0, {}, {}, {}
        parts = [_marks(Mark.START)]
        if at == _WHOLE:
            parts.append(self._part(program))
        else:
            loop = program[at]
            assert isinstance(loop, Loop)
            parts.append(self._part(program[:at]))
            before = self.posts
            turn = np.concatenate([self._part(loop.body), _marks(Mark.ITERATION)])
            self.posts += (self.posts - before) * (TURNS - 1)
            parts += [*[turn] * TURNS, self._part(program[at + 1 :])]
        return _numbered(np.concatenate([*parts, _marks(Mark.STOP)]))

    def _part(self, program: Sequence[Instruction]) -> np.ndarray:
        parts, rows = [np.empty(0, EVENT)], list[_Row]()
        for one in program:
            if isinstance(one, Loop):
                parts.append(np.array(rows, EVENT))
                rows = []
                if id(one.body) in self.known or closed(one):
                    turn, posts = self._turn(one)
                    parts.append(np.tile(turn, one.times))
                    self.posts += posts * one.times
                else:
                    parts += [self._part(one.body) for _ in range(one.times)]
            else:
                made, posts = self._made(one)
                self.posts += posts
                rows += made
        return np.concatenate([*parts, np.array(rows, EVENT)])

    def _turn(self, loop: Loop) -> tuple[np.ndarray, int]:
        """Return the events of one turn of a closed loop, which are the same wherever it is, and its posts."""
        if id(loop.body) not in self.known:
            before = self.posts
            turn = self._part(loop.body)
            self.known[id(loop.body)] = turn, self.posts - before
            self.posts = before
        return self.known[id(loop.body)]

    def _made(self, one: Instruction) -> tuple[list[_Row], int]:
        """Return the events of an instruction, and its posts; they are kept if they do not depend on earlier posts."""
        if id(one) in self.rows:
            return self.rows[id(one)]
        rows = self._rows(one, 1 + self.places.setdefault(one.where, len(self.places)))
        made = rows, sum(kind in (Kind.SEND, Kind.RECV) for kind, *_ in rows)
        if not isinstance(one, Wait) and getattr(one, "request", NONE) == NONE:
            self.rows[id(one)] = made
        return made

    def _rows(self, one: Instruction, site: int) -> list[_Row]:
        """Return the events of an instruction; the request of a WAIT is how many posts before it its own is."""
        wait = (Kind.WAIT, 0, 0, 0, -1, 0, 1, 0, 0.0, 0.0, site)
        if isinstance(one, Compute):
            return [(Kind.COMPUTE, 0, 0, 0, -1, 0, 0, 0, one.operations, 0.0, site)]
        if isinstance(one, Collective):
            return self._collective(one, site)
        if isinstance(one, Disk):
            return [
                (Kind.ELAPSE, 0, Elapse.ASLEEP if way == PAUSE else OWN + way, 0, -1, 0, 0, 0, amount, 0.0, site)
                for way, amount in self.disks.moves(self.process, one)
            ]
        rows: list[_Row] = []
        if isinstance(one, Send | Reply):
            return self._send(one, site)
        if isinstance(one, ReceiveAny):
            rows += [(Kind.RECV, 0, 0, 0, ANY, one.label, 0, 0, 0.0, 0.0, site), wait]
        elif isinstance(one, Receive):
            for peer in range(one.first, one.first + one.count):
                rows.append((Kind.RECV, 0, 0, 0, peer, 0, 0, 0, 0.0, 0.0, site))
                if one.request != NONE:
                    self.begun.setdefault(one.request, []).append(self.posts + len(rows) - 1)
                else:
                    rows.append(wait)
        elif isinstance(one, Wait):
            numbers = sorted(number for request in one.requests for number in self.begun.pop(request, ()))
            rows += [(Kind.WAIT, 0, 0, 0, -1, 0, self.posts - number, 0, 0.0, 0.0, site) for number in numbers]
        else:
            raise TypeError(f"{one.where}: the graph has no events for {one!r}")
        return rows

    def _send(self, one: Send | Reply, site: int) -> list[_Row]:
        mode = Mode.SYNCHRONOUS if one.waits else Mode.STANDARD
        peers = range(one.first, one.first + one.count) if isinstance(one, Send) else (LATEST,)
        rows: list[_Row] = []
        for number, peer in enumerate(peers):
            rows.append((Kind.SEND, mode, 0, 0, peer, 0, 0, one.size_bytes, 0.0, 0.0, site))
            if isinstance(one, Send) and one.request != NONE:
                self.begun.setdefault(one.request, []).append(self.posts + number)
            elif one.waits:
                rows.append((Kind.WAIT, 0, 0, 0, -1, 0, 1, 0, 0.0, 0.0, site))
        return rows

    def _collective(self, one: Collective, site: int) -> list[_Row]:
        members, op = self.stream.groups[one.group], Op[one.block.upper()]
        comm, tag = one.group + 1, _COLLECTIVE_TAG - op
        place = members.index(self.process) if self.process in members else -1
        rows: list[_Row] = []
        for step in steps(Call(op, place, len(members), one.root, one.size_bytes, ())):
            for is_send, partner, size_bytes in step.operations:
                kind = Kind.SEND if is_send else Kind.RECV
                rows.append((kind, Mode.STANDARD, 0, comm, members[partner], tag, 0, size_bytes, 0.0, 0.0, site))
            begun = len(step.operations)
            rows += [(Kind.WAIT, 0, 0, comm, -1, tag, begun - i, 0, 0.0, 0.0, site) for i in range(begun)]
        return rows


def _marks(mark: Mark) -> np.ndarray:
    return np.array([(Kind.MARK, 0, mark, 0, -1, 0, 0, 0, 0.0, 0.0, 0)], EVENT)


def _numbered(events: np.ndarray) -> np.ndarray:
    """Number the operations of a process, and let each WAIT have the number of its own."""
    kind, request = events["kind"], events["request"]
    posts = (kind == Kind.SEND) | (kind == Kind.RECV)
    begun = np.cumsum(posts)
    waits = kind == Kind.WAIT
    request[waits] = begun[waits] - request[waits]
    request[posts] = begun[posts] - 1
    return events
