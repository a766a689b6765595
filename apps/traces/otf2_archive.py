"""Reader of OTF2 archives, as Score-P writes them, with the library otf2.

A rank's calls are the regions of MPI.  Everything outside of them, and outside of the tracer's own regions, is
computation.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import otf2

from apps.errors import TraceError
from apps.recording.events import Mode, Op
from apps.traces import calls
from apps.traces.events import REQUEST, RankEvents, Trace, member
from apps.traces.otf2_apart import REMEDY, UnreadableArchive

_OPS: Mapping[Any, Op] = {
    getattr(otf2.CollectiveOp, name): Op[name]
    for name in (
        "BARRIER", "BCAST", "GATHER", "GATHERV", "SCATTER", "SCATTERV", "ALLGATHER", "ALLGATHERV", "ALLTOALL",
        "ALLTOALLV", "ALLREDUCE", "REDUCE", "REDUCE_SCATTER", "SCAN", "EXSCAN",
    )
} | {otf2.CollectiveOp.ALLTOALLW: Op.ALLTOALLV, otf2.CollectiveOp.REDUCE_SCATTER_BLOCK: Op.REDUCE_SCATTER}  # fmt: skip
# Collectives that only make and free handles; their messages are not recorded, so that they take no time.
_OF_HANDLES = {otf2.CollectiveOp.CREATE_HANDLE, otf2.CollectiveOp.DESTROY_HANDLE}


def read_archive(path: Path, where: str) -> Trace:
    """Return the trace of the archive with this anchor file; ``where`` names it in errors.

    Raises:
        TraceError: The archive is broken, or it has calls that a recording cannot represent.
    """
    with _reading(where), otf2.reader.open(str(path)) as archive:
        known = archive.definitions
        reader = _Reader(where, _world(where, known), known)
        reader.read(archive)
    return reader.trace()


@contextmanager
def _reading(where: str) -> Iterator[None]:
    """Turn the errors of the library into one of ours, those inside its callbacks included."""
    hidden: list[BaseException] = []
    before, sys.unraisablehook = (
        sys.unraisablehook,
        lambda unraisable: hidden.append(unraisable.exc_value or Exception()),
    )
    try:
        yield
    except TraceError:
        raise
    except Exception as err:  # the library does not document what it raises for a broken archive
        raise UnreadableArchive(where, _text(err)) from err
    finally:
        sys.unraisablehook = before
    if hidden:
        raise UnreadableArchive(where, _text(hidden[0]))


def _text(err: BaseException) -> str:
    return " ".join(str(err).split()).rstrip(".") or type(err).__name__


def _world(where: str, known: Any) -> dict[Any, int]:
    """Return the ranks in MPI_COMM_WORLD by their locations."""
    groups = [
        group for group in known.groups
        if group.group_type == otf2.GroupType.COMM_LOCATIONS and group.paradigm == otf2.Paradigm.MPI
    ]  # fmt: skip
    if len(groups) != 1 or not groups[0].members:
        raise TraceError(where, "it is no trace of an MPI program: it names no ranks", "Record an MPI program")
    return {location: rank for rank, location in enumerate(groups[0].members)}


class _Reader:
    """Reads the events of the ranks' locations."""

    def __init__(self, where: str, world: Mapping[Any, int], known: Any):
        self._where, self._world, self._known = where, world, known
        self._communicators: list[tuple[int, ...]] = [tuple(range(len(world)))]
        self._comms: dict[tuple[int, int], int] = {}  # by number in the archive, and rank for MPI_COMM_SELF
        self._ranks = [_Rank(f"{where}, rank {rank}", rank, self.comm) for rank in range(len(world))]
        self._begin, self._resolution = known.clock_properties.global_offset, known.clock_properties.timer_resolution
        if self._resolution <= 0:
            raise TraceError(where, f"its timer has {self._resolution} ticks per second", REMEDY)
        self._other = Counter[str]()

    def read(self, archive: Any) -> None:
        """Read all events.

        The library may give rubbish as the last event of a file that is cut off.  So contradictions are reported
        only if all events are there.
        """
        contradiction: TraceError | None = None
        for location, event in archive.events:
            rank = self._world.get(location)
            if rank is None:
                self._other[location.name] += 1
                continue
            self._ranks[rank].taken += 1
            if contradiction is None:
                try:
                    self._ranks[rank].take(event, (event.time - self._begin) / self._resolution, self._resolution)
                except TraceError as err:
                    contradiction = err
        for location, rank in self._world.items():
            read, announced = self._ranks[rank].taken, location.number_of_events
            if read != announced:
                raise TraceError(
                    self._where, f"it is cut off: {read} of the {announced} events of rank {rank} can be read", REMEDY
                )
        if contradiction is not None:
            raise contradiction

    def comm(self, comm: Any, rank: int) -> tuple[int, tuple[int, ...]]:
        """Return the index and the members of a communicator that this rank uses."""
        if getattr(comm, "group", None) is None:
            problem = f"rank {rank} uses a communicator with a remote group, which a recording cannot represent"
            raise TraceError(self._where, problem, "Trace a run without it")
        alone = comm.group.group_type == otf2.GroupType.COMM_SELF
        key = (comm._ref, rank if alone else -1)
        if key not in self._comms:
            members = (rank,) if alone else tuple(self._world[location] for location in comm.group.members)
            if len(set(members)) != len(members):
                raise TraceError(self._where, "a communicator of it has a rank twice", REMEDY)
            if members == self._communicators[0] and 0 not in self._comms.values():
                self._comms[key] = 0
            else:
                self._comms[key] = len(self._communicators)
                self._communicators.append(members)
        at = self._comms[key]
        members = self._communicators[at]
        if rank not in members:
            raise TraceError(self._where, f"rank {rank} uses a communicator of which it is no member", REMEDY)
        return at, members

    def trace(self) -> Trace:
        """Return the trace after a check that it is whole and can be represented."""
        ranks = [rank.events for rank in self._ranks]
        unknown, odd = Counter[str](), Counter[str]()
        for events_there in ranks:
            unknown.update(events_there.unknown)
            odd.update(events_there.odd)
        calls.refuse_unknown(self._where, unknown)
        for rank in self._ranks:
            rank.finish()
        cautions = [f"{text}: {count}" for text, count in sorted(odd.items())]
        if self._other:
            named = ", ".join(sorted(self._other)[:3])
            more = f" and {len(self._other) - 3} more" if len(self._other) > 3 else ""
            cautions.append(f"locations without MPI, such as threads, are left out: {named}{more}")
        return Trace(self._where, ranks, self._communicators, cautions)


class _Rank:
    """Reads the events of one rank."""

    def __init__(self, where: str, rank: int, comm: Callable[[Any, int], tuple[int, tuple[int, ...]]]):
        self.events = RankEvents(where)
        self.taken = 0  # number of events, as its reader counts them
        self._rank, self._comm = rank, comm
        self._calls: list[str] = []  # the regions of MPI and of the tracer that the rank is in
        self._pending: list[int] = []  # blocking operations of the present call
        self._sized = False  # the size of the present call is known
        self._sends: dict[int, int] = {}  # numbers of operations by request
        self._receives: dict[int, list[Any]] = {}

    def take(self, event: Any, at_s: float, resolution: int) -> None:
        """Take the next event of the rank."""
        kind = type(event).__name__
        if self.events.ended:
            return
        if kind == "BufferFlush":
            self._flushed(at_s, at_s + (event.stop_time - event.time) / resolution)
        elif kind == "MeasurementOnOff" and event.measurement_mode == otf2.MeasurementMode.OFF:
            if self.events.begun:
                raise self.events.broken("its recording was switched off for a part of the run")
        elif (handler := _HANDLERS.get(kind)) is not None:
            handler(self, event, at_s)
        elif kind.startswith(("Rma", "NonBlockingCollective", "MpiMrecv", "MpiImrecv")):
            self.events.unknown[self._calls[0] if self._calls else kind] += 1

    def finish(self) -> None:
        """Check that the rank came to its end."""
        if not self.events.ended:
            raise self.events.broken("it does not come to MPI_Finalize")
        if self._receives:
            raise self.events.broken(f"{len(self._receives)} of its receives never end")

    def _enter(self, event: Any, at_s: float) -> None:
        name = calls.plain_name(event.region.name)
        if event.region.paradigm == otf2.Paradigm.MPI or name.startswith("MPI_"):
            self._call(name, at_s)
        elif event.region.paradigm == otf2.Paradigm.MEASUREMENT_SYSTEM:
            self._outermost(event.region.name, at_s)

    def _outermost(self, name: str, at_s: float) -> None:
        if not self._calls and self.events.begun:
            self.events.enter(at_s)
        self._calls.append(name)

    def _call(self, name: str, at_s: float) -> None:
        if name in calls.ENDS and not self._calls:
            self.events.stop(at_s)
            return
        if name not in calls.BEGINS and not self._calls and not self.events.begun:
            self.events.start(at_s)  # the trace begins after MPI_Init
        if not calls.is_represented(name):
            self.events.unknown[name] += 1
        if name in calls.PROBES or name in calls.TESTS:
            odd = "waiting in it is left out" if name in calls.PROBES else "polling is as recorded"
            self.events.odd[f"calls of {name}, {odd}"] += 1
        self._outermost(name, at_s)
        self._sized = False

    def _leave(self, event: Any, at_s: float) -> None:
        name = calls.plain_name(event.region.name)
        mpi = event.region.paradigm == otf2.Paradigm.MPI or name.startswith("MPI_")
        if not mpi and event.region.paradigm != otf2.Paradigm.MEASUREMENT_SYSTEM:
            return
        if not self._calls or self._calls.pop() != (name if mpi else event.region.name):
            raise self.events.broken(f"it leaves {name}, which it has not entered")
        if self._calls:
            return
        for number in self._pending:
            self.events.wait(number)
        self._pending = []
        if name in calls.BEGINS:
            self.events.start(at_s)
        elif self.events.begun:
            self.events.leave(at_s)
        if name in calls.COLLECTIVES and not self._sized:
            self.events.unknown[f"{name} without its size"] += 1

    def _flushed(self, begin_s: float, end_s: float) -> None:
        """Count no time while the tracer writes its buffer."""
        self.events.odd["times that the tracer stopped the program to write its buffer"] += 1
        if not self._calls and self.events.begun:
            self.events.enter(begin_s)
            self.events.leave(end_s)

    def _inside(self, kind: str) -> str:
        """Return the name of the present call."""
        if not self._calls or not self.events.begun:
            raise self.events.broken(f"an {kind} outside of a call of MPI")
        return self._calls[0]

    def _ends(self, comm: Any, rank: int, what: str) -> dict[str, int]:
        at, members = self._comm(comm, self._rank)
        return {"comm": at, "peer": member(members, rank, self.events, what)}

    def _begin_send(self, event: Any, kind: str) -> int:
        mode = calls.SENDS.get(self._inside(kind), Mode.STANDARD)
        ends = self._ends(event.communicator, event.receiver, "a receiver")
        return self.events.send(**ends, tag=event.msg_tag, size_bytes=event.msg_length, mode=mode)

    def _send(self, event: Any, at_s: float) -> None:
        self._pending.append(self._begin_send(event, "MpiSend"))

    def _receive(self, event: Any, at_s: float) -> None:
        self._inside("MpiRecv")
        row = self.events.receive()
        ends = self._ends(event.communicator, event.sender, "a sender")
        self.events.arrived(row, at_s, **ends, tag=event.msg_tag)
        self._pending.append(row[REQUEST])

    def _isend(self, event: Any, at_s: float) -> None:
        self._sends[event.request_id] = self._begin_send(event, "MpiIsend")

    def _isent(self, event: Any, at_s: float) -> None:
        self._inside("MpiIsendComplete")
        self.events.wait(self._known(self._sends, event.request_id))

    def _irecv_begins(self, event: Any, at_s: float) -> None:
        self._inside("MpiIrecvRequest")
        if event.request_id in self._receives:
            raise self.events.broken(f"request {event.request_id} begins twice")
        self._receives[event.request_id] = self.events.receive()

    def _ireceived(self, event: Any, at_s: float) -> None:
        self._inside("MpiIrecv")
        row = self._known(self._receives, event.request_id)
        ends = self._ends(event.communicator, event.sender, "a sender")
        self.events.arrived(row, at_s, **ends, tag=event.msg_tag)
        self.events.wait(row[REQUEST])

    def _cancelled(self, event: Any, at_s: float) -> None:
        row = self._receives.pop(event.request_id, None)
        if row is None:
            self.events.unknown["MPI_Cancel of a send"] += 1
        else:
            self.events.drop(row)

    def _known(self, requests: dict[int, Any], request: int) -> Any:
        if request not in requests:
            raise self.events.broken(f"request {request} ends, but does not begin")
        return requests.pop(request)

    def _collective(self, event: Any, at_s: float) -> None:
        self._sized = True
        if event.collective_op in _OF_HANDLES:
            return
        op = _OPS.get(event.collective_op)
        if op is None:
            self.events.unknown[str(event.collective_op).rpartition(".")[2]] += 1
            return
        self._inside("MpiCollectiveEnd")
        at, members = self._comm(event.communicator, self._rank)
        root = member(members, event.root, self.events, "the root") if op in calls.ROOTED else -1
        made = self.events.collective(op, comm=at, root=root)
        for size in (event.size_sent, event.size_received):
            self.events.check_size(size)
        made.sent_bytes, made.received_bytes = event.size_sent, event.size_received


_HANDLERS: Mapping[str, Callable[[_Rank, Any, float], None]] = {
    "Enter": _Rank._enter,
    "Leave": _Rank._leave,
    "MpiSend": _Rank._send,
    "MpiRecv": _Rank._receive,
    "MpiIsend": _Rank._isend,
    "MpiIsendComplete": _Rank._isent,
    "MpiIrecvRequest": _Rank._irecv_begins,
    "MpiIrecv": _Rank._ireceived,
    "MpiRequestCancelled": _Rank._cancelled,
    "MpiCollectiveEnd": _Rank._collective,
}
