"""The clock of the thread stands still for SimGrid if computation is not timed, and no time depends on it."""

import ctypes
import time

from apps.programs.own_program import read_program
from apps.programs.problem import own_problem, problem
from apps.runs.simulate import simulate
from apps.smpi import launch
from apps.smpi.launch import thread_clock_library
from apps.spec.run_spec import RunSpec
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise

THREAD_CPU, MONOTONIC = time.CLOCK_THREAD_CPUTIME_ID, time.CLOCK_MONOTONIC


class Timespec(ctypes.Structure):
    _fields_ = [("tv_sec", ctypes.c_long), ("tv_nsec", ctypes.c_long)]


def target(app):
    platform = materialise(named_grid("grid2x2", speeds_flops=[40e9, 50e9]))
    return Target(problem(app, "S"), platform, block(platform, 4))


def test_only_the_clock_of_the_thread_stands_still():
    read = ctypes.CDLL(str(thread_clock_library())).clock_gettime
    now = Timespec(1, 1)
    assert read(THREAD_CPU, ctypes.byref(now)) == 0 and (now.tv_sec, now.tv_nsec) == (0, 0)
    before = time.clock_gettime(MONOTONIC)
    assert read(MONOTONIC, ctypes.byref(now)) == 0
    assert before <= now.tv_sec + 1e-9 * now.tv_nsec <= time.clock_gettime(MONOTONIC)


def test_it_is_loaded_into_kernels_and_changes_no_time(monkeypatch, tmp_path):
    spec = RunSpec(target("mg"))
    command = launch.prepare(spec, launch.launch(spec, 4), tmp_path)
    assert "LD_PRELOAD" in command[command.index("-wrapper") + 1]
    assert (tmp_path / "first-0.so").resolve() == thread_clock_library()
    with_it = simulate(Settings().spec(spec.target))
    monkeypatch.setattr(launch, "loaded_first", lambda *_, **__: [])
    without = simulate(Settings().spec(spec.target))
    assert (with_it.time_s, with_it.compute_s, with_it.comm_s) == (without.time_s, without.compute_s, without.comm_s)


READS = """
#include <mpi.h>
#include <smpi/smpi.h>
#include <time.h>
int real(clockid_t clock, struct timespec *now) __asm__("clock_gettime");
static double spent_s(void) {
  struct timespec now;
  real(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec + 1e-9 * now.tv_nsec;
}
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  %s
  MPI_Finalize();
}
"""
SPINS = "double begun_s = spent_s(); while (spent_s() < begun_s + 1e-3);"


def run_of(tmp_path, body):
    (tmp_path / "reads.c").write_text(READS % body)
    asked = own_problem(read_program(tmp_path / "reads.c"))
    platform = target("mg").platform
    return simulate(RunSpec(Target(asked, platform, block(platform, 2))), time_limit_s=60)


def test_for_programs_of_the_user_it_goes_on(tmp_path):
    assert run_of(tmp_path, SPINS).time_s < 1e-3  # SimGrid does not time it
