"""Runs on a machine of this computer: what they measure, and that they are kept apart from simulations."""

import json
import socket
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from apps.errors import KernelError, OptionError, SimulationError
from apps.kernels.arguments import kernel_arguments
from apps.machines.launch import launch
from apps.machines.machine_file import Launcher
from apps.machines.machine_platform import machine_platform
from apps.measuring.compiling import kernel_executable, layer_library
from apps.measuring.notes import FILE, VARIABLE, collectives, parse_notes
from apps.programs.kernel import named_kernel
from apps.programs.own_program import read_program
from apps.programs.problem import own_problem, problem, sized_problem
from apps.run import main
from apps.runs.engines import run_identity
from apps.runs.simulate import simulate
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.store import Store

EXAMPLES = Path(__file__).parents[3] / "examples"
TWO = ("localhost", "localhost")

WORKS_THEN_SENDS = r"""
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  int rank;
  double data[100] = {0};
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 3; i++)
    MPI_Barrier(MPI_COMM_WORLD); /* not in the section that some tests mark */
  #ifdef MARKED
  MPI_Pcontrol(1000);
  #endif
  if (rank == 0) {
    usleep(200000);
    MPI_Send(data, 100, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
  } else
    MPI_Recv(data, 100, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  #ifdef MARKED
  MPI_Pcontrol(1002);
  MPI_Pcontrol(1003);
  usleep(300000);
  #endif
  double sum;
  MPI_Allreduce(data, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
"""

IN_FORTRAN = """
program f
  use mpi
  implicit none
  integer :: rank, e, i
  double precision :: a(100), b(100)
  call mpi_init(e)
  call mpi_comm_rank(mpi_comm_world, rank, e)
  a = rank
  do i = 1, 10
    if (rank == 0) call mpi_send(a, 50, mpi_double_precision, 1, 0, mpi_comm_world, e)
    if (rank == 1) call mpi_recv(b, 50, mpi_double_precision, 0, 0, mpi_comm_world, mpi_status_ignore, e)
    call mpi_allreduce(a, b, 100, mpi_double_precision, mpi_sum, mpi_comm_world, e)
  end do
  call mpi_finalize(e)
end program
"""


PERSISTENT = """
program f
  use mpi
  implicit none
  integer :: rank, e, i, r, bytes
  double precision :: a(1), b(1)
  character :: room(10000)
  call mpi_init(e)
  call mpi_comm_rank(mpi_comm_world, rank, e)
  call mpi_buffer_attach(room, 10000, e)
  a = rank
  call mpi_bsend_init(a, 1, mpi_double_precision, 1 - rank, 0, mpi_comm_world, r, e)
  do i = 1, 2
    call mpi_start(r, e)
    call mpi_wait(r, mpi_status_ignore, e)
  end do
  call mpi_request_free(r, e)
  call mpi_recv_init(b, 1, mpi_double_precision, 1 - rank, 0, mpi_comm_world, r, e)
  do i = 1, 2
    call mpi_start(r, e)
    call mpi_wait(r, mpi_status_ignore, e)
  end do
  call mpi_request_free(r, e)
  call mpi_buffer_detach(room, bytes, e)
  call mpi_finalize(e)
end program
"""


def spec_on(machine, asked, hosts=TWO, repeats=1):
    return Settings(machine=machine, repeats=repeats).spec(Target(asked, machine_platform(machine), hosts))


@pytest.fixture
def own(local, tmp_path):
    """Write a program of this name, and return its run on the local machine."""

    def run(name, text, repeats=1):
        path = tmp_path / name
        path.write_text(text)
        return simulate(spec_on(local, own_problem(read_program(path, real_mpi=True)), repeats=repeats))

    return run


def test_a_kernel_computes_sends_what_the_simulated_one_sends_and_is_verified(local):
    spec = spec_on(local, problem("cg", "S"), repeats=3)
    measured = simulate(spec)
    simulated = simulate(Settings(iterations="full").spec(spec.target))
    assert measured.verified is True and measured.checks["zeta"][0] == pytest.approx(8.5971775078648, rel=1e-10)  # NPB
    assert measured.source == "measurement" and simulated.source == "simulation"
    for name in ("messages", "bytes", "self_messages", "self_bytes", "flops", "iteration_messages", "host"):
        assert getattr(measured, name) == getattr(simulated, name), name
    how = measured.measured
    assert len(how.repeats_s) == 3 and sorted(how.repeats_s)[1] == measured.time_s
    assert how.low_s <= measured.time_s <= how.high_s and "Open MPI" in how.mpi
    assert [len(row) for row in measured.iteration_s] == [15, 15]


@pytest.mark.parametrize("name", ["cg", "is", "ft", "summa"])
def test_the_layer_counts_what_the_kernel_counts_itself(local, name):
    named = named_kernel(name)
    asked = problem(name, "S") if named.size_parameter is None else sized_problem(name, 64)
    spec = spec_on(local, asked)
    done = launch(
        local, [str(kernel_executable(local, named)), *kernel_arguments(spec, spec.full_iterations)], TWO,
        environment={VARIABLE: f"{{folder}}/{FILE}"}, preload=[layer_library(local)], collect=[FILE],
    )  # fmt: skip
    ranks = parse_notes(done.files[FILE], 2).ranks
    printed = json.loads(done.stdout.splitlines()[-1])
    for count in ("messages", "bytes", "self_messages", "self_bytes"):
        assert [getattr(one.section, count) for one in ranks] == printed[count]
    counted = {kind: one for kind, one in collectives([one.section for one in ranks]).items() if kind != "barrier"}
    assert counted == printed["collectives"]


def test_work_counts_as_computation_and_waiting_as_mpi(own):
    record = own("p.c", WORKS_THEN_SENDS)
    assert record.compute_s[0] >= 0.2 and record.comm_s[1] >= 0.1  # rank 0 sleeps for 0.2 s before it sends
    assert (record.messages, record.bytes) == ((1, 0), (800, 0))
    assert record.collectives == {
        "barrier": {"calls": 3, "bytes": [0, 0]},
        "allreduce": {"calls": 1, "bytes": [8, 8]},
    }
    assert record.verified is None


def test_a_program_that_counts_operations_for_simgrid_runs_on_a_machine(own):
    record = own(
        "p.c", "#include <smpi/smpi.h>\n" + WORKS_THEN_SENDS.replace("usleep(200000)", "smpi_execute_flops(1e12)")
    )
    assert record.messages == (1, 0)
    assert record.compute_s[0] < 10  # counted and not done: on the machine's nominal core of 10 Gflop/s they take 100 s


def test_a_marked_section_ends_where_the_program_says(own):
    record = own("p.c", "#define MARKED\n" + WORKS_THEN_SENDS)
    assert record.time_s >= 0.2
    assert record.collectives == {}  # neither the barriers before it nor the sum after it
    assert [len(row) for row in record.iteration_s] == [1, 1]
    assert record.iteration_messages == (1, 0)


def test_programs_in_fortran_are_measured_too(own):
    record = own("f.f90", IN_FORTRAN)
    assert (record.messages, record.bytes) == ((10, 0), (4000, 0))
    assert record.collectives == {"allreduce": {"calls": 10, "bytes": [8000, 8000]}}


def test_all_persistent_sends_in_fortran_are_counted_and_freed_ones_are_not(own):
    # A buffered send of 8 bytes twice; then a receive, which Open MPI gives the freed request again, twice.
    record = own("f.f90", PERSISTENT)
    assert (record.messages, record.bytes) == ((2, 2), (16, 16))


def test_a_binary_for_the_machines_mpi_runs_there_and_is_replayed_elsewhere(local, tmp_path):
    (tmp_path / "p.c").write_text(WORKS_THEN_SENDS)
    subprocess.run(["mpicc", "-o", tmp_path / "p", tmp_path / "p.c"], check=True)
    asked = own_problem(read_program(tmp_path / "p", real_mpi=True))
    spec = spec_on(local, asked)
    assert simulate(spec).messages == (1, 0)
    assert Settings(host_speed_flops=1e9).spec(spec.target).engine == "replay"
    elsewhere = replace(spec.target, problem=own_problem(replace(asked.program, native=None)))  # with an unknown MPI
    with pytest.raises(OptionError, match="p was built for a real MPI library"):
        Settings().spec(elsewhere)


def test_a_rank_on_another_host_than_asked_is_an_error(local):
    elsewhere = replace(
        local, launcher=Launcher(("mpirun", "-np", "{ranks}", "{program}")),
        clusters=(replace(local.clusters[0], hosts=("elsewhere",)),),
    )  # fmt: skip
    with pytest.raises(SimulationError, match=r"rank 0 ran on .*, not on elsewhere: the launcher ignores"):
        simulate(spec_on(elsewhere, problem("ep", "S"), ("elsewhere",)))


def test_a_kernel_runs_on_hosts_of_several_clusters(named):
    hosts = ("right1", "left1", "right1", "left2")
    record = simulate(spec_on(named, problem("is", "S"), hosts))
    assert record.host == hosts and record.verified is True


def test_a_program_that_fails_is_told_with_its_status(own):
    with pytest.raises(SimulationError, match="the launcher ended with status 7"):
        own("p.c", WORKS_THEN_SENDS.replace("return 0;", "return 7;"))


def test_the_identity_has_the_machine_and_not_the_platform(local):
    spec = spec_on(local, problem("cg", "S"))
    faster = replace(local, clusters=(replace(local.clusters[0], speed_flops=1e12),))
    identity = run_identity(spec)
    assert identity == run_identity(spec_on(faster, problem("cg", "S")))
    assert (identity["source"], identity["engine"], identity["machine"]) == ("measurement", "machine", "local")
    assert identity != run_identity(replace(spec, repeats=2))
    other = replace(local, environment=(("OMP_NUM_THREADS", "2"),))
    assert identity != run_identity(spec_on(other, problem("cg", "S")))


def test_a_measured_record_is_kept_and_reused_only_when_asked(local, tmp_path, capsys):
    words = ["--machine", str(local.path), "--app", "ep", "--class", "S", "--ranks-per-host", "2", "--repeats", "1"]
    words += ["--store", str(tmp_path / "store"), "--json"]
    dates = []
    for more in ([], [], ["--reuse"]):
        assert main([*words, *more]) == 0
        said = capsys.readouterr()
        dates.append(json.loads(said.out)["measured"])
        assert ("taken from the store" in said.err) is bool(more)
    assert dates[1] == dates[2] != dates[0]
    with Store(tmp_path / "store", read_only=True) as store:
        (entry,) = store.entries()
        assert entry.kind == "measurement"
        assert store.get_record(entry.identity) is None  # a simulation is never replaced by it


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--mode", "skeleton"], "--mode skeleton: a machine runs programs in full"),
        (["--scenario", "grid4x2"], "--scenario: does not go with --machine"),
        (["--engine", "smpi"], "--engine smpi: does not go with --machine"),
        (["--efficiency", "0.5"], "--efficiency 0.5: a machine has its own"),
        (["--compute", "none"], "--compute none: a machine computes in its own time"),
        (["--iterations", "3"], "--iterations 3: a machine runs all"),
        (["--cfg", "smpi/os:0:0:0"], "--cfg smpi/os:0:0:0: a machine has none of SimGrid's options"),
        (["--host-speed", "5"], "--host-speed: a machine computes in its own time"),
        (["--memory-bus", "5"], "--memory-bus: a machine has its own"),
        (["--repeats", "0"], "--repeats 0: not between 1 and 1000"),
        (["--timeline", "x.json"], "--timeline: shows a simulation"),
        (["--program", "examples/jacobi/jacobi.c", "--mode", "verify"], "--app cg: does not go with --program"),
        (["--no-store", "--reuse"], "--no-store: does not go with --reuse"),
    ],
)
def test_options_of_simulations_are_refused_on_a_machine(local, capsys, words, said):
    assert main(["--machine", str(local.path), "--app", "cg", *words]) == 2
    assert f"error: {said}" in capsys.readouterr().err


def test_options_of_machines_are_refused_without_one(capsys):
    for words in (["--repeats", "3"], ["--reuse"], ["--store", "x"], ["--no-store"]):
        assert main(["--app", "cg", "--scenario", "grid4x2", *words]) == 2
        assert f"error: {words[0]}" in capsys.readouterr().err


def test_ranks_beyond_the_machines_limit_are_refused(local):
    with pytest.raises(KernelError, match="3 ranks, but its limit is 2"):
        simulate(spec_on(local, problem("ep", "S"), TWO + TWO[:1]))


def test_a_dry_run_shows_the_command_the_hosts_and_the_files_and_starts_nothing(capsys, monkeypatch, tmp_path):
    launchers = tmp_path / "bin"
    launchers.mkdir()
    for name in ("sbatch", "mpicc", "mpirun"):
        (launchers / name).write_text("#!/bin/sh\necho started >&2; exit 3\n")
        (launchers / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{launchers}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    words = ["--app", "is", "--class", "S", "--repeats", "3", "--dry-run", "--no-store"]
    machines = EXAMPLES / "machines"
    assert main(["--machine", str(machines / "local.toml"), "--ranks-per-host", "2", *words]) == 0
    said = capsys.readouterr().out
    assert "is S on 2 ranks of local: 3 runs, one after the other; none is made now" in said
    assert f"hosts     {socket.gethostname()} x 2" in said
    assert "mpirun -np 2 --hostfile FOLDER/hosts --map-by seq" in said
    assert "LD_PRELOAD=LAYER PROGRAM mode=verify" in said and "iterations=10" in said
    assert f"PROGRAM   the kernel is, compiled by {launchers}/mpicc -O2" in said
    assert "limit     600 s of wall time" in said
    assert main(["--machine", str(machines / "slurm.toml"), "--ranks", "2", *words, "--wall-limit", "60"]) == 0
    said = capsys.readouterr().out
    assert "limit     60 s" in said and "script    FOLDER/script:" in said
    assert "    #!/bin/sh" in said and "PROGRAM mode=verify" in said
    assert not list((tmp_path / "cache").rglob("is-*"))  # no kernel was compiled


def test_a_dry_run_says_what_reuse_would_take(local, capsys, tmp_path):
    words = ["--machine", str(local.path), "--app", "is", "--class", "S", "--ranks", "1", "--repeats", "1"]
    words += ["--store", str(tmp_path), "--reuse"]
    assert main([*words, "--dry-run"]) == 0
    assert "--reuse" not in capsys.readouterr().out
    assert main(words) == 0
    assert main([*words, "--dry-run"]) == 0
    assert "--reuse   the store has a record of this run" in capsys.readouterr().out
