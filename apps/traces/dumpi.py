"""Reader of DUMPI traces as text: the files that dumpi2ascii writes for the ranks of a run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from apps.errors import TraceError
from apps.recording.events import Kind, Mode, Op
from apps.traces import calls
from apps.traces.dumpi_text import CART, MADE, Call, Datatypes, OwnComms, Status, calls_in, extras_of, resolve
from apps.traces.events import COMM, KIND, PEER, REQUEST, RankEvents, Trace, member
from platforms.wording import number_of

_NAME = re.compile(r"(?P<head>(?:.*[-_.])?)(?P<rank>\d+)(?P<tail>(?:\.[A-Za-z]\w*)*)")
_NO_REQUEST = 1  # MPI_REQUEST_NULL
_SIZED_MAKERS = calls.MAKERS - MADE - {"MPI_Comm_free", "MPI_Comm_disconnect"}


def read_dumpi(path: Path) -> Trace:
    """Return the trace in the text of rank 0, such as ``dumpi-0000.txt``, and the texts of the other ranks beside it.

    Raises:
        TraceError: A text is broken or missing, or has calls that a recording cannot represent.
    """
    where = f"--recording {path}"
    paths = _texts(path, where)
    ranks = [_Rank(path) for path in paths]
    for rank in ranks:
        rank.read()
        if rank.world not in (None, len(paths)):
            problem = f"the run had {number_of(rank.world or 0, 'rank')}, and the texts of {len(paths)} are here"
            raise TraceError(where, problem, "Run dumpi2ascii on the files of all ranks, numbered alike")
    unknown, odd = Counter[str](), Counter[str]()
    for rank in ranks:
        unknown.update(rank.events.unknown)
        odd.update(rank.events.odd)
    calls.refuse_unknown(where, unknown)
    communicators, known = resolve(where, [rank.comms for rank in ranks])
    for rank, numbers in zip(ranks, known, strict=True):
        _to_world(rank.events, numbers, communicators)
    cautions = [f"{text}: {count}" for text, count in sorted(odd.items())]
    return Trace(where, [rank.events for rank in ranks], communicators, cautions)


def _texts(path: Path, where: str) -> list[Path]:
    """Return the texts of all ranks."""
    named = _NAME.fullmatch(path.name)
    if named is None or int(named["rank"]) != 0:
        known = "neither an .otf2 file nor the text of rank 0, whose name ends with its number, as in dumpi-0000.txt"
        raise TraceError(where, known, "Give one of them; dumpi2ascii makes texts of DUMPI's binary files")
    paths, width = [path], len(named["rank"])
    while (other := path.with_name(f"{named['head']}{len(paths):0{width}d}{named['tail']}")).is_file():
        paths.append(other)
    return paths


def _to_world(events: RankEvents, numbers: Mapping[int, int], communicators: list[tuple[int, ...]]) -> None:
    """Replace a rank's own numbers of communicators, and ranks within them, by those of the trace."""
    for row in events.rows:
        if row[KIND] in (Kind.SEND, Kind.RECV, Kind.COLLECTIVE):
            if row[COMM] not in numbers:
                raise events.broken("it uses a communicator of which it is no member")
            row[COMM] = numbers[row[COMM]]
            if row[KIND] != Kind.COLLECTIVE or row[PEER] >= 0:
                row[PEER] = member(communicators[row[COMM]], row[PEER], events, "a partner")


class _Rank:
    """Reads the text of one rank."""

    def __init__(self, path: Path):
        self.events = RankEvents(str(path))
        self.comms = OwnComms()
        self.world: int | None = None  # number of ranks, if the program has asked for it
        self._path, self._extras = path, extras_of(path)
        self._types = Datatypes(self._extras.size_bytes)
        self._requests: dict[int, _Request] = {}

    def read(self) -> None:
        """Read all calls."""
        for call in calls_in(self._path):
            self._take(call)
        if not self.events.ended:
            raise self.events.broken("it does not come to MPI_Finalize")
        if any(request.active is not None and request.receives for request in self._requests.values()):
            raise self.events.broken("some of its receives never end")
        for name, count in self._extras.ignored.items():
            if name in calls.COLLECTIVES or (name in _TOLD and name not in _POLLS):
                self.events.unknown[f"{name} that DUMPI did not record"] += count

    def _take(self, call: Call) -> None:
        name = call.name
        if self.events.ended:
            return
        if name in calls.ENDS:
            self.events.stop(call.entered_s)
            return
        if name in calls.BEGINS:
            self.events.start(call.returned_s)
            return
        self.events.enter(call.entered_s)
        if name in calls.TESTS:
            self.events.odd[f"calls of {name}, polling is as recorded"] += 1
        if not calls.is_represented(name) or name in _SIZED_MAKERS or name == "MPI_Cancel":
            self.events.unknown[name] += 1
        elif name in MADE:
            self.comms.note(call)
            if name == CART and call.number("reorder"):
                self.events.odd[f"calls of {name} that may reorder ranks, which are taken to keep their order"] += 1
        elif name == "MPI_Comm_size" and self.comms.number(call) == 0:
            self.world = call.number("size")
        elif name in calls.COLLECTIVES:
            _collective(call, self.events, self.comms, self._types)
        elif name in _TOLD:
            _TOLD[name](self, call)
        else:
            self._types.note(call)
        self.events.leave(call.returned_s)

    # --- the two ends of messages ---

    def _begin_send(self, call: Call, count: str, datatype: str, tag: str) -> int | None:
        """Begin to send a message; return its number, or None for one to MPI_PROC_NULL."""
        peer = call.number("dest")
        if peer < 0:
            return None
        mode = calls.SENDS.get(call.name, Mode.STANDARD)
        size_bytes = self._types.bytes_of(call, count, datatype)
        comm = self.comms.number(call)
        return self.events.send(peer=peer, tag=call.number(tag), comm=comm, size_bytes=size_bytes, mode=mode)

    def _begin_receive(self, call: Call, tag: str = "tag") -> _Request:
        """Begin to receive a message; the receive from MPI_PROC_NULL has no event."""
        peer = call.number("source")
        made = _Request(True, comm=self.comms.number(call), peer=peer, tag=call.number(tag))
        if peer >= -1:
            made.active = self.events.receive()
        return made

    def _end_receive(self, made: _Request, call: Call, status: Status | None) -> None:
        """End a receive with the message that the status describes."""
        row, made.active = made.active, None
        peer, tag = made.peer, made.tag
        if peer == -1 and status is not None:
            peer = status.source
            if peer < 0:  # MPI_PROC_NULL is -1 in some libraries, as is MPI_ANY_SOURCE in DUMPI
                self.events.drop(row)
                return
        if tag == -1 and status is not None:
            tag = status.tag
        if peer < 0 or tag < 0:
            which = "MPI_ANY_SOURCE" if peer < 0 else "MPI_ANY_TAG"
            self.events.unknown[f"receives with {which} and no status"] += 1
            return
        self.events.arrived(row, call.returned_s, comm=made.comm, peer=peer, tag=tag)
        self.events.wait(row[REQUEST])

    # --- calls ---

    def _send(self, call: Call) -> None:
        number = self._begin_send(call, "count", "datatype", "tag")
        if number is not None:
            self.events.wait(number)

    def _receive(self, call: Call) -> None:
        made = self._begin_receive(call)
        if made.active is not None:
            self._end_receive(made, call, next(iter(call.statuses("status")), None))

    def _exchange(self, call: Call) -> None:
        replace = call.name == "MPI_Sendrecv_replace"
        sent = ("count", "datatype") if replace else ("sendcount", "sendtype")
        number = self._begin_send(call, *sent, "sendtag")
        made = self._begin_receive(call, "recvtag")
        if number is not None:
            self.events.wait(number)
        if made.active is not None:
            self._end_receive(made, call, next(iter(call.statuses("status")), None))

    def _isend(self, call: Call) -> None:
        number = self._begin_send(call, "count", "datatype", "tag")
        self._requests[call.number("request")] = _Request(False, active=number)

    def _ireceive(self, call: Call) -> None:
        self._requests[call.number("request")] = self._begin_receive(call)

    def _prepare(self, call: Call) -> None:
        self._requests[call.number("request")] = _Request(call.name == "MPI_Recv_init", prepared=call)

    def _start(self, call: Call) -> None:
        for handle in call.numbers("requests") if call.name == "MPI_Startall" else [call.number("request")]:
            made = self._known(handle, call)
            if made.prepared is None or made.active is not None:
                raise call.broken(f"{call.name} of a request that is not ready to be started")
            if made.receives:
                again = self._begin_receive(made.prepared)
                made.comm, made.peer, made.tag, made.active = again.comm, again.peer, again.tag, again.active
            else:
                made.active = self._begin_send(made.prepared, "count", "datatype", "tag")

    def _free(self, call: Call) -> None:
        made = self._requests.pop(call.number("request"), None)
        if made is not None and made.receives and made.active is not None:
            self.events.unknown["MPI_Request_free of a receive that is under way"] += 1

    def _one(self, call: Call) -> None:
        if call.name == "MPI_Wait" or call.number("flag"):
            self._ended(call.number("request"), call, next(iter(call.statuses("status")), None))

    def _all(self, call: Call) -> None:
        if call.name == "MPI_Waitall" or call.number("flag"):
            handles, statuses = call.numbers("requests"), call.statuses("statuses")
            for at, handle in enumerate(handles):
                self._ended(handle, call, statuses[at] if len(statuses) == len(handles) else None)

    def _any(self, call: Call) -> None:
        if call.name == "MPI_Waitany" or call.number("flag"):
            self._ended_at(call, [call.number("index")], call.statuses("status"))

    def _some(self, call: Call) -> None:
        if call.number("outcount") > 0:
            self._ended_at(call, call.numbers("indices"), call.statuses("statuses"))

    def _ended_at(self, call: Call, places: list[int], statuses: list[Status]) -> None:
        handles = call.numbers("requests")
        for at, place in enumerate(places):
            if place < 0:
                continue  # MPI_UNDEFINED
            if place >= len(handles):
                raise call.broken(f"{call.name} ends request {place} of {len(handles)}")
            self._ended(handles[place], call, statuses[at] if at < len(statuses) else None)

    def _ended(self, handle: int, call: Call, status: Status | None) -> None:
        if handle <= _NO_REQUEST:
            return
        made = self._known(handle, call)
        if made.active is not None and made.receives:
            self._end_receive(made, call, status)
        elif made.active is not None:
            self.events.wait(made.active)
            made.active = None
        if made.prepared is None:
            del self._requests[handle]

    def _known(self, handle: int, call: Call) -> _Request:
        if handle not in self._requests:
            raise call.broken(f"{call.name} names the request {handle}, which the rank has not begun")
        return self._requests[handle]

    def _probe(self, call: Call) -> None:
        self.events.odd[f"calls of {call.name}, waiting in it is left out"] += 1


class _Request:
    """A request: the operation that is under way, or how to begin it."""

    def __init__(
        self,
        receives: bool,
        *,
        comm: int = -1,
        peer: int = -1,
        tag: int = -1,
        active: Any = None,
        prepared: Call | None = None,
    ):
        self.receives, self.comm, self.peer, self.tag = receives, comm, peer, tag
        self.active = active  # number of a send, event of a receive; None: nothing is under way
        self.prepared = prepared  # of a persistent request


_POLLS = calls.TESTS | {"MPI_Iprobe"}  # DUMPI has an option to record only those that succeed
_TOLD: Mapping[str, Callable[[_Rank, Call], None]] = {
    **dict.fromkeys(("MPI_Send", "MPI_Bsend", "MPI_Ssend", "MPI_Rsend"), _Rank._send),
    **dict.fromkeys(("MPI_Isend", "MPI_Ibsend", "MPI_Issend", "MPI_Irsend"), _Rank._isend),
    **dict.fromkeys(("MPI_Send_init", "MPI_Bsend_init", "MPI_Ssend_init", "MPI_Rsend_init"), _Rank._prepare),
    **dict.fromkeys(("MPI_Sendrecv", "MPI_Sendrecv_replace"), _Rank._exchange),
    **dict.fromkeys(("MPI_Start", "MPI_Startall"), _Rank._start),
    **dict.fromkeys(("MPI_Wait", "MPI_Test"), _Rank._one),
    **dict.fromkeys(("MPI_Waitall", "MPI_Testall"), _Rank._all),
    **dict.fromkeys(("MPI_Waitany", "MPI_Testany"), _Rank._any),
    **dict.fromkeys(("MPI_Waitsome", "MPI_Testsome"), _Rank._some),
    **dict.fromkeys(calls.PROBES, _Rank._probe),
    "MPI_Recv": _Rank._receive,
    "MPI_Irecv": _Rank._ireceive,
    "MPI_Recv_init": _Rank._prepare,
    "MPI_Request_free": _Rank._free,
}


def _collective(call: Call, events: RankEvents, comms: OwnComms, types: Datatypes) -> None:
    """Add a collective call with the sizes from its arguments."""
    op, comm = calls.COLLECTIVES[call.name], comms.number(call)
    root = call.number("root") if op in calls.ROOTED else -1
    if op in calls.ROOTED and root < 0:
        raise call.broken(f"the root of {call.name} is {root}")
    size_bytes, counts = _sizes(call, op, types, at_root="commrank" in call.texts and call.number("commrank") == root)
    events.collective(op, comm=comm, root=root, size_bytes=size_bytes, counts=counts)


def _sizes(call: Call, op: Op, types: Datatypes, *, at_root: bool) -> tuple[int, list[int]]:
    """Return the size and the counts of a collective call, as apps.recording.events.Op defines them.

    With MPI_IN_PLACE one side has no meaning: then the other side has the same.
    """
    if op is Op.BARRIER:
        return 0, []
    sent, received = ("sendcount", "sendtype"), ("recvcount", "recvtype")
    match op:
        case Op.GATHER:
            return types.bytes_of(call, *(received if at_root else sent)), []
        case Op.SCATTER:
            return types.bytes_of(call, *(sent if at_root else received)), []
        case Op.ALLGATHER | Op.ALLTOALL:
            return types.bytes_of(call, *received), []
        case Op.GATHERV if not at_root:
            return types.bytes_of(call, *sent), []
        case Op.SCATTERV if not at_root:
            return types.bytes_of(call, *received), []
        case Op.SCATTERV:
            counts = types.vector(call, "sendcounts", "sendtype")
        case Op.GATHERV | Op.ALLGATHERV:
            counts = types.vector(call, "recvcounts", "recvtype")
        case Op.ALLTOALLV if call.name == "MPI_Alltoallw":
            counts = types.vector_of_types(call, "sendcounts", "sendtypes")
        case Op.ALLTOALLV:
            counts = types.vector(call, "sendcounts", "sendtype") or types.vector(call, "recvcounts", "recvtype")
        case Op.REDUCE_SCATTER:
            counts = types.vector(call, "recvcounts", "datatype")
        case _:
            return types.bytes_of(call, "count", "datatype"), []
    if not counts:
        raise call.broken(f"{call.name} has no counts")
    return sum(counts), counts
