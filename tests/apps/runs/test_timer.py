"""The program's own timer as the time: what it prints in a run is the time of the record and of the prediction."""

import re
from pathlib import Path

import gridval
import pytest

from apps.programs.own_program import read_program
from apps.programs.printed_time import printed_time
from apps.programs.problem import own_problem
from apps.runs.simulate import simulate
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise

DATA = Path(__file__).parents[1] / "data"
PATTERN = "Time in seconds = {time}"
CLOCK = """#include <mpi.h>
#include <chrono>
#include <cstdio>
int main(int argc, char **argv)
{
  double one = 1, sum;
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  auto began = std::chrono::steady_clock::now();
  MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  auto ended = std::chrono::steady_clock::now();
  if (!rank) std::printf("took %.3f ms\\n", std::chrono::duration<double, std::milli>(ended - began).count());
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
}
"""


def spec_of(how, *, iterations=6, time_from=PATTERN, keep_output=None, rule="full"):
    program = read_program(DATA / "timed.c", f"{{iterations}} {how}", iterations, time_from=time_from)
    platform = materialise(named_grid("grid4x2"))
    target = Target(own_problem(program), platform, block(platform, 4))
    return RunSpec(target, iterations=rule, keep_output=keep_output)


def test_numbers_are_found_as_c_and_fortran_print_them():
    said = " Time in seconds =                     1.80\n Time in seconds = 0.125D+01 s\nafter 3 steps: 250 us"
    last = printed_time(PATTERN, said)
    assert (last.time_s, last.digit_s) == (1.25, pytest.approx(0.01))
    assert printed_time("steps: {time:us} us", said).time_s == pytest.approx(250e-6)
    assert printed_time("Elapsed {time}", said) is None


@pytest.mark.parametrize("how", ["max", pytest.param("rank", marks=pytest.mark.slow), "root"])
def test_the_time_of_a_run_is_the_one_that_the_program_prints(tmp_path, how):
    record = simulate(spec_of(how, keep_output=tmp_path / "out"))
    printed_s = float(re.search(r"= +(\S+)", (tmp_path / "out" / "stdout.txt").read_text())[1])
    assert record.time_s == pytest.approx(printed_s, abs=1e-9)
    # By hand: 6 iterations of 1e8 flop on the slowest hosts, 40 Gflop/s; all else is messages.
    assert 0.015 < record.time_s < 0.025


@pytest.mark.slow
def test_the_first_iterations_extrapolate_the_printed_time():
    whole = simulate(spec_of("rank", iterations=40))
    shortened = simulate(spec_of("rank", iterations=40, rule="steady"), full_below_messages=0)
    assert shortened.extrapolation is not None and shortened.extrapolation.simulated < 40
    assert shortened.time_s == pytest.approx(whole.time_s, rel=1e-9)


@pytest.mark.parametrize("how", [pytest.param("max", marks=pytest.mark.slow), "root"])
def test_the_graph_predicts_the_printed_time(how):
    rows = gridval.run(
        platform="grid4x2", ranks=4, program=str(DATA / "timed.c"), program_args=f"{{iterations}} {how}",
        program_iterations=8, time_from=PATTERN, predictors=["dpgraph:known"], no_store=True,
    )  # fmt: skip
    # The whole run takes more than 0.08 s: what precedes and follows the timed part computes for 3 to 6 Gflop.
    assert abs(rows["predicted_s"][0] / rows["simulated_s"][0] - 1) < 1e-4 and rows["predicted_s"][0] < 0.04


@pytest.mark.parametrize(
    "how, time_from, said",
    [
        ("sum", PATTERN, "not the difference of two clock readings"),
        ("mean", PATTERN, "the mean of all ranks"),
        ("max", "Elapsed: {time}", "prints no such line"),
        ("max", "Elapsed", "must have {time} once"),
        ("max", "{time:h}", "no such unit"),
    ],
)
def test_a_time_that_no_two_readings_give_is_refused(how, time_from, said):
    with pytest.raises(UserError, match=said):
        simulate(spec_of(how, time_from=time_from))


@pytest.mark.slow
def test_the_clock_may_be_that_of_the_computer(tmp_path):
    # The program prints what the simulation takes here; the section that it times has the simulated time of one
    # allreduce of 8 bytes on 2 ranks, which takes more than one latency between the clusters and less than ten.
    source = tmp_path / "clock.cpp"
    source.write_text(CLOCK)
    program = read_program(source, time_from="took {time:ms} ms")
    platform = materialise(named_grid("grid4x2"))
    record = simulate(RunSpec(Target(own_problem(program), platform, block(platform, 2))))
    plain = simulate(RunSpec(Target(own_problem(read_program(source)), platform, block(platform, 2))))
    # By hand: three barriers of two empty messages each take at least as long as the allreduce, and lie outside.
    assert 0 < record.time_s < plain.time_s / 3
