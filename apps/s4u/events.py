"""Records of a rank's operations during its run: files in the layout that apps/recording/files.py reads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from apps.recording.events import EVENT, EVENT_FIELDS, Kind, Mark, Op
from apps.recording.files import BEGIN, END


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
