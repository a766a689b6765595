"""Records of a rank's operations and timed section: files in the layout that apps/recording/files.py reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from apps.recording.events import EVENT, EVENT_FIELDS, Kind, Mark, Op
from apps.recording.files import BEGIN, END


@dataclass
class Counts:
    """Numbers and bytes of point-to-point messages sent and of collectives called."""

    messages: int = 0
    bytes: int = 0
    self_messages: int = 0  # the part of ``messages`` that the rank sent to itself
    self_bytes: int = 0  # the same of ``bytes``
    calls: dict[str, int] = field(default_factory=dict)  # by name of the collective
    call_bytes: dict[str, int] = field(default_factory=dict)  # of the arguments

    def sent(self, size_bytes: int, *, to_itself: bool) -> None:
        """Count a message."""
        self.messages += 1
        self.bytes += size_bytes
        if to_itself:
            self.self_messages += 1
            self.self_bytes += size_bytes

    def called(self, name: str, size_bytes: int) -> None:
        """Count a call of a collective."""
        self.calls[name] = self.calls.get(name, 0) + 1
        self.call_bytes[name] = self.call_bytes.get(name, 0) + size_bytes

    def copy(self) -> Counts:
        """Return a copy that later calls do not change."""
        return replace(self, calls=dict(self.calls), call_bytes=dict(self.call_bytes))

    def since(self, before: Counts) -> Counts:
        """Return what has been counted since ``before``, an earlier copy."""
        return Counts(
            messages=self.messages - before.messages,
            bytes=self.bytes - before.bytes,
            self_messages=self.self_messages - before.self_messages,
            self_bytes=self.self_bytes - before.self_bytes,
            calls={name: count - before.calls.get(name, 0) for name, count in self.calls.items()},
            call_bytes={name: size - before.call_bytes.get(name, 0) for name, size in self.call_bytes.items()},
        )


@dataclass(frozen=True)
class Moment:
    """The clock at some moment, s, and what the rank had done by then."""

    clock_s: float
    compute_s: float
    flops: float
    counts: Counts


class Section:
    """The timed section of one rank.  It is open from the beginning; ``begin`` restarts it."""

    def __init__(self, clock_s: float = 0.0):
        self.all_marked = False  # whether only the part marked by ``before`` precedes the first iteration
        self.begin(clock_s)

    def begin(self, clock_s: float) -> None:
        """Start the section at this clock, with nothing done."""
        self.start_s = clock_s
        self.end: Moment | None = None
        self.compute_s = 0.0
        self.flops = 0.0
        self.counts = Counts()
        self.iterations: list[Moment] = []  # at the ends of the iterations
        self.before: Moment | None = None  # at the beginning of the first iteration, where the program marks it

    @property
    def ended(self) -> Moment:
        """The end of the section.

        Raises:
            ValueError: the section is still open.
        """
        if self.end is None:
            raise ValueError("the timed section is still open")
        return self.end

    def now(self, clock_s: float) -> Moment:
        """Return this moment."""
        return Moment(clock_s, self.compute_s, self.flops, self.counts.copy())

    def per_iteration(self) -> Moment:
        """Return what one iteration does: the second, because set-up without a mark may precede the first.

        It is the first where all is marked, as in the C kernels, or where there is no second.
        """
        ends = self.iterations
        start = Moment(self.start_s, 0.0, 0.0, Counts())
        if not ends:
            return replace(start, clock_s=0.0)
        is_first = self.all_marked or len(ends) == 1
        before, after = (self.before or start, ends[0]) if is_first else (ends[0], ends[1])
        return Moment(
            after.clock_s - before.clock_s,
            after.compute_s - before.compute_s,
            after.flops - before.flops,
            after.counts.since(before.counts),
        )


def output(sections: Sequence[Section], hosts: Sequence[str], timed_wall_s: float, iterations: int) -> dict[str, Any]:
    """Return what the ranks did, in the form of a C kernel's record (apps/kernels/harness/record.c).

    Args:
        sections: the timed section of each rank.
        hosts: the host of each rank.
        timed_wall_s: real time of the timed section, s.
        iterations: the requested number; iterations are reported only if every rank has marked this many.
    """
    marked = all(len(section.iterations) == iterations for section in sections)
    each = [section.per_iteration() if marked else Section().per_iteration() for section in sections]
    ends = [section.ended for section in sections]
    counted = ("messages", "bytes", "self_messages", "self_bytes")
    return {
        "timed_wall_s": timed_wall_s,
        "verified": None,
        "checks": {},
        "host": list(hosts),
        "start_s": [section.start_s for section in sections],
        "stop_s": [end.clock_s for end in ends],
        "compute_s": [end.compute_s for end in ends],
        "flops": [end.flops for end in ends],
        "flops_per_iteration": [iteration.flops for iteration in each],
        **{name: [getattr(end.counts, name) for end in ends] for name in counted},
        **{f"iteration_{name}": [getattr(iteration.counts, name) for iteration in each] for name in counted},
        "collectives": _collectives([end.counts for end in ends]),
        "iteration_collectives": _collectives([iteration.counts for iteration in each]),
        "iteration_end_s": [[end.clock_s for end in section.iterations] if marked else [] for section in sections],
        "iteration_compute_s": [
            [end.compute_s for end in section.iterations] if marked else [] for section in sections
        ],
    }


def _collectives(counts: Sequence[Counts]) -> dict[str, Any]:
    """Return for each collective that was called the largest number of calls of a rank, and the bytes of each rank."""
    names = dict.fromkeys(name for counted in counts for name, count in counted.calls.items() if count)
    return {
        name: {
            "calls": max(count.calls.get(name, 0) for count in counts),
            "bytes": [count.call_bytes.get(name, 0) for count in counts],
        }
        for name in names
    }


class Communicators:
    """The communicators of all ranks; number 0 has all ranks."""

    def __init__(self, nranks: int):
        self._numbers = {(tuple(range(nranks)), 0): 0}

    def number(self, members: tuple[int, ...], turn: int) -> int:
        """Return the number of the communicator that its members make as their ``turn``-th of the same members."""
        return self._numbers.setdefault((members, turn), len(self._numbers))

    def write(self, folder: Path) -> None:
        """Write the members of each communicator."""
        lines = [" ".join(map(str, members)) + "\n" for members, _ in self._numbers]
        (folder / "communicators").write_text("".join(lines))


class Events:
    """The events of one rank.  The clock of an event is the simulated time at which it begins, s."""

    def __init__(self, communicators: Communicators, nranks: int) -> None:
        self._communicators = communicators
        self._made = {tuple(range(nranks)): [0]}  # numbers of the communicators, in order, by members
        self._rows: list[list[Any]] = []
        self._operations: list[int] = []  # the row of each SEND and RECV
        self._counts: list[int] = []  # bytes: the vectors of collectives
        self._rows.append(_mark(0.0, BEGIN))

    def compute(self, clock_s: float, flops: float) -> None:
        """Note a computation."""
        self._add(clock_s, Kind.COMPUTE, amount=flops)

    def send(self, clock_s: float, dest: int, tag: int, size_bytes: int) -> int:
        """Note that a message begins to be sent; return the number of the operation."""
        return self._begin(clock_s, Kind.SEND, dest, tag, size_bytes)

    def receive(self, clock_s: float, source: int, tag: int) -> int:
        """Note a receive, whose size ``came`` will set; return the number of the operation."""
        return self._begin(clock_s, Kind.RECV, source, tag, 0)

    def came(self, operation: int, size_bytes: int) -> None:
        """Note the size of a message that has been received."""
        self._rows[self._operations[operation]][_SIZE] = size_bytes

    def wait(self, clock_s: float, operation: int) -> None:
        """Note that the rank waits for an operation."""
        self._add(clock_s, Kind.WAIT, request=operation)

    def made(self, members: Sequence[int]) -> None:
        """Note a communicator that the rank has made with others."""
        numbers = self._made.setdefault(tuple(members), [])
        numbers.append(self._communicators.number(tuple(members), len(numbers)))

    def collective(
        self, clock_s: float, name: str, root: int, size_bytes: int, *, members: Sequence[int] | None = None
    ) -> None:
        """Note a collective of the ranks of a communicator; None: of all ranks."""
        comm = self._number(members)
        self._add(clock_s, Kind.COLLECTIVE, op=Op[name.upper()], comm=comm, peer=root, size_bytes=size_bytes)

    def collective_of_sizes(
        self, clock_s: float, name: str, sizes_bytes: Sequence[int], *, members: Sequence[int]
    ) -> None:
        """Note a collective with a size for each member."""
        self.collective(clock_s, name, -1, sum(sizes_bytes), members=members)
        self._rows[-1][_REQUEST] = len(self._counts)
        self._counts += sizes_bytes

    def _number(self, members: Sequence[int] | None) -> int:
        """Return the number of the last communicator made with these members."""
        return 0 if members is None else self._made[tuple(members)][-1]

    def start(self, clock_s: float) -> None:
        """Note the start of the timed section, which takes the place of an earlier one."""
        for row in self._rows[1:]:
            if row[0] == Kind.MARK:
                row[0] = _DELETED
        self.mark(clock_s, Mark.START)

    def mark(self, clock_s: float, mark: Mark) -> None:
        """Note a mark."""
        self._rows.append(_mark(clock_s, mark))

    def _begin(self, clock_s: float, kind: Kind, peer: int, tag: int, size_bytes: int) -> int:
        operation = len(self._operations)
        self._operations.append(len(self._rows))
        self._add(clock_s, kind, comm=0, peer=peer, tag=tag, request=operation, size_bytes=size_bytes)
        return operation

    def _add(self, clock_s: float, kind: Kind, **fields: Any) -> None:
        self._rows.append(_row(clock_s, kind, **fields))

    def write(self, folder: Path, rank: int) -> None:
        """Write the events of this rank."""
        self._rows.append(_mark(self._rows[-1][_CLOCK], END))
        rows = [tuple(row) for row in self._rows if row[0] != _DELETED]
        if not any(row[0] == Kind.MARK and row[2] == Mark.START for row in rows):
            rows.insert(1, tuple(_mark(0.0, Mark.START)))
        np.array(rows, EVENT).tofile(folder / f"{rank}.events")
        np.array(self._counts, np.int64).tofile(folder / f"{rank}.counts")


_SIZE, _REQUEST, _CLOCK = (EVENT_FIELDS.index(name) for name in ("size_bytes", "request", "clock_s"))
_DELETED = 255


def _row(
    clock_s: float,
    kind: Kind,
    *,
    op: int = 0,
    comm: int = -1,
    peer: int = -1,
    tag: int = -1,
    request: int = -1,
    size_bytes: int = 0,
    amount: float = 0.0,
) -> list[Any]:
    """Return an event, in the order of EVENT's fields."""
    return [kind, 0, op, comm, peer, tag, request, size_bytes, amount, clock_s, 0]


def _mark(clock_s: float, mark: int) -> list[Any]:
    return _row(clock_s, Kind.MARK, op=mark)


def write_events(folder: Path, ranks: Sequence[Events], communicators: Communicators) -> None:
    """Write the events of all ranks, and their communicators."""
    for rank, events in enumerate(ranks):
        events.write(folder, rank)
    communicators.write(folder)
