"""The events of one rank of a trace, collected in the order of its calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.errors import TraceError
from apps.recording.events import Kind, Mark, Mode, Op

MOST_BYTES = 1 << 62  # of one message or one call; a larger size is a broken trace
# Places in a row, as in apps.recording.events.EVENT.
KIND, MODE, OP, COMM, PEER, TAG, REQUEST, SIZE, AMOUNT, CLOCK = range(10)
DROPPED = 255  # kind of an event that is taken back
_NO_CALL = -1


@dataclass
class Collective:
    """The part of one rank in a collective call."""

    row: list[Any]  # its event
    counts: Sequence[int] = ()  # bytes by member, of calls that have them
    sent_bytes: int | None = None  # all that the rank sends, as OTF2 counts it (sizes.py); None: the row has the size
    received_bytes: int = 0


@dataclass
class RankEvents:
    """The events of a rank between MPI_Init and MPI_Finalize.

    Ranks are those of MPI_COMM_WORLD, ``comm`` the index of a communicator of the trace.  The amount of a computation
    is its time, s.  ``enter`` and ``leave`` report calls, and the other methods the events within them.
    """

    where: str  # names the trace and the rank in errors
    rows: list[list[Any]] = field(default_factory=list)
    collectives: list[Collective] = field(default_factory=list)
    arrived_s: dict[int, float] = field(default_factory=dict)  # by number of the operation: when its receive was over
    odd: Counter[str] = field(default_factory=Counter)  # calls by name that are left out or only estimated
    unknown: Counter[str] = field(default_factory=Counter)  # calls by name that a recording cannot represent
    operations: int = 0
    _left_s: float | None = None
    _entered_s: float = 0.0
    _latest_s: float = float("-inf")
    _ended: bool = False

    @property
    def begun(self) -> bool:
        """Return whether the rank has begun its timed section, and has not ended it."""
        return bool(self.rows) and not self._ended

    @property
    def ended(self) -> bool:
        """Return whether the rank has come to MPI_Finalize."""
        return self._ended

    def start(self, at_s: float) -> None:
        """Begin the timed section."""
        if self.rows:
            raise self.broken("it initialises MPI twice")
        self._check(at_s)
        self._left_s = at_s
        self._add(Kind.MARK, op=Mark.START, clock_s=at_s)

    def stop(self, at_s: float) -> None:
        """End the timed section."""
        self.enter(at_s)
        self._add(Kind.MARK, op=Mark.STOP, clock_s=at_s)
        self._ended = True

    def enter(self, at_s: float) -> None:
        """Begin a call; the time since the last one is computation."""
        self._check(at_s)
        if self._left_s is None:
            self.start(at_s)
        computed_s = at_s - (at_s if self._left_s is None else self._left_s)
        if computed_s > 0:
            self._add(Kind.COMPUTE, amount=computed_s, clock_s=at_s - computed_s)
        self._entered_s = self._left_s = at_s

    def leave(self, at_s: float) -> None:
        """End a call."""
        self._check(at_s)
        self._left_s = at_s

    def send(self, *, peer: int, tag: int, comm: int, size_bytes: int, mode: Mode = Mode.STANDARD) -> int:
        """Begin to send a message; return the number of the operation."""
        self.check_size(size_bytes)
        row = self._begin(Kind.SEND, peer=peer, tag=tag, comm=comm, size_bytes=size_bytes, mode=mode)
        return int(row[REQUEST])

    def receive(self, *, comm: int = -1, peer: int = -1, tag: int = -1) -> list[Any]:
        """Begin to receive a message; return its event, whose peer, tag and comm may be filled in later."""
        return self._begin(Kind.RECV, peer=peer, tag=tag, comm=comm)

    def wait(self, operation: int) -> None:
        """Wait for the end of an operation in the present call."""
        self._add(Kind.WAIT, request=operation, clock_s=self._entered_s)

    def arrived(self, receive: list[Any], at_s: float, *, comm: int, peer: int, tag: int) -> None:
        """Tell which message a receive has got, and when."""
        receive[COMM], receive[PEER], receive[TAG] = comm, peer, tag
        self.arrived_s[receive[REQUEST]] = at_s

    def collective(
        self, op: Op, *, comm: int, root: int = -1, size_bytes: int = 0, counts: Sequence[int] = ()
    ) -> Collective:
        """Take part in a collective call."""
        for size in (size_bytes, *counts):
            self.check_size(size)
        row = self._add(Kind.COLLECTIVE, op=op, comm=comm, peer=root, size_bytes=size_bytes, clock_s=self._entered_s)
        made = Collective(row, counts)
        self.collectives.append(made)
        return made

    def drop(self, row: list[Any]) -> None:
        """Take back an operation, such as one that was cancelled."""
        row[KIND] = DROPPED

    def broken(self, problem: str) -> TraceError:
        """Return the error for a trace that contradicts itself."""
        return TraceError(self.where, problem, "Record the run again, and copy all files of the trace")

    def _begin(self, kind: Kind, **values: Any) -> list[Any]:
        number, self.operations = self.operations, self.operations + 1
        return self._add(kind, request=number, clock_s=self._entered_s, **values)

    def _add(
        self,
        kind: Kind,
        *,
        mode: int = 0,
        op: int = 0,
        comm: int = -1,
        peer: int = -1,
        tag: int = -1,
        request: int = _NO_CALL,
        size_bytes: int = 0,
        amount: float = 0.0,
        clock_s: float = 0.0,
    ) -> list[Any]:
        row = [int(kind), int(mode), int(op), comm, peer, tag, request, size_bytes, amount, clock_s, 0]
        self.rows.append(row)
        return row

    def _check(self, at_s: float) -> None:
        if at_s < self._latest_s:
            raise self.broken(f"its time goes back from {self._latest_s:.9f} to {at_s:.9f} s")
        self._latest_s = at_s

    def check_size(self, size_bytes: int) -> None:
        """Refuse the size of a message or call that no run can have."""
        if not 0 <= size_bytes < MOST_BYTES:
            raise self.broken(f"a message or a call of {size_bytes} bytes")


def member(members: Sequence[int], rank: int, events: RankEvents, what: str) -> int:
    """Return the rank in MPI_COMM_WORLD of a rank of a communicator.

    Raises:
        TraceError: The communicator has no such rank.
    """
    if not 0 <= rank < len(members):
        raise events.broken(f"{what} is rank {rank} of a communicator of {len(members)}")
    return members[rank]


@dataclass
class Trace:
    """A trace: the events of all ranks, and the communicators that they name."""

    where: str
    ranks: Sequence[RankEvents]
    communicators: Sequence[tuple[int, ...]]  # 0 is MPI_COMM_WORLD
    cautions: list[str] = field(default_factory=list)
