"""Recordings of small programs, compared with counts by hand from their source."""

import os
import shutil
import subprocess
import tempfile
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from apps.errors import KernelError, SimulationError
from apps.programs.own_program import read_program
from apps.programs.problem import own_problem
from apps.recording.events import DATA_OPS, Elapse, Kind, Mark, Mode, Op
from apps.recording.files import read_events, without_clocks
from apps.recording.recorder.real.library import real_recorder_library
from apps.runs.neutral import neutral_platform
from apps.runs.record_events import record_events
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target

DATA = Path(__file__).parents[1] / "data"
INT, DOUBLE = 4, 8  # bytes


def record(path, ranks, *, arguments="", full=None, iterations=1, **more):
    platform = neutral_platform(ranks)
    problem = own_problem(read_program(path, arguments, full))
    target = Target(problem, platform, tuple(host.name for host in platform.hosts))
    return record_events(RunSpec(target, **more), iterations)


@cache
def in_simulation():
    return record(DATA / "every_call.c", 3)


@cache
def under_a_real_mpi():
    """Return the recording of the same program under this computer's MPI."""
    with tempfile.TemporaryDirectory() as folder:
        include, program, notes = DATA / "real_mpi", Path(folder) / "every_call", Path(folder) / "notes"
        notes.mkdir()
        subprocess.run(["mpicc", "-I", include, DATA / "every_call.c", "-o", program], check=True)
        settings = {"LD_PRELOAD": real_recorder_library(["mpicc"]), "RECORDER_FOLDER": notes}
        settings["RECORDER_SPEED_FLOPS"] = "1e9 1e9 1e9"
        rank = ["env", *(f"{name}={value}" for name, value in settings.items()), program]
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        launcher = ["mpirun", "--oversubscribe", "-np", "3"]
        subprocess.run([*launcher, *rank], check=True, env={**os.environ, **root}, timeout=300)  # busy processors
        return without_clocks(read_events(notes, 3, measured=True))


@pytest.fixture(params=["simulated", "real"])
def every_call(request):
    if request.param == "simulated":
        return in_simulation()
    if shutil.which("mpirun") is None or shutil.which("mpicc") is None:
        pytest.skip("there is no mpirun here: apt-get install openmpi-bin libopenmpi-dev")
    return under_a_real_mpi()


def messages(events, kind):
    """Return the messages sent or received: peer, tag, communicator, bytes, and the mode of a send."""
    names = ("peer", "tag", "comm", "size_bytes", *(["mode"] if kind == Kind.SEND else []))
    return [tuple(int(event[name]) for name in names) for event in events[events["kind"] == kind]]


def expected_sends(rank):
    right, left = (rank + 1) % 3, (rank + 2) % 3
    sends = {
        0: [
            (1, 10, 0, 4 * INT, Mode.STANDARD),
            (1, 11, 0, 3 * INT, Mode.SYNCHRONOUS),
            (1, 12, 0, 2 * INT, Mode.BUFFERED),
            (1, 13, 0, 1 * INT, Mode.READY),
        ],
        1: [(0, 14, 0, 0, Mode.STANDARD)],
        2: [],
    }[rank]
    sends += [(right, 20, 0, 4 * INT, Mode.STANDARD), (left, 21, 0, 4 * INT, Mode.STANDARD)]
    sends += [(rank + 1, 22, 0, INT, Mode.STANDARD)] if rank < 2 else []
    sends += [
        (right, 30, 0, 10 * DOUBLE, Mode.STANDARD),  # a vector type: 10 doubles out of 100
        (right, 31, 0, 5 * DOUBLE, Mode.SYNCHRONOUS),
        (right, 32, 0, 6 * DOUBLE, Mode.READY),
    ]
    sends += [(right, tag, 0, INT, Mode.STANDARD) for tag in (40, 41, 50, 50, 50, 50)]
    sends += [(2, 60, 0, (1 + rank) * INT, Mode.STANDARD)] if rank < 2 else []
    sends += [(2, 61, 0, INT, Mode.STANDARD)] if rank == 0 else []
    again = 2  # the copy of the communicator of ranks 2 and 0
    sends += [(2 - rank, 70, again, INT, Mode.STANDARD)] if rank != 1 else []
    return sends


def expected_receives(rank):
    """Return the messages to this rank, in the order in which its source receives them."""
    right, left = (rank + 1) % 3, (rank + 2) % 3
    early = {
        0: [(1, 14, 0, 0)],
        1: [(0, 10, 0, 4 * INT), (0, 11, 0, 3 * INT), (0, 12, 0, 2 * INT), (0, 13, 0, INT)],  # from any source
        2: [],
    }[rank]
    halos = [(left, 20, 0, 4 * INT), (right, 21, 0, 4 * INT)]
    halos += [(rank - 1, 22, 0, INT)] if rank > 0 else []
    halos += [(left, 30, 0, 80), (left, 31, 0, 40), (left, 32, 0, 48)]  # received bytes, not the buffer's 800
    halos += [(left, tag, 0, INT) for tag in (40, 41, 50, 50, 50, 50)]
    group = [(2 - rank, 70, 2, INT)] if rank != 1 else []
    return early + halos, group


@pytest.mark.parametrize("rank", range(3))
def test_sends_are_those_of_the_source_in_order(every_call, rank):
    assert messages(every_call.events[rank], Kind.SEND) == expected_sends(rank)


@pytest.mark.parametrize("rank", range(3))
def test_receives_tell_what_really_came(every_call, rank):
    before, group = expected_receives(rank)
    found = messages(every_call.events[rank], Kind.RECV)
    probed = found[len(before) : len(found) - len(group)]
    assert found == [*before, *probed, *group]
    # Rank 2 receives from the two others in any order; the cancelled receive of rank 0 does not count.
    from_all = [(0, 60, 0, INT), (1, 60, 0, 2 * INT)]
    assert (sorted(probed[:2]), probed[2:]) == ((from_all, [(0, 61, 0, INT)]) if rank == 2 else ([], []))


def test_probes_precede_the_receives_of_their_messages(every_call):
    for rank, events in enumerate(every_call.events):
        probes = [
            tuple(int(one[name]) == int(other[name]) for name in ("peer", "tag", "comm"))
            for one, other in pairwise(events[events["kind"] != Kind.COMPUTE])  # real programs compute all the time
            if one["kind"] == Kind.PROBE and other["kind"] == Kind.RECV
        ]
        assert probes == ([(True, True, True)] * 3 if rank == 2 else [])
        assert (events["kind"] == Kind.PROBE).sum() == len(probes)  # unsuccessful probes do not count


def test_every_operation_is_waited_for_once_and_after_its_start(every_call):
    for events in every_call.events:
        started = {}
        for place, event in enumerate(events):
            if event["kind"] in (Kind.SEND, Kind.RECV):
                started[int(event["request"])] = place
            elif event["kind"] == Kind.WAIT:
                assert started.pop(int(event["request"])) < place
        assert not started


def test_computation_is_what_the_program_injects_and_the_time_it_sleeps():
    for rank, events in enumerate(in_simulation().events):
        compute = events["amount"][events["kind"] == Kind.COMPUTE]
        assert compute.tolist() == [1000 * (rank + 1), *([1e6] if rank == 0 else [])]
        elapse = events[events["kind"] == Kind.ELAPSE]  # smpi_execute_benched of 1 us, then 3 us of usleep
        assert elapse["amount"] == pytest.approx([1e-6, 3e-6], rel=1e-9)
        assert elapse["op"].tolist() == [Elapse.ON_CORE, Elapse.ASLEEP]
        marks = events["op"][events["kind"] == Kind.MARK]
        assert marks.tolist() == [Mark.START, Mark.STOP]


def test_computation_under_a_real_mpi_is_the_time_between_calls():
    if shutil.which("mpirun") is None:
        pytest.skip("there is no mpirun here: apt-get install openmpi-bin libopenmpi-dev")
    for events in under_a_real_mpi().events:
        assert events["amount"][events["kind"] == Kind.COMPUTE].min() >= 0
    # Rank 0 sleeps 1 ms in place of 10^6 flops, and a host of 1 Gflop/s does as much in it, or more if it is late.
    first = under_a_real_mpi().events[0]
    assert first["amount"][first["kind"] == Kind.COMPUTE].max() >= 1e6


def test_communicators_are_the_same_for_all_their_members(every_call):
    members = every_call.communicators
    assert members[0] == (0, 1, 2)
    assert members[1] == members[2] == (2, 0)  # split with the keys reversed, and its copy
    assert members[3] == members[4] == (0, 1, 2)  # the copy of the world and its ring
    assert sorted(members[5:]) == [(0,), (1,), (2,)]  # MPI_COMM_SELF


def collectives(events):
    return [
        (Op(event["op"]), int(event["comm"]), int(event["peer"]), int(event["size_bytes"]))
        for event in events[(events["kind"] == Kind.COLLECTIVE) & np.isin(events["op"], DATA_OPS)]
    ]


@pytest.mark.parametrize("rank", range(3))
def test_collectives_are_those_of_the_source_in_order(every_call, rank):
    own = (rank + 1) * DOUBLE  # of the counts 1, 2, 3
    found = collectives(every_call.events[rank])
    if rank != 1:
        assert found.pop(0) == (Op.BCAST, 2, 2, INT)  # its root 0 is rank 2 of the world
    assert found[0] == (Op.BARRIER, 4, -1, 0)
    assert every_call.communicators[found[1][1]] == (rank,)
    assert found[2:] == [
        (Op.BARRIER, 0, -1, 0),
        (Op.BCAST, 0, 1, 3 * DOUBLE),
        (Op.REDUCE, 0, 2, 4 * DOUBLE),
        (Op.ALLREDUCE, 0, -1, 5 * DOUBLE),
        (Op.ALLREDUCE, 0, -1, 6 * DOUBLE),  # in place
        (Op.GATHER, 0, 0, 2 * DOUBLE),
        (Op.GATHERV, 0, 1, own),
        (Op.SCATTER, 0, 0, 2 * DOUBLE),
        (Op.SCATTERV, 0, 2, own),
        (Op.ALLGATHER, 0, -1, 2 * DOUBLE),
        (Op.ALLGATHERV, 0, -1, own),
        (Op.ALLTOALL, 0, -1, 3 * DOUBLE),
        (Op.ALLTOALLV, 0, -1, 6 * DOUBLE),
        (Op.REDUCE_SCATTER, 0, -1, 6 * DOUBLE),
        (Op.REDUCE_SCATTER, 0, -1, 6 * DOUBLE),  # the variant with equal blocks
        (Op.SCAN, 0, -1, 2 * DOUBLE),
        (Op.EXSCAN, 0, -1, 3 * DOUBLE),
        (Op.BARRIER, 0, -1, 0),
    ]


def test_vectors_have_the_bytes_of_each_member_where_the_call_knows_them(every_call):
    rising, equal = [8, 16, 24], [16, 16, 16]
    for rank, events in enumerate(every_call.events):
        vectors = {}
        for event in events[
            (events["kind"] == Kind.COLLECTIVE) & (events["request"] >= 0) & np.isin(events["op"], DATA_OPS)
        ]:
            begin = int(event["request"])
            vectors.setdefault(Op(event["op"]), []).append(every_call.counts[rank][begin : begin + 3].tolist())
        rooted = {1: {Op.GATHERV: [rising]}, 2: {Op.SCATTERV: [rising]}}.get(rank, {})
        everywhere = {Op.ALLGATHERV: [rising], Op.ALLTOALLV: [equal], Op.REDUCE_SCATTER: [rising, equal]}
        assert vectors == {**rooted, **everywhere}


def test_communicators_have_the_colors_keys_and_members_of_the_source(every_call):
    # groups() in data/every_call.c: a split without rank 1, its duplicate, then a duplicate of the world and a ring.
    for rank, events in enumerate(every_call.events):
        made = [event for event in events[events["kind"] == Kind.COLLECTIVE] if event["op"] in (Op.SPLIT, Op.CREATE)]
        (split,) = [event for event in made if event["op"] == Op.SPLIT]
        shown = every_call.counts[rank][split["request"] : split["request"] + 2].tolist()
        assert (shown, split["comm"]) == ([-1 if rank == 1 else 0, -rank], 0)
        sizes = [len(every_call.communicators[event["comm"]]) for event in made if event["op"] == Op.CREATE]
        assert sizes == ([3, 3] if rank == 1 else [2, 2, 3, 3])


def check_halo(recording, ranks):
    """data/halo.f90."""
    for rank, events in enumerate(recording.events):
        assert messages(events, Kind.SEND) == [((rank + 1) % ranks, 7, 0, 50 * DOUBLE, Mode.STANDARD)] * 4
        assert messages(events, Kind.RECV) == [((rank - 1) % ranks, 7, 0, 50 * DOUBLE)] * 4
        assert collectives(events) == [(Op.ALLREDUCE, 0, -1, DOUBLE)] * 4
        assert events["amount"][events["kind"] == Kind.COMPUTE].tolist() == [2e6] * 4
        marks = events["op"][events["kind"] == Kind.MARK].tolist()
        assert marks == [Mark.START, Mark.STOP]


fortran = pytest.mark.skipif(shutil.which("gfortran") is None, reason="smpif90 needs gfortran")


@fortran
def test_a_fortran_program():
    check_halo(record(DATA / "halo.f90", 3), 3)


def build(compiler, source, program):
    subprocess.run(
        [compiler, "-O1", str(source), "-o", str(program)], check=True, capture_output=True, cwd=program.parent
    )
    return program


@fortran
def test_a_finished_fortran_program(tmp_path):
    shutil.copy(DATA / "halo.f90", tmp_path)
    check_halo(record(build("smpif90", tmp_path / "halo.f90", tmp_path / "halo"), 4), 4)


def test_a_finished_c_program_with_privatised_globals(tmp_path):
    recording = record(build("smpicc", DATA / "every_call.c", tmp_path / "every_call"), 3)
    for one, other in zip(recording.events, in_simulation().events, strict=True):
        same = one != other  # places in the program from which it polls for messages differ between two builds
        assert (one["kind"] == other["kind"]).all() and (one["kind"][same] == Kind.POLL).all()


CPP = """
#include <mpi.h>
#include <vector>
static std::vector<double> field(10, 1.0);
int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  double sum = 0;
  for (int i = 0; i < 3; i++)
    MPI_Allreduce(field.data(), &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
}
"""


def test_a_cpp_program(tmp_path):
    (tmp_path / "sum.cpp").write_text(CPP)
    for events in record(tmp_path / "sum.cpp", 2).events:
        assert collectives(events) == [(Op.ALLREDUCE, 0, -1, DOUBLE)] * 3


def c_program(folder, body, *, init="MPI_Init(&argc, &argv);", end="MPI_Finalize();"):
    path = folder / "program.c"
    path.write_text(
        "#include <mpi.h>\n#include <smpi/smpi.h>\n#include <stdlib.h>\n"
        f"int main(int argc, char **argv)\n{{\n  int rank = 0, provided = 0;\n  (void)provided;\n  {init}\n"
        f"  MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n  {body}\n  {end}\n  return 0;\n}}\n"
    )
    return path


def test_a_message_to_oneself_comes_from_oneself(tmp_path):
    body = "int x = 1, y; MPI_Sendrecv(&x, 1, MPI_INT, rank, 5, &y, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, NULL);"
    for rank, events in enumerate(record(c_program(tmp_path, body), 3).events):
        (received,) = events[events["kind"] == Kind.RECV]
        assert (received["peer"], received["tag"], received["size_bytes"]) == (rank, 5, INT)


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("MPI_File_open", 'MPI_File f; MPI_File_open(MPI_COMM_WORLD, "x", MPI_MODE_RDONLY, MPI_INFO_NULL, &f);'),
        (
            "MPI_Request_free of a receive that is under way",
            "int x; MPI_Request r; MPI_Irecv(&x, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &r); MPI_Request_free(&r);",
        ),
    ],
)
def test_what_cannot_be_recorded_is_refused_by_name(name, body, tmp_path):
    with pytest.raises(KernelError, match=f"the program calls {name}, which cannot be recorded"):
        record(c_program(tmp_path, body), 2)


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("MPI_Comm_idup", "MPI_Comm made; MPI_Request r; MPI_Comm_idup(MPI_COMM_WORLD, &made, &r);"),
        ("MPI_Win_test", "int flag; MPI_Win_test(MPI_WIN_NULL, &flag);"),
        (
            "MPI_Ineighbor_allgather",
            "MPI_Request r;MPI_Ineighbor_allgather(&rank, 1, MPI_INT, &rank, 1, MPI_INT, MPI_COMM_WORLD, &r);",
        ),
        (
            "MPI_Recv before MPI_Mrecv of a message that it asks for too",
            "int x; MPI_Message m; MPI_Request r; MPI_Isend(&rank, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &r);"
            "MPI_Mprobe(rank, 0, MPI_COMM_WORLD, &m, MPI_STATUS_IGNORE);"
            "MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);",
        ),
    ],
)
def test_what_simgrid_lacks_is_refused_by_name(name, body, tmp_path):
    with pytest.raises(KernelError, match=f"the program calls {name}, which SimGrid does not have"):
        record(c_program(tmp_path, body), 2)


@pytest.mark.parametrize(
    ("what", "body", "end"),
    [
        ("some ranks ended without MPI_Finalize", "", ""),
        ("some ranks ended without MPI_Finalize", "if (rank) return 0;", "MPI_Finalize();"),
        ("MPI_Abort", "if (rank) MPI_Abort(MPI_COMM_WORLD, 3);", "MPI_Finalize();"),
        (
            "deadlock",
            "int x; MPI_Recv(&x, 1, MPI_INT, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);",
            "MPI_Finalize();",
        ),
        (
            "MPI_ERR_TRUNCATE",
            "int x[4] = {0}; if (rank) MPI_Send(x, 4, MPI_INT, 0, 0, MPI_COMM_WORLD);"
            "else MPI_Recv(x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);",
            "MPI_Finalize();",
        ),
        (
            "MPI_Send returned MPI_ERR_RANK on rank 0",
            "if (!rank) MPI_Send(&rank, 1, MPI_INT, 7, 0, MPI_COMM_WORLD);",
            "MPI_Finalize();",
        ),
        ("ended with status 7", "if (rank) exit(7);", "MPI_Finalize();"),
        ("not every rank marked one start and one stop", "if (rank) MPI_Pcontrol(1000);", "MPI_Finalize();"),
    ],
)
def test_a_program_that_does_not_end_well_says_so(what, body, end, tmp_path):
    with pytest.raises(SimulationError, match=what):
        record(c_program(tmp_path, body, end=end), 2)


def test_sampled_blocks_are_real_times(tmp_path):
    body = "for (int i = 0; i < 3; i++) { SMPI_SAMPLE_LOCAL(int j = 0, j < 4, j++, 2, 0.1) { rank += 0; } }"
    program = c_program(tmp_path, body)
    with pytest.raises(KernelError, match=r"SMPI_SAMPLE.*--compute measured"):
        record(program, 2)
    assert record(program, 2, compute="measured", host_speed_flops=1e9).measured
