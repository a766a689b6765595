"""Programs of the shapes of real codes: which are accepted, what is said of them, and what is predicted."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from apps import run
from apps.errors import SimulationError
from apps.programs.own_program import read_program
from apps.programs.problem import own_problem
from apps.recording.events import Kind
from apps.runs.neutral import kept_options, recording_identity
from apps.runs.record_events import record_events
from apps.runs.simulate import simulate
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from platforms.read.routes import routes_between
from predictor.dpgraph.evaluate import execute
from predictor.dpgraph.known import known_network
from predictor.dpgraph.program import Sections

C = """#include <mpi.h>
#include <smpi/smpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
%s
int main(int argc, char **argv)
{
  int rank, size;
  double mine[50000] = {0}, all[50000];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  %s
  MPI_Finalize();
  return 0;
}
"""
FORTRAN = """program p
include 'mpif.h'
integer ierr, rank, first, second
call MPI_Init(ierr)
call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
%s
call MPI_Finalize(ierr)
%s
end
"""


@pytest.fixture
def spec(tmp_path, monkeypatch):
    """Return a function that makes the spec of a program, given by its text, on the 8 hosts of grid4x2."""
    monkeypatch.chdir(tmp_path)

    def made(text, suffix=".c", **more):
        (tmp_path / f"p{suffix}").write_text(text)
        platform = materialise(named_grid("grid4x2"))
        asked = own_problem(read_program(tmp_path / f"p{suffix}", **more))
        return RunSpec(Target(asked, platform, block(platform, 8)))

    return made


def in_c(body, before=""):
    return C % (before, body)


def predicted_s(spec, recording):
    sections = Sections(recording)
    hosts = [spec.target.platform.host(name) for name in spec.target.placement]
    pairs = {(spec.target.placement[a], spec.target.placement[b]) for a, b in sections.partners}
    options = {**dict(spec.target.platform.options), **dict(spec.options)}
    network = known_network(routes_between(spec.target.platform, sorted(pairs | {p[::-1] for p in pairs})), options)
    done = execute(
        sections.program(), network, spec.target.placement, [1 / h.speed_flops for h in hosts], [h.cores for h in hosts]
    )
    return (done.stop_s - done.start_s).max()


ORDERED = """static void left(void *a, void *b, int *n, MPI_Datatype *type)
{
  for (int i = 0; i < *n; i++)
    ((double *)b)[i] = ((double *)a)[i];
}"""


@pytest.mark.parametrize(
    ("body", "before"),
    [
        ("smpi_execute_benched(0.25); MPI_Barrier(MPI_COMM_WORLD); sleep(1 + rank % 2); usleep(100);", ""),
        (
            "MPI_Comm a, b; MPI_Comm_split(MPI_COMM_WORLD, rank == 3 ? MPI_UNDEFINED : rank / 3, size - rank, &a);"
            "MPI_Comm_dup(MPI_COMM_WORLD, &a); MPI_Comm_dup(a, &b);"
            "int n[2] = {2, 4}, not[2] = {0, 0}, keep[2] = {0, 1};"
            "MPI_Cart_create(MPI_COMM_WORLD, 2, n, not, 0, &a); MPI_Cart_sub(a, keep, &b); MPI_Barrier(b);",
            "",
        ),
        (
            "MPI_Op op; MPI_Op_create(left, 0, &op); MPI_Reduce(mine, all, 50000, MPI_DOUBLE, op, 2, MPI_COMM_WORLD);"
            "MPI_Allreduce(mine, all, 10, MPI_DOUBLE, op, MPI_COMM_WORLD);",
            ORDERED,
        ),
        ("for (double t = MPI_Wtime(); MPI_Wtime() - t < 1e-3;); MPI_Barrier(MPI_COMM_WORLD);", ""),
    ],
    ids=["seconds", "communicators", "ordered", "clock"],
)
def test_the_predicted_time_is_the_simulated_one(spec, body, before):
    asked = spec(in_c(body, before))
    assert predicted_s(asked, record_events(asked, 1)) == pytest.approx(simulate(asked).time_s, rel=1e-6)


LOOP = """double began = MPI_Wtime();
  for (int more = 1; more; MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD)) {
    MPI_Barrier(MPI_COMM_WORLD);
    %s
  }"""


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (LOOP % "more = MPI_Wtime() - began < 1e-4;", "course depends on the time, which it queries with MPI_Wtime"),
        (
            "for (double t = MPI_Wtime(); MPI_Wtime() - t < 1e-3;) smpi_execute_flops(1e5);",
            "two platforms it has 1e+06 and ",
        ),
        (
            "double t = MPI_Wtime(), end; MPI_Bcast(mine, 2000, MPI_DOUBLE, 0, MPI_COMM_WORLD);"
            "for (end = MPI_Wtime() + (MPI_Wtime() - t) / 8; MPI_Wtime() < end;);",
            " s without flops",
        ),
        (
            "MPI_Request r; int there = 0; MPI_Ibarrier(MPI_COMM_WORLD, &r);"
            "while (!there) MPI_Request_get_status(r, &there, MPI_STATUS_IGNORE);"
            "for (int at = 0, n = 0; n != MPI_UNDEFINED && !n;) MPI_Testsome(1, &r, &n, &at, MPI_STATUSES_IGNORE);",
            "polls for messages with MPI_Request_get_status",
        ),
        (
            "MPI_Win w; MPI_Request r; int there = 0, n, at;"
            "MPI_Win_create(&rank, sizeof rank, sizeof rank, MPI_INFO_NULL, MPI_COMM_WORLD, &w);"
            "MPI_Win_lock_all(0, w); MPI_Rget(&n, 1, MPI_INT, (rank + 1) % 8, 0, 1, MPI_INT, w, &r);"
            "while (!there) MPI_Testany(1, &r, &at, &there, MPI_STATUS_IGNORE);"
            "MPI_Win_unlock_all(w); MPI_Win_free(&w);",
            "polls for messages with MPI_Testany",
        ),
    ],
    ids=["clock", "flops", "seconds", "collective", "one-sided"],
)
def test_a_course_that_depends_on_the_time_is_cautioned(spec, body, said):
    assert any(said in one for one in record_events(spec(in_c(body)), 1).cautions)


PERSISTENT = (
    "MPI_Request r[2]; int there = 0, n;"
    "MPI_Recv_init(&n, 1, MPI_INT, (rank + 7) % 8, 1, MPI_COMM_WORLD, r);"
    "MPI_Send_init(&rank, 1, MPI_INT, (rank + 1) % 8, 1, MPI_COMM_WORLD, r + 1);"
    "MPI_Startall(2, r); while (!there) MPI_Test(r, &there, MPI_STATUS_IGNORE); MPI_Wait(r + 1, 0);"
)
CANCELLED = (
    "MPI_Request r; int there; MPI_Irecv(mine, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &r);"
    "for (int i = 0; i < 20; i++) MPI_Test(&r, &there, MPI_STATUS_IGNORE);"
    "MPI_Cancel(&r); MPI_Wait(&r, MPI_STATUS_IGNORE); MPI_Barrier(MPI_COMM_WORLD);"
)


@pytest.mark.parametrize("body", [PERSISTENT, CANCELLED], ids=["persistent", "cancelled"])
def test_looks_for_messages_take_the_simulated_time(spec, body):
    asked = spec(in_c(body))
    recording = record_events(asked, 1)
    assert recording.cautions == ()
    assert predicted_s(asked, recording) == pytest.approx(simulate(asked).time_s, rel=1e-6)


LOOKS = (Path(__file__).parents[1] / "data" / "looks.c").read_text()


@pytest.mark.parametrize(
    "arguments",
    [
        "test 40000 0",
        "testall 40000 2e7",
        "testany 3000 2e7",
        "testsome 3000 0",
        "iprobe 40000 2e7",
        "probe 3000 0",
    ],
)
def test_loops_of_looks_take_the_simulated_time(spec, arguments):
    asked = spec(LOOKS, arguments=arguments)
    assert predicted_s(asked, record_events(asked, 1)) == pytest.approx(simulate(asked).time_s, rel=1e-6)


@pytest.mark.parametrize("look", ["test", "iprobe"])
def test_looks_take_the_time_that_options_say(spec, look):
    asked = spec(LOOKS, arguments=f"{look} 3000 0")
    options = (*asked.options, (f"smpi/{look}", "5e-4"), ("smpi/grow-injected-times", "no"))
    slower = replace(asked, options=options)
    time_s = simulate(slower).time_s
    assert predicted_s(slower, record_events(slower, 1)) == pytest.approx(time_s, rel=1e-6)
    assert time_s > 1.1 * simulate(asked).time_s


def test_a_program_that_only_times_itself_is_not_cautioned(spec):
    body = "for (int i = 0; i < 5; i++) { MPI_Barrier(MPI_COMM_WORLD); mine[i] = MPI_Wtime(); }"
    assert record_events(spec(in_c(body)), 1).cautions == ()


@pytest.mark.parametrize("persistent", [False, True], ids=["once", "persistent"])
def test_operations_that_a_failed_test_of_all_completes_have_their_sender(spec, persistent):
    body = """MPI_Request r[2]; int there = 0, n = 0;
      if (rank % 2) {
        MPI_Send(&n, 1, MPI_INT, rank - 1, 1, MPI_COMM_WORLD);
        usleep(2000);
        MPI_Send(mine, 50000, MPI_DOUBLE, rank - 1, 2, MPI_COMM_WORLD);
      } else {
        MPI_Irecv(&n, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, r);
        MPI_Irecv(all, 50000, MPI_DOUBLE, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, r + 1);
        while (!there) MPI_Testall(2, r, &there, MPI_STATUSES_IGNORE);
      }"""
    if persistent:
        body = body.replace("MPI_Irecv", "MPI_Recv_init").replace("while", "MPI_Startall(2, r); while")
    recording = record_events(spec(in_c(body)), 1)
    for rank, events in enumerate(recording.events):
        received = events[events["kind"] == Kind.RECV]
        assert received["peer"].tolist() == ([] if rank % 2 else [rank + 1] * 2)
        assert received["size_bytes"].tolist() == ([] if rank % 2 else [4, 400000])


def test_fortran_has_marks_input_on_every_rank_and_stop(spec, tmp_path):
    (tmp_path / "two.txt").write_text("5\n7\n")
    body = """call MPI_Pcontrol(1000)
open(10, file='two.txt', status='old')
read(10,*) first
call MPI_Barrier(MPI_COMM_WORLD, ierr)
read(10,*) second
if (first /= 5 .or. second /= 7) call MPI_Abort(MPI_COMM_WORLD, 3, ierr)
call MPI_Pcontrol(1003)"""
    assert simulate(spec(FORTRAN % (body, "stop"), ".f90")).time_s > 0


def test_every_rank_of_a_fortran_program_has_its_arguments(spec):
    body = """block
  character(9) word
  call get_command_argument(2, word)
  if (command_argument_count() /= 2 .or. word /= 'two') call MPI_Abort(MPI_COMM_WORLD, 3, ierr)
end block"""
    simulate(spec(FORTRAN % (body, ""), ".f90", arguments="one two"))
    with pytest.raises(SimulationError):
        simulate(spec(FORTRAN % (body, ""), ".f90", arguments="one"))


def test_a_library_of_the_user_has_its_globals_for_each_rank(spec, tmp_path):
    (tmp_path / "own.c").write_text("static int number; int *own(void) { return &number; }")
    subprocess.run(["gcc", "-shared", "-fPIC", "own.c", "-o", "libown.so"], cwd=tmp_path, check=True)
    body = "*own() = rank; MPI_Barrier(MPI_COMM_WORLD); if (*own() != rank) MPI_Abort(MPI_COMM_WORLD, 1);"
    asked = spec(in_c(body, "int *own(void);"))
    command = ["smpicc", "p.c", "-o", "p", "-L.", "-lown", f"-Wl,-rpath,{tmp_path}"]
    subprocess.run(command, cwd=tmp_path, check=True)
    asked = RunSpec(Target(own_problem(read_program("p")), asked.target.platform, asked.target.placement))
    assert simulate(asked)
    # Libraries that are opened before the ranks' copies are not taken for the program's.
    assert record_events(asked, 1).asks == ()


def test_a_binary_whose_main_is_the_end_of_another_name_is_accepted(tmp_path):
    # The linker keeps "main" as the end of "submain" in the table of names.
    (tmp_path / "p.c").write_text("int submain(void) { return 0; }\n" + in_c(""))
    subprocess.run(["smpicc", "-rdynamic", "p.c", "-o", "p2.0"], cwd=tmp_path, check=True)
    assert b"\0main\0" not in (tmp_path / "p2.0").read_bytes()
    assert read_program(tmp_path / "p2.0").name == "p2.0"


SMALL = ["--scenario", "grid4x2", "--ranks", "2"]


def test_a_usage_text_is_shown_and_its_status_may_be_expected(spec, tmp_path, capsys):
    spec(in_c('if (rank == 0) puts("Usage: p N"); MPI_Finalize(); return 4;'))
    assert run.main(["--program", "p.c", *SMALL]) == 1
    assert "its last lines of output:\n    Usage: p N\n" in capsys.readouterr().err
    assert run.main(["--program", "p.c", *SMALL, "--program-status", "4"]) == 0
    assert run.main(["--program", "p.c", *SMALL, "--program-status", "5"]) == 1
    assert "ended with status 4 instead of 5" in capsys.readouterr().err


def test_a_program_is_built_with_flags_and_its_output_kept(spec, tmp_path, capsys):
    spec(in_c('if (rank == 0) { printf("%d\\n", N); fclose(fopen("made.dat", "w")); }'))
    assert run.main(["--program", "p.c", *SMALL, "--program-flags=-DN=42", "--keep-output", "kept"]) == 0
    assert (tmp_path / "kept" / "stdout.txt").read_text() == "42\n"
    assert [path.name for path in (tmp_path / "kept" / "files").iterdir()] == ["made.dat"]
    assert not (tmp_path / "made.dat").exists()
    (tmp_path / "sub").mkdir()
    asked = ["--program", "sub/q.x", *SMALL, "--program-build"]
    assert run.main([*asked, "mpicc -DN=1 ../p.c -o q.x"]) == 0
    assert run.main([*asked, "mpicc ../none.c -o q.x"]) == 1
    assert "none.c" in capsys.readouterr().err


FIXED_FORM = """      program main
      include 'mpif.h'
      integer ierr, n, twice
      call MPI_Init(ierr)
      call MPI_Comm_size(MPI_COMM_WORLD, n, ierr)
      if (twice(n) .ne. 4) stop 3
      call MPI_Finalize(ierr)
      end
"""


def test_a_build_of_fixed_form_fortran_names_its_files_as_compilers_do(spec, tmp_path):
    spec(in_c("MPI_Barrier(MPI_COMM_WORLD);"))
    (tmp_path / "main.f").write_text(FIXED_FORM)
    (tmp_path / "twice.F").write_text(
        "      integer function twice(n)\n      integer n\n      twice = 2 * n\n      end\n"
    )
    asked = ["--program", "a.out", *SMALL, "--program-build"]
    assert (
        run.main([*asked, "smpif90 -c main.f twice.F && mpif90 main.o twice.o && mpif90 -cpp -E main.f >main.i"]) == 0
    )
    assert {path.name for path in tmp_path.iterdir()} >= {"a.out", "main.o", "twice.o"}
    assert "call MPI_Init" in (tmp_path / "main.i").read_text()
    assert run.main([*asked, "smpif90 -c main.f none.f"]) == 1


def test_options_of_the_simulator_reach_the_recording(spec):
    asked = spec(in_c("MPI_Barrier(MPI_COMM_WORLD);"))
    shown = replace(asked, options=(("contexts/stack-size", "16384"), ("smpi/async-small-thresh", "10")))
    assert kept_options(replace(shown, options=(*shown.options, ("tracing", "yes")))) == shown.options
    assert recording_identity(shown, 1)["options"] == dict(shown.options)
    assert len(record_events(shown, 1).events) == 8
