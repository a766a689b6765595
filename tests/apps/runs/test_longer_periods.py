"""Iterations that differ in their calls and repeat by several: found without marks, and extrapolated exactly."""

from pathlib import Path

import gridval
import numpy as np
import pytest

from apps.programs.own_program import read_program
from apps.programs.problem import own_problem
from apps.runs.longer_periods import found_period
from apps.runs.simulate import simulate
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise

TURNS = Path(__file__).parents[1] / "data" / "turns.c"


def spec_of(iterations, every, *, rule="steady", ranks=4):
    program = read_program(TURNS, f"{{iterations}} {every} 2000", iterations)
    platform = materialise(named_grid("grid4x2"))
    return RunSpec(Target(own_problem(program), platform, block(platform, ranks)), iterations=rule)


@pytest.mark.parametrize(
    "iterations, every, period",
    [
        (121, 3, 6),  # by hand: both neighbours in every second step, and a sum in every third
        pytest.param(605, 7, 14, marks=pytest.mark.slow),
        pytest.param(600, 10, 10, marks=pytest.mark.slow),
    ],
)
def test_a_run_of_unequal_iterations_is_that_of_all_within_its_bound(iterations, every, period):
    whole, few = (simulate(spec_of(iterations, every, rule=rule), full_below_messages=0) for rule in ("full", "steady"))
    how = few.extrapolation
    assert (how.iterations, how.period % period) == (iterations, 0) and how.simulated < iterations
    assert abs(few.time_s / whole.time_s - 1) <= how.bound_rel < 1e-9
    assert (few.messages, few.bytes, few.collectives) == (whole.messages, whole.bytes, whole.collectives)


def test_the_period_of_a_program_that_rounds_up_to_whole_periods_is_found():
    # Steps in blocks of ten, however few are asked for; each block ends with another call.
    def calls(count):
        blocks = -(-count // 10)
        return [np.tile(np.array([rank + 1] * 10 + [99], np.uint64), blocks) for rank in range(3)]

    assert found_period(calls, 96) == 10


def test_steps_that_never_repeat_have_no_period():
    def calls(count):
        return [np.arange(count * (count + 1) // 2, dtype=np.uint64)]

    assert found_period(calls, 24) is None


@pytest.mark.slow
def test_a_period_that_is_given_is_recorded_few_times_and_predicted_exactly():
    rows = gridval.run(
        platform="grid4x2", ranks=4, program=str(TURNS), program_args="{iterations} 3 2000", program_iterations=121,
        program_period=6, compute="none", predictors=["dpgraph:known"], no_store=True,
    )  # fmt: skip
    whole = simulate(spec_of(121, 3, rule="full"))
    assert rows["simulated_s"][0] == pytest.approx(whole.time_s, rel=1e-9)
    assert rows["predicted_s"][0] == pytest.approx(whole.time_s, rel=1e-5)


def test_a_period_beyond_the_iterations_is_refused():
    program = read_program(TURNS, "{iterations} 3 2000", 5)
    with pytest.raises(UserError, match="--program-period 6"):
        program.in_periods(6)
    turned = program.in_periods(2)
    assert (turned.arguments_for(2, (1.0,))[0], turned.arguments_for(1, (1.0,))[0]) == ("5", "3")
