"""Traces as DUMPI's text, in the form that dumpi2ascii writes (SST DUMPI, "Building and using the DUMPI library")."""

import json

import pytest

from apps.errors import TraceError
from apps.recording.events import Kind, Mode, Op
from apps.traces.read import recording_of
from platforms.errors import UserError
from predictor.predict import main

FOUR_NODES = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="n" suffix="" radical="0-3" speed="1Gf" bw="100MBps" lat="10us"/>
</platform>
"""
WORLD = "MPI_Comm comm=2 (MPI_COMM_WORLD)"


def edge(name, which, at_s):
    whole, rest = divmod(round(at_s * 1e9), 10**9)
    return f"{name} {which} at walltime {20120 + whole}.{rest:09d}, cputime 0.023382031 seconds in thread 0."


def call(name, begin_s, end_s, *arguments):
    return [edge(name, "entering", begin_s), *arguments, edge(name, "returning", end_s)]


def elements(count, *, names=("count", "datatype"), kind="14 (MPI_DOUBLE)"):
    return f"int {names[0]}={count}", f"MPI_Datatype {names[1]}={kind}"


def send(begin_s, end_s, to, *, name="MPI_Send", tag=7, count=1000, comm=WORLD, more=()):
    return call(name, begin_s, end_s, *elements(count), f"int dest={to}", f"int tag={tag}", comm, *more)


def receive(begin_s, end_s, source, *, name="MPI_Recv", tag="7", status="<IGNORED>", comm=WORLD):
    asked = f"int source={source}", f"int tag={tag}", comm
    return call(name, begin_s, end_s, *elements(1000), *asked, f"MPI_Status status={status}")


def write(folder, ranks):
    """Writes the texts of the ranks, each given as its calls between 1 ms and 1 s; returns that of rank 0."""
    for rank, calls in enumerate(ranks):
        lines = [
            "version=1.0.0",
            "hostname=node",
            *call("MPI_Init", 0, 1e-3, "int argc=1", 'string argv[1]=["./ring"]'),
            *call("MPI_Comm_size", 1e-3, 1e-3, WORLD, f"int size={len(ranks)}"),
            *(line for one in calls for line in one),
            *call("MPI_Finalize", 1, 1.5),
            "Total keyvals: 0",
            "MPI_Send called 1 times and ignored 0 times",
            "Datatype 14 (MPI_DOUBLE) has size 8",
        ]
        (folder / f"run-{rank:04d}.txt").write_text("\n".join([*lines, ""]))
    return folder / "run-0000.txt"


def kinds(events):
    return [Kind(kind) for kind in events["kind"] if kind != Kind.MARK]


def test_a_ring_takes_the_time_calculated_by_hand(tmp_path, capsys):
    # Rank 0 computes 0.1 s and sends 8000 bytes; each other computes 0.1 s when it has received them, and sends them
    # on; rank 0 receives them.  Recorded on cores of 40 Gflop/s, predicted on 1 Gflop/s: 4 s for each rank.  A message
    # of n bytes takes n + 16 bytes over 1e8 byte/s, and 10 us on each node's link; without factors and cross traffic.
    first = [send(0.101, 0.2, 1), receive(0.2, 1, 3)]
    others = [[receive(1e-3, 0.3, rank - 1), send(0.4, 1, (rank + 1) % 4)] for rank in (1, 2, 3)]
    trace = write(tmp_path, [first, *others])
    plain = ["network/crosstraffic:no", "network/TCP-gamma:0", "smpi/bw-factor:1", "smpi/lat-factor:1"]
    platform = tmp_path / "four.xml"
    platform.write_text(FOUR_NODES)
    command = ["--recording", str(trace), "--recorded-gflops", "40", "--platform", str(platform), "--json"]
    command += ["--predictor", "dpgraph:known", *(f"--cfg={one}" for one in plain)]
    assert main(command) == 0
    (found,) = json.loads(capsys.readouterr().out)["predictions"]
    message_s = 8016 / 1e8 + 20e-6
    assert found["prediction"]["time_s"] == pytest.approx(4 * 4 + 4 * message_s, rel=1e-9)
    assert found["prediction"]["cost"]["node_s"] == 0
    assert found["ranks"] == 4 and found["app"] == "run"


def test_a_clock_that_is_ahead_is_told_and_changes_nothing(tmp_path):
    # The receive is over 0.2 s before the send begins: one of both clocks is at least so far off.
    trace = write(tmp_path, [[send(0.5, 0.6, 1)], [receive(0.1, 0.3, 0)]])
    recording = recording_of(trace, "1")
    assert recording.cautions == (
        "clocks of the ranks disagree: 1 of 1 messages are received before they are sent, by up to 0.2 s; "
        "only times within ranks are used",
    )
    sender, receiver = recording.events
    assert kinds(sender) == [Kind.COMPUTE, Kind.SEND, Kind.WAIT, Kind.COMPUTE]
    assert sender["amount"][sender["kind"] == Kind.COMPUTE] == pytest.approx([0.499e9, 0.4e9])
    assert receiver["amount"][receiver["kind"] == Kind.COMPUTE] == pytest.approx([0.099e9, 0.7e9])
    assert receiver["size_bytes"][receiver["kind"] == Kind.RECV] == [8000]  # of the message, as its sender tells


def test_each_rank_may_have_a_core_speed_of_its_own(tmp_path):
    recording = recording_of(write(tmp_path, [[send(0.5, 0.6, 1)], [receive(0.5, 0.7, 0)]]), "1,2")
    assert [events["amount"].sum() for events in recording.events] == pytest.approx([0.899e9, 2 * 0.799e9])
    assert recording.remarks[0].startswith(f"the recording is {tmp_path}/run-0000.txt, made on cores of 1 to 2 Gflop/s")


def test_operations_are_those_that_their_requests_name(tmp_path):
    # The handles of requests are used again; a status tells the sender that MPI_ANY_SOURCE has found, and MPI_PROC_NULL
    # is no partner.
    found = "[{bytes=8000, cancelled=0, source=0, tag=9, error=0}]"
    nobody = "[{bytes=0, cancelled=0, source=-2, tag=-1, error=0}]"
    other = "[{bytes=16, cancelled=0, source=9, tag=9, error=96}]"  # of a send, it has no meaning
    ignored, status = "MPI_Status statuses[2]=<IGNORED>", "MPI_Status status="
    first = [
        send(0.1, 0.1, 1, name="MPI_Issend", more=["MPI_Request request=[2]"]),
        call("MPI_Wait", 0.2, 0.3, "MPI_Request request=[2]", f"MPI_Status status={other}"),
        send(0.3, 0.3, 1, name="MPI_Isend", tag=9, more=["MPI_Request request=[2]"]),
        send(0.3, 0.3, -2),
        call("MPI_Waitall", 0.3, 0.4, "int count=2", "MPI_Request requests[2]=[1, 2]", ignored),
    ]  # fmt: skip
    any_, more = "-1 (MPI_ANY_SOURCE)", ["MPI_Request request=[3]"]
    second = [
        call("MPI_Irecv", 0.1, 0.1, *elements(1000), f"int source={any_}", "int tag=-1 (MPI_ANY_TAG)", WORLD, *more),
        receive(0.2, 0.3, 0),
        receive(0.3, 0.3, any_, status=nobody),
        call("MPI_Waitany", 0.3, 0.5, "int count=1", "MPI_Request requests[1]=[3]", "int index=0", f"{status}{found}"),
    ]  # fmt: skip
    sender, receiver = recording_of(write(tmp_path, [first, second]), "1").events
    sends, receives = sender[sender["kind"] == Kind.SEND], receiver[receiver["kind"] == Kind.RECV]
    assert sends[["peer", "tag", "mode"]].tolist() == [(1, 7, Mode.SYNCHRONOUS), (1, 9, Mode.STANDARD)]
    assert receives[["peer", "tag", "size_bytes"]].tolist() == [(0, 9, 8000), (0, 7, 8000)]
    for events in (sender, receiver):
        posted = events["request"][(events["kind"] == Kind.SEND) | (events["kind"] == Kind.RECV)]
        assert sorted(events["request"][events["kind"] == Kind.WAIT]) == sorted(posted)


def test_split_communicators_have_the_members_of_their_color_in_the_order_of_their_keys(tmp_path):
    # Ranks 0 and 2 have color 0, ranks 1 and 3 color 1; keys turn the order round.  The last member is the root.
    row = "MPI_Comm comm=4 (user-defined-comm)"
    ranks = [
        [
            call("MPI_Comm_split", 0.1, 0.1, "MPI_Comm oldcomm=2 (MPI_COMM_WORLD)", f"int color={rank % 2}",
                 f"int key={-rank}", "MPI_Comm newcomm=4 (user-defined-comm)"),
            call("MPI_Bcast", 0.2, 0.3, *elements(5, kind="9 (MPI_INT)"), "int root=1", row),
        ]
        for rank in range(4)
    ]  # fmt: skip
    recording = recording_of(write(tmp_path, ranks), "1")
    for rank, events in enumerate(recording.events):
        (bcast,) = events[events["kind"] == Kind.COLLECTIVE]
        assert recording.communicators[bcast["comm"]] == (2 + rank % 2, rank % 2)
        assert (bcast["op"], bcast["size_bytes"], bcast["peer"]) == (Op.BCAST, 20, rank % 2)


def test_a_cartesian_communicator_has_the_first_ranks_in_their_order(tmp_path):
    grid = "MPI_Comm comm=4 (user-defined-comm)"
    ranks = [
        [
            call("MPI_Cart_create", 0.1, 0.1, "MPI_Comm oldcomm=2 (MPI_COMM_WORLD)", "int ndim=2", "int dims[2]=[2, 1]",
                 "int periods[2]=[0, 0]", "int reorder=1",
                 f"MPI_Comm newcomm={4 if rank < 2 else 1} (user-defined-comm)"),
            *([call("MPI_Barrier", 0.2, 0.3, grid)] if rank < 2 else []),
        ]
        for rank in range(3)
    ]  # fmt: skip
    recording = recording_of(write(tmp_path, ranks), "1")
    (barrier,) = recording.events[1][recording.events[1]["kind"] == Kind.COLLECTIVE]
    assert recording.communicators[barrier["comm"]] == (0, 1)
    said = "calls of MPI_Cart_create that may reorder ranks, which are taken to keep their order: 3"
    assert recording.cautions == (said,)


def test_datatypes_of_the_program_have_the_size_of_their_parts(tmp_path):
    # Three blocks of two doubles, each of them 4 apart: 48 bytes.
    made = call(
        "MPI_Type_vector", 0.1, 0.1, "int count=3", "int blocklength=2", "int stride=4",
        "MPI_Datatype oldtype=14 (MPI_DOUBLE)", "MPI_Datatype newtype=28 (user-defined-datatype)",
    )  # fmt: skip
    arguments = (*elements(10, kind="28 (user-defined-datatype)"), "MPI_Op op=3 (MPI_SUM)", WORLD)
    recording = recording_of(write(tmp_path, [[made, call("MPI_Allreduce", 0.2, 0.3, *arguments)]] * 2), "1")
    for events in recording.events:
        assert events["size_bytes"][events["kind"] == Kind.COLLECTIVE] == [480]


def test_counts_of_an_all_to_all_are_exact(tmp_path):
    def all_to_all(counts):
        return call(
            "MPI_Alltoallv", 0.2, 0.3, "int commsize=2", f"int sendcounts[2]={counts}", "int senddispls[2]=[0, 9]",
            "MPI_Datatype sendtype=9 (MPI_INT)", "int recvcounts[2]=[1, 1]", "int recvdispls[2]=[0, 9]",
            "MPI_Datatype recvtype=9 (MPI_INT)", WORLD,
        )  # fmt: skip

    recording = recording_of(write(tmp_path, [[all_to_all("[1, 2]")], [all_to_all("[3, 4]")]]), "1")
    assert [counts.tolist() for counts in recording.counts] == [[4, 8], [12, 16]]
    assert recording.cautions == ()


UNREPRESENTED = {
    "MPI_Put (2), MPI_Win_fence (1)": [
        call("MPI_Put", 0.1, 0.1), call("MPI_Put", 0.1, 0.1), call("MPI_Win_fence", 0.2, 0.2)
    ],
    "MPI_File_open (1)": [call("MPI_File_open", 0.1, 0.2)],
    "receives with MPI_ANY_SOURCE and no status (1)": [receive(0.1, 0.2, "-1 (MPI_ANY_SOURCE)")],
    "receives with MPI_ANY_TAG and no status (1)": [receive(0.1, 0.2, 0, tag="-1 (MPI_ANY_TAG)")],
    "MPI_Bcast that DUMPI did not record (3)": [["MPI_Bcast called 3 times and ignored 3 times"]],
    "MPI_Comm_create (1)": [call("MPI_Comm_create", 0.1, 0.2)],
}  # fmt: skip


@pytest.mark.parametrize("named", UNREPRESENTED)
def test_calls_that_cannot_be_represented_are_named_with_their_numbers(named, tmp_path):
    with pytest.raises(TraceError, match="calls that a recording cannot represent: ") as caught:
        recording_of(write(tmp_path, [UNREPRESENTED[named]]), "1")
    assert f"cannot represent: {named}. " in str(caught.value)


FINALIZE = "MPI_Finalize entering at walltime 2012"
# By what is said: what is replaced in the text of one rank that sends to itself, and by what.
BROKEN = {
    "count of MPI_Send is too large": ("count=1000", f"count={10**30}"),
    "count of MPI_Send is no number": ("count=1000", "count=many"),
    "MPI_Send of -8 bytes": ("count=1000", "count=-1"),
    "MPI_Send has no tag": ("int tag=7\n", ""),
    "a partner is rank 5 of a communicator of 1": ("dest=0", "dest=5"),
    "the size of datatype 99 of MPI_Send is not known": ("datatype=14", "datatype=99"),
    "names the communicator 6, which the rank has not made": ("comm=2", "comm=6"),
    "its time goes back": (FINALIZE, FINALIZE.replace("2012", "1012")),
    "is called in thread 1": ("thread 0", "thread 1"),
    "1 message with tag 7 from rank 0 to rank 0 sent, 0 messages received": ("run", "run"),
    "neither an argument nor the return of MPI_Send": ("int tag=7", "junk"),
    "MPI_Recv is entered within MPI_Send": ("MPI_Send returning", "MPI_Recv entering"),
    "it initialises MPI twice": ("MPI_Comm_size", "MPI_Init"),
}


@pytest.mark.parametrize("said", BROKEN)
def test_a_broken_text_is_refused_in_one_line(said, tmp_path, refused):
    trace = write(tmp_path, [[send(0.1, 0.2, 0)]])
    trace.write_text(trace.read_text().replace(*BROKEN[said]))
    command = ["--recording", str(trace), "--recorded-gflops", "40", "--scenario", "grid4x2", "--no-store"]
    refused(main, command, "error: ", said)


@pytest.mark.parametrize(
    ("last", "said"),
    [
        ("MPI_Send returning", "it ends within MPI_Send"),
        ("MPI_Finalize", "it does not come to MPI_Finalize"),
        ("int tag", "it ends within MPI_Send"),
    ],
)
def test_a_text_that_is_cut_off_is_refused(last, said, tmp_path):
    trace = write(tmp_path, [[send(0.1, 0.2, 0)]])
    trace.write_text(trace.read_text().partition(last)[0])
    with pytest.raises(TraceError, match=said):
        recording_of(trace, "1")


def test_the_texts_of_all_ranks_have_to_be_there(tmp_path):
    trace = write(tmp_path, [[], [], []])
    (tmp_path / "run-0001.txt").unlink()
    with pytest.raises(TraceError, match="the run had 3 ranks, and the texts of 1 are here"):
        recording_of(trace, "1")


@pytest.mark.parametrize("name", ["run-0001.txt", "run.bin", "none-0000.txt", "folder"])
def test_only_the_text_of_rank_0_is_taken(name, tmp_path):
    write(tmp_path, [[], []])
    (tmp_path / "folder").mkdir()
    (tmp_path / "run.bin").write_bytes(b"\xff\xaa\xddDUMPI")
    with pytest.raises(UserError, match=f"--recording .*{name}: "):
        recording_of(tmp_path / name, "1")
