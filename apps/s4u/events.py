"""What a rank does, noted as it happens: files of the layout that apps/recording_io.py reads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from apps.recording import EVENT, EVENT_FIELDS, Kind, Mark, Op
from apps.recording_io import BEGIN, END


class Events:
    """The events of one rank.  Every one is told when it begins, s on the simulated clock."""

    def __init__(self) -> None:
        self._rows: list[list[Any]] = []
        self._operations: list[int] = []  # the row of each SEND and RECV
        self._rows.append(_mark(0.0, BEGIN))

    def compute(self, clock_s: float, flops: float) -> None:
        self._add(clock_s, Kind.COMPUTE, amount=flops)

    def send(self, clock_s: float, dest: int, tag: int, size_bytes: int) -> int:
        """The number of the operation."""
        return self._begin(clock_s, Kind.SEND, dest, tag, size_bytes)

    def receive(self, clock_s: float, source: int, tag: int) -> int:
        """The number of the operation, of which ``came`` will tell the size."""
        return self._begin(clock_s, Kind.RECV, source, tag, 0)

    def came(self, operation: int, size_bytes: int) -> None:
        self._rows[self._operations[operation]][_SIZE] = size_bytes

    def wait(self, clock_s: float, operation: int) -> None:
        self._add(clock_s, Kind.WAIT, request=operation)

    def collective(self, clock_s: float, name: str, root: int, size_bytes: int) -> None:
        self._add(clock_s, Kind.COLLECTIVE, op=Op[name.upper()], comm=0, peer=root, size_bytes=size_bytes)

    def start(self, clock_s: float) -> None:
        """The timed section starts, anew if it had before."""
        for row in self._rows[1:]:
            if row[0] == Kind.MARK:
                row[0] = _DELETED
        self.mark(clock_s, Mark.START)

    def mark(self, clock_s: float, mark: Mark) -> None:
        self._rows.append(_mark(clock_s, mark))

    def _begin(self, clock_s: float, kind: Kind, peer: int, tag: int, size_bytes: int) -> int:
        operation = len(self._operations)
        self._operations.append(len(self._rows))
        self._add(clock_s, kind, comm=0, peer=peer, tag=tag, request=operation, size_bytes=size_bytes)
        return operation

    def _add(self, clock_s: float, kind: Kind, **fields: Any) -> None:
        self._rows.append(_row(clock_s, kind, **fields))

    def write(self, folder: Path, rank: int) -> None:
        import numpy as np

        self._rows.append(_mark(self._rows[-1][-1], END))
        rows = [tuple(row) for row in self._rows if row[0] != _DELETED]
        if not any(row[0] == Kind.MARK and row[2] == Mark.START for row in rows):
            rows.insert(1, tuple(_mark(0.0, Mark.START)))
        np.array(rows, EVENT).tofile(folder / f"{rank}.events")
        (folder / f"{rank}.counts").write_bytes(b"")  # no collective here has a vector of sizes


_SIZE = EVENT_FIELDS.index("size_bytes")
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
    """In the order of EVENT's fields."""
    return [kind, 0, op, comm, peer, tag, request, size_bytes, amount, clock_s]


def _mark(clock_s: float, mark: int) -> list[Any]:
    return _row(clock_s, Kind.MARK, op=mark)


def write_events(folder: Path, ranks: Sequence[Events]) -> None:
    """The events of all ranks, and their one communicator."""
    for rank, events in enumerate(ranks):
        events.write(folder, rank)
    (folder / "communicators").write_text(" ".join(map(str, range(len(ranks)))) + "\n")
