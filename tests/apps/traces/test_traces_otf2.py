"""OTF2 archives as Score-P writes them (tests/apps/trace_writer.py), read as recordings."""

import functools
import sys
from collections import namedtuple
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from apps.errors import TraceError
from apps.programs.problem import problem
from apps.recording.events import Kind, Mark, Mode, Op
from apps.recording.iterations import without_marks
from apps.runs.neutral import neutral_platform
from apps.runs.record_events import record_events
from apps.runs.simulate import simulate
from apps.spec.run_spec import RunSpec
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.timelines.files import write_timeline
from apps.traces import read
from apps.traces.read import recording_of
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from predictor.answers.answers import predict
from predictor.dpgraph.predictors import DPGRAPH_KNOWN
from predictor.evidence.broker import Broker
from predictor.evidence.given import given_recording

otf2 = pytest.importorskip("otf2", reason="the library otf2 is missing: pip install otf2")
sys.path.insert(0, str(Path(__file__).parents[1]))
from trace_writer import write_trace  # noqa: E402

from apps.traces import otf2_archive  # noqa: E402

RANKS, GFLOPS = 8, "25"


@functools.cache
def recorded(app):
    """The project's own recording of two iterations of a kernel, its timed section alone, without iterations."""
    platform = neutral_platform(RANKS)
    target = Target(problem(app, "S"), platform, tuple(host.name for host in platform.hosts))
    recording = without_marks(record_events(RunSpec(target), 2))
    cut = []
    for events in recording.events:
        start, stop = (
            np.flatnonzero((events["kind"] == Kind.MARK) & (events["op"] == mark))[0]
            for mark in (Mark.START, Mark.STOP)
        )
        cut.append(events[start : stop + 1])
    return replace(recording, events=tuple(cut))


def predicted(given):
    """The answer of dpgraph:known on grid4x2, for which nothing is run."""
    platform = materialise(named_grid("grid4x2"))
    target = Target(given.problem, platform, block(platform, given.recording.nranks))
    broker = Broker(Settings(), [target], record=lambda spec: pytest.fail("nothing is to be run"), given=given)
    (answer,) = predict(DPGRAPH_KNOWN, [target], broker)
    return answer


def traced(recording, tmp_path, **how):
    write_trace(recording, tmp_path / "run.otf2", core_flops=float(GFLOPS) * 1e9, **how)
    return tmp_path / "run.otf2"


@pytest.mark.parametrize("app", ["cg", "mg", "lu", "ft", "ep"])
def test_the_trace_of_a_run_predicts_what_the_project_s_own_recording_of_it_predicts(app, tmp_path):
    own = recorded(app)
    given = given_recording(traced(own, tmp_path), GFLOPS)
    found, expected = predicted(given), predicted(replace(given, recording=own))
    assert found.prediction.time_s == pytest.approx(expected.prediction.time_s, rel=1e-7)
    assert found.prediction.parts["compute_s"] == pytest.approx(expected.prediction.parts["compute_s"], rel=1e-6)
    assert found.evidence[0].cost.node_s == 0
    for got, wanted in zip(given.recording.events, own.events, strict=True):
        got, wanted = (row[row["kind"] != Kind.COMPUTE] for row in (got, wanted))
        names = ["kind", "mode", "op", "peer", "tag", "size_bytes"]
        np.testing.assert_array_equal(got[names], wanted[names])


def test_blocks_of_an_all_to_all_with_counts_are_estimated_from_the_sums_and_that_is_told(tmp_path):
    own = recorded("is")
    given = given_recording(traced(own, tmp_path), GFLOPS)
    assert given.recording.cautions == (
        "2 calls of MPI_Alltoallv or MPI_Alltoallw: blocks are estimated from the sums of each rank",
    )
    for got, wanted in zip(given.recording.counts, own.counts, strict=True):
        assert got.reshape(2, -1).sum(axis=1).tolist() == wanted.reshape(2, -1).sum(axis=1).tolist()
    (time_s, own_s) = (predicted(one).prediction.time_s for one in (given, replace(given, recording=own)))
    assert time_s == pytest.approx(own_s, rel=0.05)


def test_clocks_that_disagree_are_told_and_change_nothing(tmp_path):
    straight, ahead = (tmp_path / name for name in ("straight", "ahead"))
    straight.mkdir(), ahead.mkdir()
    own = recorded("ep")
    first = recording_of(traced(own, straight), GFLOPS)
    own = recorded("cg")
    skewed = recording_of(traced(own, ahead, skew_s=[0, 0.5, *[0] * (RANKS - 2)]), GFLOPS)
    assert first.cautions == ()
    (said,) = skewed.cautions
    assert said.startswith("clocks of the ranks disagree: ") and "by up to 0.5 s" in said
    for got, wanted in zip(skewed.events, own.events, strict=True):
        assert got["amount"].sum() == pytest.approx(wanted["amount"].sum(), rel=1e-6)


# --- archives written call by call ---


class Archive:
    """An archive of some ranks; every call begins at the next millisecond and takes one."""

    def __init__(self, folder, nranks, paradigm=otf2.Paradigm.MPI):
        self.path = folder / "run.otf2"
        self.opened = otf2.writer.open(str(folder), archive_name="run", timer_resolution=1000)
        self.archive = self.opened.__enter__()
        self.known, self.nranks = self.archive.definitions, nranks
        node = self.known.system_tree_node("node")
        self.locations = tuple(
            self.known.location(f"rank {rank}", group=self.known.location_group(f"{rank}", system_tree_parent=node))
            for rank in range(nranks)
        )
        self.known.group(
            "all", group_type=otf2.GroupType.COMM_LOCATIONS, members=self.locations, paradigm=otf2.Paradigm.MPI
        )
        self.world = self.comm(range(nranks))
        self.ranks = [self.archive.event_writer_from_location(location) for location in self.locations]
        self.ticks, self.regions, self.paradigm = [0] * nranks, {}, paradigm

    def comm(self, ranks):
        members = tuple(self.locations[rank] for rank in ranks)
        kind = {"group_type": otf2.GroupType.COMM_GROUP, "paradigm": otf2.Paradigm.MPI}
        return self.known.comm(f"{members}", group=self.known.group(f"{members}", members=members, **kind))

    def call(self, rank, name, *events, paradigm=None):
        """Adds a call with events, each a method of the writer and its arguments after the time."""
        if name not in self.regions:
            self.regions[name] = self.known.region(name, paradigm=self.paradigm if paradigm is None else paradigm)
        self.ticks[rank] += 1
        self.ranks[rank].enter(self.ticks[rank], self.regions[name])
        self.ticks[rank] += 1
        for method, *arguments in events:
            getattr(self.ranks[rank], method)(self.ticks[rank], *arguments)
        self.ranks[rank].leave(self.ticks[rank], self.regions[name])

    def recording(self, *, ends=True):
        for rank in range(self.nranks):
            if ends:
                self.call(rank, "MPI_Finalize")
        self.opened.__exit__(None, None, None)
        return recording_of(self.path, "1")


@pytest.fixture
def archive(tmp_path):
    def opened(nranks):
        made = Archive(tmp_path, nranks)
        for rank in range(nranks):
            made.call(rank, "MPI_Init")
        return made

    return opened


def shown(events):
    return [(Kind(one["kind"]), int(one["request"])) for one in events if one["kind"] not in (Kind.MARK, Kind.COMPUTE)]


def test_operations_end_where_their_requests_do(archive):
    one = archive(2)
    one.call(0, "MPI_Issend", ("mpi_isend", 1, one.world, 5, 80, 31))
    one.call(0, "MPI_Bsend", ("mpi_send", 1, one.world, 5, 90))
    one.call(0, "MPI_Waitall", ("mpi_isend_complete", 31))
    one.call(1, "MPI_Irecv", ("mpi_irecv_request", 7))
    one.call(1, "MPI_Irecv", ("mpi_irecv_request", 8))
    one.call(1, "MPI_Waitany", ("mpi_irecv", 0, one.world, 5, 90, 8))
    one.call(1, "MPI_Wait", ("mpi_irecv", 0, one.world, 5, 80, 7))
    sender, receiver = one.recording().events
    assert shown(sender) == [(Kind.SEND, 0), (Kind.SEND, 1), (Kind.WAIT, 1), (Kind.WAIT, 0)]
    assert sender["mode"][sender["kind"] == Kind.SEND].tolist() == [Mode.SYNCHRONOUS, Mode.BUFFERED]
    assert shown(receiver) == [(Kind.RECV, 0), (Kind.RECV, 1), (Kind.WAIT, 1), (Kind.WAIT, 0)]
    assert receiver["size_bytes"][receiver["kind"] == Kind.RECV].tolist() == [80, 90]


def test_a_cancelled_receive_is_none_and_probes_are_told(archive):
    one = archive(1)
    one.call(0, "MPI_Irecv", ("mpi_irecv_request", 7))
    one.call(0, "MPI_Iprobe")
    one.call(0, "MPI_Wait", ("mpi_request_cancelled", 7))
    recording = one.recording()
    assert shown(recording.events[0]) == []
    assert recording.cautions == ("calls of MPI_Iprobe, waiting in it is left out: 1",)


def test_computation_is_the_time_outside_of_mpi_and_of_the_tracer(archive):
    # By hand: from the end of MPI_Init at 2 ms to MPI_Finalize at 15 ms, without a call of 1 ms, 1 ms of the tracer,
    # and 3 ms during which it writes its buffer.
    one = archive(1)
    one.call(0, "MPI_Barrier", ("mpi_collective_end", otf2.CollectiveOp.BARRIER, one.world, 2**32 - 1, 0, 0))
    one.call(0, "TRACE", paradigm=otf2.Paradigm.MEASUREMENT_SYSTEM)
    one.call(0, "solve", paradigm=otf2.Paradigm.USER)
    one.ranks[0].buffer_flush(9, 12)
    one.ticks[0] = 14
    recording = one.recording()
    assert recording.events[0]["amount"].sum() == pytest.approx((13 - 1 - 1 - 3) * 1e-3 * 1e9)
    assert "times that the tracer stopped the program to write its buffer: 1" in recording.cautions


def test_communicators_keep_their_members_and_roots(archive):
    one = archive(3)
    two = one.comm([2, 0])
    for rank in (0, 2):
        sent = 2 * 40 if rank == 0 else 0  # Score-P counts the root's own part too
        one.call(rank, "MPI_Bcast", ("mpi_collective_end", otf2.CollectiveOp.BCAST, two, 1, sent, 40))
    recording = one.recording()
    for rank in (0, 2):
        (call,) = recording.events[rank][recording.events[rank]["kind"] == Kind.COLLECTIVE]
        assert recording.communicators[call["comm"]] == (2, 0)
        assert (call["op"], call["size_bytes"], call["peer"]) == (Op.BCAST, 40, 0)


def test_calls_that_cannot_be_represented_are_named_with_their_numbers(archive):
    one = archive(2)
    for rank in (0, 1):
        one.call(rank, "MPI_Win_fence")
        one.call(rank, "MPI_Ibarrier", ("non_blocking_collective_request", 3))
        one.call(rank, "MPI_Allreduce")
    one.call(0, "MPI_Put")
    with pytest.raises(TraceError) as caught:
        one.recording()
    said = "MPI_Ibarrier (4), MPI_Allreduce without its size (2), MPI_Win_fence (2), MPI_Put (1). "
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([("MPI_Send", "mpi_send", 5, "world", 0, 8)], "a receiver is rank 5 of a communicator of 2"),
        ([("MPI_Send", "mpi_send", 1, "world", 0, 8)], "1 message with tag 0 from rank 0 to rank 1 sent, 0 messages"),
        ([("MPI_Send", "mpi_send", 1, "world", 0, 2**63)], "a message or a call of 9223372036854775808 bytes"),
        ([("MPI_Wait", "mpi_isend_complete", 4)], "request 4 ends, but does not begin"),
        ([("MPI_Irecv", "mpi_irecv_request", 4)], "1 of its receives never end"),
        ([("MPI_Barrier", "mpi_collective_end", "BARRIER", "world", 0, 0, 0)], "rank 0 makes 1 collective calls in a"),
        ([("MPI_Bcast", "mpi_collective_end", "BCAST", "world", 9, 0, 0)], "the root is rank 9 of a communicator of 2"),
        ([("solve", "mpi_send", 1, "world", 0, 8)], "an MpiSend outside of a call of MPI"),
    ],
)
def test_a_trace_that_contradicts_itself_is_refused(events, said, archive):
    one = archive(2)
    for name, method, *arguments in events:
        found = {"world": one.world, "BARRIER": otf2.CollectiveOp.BARRIER, "BCAST": otf2.CollectiveOp.BCAST}
        paradigm = otf2.Paradigm.USER if name == "solve" else None
        one.call(0, name, (method, *(found.get(word, word) for word in arguments)), paradigm=paradigm)
    with pytest.raises(TraceError, match=said):
        one.recording()


def test_a_trace_that_was_switched_off_for_a_while_is_refused(archive):
    one = archive(1)
    one.ranks[0].measurement_on_off(3, otf2.MeasurementMode.OFF)
    with pytest.raises(TraceError, match="its recording was switched off for a part of the run"):
        one.recording()


def test_a_trace_that_was_stopped_is_refused(archive):
    with pytest.raises(TraceError, match="rank 0: it does not come to MPI_Finalize"):
        archive(2).recording(ends=False)


@pytest.mark.parametrize("file", ["run.otf2", "run.def", "run/1.evt"])
@pytest.mark.parametrize("kept", [0.0, 0.6, None])
def test_files_that_are_cut_off_or_missing_are_refused(file, kept, tmp_path):
    path = traced(recorded("mg"), tmp_path)
    content = (tmp_path / file).read_bytes()
    (tmp_path / file).write_bytes(content[: int(len(content) * (kept or 0))])
    if kept is None:
        (tmp_path / file).unlink()
    with pytest.raises(TraceError) as caught:
        recording_of(path, GFLOPS)
    assert str(caught.value).startswith(f"--recording {path}: ") and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("printed", "said"), [(3, "it is cut off: 2 of the 3 events of rank 0"), (2, "request 9 ends")]
)
def test_rubbish_at_the_end_of_a_file_that_is_cut_off_is_no_contradiction(printed, said):
    # Behind the end of such a file the library reads what happens to be in its memory, which differs from run to run.
    known = SimpleNamespace(clock_properties=SimpleNamespace(global_offset=0, timer_resolution=1000))
    location = namedtuple("Location", "name number_of_events")("rank 0", printed)
    region = SimpleNamespace(name="MPI_Wait", paradigm=otf2.Paradigm.MPI)
    events = [otf2.events.Enter(time=1, region=region), otf2.events.MpiIsendComplete(time=1, request_id=9)]
    reader = otf2_archive._Reader("--recording run.otf2", {location: 0}, known)
    with pytest.raises(TraceError, match=said) as caught:
        reader.read(SimpleNamespace(events=[(location, event) for event in events]))
    assert str(caught.value).startswith("--recording run.otf2")


def test_a_timeline_of_this_project_is_no_recording(tmp_path):
    # It shows what ranks do, but not the sizes of collectives and the requests of operations.
    platform = materialise(named_grid("grid4x2"))
    spec = Settings().spec(Target(problem("is", "S"), platform, block(platform, 4)))
    write_timeline("--timeline", str(tmp_path / "is.otf2"), spec, simulate(spec))
    with pytest.raises(TraceError, match=r"calls that a recording cannot represent: .*, alltoallv "):
        recording_of(tmp_path / "is.otf2", GFLOPS)


def test_without_its_library_an_archive_is_refused_with_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(read, "find_spec", lambda name: None)
    (tmp_path / "run.otf2").touch()
    with pytest.raises(TraceError, match=r"which is missing. Install it: .* pip install otf2"):
        recording_of(tmp_path / "run.otf2", GFLOPS)
