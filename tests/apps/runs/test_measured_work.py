"""Measured computation of programs: timed once, kept, and replayed."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from apps.errors import Departed, KernelError
from apps.programs.own_program import read_program
from apps.programs.problem import own_problem
from apps.recording.events import Kind
from apps.recording.work import STEP, read_steps
from apps.runs.computation import with_work
from apps.runs.engines import run_iterations
from apps.runs.record_events import record_events
from apps.runs.simulate import simulate
from apps.smpi.engine import note_work
from apps.spec.run_spec import RunSpec
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.store import Store, is_exact
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from predictor.evidence.broker import Broker

RING = r"""
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
  int rank, size, iterations = atoi(argv[1]);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  volatile double sum = 0;
  double mine = rank, other;
  for (int i = 0; i < iterations; i++) {
    for (int j = 0; j < 1000 * (rank + 1); j++)
      sum += j * 1e-3;
    MPI_Sendrecv(&mine, 1, MPI_DOUBLE, (rank + 1) % size, 0, &other, 1, MPI_DOUBLE, (rank + size - 1) % size, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(&mine, &other, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
"""
THREADS = r"""
#include <mpi.h>
#include <pthread.h>
static void *work(void *sum)
{
  for (long i = 0; i < 100000000; i++)
    *(volatile double *)sum += 1e-3 * i;
  return sum;
}
int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  double sum = 0;
  pthread_t thread;
  pthread_create(&thread, 0, work, &sum);
  pthread_join(thread, 0);
  MPI_Finalize();
  return 0;
}
"""


@pytest.fixture(scope="module")
def ring(tmp_path_factory):
    path = tmp_path_factory.mktemp("ring") / "ring.c"
    path.write_text(RING)
    return path


def measured(path, *, full=40, ranks=4, **more):
    platform = materialise(named_grid("grid4x2"))
    asked = own_problem(read_program(path, "{iterations}", full))
    target = Target(asked, platform, block(platform, ranks))
    return RunSpec(target, compute="measured", host_speed_flops=40e9, **more)


@pytest.fixture
def kept(tmp_path):
    with Store(tmp_path / "store", report=lambda text: None) as store:
        yield store


@pytest.mark.parametrize(("wall_s", "wanted_s", "runs"), [(0.1, 2.0, 3), (0.7, 2.0, 2), (1.2, 1.0, 1)])
def test_short_programs_are_timed_in_several_runs_whose_median_counts(ring, monkeypatch, wall_s, wanted_s, runs):
    times_s = iter([1.0, 3.0, 2.0])
    made = []

    def noted(plain, iterations, **_):
        steps = np.zeros(3, STEP)
        steps["time_s"], steps["check"] = next(times_s), (1, 2, 3)
        made.append(plain)
        return SimpleNamespace(wall_s=wall_s, inputs=None), (steps,) * 4, 0.0

    monkeypatch.setattr("apps.runs.computation._noted", noted)
    monkeypatch.setattr("apps.runs.computation.RUNS_S", 2.0)
    work = with_work(measured(ring)).work
    assert len(made) == runs
    # By hand: the median of 1, 3 and 2 s; of 1 and 3 s; of 1 s.
    assert work.steps[0]["time_s"].tolist() == [wanted_s] * 3


def test_a_run_replays_what_was_timed_before_to_the_last_digit(ring, kept):
    first, again = (simulate(measured(ring), store=kept) for _ in range(2))
    assert first.timed.replayed and first.timed.kept and is_exact(first)
    assert (again.time_s, again.compute_s, again.comm_s) == (first.time_s, first.compute_s, first.comm_s)
    assert [entry.kind for entry in kept.entries()].count("computation") == 1
    assert "--cfg=smpi/simulate-computation:no" in first.command


def test_computation_is_the_replayed_seconds_times_the_speeds_ratio(ring, kept):
    spec = measured(ring, iterations="full")
    record, work = simulate(spec, store=kept), with_work(spec, store=kept).work
    speeds = [spec.target.platform.host(host).speed_flops for host in spec.target.placement]
    # The platform's hosts are slower or faster than the 40 Gflop/s of this computer on their scale.
    wanted = [steps["time_s"].sum() * 40e9 / speed for steps, speed in zip(work.steps, speeds, strict=True)]
    # SimGrid ends what has less than 1 ns left (option surf/precision).
    assert record.compute_s == pytest.approx(wanted, rel=1e-6, abs=1e-9 * max(map(len, work.steps)))


def test_early_stopped_iterations_give_the_time_of_a_full_replay(ring, kept, monkeypatch):
    work = with_work(measured(ring, full=200), store=kept).work
    for rank, steps in enumerate(work.steps):  # regardless of this computer's other load
        steps["time_s"] = 1e-5 * (1 + rank)
    monkeypatch.setattr("apps.runs.simulate.with_work", lambda spec, **_: replace(spec, work=even))
    even = replace(work, uniform=True)
    steady = simulate(measured(ring, full=200, iterations="steady"), store=kept, full_below_messages=0)
    full = simulate(measured(ring, full=200, iterations="full"), store=kept)
    assert steady.extrapolation is not None and steady.extrapolation.simulated < 100
    assert steady.time_s == pytest.approx(full.time_s, rel=1e-9)


def test_iterations_whose_measured_computation_varies_are_all_simulated(ring, kept, monkeypatch):
    work = replace(with_work(measured(ring, full=50), store=kept).work, uniform=False)
    monkeypatch.setattr("apps.runs.simulate.with_work", lambda spec, **_: replace(spec, work=work))
    record = simulate(measured(ring, full=50, iterations="steady"), store=kept, full_below_messages=0)
    assert record.extrapolation is None
    assert record.iterations_basis == "measured computation varies from one to the next"


def test_a_recording_has_the_computation_of_its_own_measurement(ring, kept):
    truth, evidence = measured(ring), measured(ring, measurement=1)
    recording = record_events(evidence, 40, store=kept)
    work = with_work(evidence, store=kept).work
    for events, steps in zip(recording.events, work.steps, strict=True):
        flops = events["amount"][events["kind"] == Kind.COMPUTE].sum()
        assert flops == pytest.approx(steps["time_s"].sum() * 40e9, rel=1e-9)
    assert recording.replayed and not recording.timed
    simulate(truth, store=kept)
    assert [entry.kind for entry in kept.entries()].count("computation") == 2


def test_a_broker_s_evidence_is_of_another_measurement_than_the_truth(ring):
    settings = Settings(compute="measured", host_speed_flops=40e9)
    target = measured(ring).target
    broker = Broker(settings, [target], record=lambda spec: None)
    assert settings.spec(target).measurement == 0
    assert broker.settings.spec(target).measurement == 1


def test_a_program_that_does_something_else_than_when_it_was_timed_is_found(ring, kept):
    spec = with_work(measured(ring, full=5), store=kept)
    other = with_work(measured(ring, full=6), store=kept)
    with pytest.raises(Departed, match="behaves differently"):
        run_iterations(replace(spec, work=replace(other.work, iterations=5)), 5)


def test_a_run_whose_course_departs_is_timed_while_it_is_made(ring, kept, monkeypatch):
    other = with_work(measured(ring, full=6), store=kept)
    wrong = replace(other.work, iterations=5)
    monkeypatch.setattr("apps.runs.simulate.with_work", lambda spec, **_: replace(spec, work=wrong))
    record = simulate(measured(ring, full=5), store=kept)
    assert not record.timed.replayed and not is_exact(record)
    assert any("it was not replayed" in caution for caution in record.cautions)


def test_a_program_that_computes_in_other_threads_is_refused(tmp_path, kept):
    path = tmp_path / "threads.c"
    path.write_text(THREADS)
    platform = materialise(named_grid("grid4x2"))
    asked = own_problem(read_program(path, flags="-pthread"))
    spec = RunSpec(Target(asked, platform, block(platform, 1)), compute="measured", host_speed_flops=40e9)
    with pytest.raises(KernelError, match="its other threads compute"):
        simulate(spec, store=kept)


OPENMP = r"""
#include <mpi.h>
int main(int argc, char **argv)
{
  double sum = 0;
  MPI_Init(&argc, &argv);
  for (int it = 0; it < 4; it++) {
#pragma omp parallel for reduction(+ : sum)
    for (long i = 0; i < 20000000; i++)
      sum += i * 0.5;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return sum < 0;
}
"""


def test_a_rank_that_uses_openmp_has_one_thread_and_more_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "threads.c"
    path.write_text(OPENMP)
    platform = materialise(named_grid("grid4x2"))
    asked = own_problem(read_program(path, flags="-fopenmp -O1"))
    spec = RunSpec(Target(asked, platform, block(platform, 1)), compute="measured", host_speed_flops=40e9)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    work = with_work(spec).work
    # 80 million additions, each of which waits for the one before it: at least a cycle, at any clock below 8 GHz.
    assert work.total_s > 80e6 / 8e9
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    with pytest.raises(KernelError, match=r"its other threads compute .* OMP_NUM_THREADS=1"):
        with_work(spec)


STATE = r"""
#include <mpi.h>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>
static double deep(int depth, double x)
{
  volatile double row[64];
  for (int i = 0; i < 64; i++)
    row[i] = x + i;
  return depth ? deep(depth - 1, row[depth % 64] * 0.5) + row[3] : x;
}
int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  std::map<int, std::string> names;
  double total = 0, sum = 0;
  for (int i = 0; i < 40; i++) {
    std::vector<double> values(1000 + 10 * (i % 3), i * 0.1);
    try {
      if (i % 7 == 3)
        throw std::runtime_error("seven");
      names[i] = "name" + std::to_string(i);
    } catch (std::exception &) {
      total += 1;
    }
    total += deep(100, values[5]);
    MPI_Allreduce(&total, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0)
    printf("%.17g %zu\n", total, names.size());
  MPI_Finalize();
}
"""


def test_computation_that_is_carried_out_again_leaves_the_program_s_state_as_it_was(tmp_path):
    path = tmp_path / "state.cpp"
    path.write_text(STATE)
    platform = materialise(named_grid("grid4x2"))
    spec = RunSpec(Target(own_problem(read_program(path)), platform, block(platform, 3)))
    said, again = {}, {}
    for apart in (False, True):
        folder = tmp_path / str(apart)
        folder.mkdir()
        done = note_work(spec, 1, folder, apart=apart, what="state")
        said[apart] = done.output.strip().splitlines()[-1]
        again[apart] = sum(int((steps["apart"] > 0).sum()) for steps in read_steps(folder, 3))
    assert said[True] == said[False]
    assert again[False] == 0
    if again[True] == 0:
        pytest.skip("this computer does not let a process restrict its copy")


def test_reading_the_clock_is_no_computation(tmp_path, kept):
    path = tmp_path / "clock.c"
    path.write_text(
        "#include <mpi.h>\nint main(int c, char **v) { MPI_Init(&c, &v); volatile double now;"
        " for (int i = 0; i < 200; i++) now = MPI_Wtime(); MPI_Barrier(MPI_COMM_WORLD); MPI_Finalize(); }"
    )
    platform = materialise(named_grid("grid4x2"))
    spec = RunSpec(Target(own_problem(read_program(path)), platform, block(platform, 2)))
    record = simulate(spec, store=kept)
    assert record.compute_s == (0, 0)
    assert record.time_s > 2e-6  # 200 readings of 10 ns (SimGrid option smpi/wtime)
    assert not record_events(spec, 1, store=kept).computes
    assert any("injects no computation" in caution for caution in record.cautions)
