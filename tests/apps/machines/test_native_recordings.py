"""Recordings of executables and of scripts with mpi4py under this computer's own MPI."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from apps.errors import KernelError, SimulationError
from apps.machines.machine_platform import this_computer
from apps.programs.own_program import read_program
from apps.programs.problem import own_problem
from apps.recording.events import Kind, Op
from apps.recording.recorder.real.library import large_functions, mpi_calls
from apps.replay import native_recording
from apps.runs.record_events import record_events
from apps.runs.simulate import simulate
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.store import Store
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from predictor.graph.cli import main as graph
from tests.machines import NO_MPI, open_mpi

GIGA = 1e9
COMPARED = (Kind.SEND, Kind.RECV, Kind.WAIT, Kind.COLLECTIVE, Kind.PROBE)

IN_C = r"""
#include <mpi.h>
int main(int argc, char **argv)
{
  int rank, size;
  static double data[20000], more[20000];
  MPI_Request requests[2];
  MPI_Comm half;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  for (int i = 0; i < 3; i++) {
    MPI_Irecv(more, 20000, MPI_DOUBLE, (rank + 1) % size, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(data, 100 * (rank + 1), MPI_DOUBLE, (rank + size - 1) % size, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Allreduce(data, more, 10, MPI_DOUBLE, MPI_SUM, half);
  }
  MPI_Bcast(data, 1000, MPI_INT, 1, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
"""
IN_FORTRAN = """
program ring
  use mpi
  implicit none
  integer :: rank, ranks, e, i, requests(2), statuses(MPI_STATUS_SIZE, 2), status(MPI_STATUS_SIZE), grid, left, right
  integer :: half, done
  double precision :: mine(5000), theirs(5000), total, every(64)
  logical :: periods(1)
  call mpi_init(e)
  call mpi_comm_rank(MPI_COMM_WORLD, rank, e)
  call mpi_comm_size(MPI_COMM_WORLD, ranks, e)
  periods = .true.
  call mpi_cart_create(MPI_COMM_WORLD, 1, (/ ranks /), periods, .false., grid, e)
  call mpi_cart_shift(grid, 0, 1, left, right, e)
  call mpi_comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half, e)
  mine = rank
  do i = 1, 3
    call mpi_irecv(theirs, 5000, MPI_DOUBLE_PRECISION, left, i, grid, requests(1), e)
    call mpi_isend(mine, 500 * i, MPI_DOUBLE_PRECISION, right, i, grid, requests(2), e)
    call mpi_waitall(2, requests, statuses, e)
    if (statuses(MPI_SOURCE, 1) /= left) call mpi_abort(MPI_COMM_WORLD, 3, e)
    total = sum(mine)
    call mpi_allreduce(MPI_IN_PLACE, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, half, e)
  end do
  call mpi_sendrecv(mine, 7, MPI_DOUBLE_PRECISION, right, 5, theirs, 7, MPI_DOUBLE_PRECISION, left, 5, MPI_COMM_WORLD, &
                    MPI_STATUS_IGNORE, e)
  call mpi_irecv(theirs, 9, MPI_DOUBLE_PRECISION, left, 7, MPI_COMM_WORLD, requests(1), e)
  call mpi_send(mine, 9, MPI_DOUBLE_PRECISION, right, 7, MPI_COMM_WORLD, e)
  call mpi_waitany(1, requests, done, status, e)
  if (done /= 1 .or. status(MPI_TAG) /= 7) call mpi_abort(MPI_COMM_WORLD, 4, e)
  call mpi_gather(total, 1, MPI_DOUBLE_PRECISION, every, 1, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, e)
  call mpi_bcast(mine, 3000, MPI_DOUBLE_PRECISION, ranks - 1, MPI_COMM_WORLD, e)
  call mpi_barrier(MPI_COMM_WORLD, e)
  call mpi_comm_free(half, e)
  call mpi_finalize(e)
end program
"""
PICKLES = """
from mpi4py import MPI
comm = MPI.COMM_WORLD
right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
request = comm.isend(bytes(1000), dest=right, tag=3)
assert len(comm.recv(source=left, tag=3)) == 1000
request.wait()
if comm.rank == 0:
    assert {comm.recv(source=MPI.ANY_SOURCE) for _ in range(comm.size - 1)} == set(range(1, comm.size))
else:
    comm.send(comm.rank, dest=0)
comm.Barrier()
"""


@pytest.fixture(autouse=True)
def _mpi(monkeypatch):
    if not open_mpi():
        pytest.skip(NO_MPI)
    monkeypatch.setattr(native_recording, "_recordings", type(native_recording._recordings)())


def target_of(path, ranks=3, arguments="", **options):
    try:
        program = read_program(path, arguments, **options)
    except KernelError as err:
        if "which" in err.problem and "lacks" in err.problem:
            pytest.skip("there is no mpi4py here: apt-get install python3-mpi4py")
        raise
    platform = materialise(named_grid("grid4x2"))
    return Target(own_problem(program), platform, block(platform, ranks))


def recorded(path, ranks=3, store=None, **settings):
    target = target_of(path, ranks)
    return record_events(Settings(host_speed_flops=GIGA, **settings).spec(target), 1, store=store)


def written(tmp_path, text, name="program.py"):
    (tmp_path / name).write_text(text)
    return tmp_path / name


def compiled(tmp_path, text, compiler="mpicc", name="program.c"):
    subprocess.run([compiler, written(tmp_path, text, name), "-o", tmp_path / "binary"], check=True)
    return tmp_path / "binary"


def calls(recording):
    """Return what every rank communicates: kinds, partners, tags and bytes, without times."""
    names = ("kind", "mode", "op", "peer", "tag", "size_bytes")
    return [
        [
            (
                *(int(event[name]) for name in names),
                recording.communicators[event["comm"]] if event["comm"] >= 0 else (),
            )
            for event in events[np.isin(events["kind"], COMPARED)]
        ]
        for events in recording.events
    ]


def test_a_binary_sends_what_its_source_sends_in_simulation(tmp_path):
    binary = compiled(tmp_path, IN_C)
    assert calls(recorded(binary)) == calls(recorded(tmp_path / "program.c", compute="measured"))


def test_a_binary_in_fortran_sends_what_its_source_sends_in_simulation(tmp_path):
    binary = compiled(tmp_path, IN_FORTRAN, "mpif90", "program.f90")
    assert calls(recorded(binary)) == calls(recorded(tmp_path / "program.f90", compute="measured"))


@pytest.mark.machine
def test_the_module_mpi_f08_is_recorded_as_the_module_mpi(tmp_path):
    expected = calls(recorded(compiled(tmp_path, IN_FORTRAN, "mpif90", "program.f90")))
    text = IN_FORTRAN
    for old, new in (
        ("use mpi\n", "use mpi_f08\n"),
        ("integer :: rank, ranks, e, i, requests(2), statuses(MPI_STATUS_SIZE, 2), status(MPI_STATUS_SIZE), grid, left",
         "type(MPI_Request) :: requests(2)\n  type(MPI_Status) :: statuses(2), status\n"
         "  type(MPI_Comm) :: grid, half\n  integer :: rank, ranks, e, i, left"),
        ("integer :: half, done", "integer :: done"),
        ("statuses(MPI_SOURCE, 1)", "statuses(1)%MPI_SOURCE"),
        ("status(MPI_TAG)", "status%MPI_TAG"),
    ):  # fmt: skip
        assert old in text
        text = text.replace(old, new)
    assert calls(recorded(compiled(tmp_path, text, "mpif90", "module.f90"))) == expected


def test_objects_of_mpi4py_are_recorded_with_their_senders(tmp_path):
    recording = recorded(written(tmp_path, PICKLES))
    first = recording.events[0]
    received = first[first["kind"] == Kind.RECV]
    assert received["peer"][0] == 2 and sorted(received["peer"][1:].tolist()) == [1, 2]
    # A pickle of 1000 bytes is these bytes and a head of a few.
    assert 1000 < received["size_bytes"][0] < 1100
    probes = np.flatnonzero(first["kind"] == Kind.PROBE)
    assert (first["kind"][probes + 1] == Kind.RECV).all() and len(probes) == 3  # received where it is matched
    assert [Op(op) for op in first["op"][first["kind"] == Kind.COLLECTIVE]] == [Op.BARRIER]


def test_a_recording_is_kept_until_a_file_changes_that_the_program_reads(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "input.txt").write_text("100")
    program = written(tmp_path, PICKLES.replace("1000", "n").replace("comm.Barrier()", "") + "", "p.py")
    program.write_text(program.read_text().replace("right, left", "n = int(open('input.txt').read())\nright, left", 1))
    with Store(tmp_path / "store") as store:
        first = recorded(program, store=store)
        spec = Settings(host_speed_flops=GIGA).spec(target_of(program))
        native_recording._recordings.clear()
        monkeypatch.setattr(native_recording, "_made", lambda *_: pytest.fail("recorded again"))
        assert calls(record_events(spec, 1, store=store)) == calls(first)
        monkeypatch.undo()
        monkeypatch.chdir(tmp_path)
        (tmp_path / "input.txt").write_text("5000")
        again = recorded(program, store=store)
    sizes = [recording.events[0]["size_bytes"].max() for recording in (first, again)]
    assert 100 < sizes[0] < 200 and 5000 < sizes[1] < 5100


def test_a_replay_and_a_recording_of_one_command_have_the_same_computation(tmp_path):
    target = target_of(written(tmp_path, PICKLES))
    spec = Settings(host_speed_flops=GIGA).spec(target)
    record, recording = simulate(spec), record_events(spec, 1)
    speeds = [target.platform.host(host).speed_flops for host in target.placement]
    recorded_s = [
        float(events["amount"][events["kind"] == Kind.COMPUTE].sum()) / speed
        for events, speed in zip(recording.events, speeds, strict=True)
    ]
    assert record.compute_s == pytest.approx(recorded_s)
    assert "not simulated: the time is that of its recording under Open MPI" in " ".join(record.cautions)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "import threading\nfrom mpi4py import MPI\n"
            "thread = threading.Thread(target=MPI.COMM_WORLD.Barrier)\nthread.start()\nthread.join()\n",
            "calls MPI from several threads of a rank, which cannot be recorded",
        ),
        (
            "from mpi4py import MPI\nstart = getattr(MPI.COMM_SELF, 'Spa' + 'wn')\nstart('true')\n",
            "calls MPI_Comm_spawn, which cannot be recorded",
        ),
        ("from mpi4py import MPI\nMPI.Win.Create(bytearray(8))\n", "calls MPI_Win_create, which cannot be recorded"),
    ],
)
def test_calls_that_cannot_be_recorded_are_named(tmp_path, text, message):
    with pytest.raises(KernelError, match=message):
        recorded(written(tmp_path, text), ranks=1)


@pytest.mark.machine
def test_other_threads_that_compute_are_refused_with_what_to_set(tmp_path, monkeypatch):
    text = (
        "#include <mpi.h>\nint main(int n, char **v)\n{\n  double sum = 0;\n  MPI_Init(&n, &v);\n"
        "#pragma omp parallel for reduction(+ : sum)\n  for (long i = 0; i < 400000000; i++) sum += i * 0.5;\n"
        "  MPI_Finalize();\n  return sum < 0;\n}\n"
    )
    program = written(tmp_path, text, "program.c")
    subprocess.run(["mpicc", "-fopenmp", "-O1", program, "-o", tmp_path / "binary"], check=True)
    assert recorded(tmp_path / "binary", ranks=1).nranks == 1  # one thread for each rank, if nothing else is asked for
    native_recording._recordings.clear()
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    with pytest.raises(KernelError, match=r"other threads compute for .* s, which .* OMP_NUM_THREADS=1"):
        recorded(tmp_path / "binary", ranks=1)


def test_a_copy_that_is_freed_with_its_communicator_leaves_its_handle_to_the_next_one(tmp_path):
    # mpi4py copies a communicator for pickled objects, and frees the copy with it.
    text = (
        "from mpi4py import MPI\ncomm = MPI.COMM_WORLD\nfor _ in range(20):\n    alone = comm.Split(comm.rank, 0)\n"
        "    alone.allreduce(1)\n    alone.Free()\n    both = comm.Dup()\n    both.Barrier()\n"
    )
    made = recorded(written(tmp_path, text), ranks=2)
    for events in made.events:
        barriers = events[(events["kind"] == Kind.COLLECTIVE) & (events["op"] == Op.BARRIER)]
        assert [made.communicators[comm] for comm in barriers["comm"]] == [(0, 1)] * 20


def test_a_program_that_looks_for_messages_is_used_with_a_caution_and_not_kept(tmp_path):
    text = (
        "from mpi4py import MPI\ncomm = MPI.COMM_WORLD\nrequest = comm.irecv(source=1 - comm.rank)\n"
        "comm.send(1, dest=1 - comm.rank)\nwhile not request.test()[0]:\n    pass\n"
    )
    with Store(tmp_path / "store") as store:
        recording = recorded(written(tmp_path, text), ranks=2, store=store)
    assert "polls for messages with MPI_Test: the time between two polls" in recording.cautions[0]
    assert recording.timed


def test_a_script_that_fails_is_reported_with_its_last_words(tmp_path):
    text = "from mpi4py import MPI\nraise SystemExit('error: no mesh was found')\n"
    with pytest.raises(SimulationError, match=r"on 1 rank under Open MPI.*no mesh was found"):
        recorded(written(tmp_path, text), ranks=1)


def test_more_ranks_than_fit_are_refused_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    program = target_of(written(tmp_path, PICKLES)).problem.program
    with pytest.raises(KernelError, match=r"has to run once with 129 ranks, and this computer takes at most 128"):
        this_computer(program, 129, speed_flops=GIGA)
    assert this_computer(replace(program), 128, speed_flops=GIGA).limits.ranks == 128


def test_the_graph_of_a_binary_needs_no_platform(tmp_path, capsys):
    assert graph(["--program", str(compiled(tmp_path, IN_C)), "--ranks", "3", "--no-store", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["processes"] == 3
    # By hand: in each of 3 turns 100, 200 and 300 doubles are sent; collectives are elements of their own kinds.
    assert shown["elements"]["send"] >= 9


TIMED = """from mpi4py import MPI
comm, data = MPI.COMM_WORLD, bytes(3000000)
comm.bcast(data, root=0)
comm.Barrier()
began_s = MPI.Wtime()
comm.bcast(data[:10], root=0)
ended_s = MPI.Wtime()
comm.bcast(data, root=0)
if comm.rank == 0:
    print("took", ended_s - began_s, "s")
"""


@pytest.mark.slow
def test_the_time_that_a_script_prints_is_that_of_its_replay(tmp_path):
    program = written(tmp_path, TIMED)
    whole, part = (
        simulate(Settings(host_speed_flops=GIGA, compute="none").spec(target_of(program, time_from=text)))
        for text in (None, "took {time} s")
    )
    # By hand: 3 MB take at least 24 ms over the links of 1 Gbit/s, twice; ten bytes to two ranks take latencies alone.
    assert whole.time_s > 0.048 and part.time_s < 0.02
    assert part.timed_rank == 0


@pytest.mark.slow
def test_a_script_under_mpich_and_mpi_4_sends_what_it_sends_under_open_mpi(tmp_path):
    # MPICH's wheel has the functions with large counts (MPI_Sendrecv_c), which mpi4py then calls.
    python = tmp_path / "mpich" / "bin" / "python"
    made = subprocess.run([sys.executable, "-m", "venv", tmp_path / "mpich"], capture_output=True)
    install = [python, "-m", "pip", "install", "-q", "mpich", "mpi4py"]
    if made.returncode or subprocess.run(install, capture_output=True).returncode:
        pytest.skip("pip cannot install mpich and mpi4py here")
    text = PICKLES + "comm.Bcast(bytearray(5000), root=0)\ncomm.Allreduce(bytes(64), bytearray(64))\n"
    there, here = (
        recorded(written(tmp_path, first + text, name)) for first, name in ((f"#!{python}\n", "a.py"), ("", "b.py"))
    )

    def collectives(recording):
        return [events[["op", "size_bytes"]][events["kind"] == Kind.COLLECTIVE].tolist() for events in recording.events]

    assert collectives(there) == collectives(here) and len(collectives(here)[0]) == 3
    sent = [sorted(events["size_bytes"][events["kind"] == Kind.SEND].tolist()) for events in there.events]
    assert [len(sizes) for sizes in sent] == [len(e["kind"][e["kind"] == Kind.SEND]) for e in here.events]


def test_calls_with_large_counts_are_those_with_small_ones():
    text = large_functions(mpi_calls())
    assert all(f'__asm__("MPI_{name}_c")' in text for name in ("Send", "Irecv", "Sendrecv", "Allreduce", "Alltoallv"))
