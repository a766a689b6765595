"""Programs that do something else on other hosts or at another moment: none is silently wrong."""

import shutil

import pytest

from apps.programs.own_program import read_program
from apps.programs.problem import own_problem
from apps.runs.cautions import recording_cautions, run_cautions
from apps.runs.record_events import record_events
from apps.runs.simulate import simulate
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from apps.store import Store
from platforms.grids.scenario import named_grid
from platforms.model.placement import cyclic
from platforms.read.read import materialise

ITERATIONS = 100
FRAME = """#include <mpi.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <smpi/smpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
static double mine[20000], theirs[20000];
int main(int argc, char **argv)
{
  int rank, size, n = atoi(argv[1]);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  %(before)s
  for (int i = 0; i < n; i++) {
    smpi_execute_flops_benched(1e7);
    %(body)s
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(1002);
  }
  MPI_Finalize();
}
"""
ONCE = "if (slow && i % 10 == 9) smpi_execute_flops_benched(5e9);"
NAME = "char name[MPI_MAX_PROCESSOR_NAME]; int length; MPI_Get_processor_name(name, &length);"
# Rank 2 is on a faster host than rank 1, so its message comes first; where all hosts are alike, that of rank 1 does.
RACE = """if (rank == 1 || rank == 2) {
      smpi_execute_flops_benched(rank == 1 ? 1e8 : 1.1e8);
      MPI_Send(mine, 1000, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
    } else if (!rank) { %s }"""
WAITANY = """MPI_Request r[2]; int which;
      for (int k = 0; k < 2; k++) MPI_Irecv(theirs + 1000 * k, 1000, MPI_DOUBLE, k + 1, 1, MPI_COMM_WORLD, &r[k]);
      if (i == 60) {
        MPI_Waitany(2, r, &which, MPI_STATUS_IGNORE);
        MPI_Wait(&r[1 - which], MPI_STATUS_IGNORE);
        if (which) smpi_execute_flops_benched(5e10);
      } else MPI_Waitall(2, r, MPI_STATUSES_IGNORE);"""
PROBE = """MPI_Status s; int first = 1;
      if (i == 60) { MPI_Probe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &s); first = s.MPI_SOURCE; }
      if (first == 2) smpi_execute_flops_benched(5e10);
      MPI_Recv(theirs, 1000, MPI_DOUBLE, first, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Recv(theirs, 1000, MPI_DOUBLE, 3 - first, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);"""
TEST = """MPI_Request r; int done = 1; MPI_Irecv(theirs, 1000, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, &r);
      smpi_execute_flops_benched(2e8);
      if (i == 60) MPI_Test(&r, &done, MPI_STATUS_IGNORE); else MPI_Wait(&r, MPI_STATUS_IGNORE);
      if (!done) { smpi_execute_flops_benched(5e10); MPI_Wait(&r, MPI_STATUS_IGNORE); }
      MPI_Recv(theirs, 1000, MPI_DOUBLE, 2, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);"""
HOSTS = "its course may depend on its hosts, which it queries with "


def spec_of(tmp_path, body, before=""):
    path = tmp_path / "course.c"
    path.write_text(FRAME % {"before": before, "body": body})
    platform = materialise(named_grid("grid4x2"))  # 40, 50, 60 and 70 Gflop/s
    problem = own_problem(read_program(path, "{iterations}", ITERATIONS))
    return RunSpec(Target(problem, platform, cyclic(platform, 4)), iterations="steady")


def steady_and_full(spec):
    full = RunSpec(spec.target, iterations="full")
    return simulate(spec, full_below_messages=0), simulate(full)


@pytest.mark.parametrize(
    ("before", "body", "basis"),
    [
        (f"{NAME} int slow = !strncmp(name, \"c1\", 2);", ONCE, f"{HOSTS}MPI_Get_processor_name"),
        ("int slow = sg_host_get_speed(sg_host_self()) > 2e9;", ONCE, f"{HOSTS}sg_host_get_speed"),
        ("int slow = !strcmp(sg_host_self_get_name(), \"c1-0\");", ONCE, f"{HOSTS}sg_host_self_get_name"),
        ("int slow = sg_host_count() > 3;", ONCE, f"{HOSTS}sg_host_count"),
        ("double from_s = simgrid_get_clock();", "int slow = simgrid_get_clock() - from_s > 0.01;" + ONCE,
         f"{HOSTS}simgrid_get_clock"),
        ("", RACE % WAITANY, "they do not repeat"),
        ("", RACE % PROBE, "they do not repeat"),
        ("", RACE % TEST, "they do not repeat"),
    ],
)  # fmt: skip
def test_a_course_that_depends_on_the_hosts_is_simulated_in_full(tmp_path, before, body, basis):
    steady, full = steady_and_full(spec_of(tmp_path, body, before))
    assert (steady.extrapolation, steady.time_s) == (None, full.time_s)
    assert steady.iterations_basis.startswith(basis)
    assert f"all iterations were simulated: {steady.iterations_basis}" in steady.cautions


@pytest.mark.parametrize(
    ("before", "body", "name"),
    [
        ("int odd = (int)time(NULL) % 7;", "for (int k = 0; k < odd; k++) MPI_Barrier(MPI_COMM_WORLD);", "time"),
        ("int late = clock() > 90000000;", "if (late) MPI_Barrier(MPI_COMM_WORLD);", "clock"),
        (
            "struct rusage used; getrusage(RUSAGE_SELF, &used); int late = used.ru_utime.tv_sec > 90;",
            "if (late) MPI_Barrier(MPI_COMM_WORLD);",
            "getrusage",
        ),
        ('FILE *random = fopen("/dev/urandom", "r"); fclose(random);', "", "/dev/urandom"),
    ],
)
def test_a_course_that_depends_on_the_moment_is_simulated_in_full_and_never_kept(tmp_path, before, body, name):
    lines = []
    with Store(tmp_path / "store", report=lines.append) as store:
        spec = spec_of(tmp_path, body, before)
        record = simulate(spec, full_below_messages=0, store=store)
        assert record.extrapolation is None
        assert record.iterations_basis == f"its course may depend on {name}, whose results change by themselves"
        said = f"the program queries {name}, whose results change by themselves: results may vary from run to run"
        assert said in run_cautions(spec, record)
        assert not store.put_record(record)
        assert {entry.kind for entry in store.entries()} <= {"surroundings"}
        (line,) = lines
        assert f"the program queries {name}, whose results change by themselves" in line and "not kept" in line


def test_a_recording_on_other_hosts_carries_a_caution(tmp_path):
    spec = spec_of(tmp_path, ONCE, f'{NAME} int slow = !strncmp(name, "c1", 2);')
    recording = record_events(spec, 3)
    assert any("queries its hosts with MPI_Get_processor_name" in one for one in recording_cautions(spec, recording))


def test_few_messages_are_bounded_as_well(tmp_path):
    # The root of a broadcast moves over four ranks: rounding of the clock is then more than a few messages suggest.
    steady, full = steady_and_full(spec_of(tmp_path, "MPI_Bcast(mine, 20000, MPI_DOUBLE, i < 30 ? 0 : i % size,"
                                                     " MPI_COMM_WORLD);"))  # fmt: skip
    assert steady.extrapolation is not None
    assert abs(steady.time_s - full.time_s) <= steady.extrapolation.bound_rel * full.time_s
    assert steady.extrapolation.bound_rel < 1e-11


@pytest.mark.parametrize(
    ("source", "varies"),
    [
        ("import time\ndef main(rank):\n    rank.compute(1e9 * (1 + time.time() % 1))\n", ("time.time",)),
        ("import random\ndef main(rank):\n    rank.compute(1e9 * random.random())\n", ("random",)),
        ("import random\nrandom.seed(3)\ndef main(rank):\n    rank.compute(1e9 * random.random())\n", ()),
        ("def main(rank):\n    rank.compute(1e9)\n", ()),
    ],
)
def test_a_program_in_python_that_varies_carries_a_caution_and_is_not_kept(tmp_path, source, varies):
    (tmp_path / "course.py").write_text(source)
    platform = materialise(named_grid("grid4x2"))
    problem = own_problem(read_program(tmp_path / "course.py"))
    spec = RunSpec(Target(problem, platform, cyclic(platform, 2)), engine="s4u")
    record = simulate(spec)
    assert record.inputs.varies == varies
    assert any("results may vary from run to run" in one for one in run_cautions(spec, record)) is bool(varies)
    with Store(tmp_path / "store", report=lambda line: None) as store:
        assert store.put_record(record) is not bool(varies)


OTHER_LANGUAGES = {
    "clock.cpp": (
        "#include <mpi.h>\n#include <chrono>\nint main(int argc, char **argv)\n{\n  MPI_Init(&argc, &argv);\n"
        "  auto now = std::chrono::steady_clock::now();\n"
        "  for (long i = 0; i < now.time_since_epoch().count() / 1000000000 % 7; i++) MPI_Barrier(MPI_COMM_WORLD);\n"
        "  MPI_Finalize();\n}\n",
        "std::chrono::steady_clock",
    ),
    "clock.f90": (
        "program clock\n  use mpi\n  integer :: err, count, i\n  call MPI_Init(err)\n  call system_clock(count)\n"
        "  do i = 1, mod(count / 1000, 7)\n    call MPI_Barrier(MPI_COMM_WORLD, err)\n  end do\n"
        "  call MPI_Finalize(err)\nend program\n",
        "system_clock",
    ),
}


@pytest.mark.parametrize("name", OTHER_LANGUAGES)
def test_clocks_of_other_languages_are_seen(tmp_path, name):
    if name.endswith("f90") and shutil.which("gfortran") is None:
        pytest.skip("smpif90 needs gfortran")
    source, shown = OTHER_LANGUAGES[name]
    (tmp_path / name).write_text(source)
    platform = materialise(named_grid("grid4x2"))
    spec = RunSpec(Target(own_problem(read_program(tmp_path / name)), platform, cyclic(platform, 2)))
    assert simulate(spec).inputs.varies == (shown,)
