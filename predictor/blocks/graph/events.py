"""The events of an application's processes, as those of a recorded program (apps/recording), from its instructions.

Collectives become their messages, and loops their turns, except for one loop: if all processes have a loop of the same
number of turns, its turns are the iterations of the program, of which three stand for all.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from apps.recording.events import EVENT, Elapse, Kind, Mark, Mode, Op
from apps.traffic.collectives import Call, steps
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
        for number, instruction in enumerate(program):
            if number == at and isinstance(instruction, Loop):
                total += 5 * sum(times * _weight(inner, stream) for inner, times in executed(instruction.body))
            else:
                total += sum(times * _weight(inner, stream) for inner, times in executed((instruction,)))
        of_program.append(total)
    return sum(of_program[number] for number in stream.program_of)


def _weight(instruction: Instruction, stream: Stream) -> int:
    if isinstance(instruction, Send | Receive):
        return 2 * instruction.count
    if isinstance(instruction, Collective):
        members = len(stream.groups[instruction.group])
        return 4 * members if instruction.block in ("alltoall", "allgather") else 4
    return 1


def _iterations(stream: Stream) -> tuple[list[int], int]:
    """Return the place of the loop of iterations in each program, and its number of turns (0: there is none).

    The k-th loops with the same number of turns belong together.  Any of them may be chosen: with fewer turns of it the
    application is the same, so it can be seen from a few of them how the others go on.
    """
    used = [stream.programs[number] for number in sorted(set(stream.program_of))]
    none = [_WHOLE] * len(stream.programs), 0
    if not used or any(isinstance(instruction, ReceiveAny) for program in used for instruction, _ in executed(program)):
        return none
    counted = [
        Counter(instruction.times for instruction in program if isinstance(instruction, Loop)) for program in used
    ]
    alike = [t for t in counted[0] if t >= LEAST_TURNS and all(c[t] == counted[0][t] for c in counted)]
    alike = [
        t
        for t in alike
        if all(
            closed(instruction)
            for p in used
            for instruction in p
            if isinstance(instruction, Loop) and instruction.times == t
        )
    ]
    best, best_loops = 0, none
    for turns in alike:
        places = [
            [at for at, instruction in enumerate(p) if isinstance(instruction, Loop) and instruction.times == turns]
            for p in used
        ]
        for k in range(counted[0][turns]):
            weight = turns * sum(
                times * _weight(inner, stream)
                for program, at in zip(used, places, strict=True)
                for instruction in (program[at[k]],)
                if isinstance(instruction, Loop)
                for inner, times in executed(instruction.body)
            )
            if weight > best:
                best, chosen = weight, [_WHOLE] * len(stream.programs)
                for number, at in zip(sorted(set(stream.program_of)), places, strict=True):
                    chosen[number] = at[k]
                best_loops = chosen, turns
    return best_loops


def closed(loop: Loop) -> bool:
    """Return whether each turn of a loop waits for the requests that it has begun, and for no others."""
    return _open_after(loop.body, frozenset()) == frozenset()


def _open_after(body: Sequence[Instruction], begun: frozenset[int]) -> frozenset[int] | None:
    """Return the requests that are not waited for after some instructions; None: one waits for an earlier request."""
    for instruction in body:
        if isinstance(instruction, Send | Receive) and instruction.request != NONE:
            begun |= {instruction.request}
        elif isinstance(instruction, Wait):
            if not begun.issuperset(instruction.requests):
                return None
            begun -= set(instruction.requests)
        elif isinstance(instruction, Loop):
            after = _open_after(instruction.body, begun)
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
        shared = [
            not any(isinstance(instruction, Collective | Disk) for instruction, _ in executed(p))
            for p in self.stream.programs
        ]
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
        for instruction in program:
            if isinstance(instruction, Loop):
                parts.append(np.array(rows, EVENT))
                rows = []
                if id(instruction.body) in self.known or closed(instruction):
                    turn, posts = self._turn(instruction)
                    parts.append(np.tile(turn, instruction.times))
                    self.posts += posts * instruction.times
                else:
                    parts += [self._part(instruction.body) for _ in range(instruction.times)]
            else:
                made, posts = self._made(instruction)
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

    def _made(self, instruction: Instruction) -> tuple[list[_Row], int]:
        """Return the events of an instruction, and its posts; they are kept if they do not depend on earlier posts."""
        if id(instruction) in self.rows:
            return self.rows[id(instruction)]
        rows = self._rows(instruction, 1 + self.places.setdefault(instruction.where, len(self.places)))
        made = rows, sum(kind in (Kind.SEND, Kind.RECV) for kind, *_ in rows)
        if not isinstance(instruction, Wait) and getattr(instruction, "request", NONE) == NONE:
            self.rows[id(instruction)] = made
        return made

    def _rows(self, instruction: Instruction, site: int) -> list[_Row]:
        """Return the events of an instruction; the request of a WAIT is how many posts before it its own is."""
        wait = (Kind.WAIT, 0, 0, 0, -1, 0, 1, 0, 0.0, 0.0, site)
        if isinstance(instruction, Compute):
            return [(Kind.COMPUTE, 0, 0, 0, -1, 0, 0, 0, instruction.operations, 0.0, site)]
        if isinstance(instruction, Collective):
            return self._collective(instruction, site)
        if isinstance(instruction, Disk):
            return [
                (Kind.ELAPSE, 0, Elapse.ASLEEP if way == PAUSE else OWN + way, 0, -1, 0, 0, 0, amount, 0.0, site)
                for way, amount in self.disks.moves(self.process, instruction)
            ]
        rows: list[_Row] = []
        if isinstance(instruction, Send | Reply):
            return self._send(instruction, site)
        if isinstance(instruction, ReceiveAny):
            rows += [(Kind.RECV, 0, 0, 0, ANY, instruction.label, 0, 0, 0.0, 0.0, site), wait]
        elif isinstance(instruction, Receive):
            for peer in range(instruction.first, instruction.first + instruction.count):
                rows.append((Kind.RECV, 0, 0, 0, peer, 0, 0, 0, 0.0, 0.0, site))
                if instruction.request != NONE:
                    self.begun.setdefault(instruction.request, []).append(self.posts + len(rows) - 1)
                else:
                    rows.append(wait)
        elif isinstance(instruction, Wait):
            numbers = sorted(number for request in instruction.requests for number in self.begun.pop(request, ()))
            rows += [(Kind.WAIT, 0, 0, 0, -1, 0, self.posts - number, 0, 0.0, 0.0, site) for number in numbers]
        else:
            raise TypeError(f"{instruction.where}: the graph has no events for {instruction!r}")
        return rows

    def _send(self, send: Send | Reply, site: int) -> list[_Row]:
        mode = Mode.SYNCHRONOUS if send.waits else Mode.STANDARD
        peers = range(send.first, send.first + send.count) if isinstance(send, Send) else (LATEST,)
        rows: list[_Row] = []
        for number, peer in enumerate(peers):
            rows.append((Kind.SEND, mode, 0, 0, peer, 0, 0, send.size_bytes, 0.0, 0.0, site))
            if isinstance(send, Send) and send.request != NONE:
                self.begun.setdefault(send.request, []).append(self.posts + number)
            elif send.waits:
                rows.append((Kind.WAIT, 0, 0, 0, -1, 0, 1, 0, 0.0, 0.0, site))
        return rows

    def _collective(self, collective: Collective, site: int) -> list[_Row]:
        members, op = self.stream.groups[collective.group], Op[collective.block.upper()]
        comm, tag = collective.group + 1, _COLLECTIVE_TAG - op
        place = members.index(self.process) if self.process in members else -1
        rows: list[_Row] = []
        for step in steps(Call(op, place, len(members), collective.root, collective.size_bytes, ())):
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
