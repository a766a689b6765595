"""Writes a recording as Score-P would have written the trace of its run, with the library otf2."""

import otf2

from apps.recording.events import DATA_OPS, Kind, Mark, Mode, Op

TICKS_PER_S = 10**12
_SENDS = {Mode.STANDARD: "", Mode.BUFFERED: "b", Mode.SYNCHRONOUS: "s", Mode.READY: "r"}
_OPS = {op: getattr(otf2.CollectiveOp, op.name) for op in DATA_OPS}
_IN_CALL = 10**6  # ticks that every call takes: the time in MPI on the recording machine has no meaning


def collective_bytes(op, place, root, size, blocks):
    """All bytes that a member sends and receives, as Score-P counts them; blocks[i][j] is sent by i to j."""
    n = len(blocks)
    is_root = place == root
    if op is Op.BARRIER:
        return 0, 0
    if op in (Op.BCAST, Op.SCATTER):
        return n * size if is_root else 0, size
    if op in (Op.REDUCE, Op.GATHER):
        return size, n * size if is_root else 0
    if op in (Op.ALLREDUCE, Op.ALLGATHER, Op.ALLTOALL):
        return n * size, n * size
    if op is Op.ALLTOALLV:
        return sum(blocks[place]), sum(row[place] for row in blocks)
    raise NotImplementedError(op)


def by_call(events):
    """A rank's events in groups, each a call of MPI: (its name, its events)."""
    at, rows = 0, [dict(zip(events.dtype.names, row, strict=True)) for row in events.tolist()]
    while at < len(rows):
        row = rows[at]
        kind = Kind(row["kind"])
        if kind in (Kind.COMPUTE, Kind.MARK, Kind.PROBE, Kind.COLLECTIVE):
            name = f"MPI_{Op(row['op']).name.capitalize()}" if kind is Kind.COLLECTIVE else kind.name
            yield name, [row]
            at += 1
            continue
        posts, waits = [], []
        while at < len(rows) and rows[at]["kind"] in (Kind.SEND, Kind.RECV):
            posts.append(rows[at])
            at += 1
        while at < len(rows) and rows[at]["kind"] == Kind.WAIT:
            waits.append(rows[at])
            at += 1
        blocking = [row["request"] for row in posts] == [row["request"] for row in waits]
        kinds = [row["kind"] for row in posts]
        if blocking and kinds in ([Kind.SEND], [Kind.RECV], [Kind.SEND, Kind.RECV]):
            yield {1: "MPI_Send" if kinds[0] == Kind.SEND else "MPI_Recv", 2: "MPI_Sendrecv"}[len(kinds)], posts
            continue
        for row in posts:
            yield "MPI_Isend" if row["kind"] == Kind.SEND else "MPI_Irecv", [row]
        if waits:
            yield "MPI_Waitall", waits


def call_name(name, rows):
    if name in ("MPI_Send", "MPI_Isend"):
        mode = _SENDS[Mode(rows[0]["mode"])]
        return f"MPI_I{mode}send" if name == "MPI_Isend" else f"MPI_{(mode + 'send').capitalize()}"
    return name


def write_trace(recording, path, *, core_flops=1e9, skew_s=None):
    """Writes the timed section of a recording; ``skew_s``: by how much the clock of each rank is ahead."""
    skew_s = skew_s or [0.0] * recording.nranks
    with otf2.writer.open(str(path.parent), archive_name=path.stem, timer_resolution=TICKS_PER_S) as archive:
        known = archive.definitions
        root = known.system_tree_node("machine")
        locations = [
            known.location("Master thread", group=known.location_group(f"MPI Rank {rank}", system_tree_parent=root))
            for rank in range(recording.nranks)
        ]
        mpi = {"paradigm": otf2.Paradigm.MPI}
        known.group("locations", group_type=otf2.GroupType.COMM_LOCATIONS, members=tuple(locations), **mpi)
        comms = [
            known.comm(
                f"comm {at}",
                group=known.group(
                    f"group {at}",
                    group_type=otf2.GroupType.COMM_GROUP,
                    members=tuple(locations[one] for one in members),
                    **mpi,
                ),
            )
            for at, members in enumerate(recording.communicators)
        ]
        calls = _calls_by_comm(recording)
        for rank in range(recording.nranks):
            writer = _RankWriter(archive, recording, rank, comms, calls)
            writer.ticks = round(skew_s[rank] * TICKS_PER_S)
            writer.write(archive.event_writer_from_location(locations[rank]), core_flops)


def _calls_by_comm(recording):
    """The collective calls of every member of every communicator, in order, with their counts."""
    found = {}
    for rank, events in enumerate(recording.events):
        for row in events[events["kind"] == Kind.COLLECTIVE]:
            members = recording.communicators[row["comm"]]
            at = int(row["request"])
            counts = recording.counts[rank][at : at + len(members)].tolist() if at >= 0 else None
            found.setdefault((int(row["comm"]), rank), []).append(counts)
    return found


class _RankWriter:
    def __init__(self, archive, recording, rank, comms, calls):
        self.archive, self.recording, self.rank, self.comms, self.calls = archive, recording, rank, comms, calls
        self.regions = archive.__dict__.setdefault("_test_regions", {})
        self.made = {}
        self.ticks = 0

    def region(self, name):
        if name not in self.regions:
            self.regions[name] = self.archive.definitions.region(name, paradigm=otf2.Paradigm.MPI)
        return self.regions[name]

    def write(self, out, core_flops):
        for name, rows in by_call(self.recording.events[self.rank]):
            if name == "COMPUTE":
                self.ticks += round(rows[0]["amount"] / core_flops * TICKS_PER_S)
            elif name == "MARK" and rows[0]["op"] in (Mark.START, Mark.STOP):
                self.call(out, "MPI_Init" if rows[0]["op"] == Mark.START else "MPI_Finalize", [])
            elif name not in ("MARK", "PROBE"):
                self.call(out, call_name(name, rows), rows)

    def call(self, out, name, rows):
        out.enter(self.ticks, self.region(name))
        for row in rows:
            self.event(out, name, row)
        self.ticks += _IN_CALL
        if name in ("MPI_Recv", "MPI_Sendrecv"):
            for row in rows:
                if row["kind"] == Kind.RECV:
                    out.mpi_recv(self.ticks, *self.ends(row))
        elif name == "MPI_Waitall":
            for row in rows:
                post = self.posts[row["request"]]
                if post["kind"] == Kind.SEND:
                    out.mpi_isend_complete(self.ticks, row["request"])
                else:
                    out.mpi_irecv(self.ticks, *self.ends(post), row["request"])
        elif rows and rows[0]["kind"] == Kind.COLLECTIVE:
            self.collective(out, rows[0])
        out.leave(self.ticks, self.region(name))

    @property
    def posts(self):
        return self.made

    def ends(self, row):
        members = self.recording.communicators[row["comm"]]
        return members.index(row["peer"]), self.comms[row["comm"]], row["tag"], row["size_bytes"]

    def event(self, out, name, row):
        if row["kind"] == Kind.SEND and name.startswith("MPI_I"):
            self.made[row["request"]] = row
            out.mpi_isend(self.ticks, *self.ends(row), row["request"])
        elif row["kind"] == Kind.SEND:
            out.mpi_send(self.ticks, *self.ends(row))
        elif row["kind"] == Kind.RECV and name == "MPI_Irecv":
            self.made[row["request"]] = row
            out.mpi_irecv_request(self.ticks, row["request"])
        elif row["kind"] == Kind.COLLECTIVE:
            out.mpi_collective_begin(self.ticks)

    def collective(self, out, row):
        members = self.recording.communicators[row["comm"]]
        number = self.made[row["comm"], "calls"] = self.made.get((row["comm"], "calls"), -1) + 1
        blocks = [self.calls[row["comm"], one][number] or [0] * len(members) for one in members]
        root = members.index(row["peer"]) if row["peer"] >= 0 else -1
        place = members.index(self.rank)
        sent, received = collective_bytes(Op(row["op"]), place, root, row["size_bytes"], blocks)
        shown = root if root >= 0 else 2**32 - 1
        out.mpi_collective_end(self.ticks, _OPS[Op(row["op"])], self.comms[row["comm"]], shown, sent, received)
