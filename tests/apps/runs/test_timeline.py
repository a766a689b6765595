"""Timelines of one iteration of a run, recorded on its own platform, compared with the record of the run."""

import numpy as np
import pytest

from apps.programs.own_program import read_program
from apps.programs.problem import own_problem, problem
from apps.runs.simulate import simulate
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.timelines.timeline import Activity, Timeline, record_timeline
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise


def spec_of(asked, **settings):
    platform = materialise(named_grid("grid4x2"))
    return Settings(**settings).spec(Target(asked, platform, block(platform, 8)))


@pytest.mark.parametrize(("app", "settings"), [("cg", {}), ("is", {}), ("mg", {"memory_bus": 5e9})])
def test_recording_takes_no_simulated_time(app, settings):
    spec = spec_of(problem(app, "S"), **settings)
    record = simulate(spec)
    simulated = record.extrapolation.simulated if record.extrapolation else spec.target.iterations
    timeline = record_timeline(spec, iterations=simulated)
    at = timeline.iteration - 1
    assert (timeline.iteration, timeline.simulated) == (simulated - 1, simulated)
    for rank in range(8):
        ends_s, computed_s = record.iteration_s[rank], record.iteration_compute_s[rank]
        # The record counts from each rank's own start, the timeline from that of the first: lengths are the same.
        length_s = timeline.end_s[rank] - timeline.begin_s[rank]
        assert length_s == pytest.approx(ends_s[at] - ends_s[at - 1], rel=1e-12, abs=1e-15)
        in_iteration_s = computed_s[at] - computed_s[at - 1]
        assert timeline.spent_s[rank, Activity.COMPUTATION] == pytest.approx(in_iteration_s, rel=1e-9, abs=1e-12)


def test_all_of_an_iteration_is_spent_with_something():
    timeline = record_timeline(spec_of(problem("is", "S")))
    np.testing.assert_allclose(timeline.spent_s.sum(axis=1), timeline.end_s - timeline.begin_s, rtol=1e-9)
    assert (timeline.spent_s[:, Activity.COLLECTIVES] > 0).all()


def test_a_program_without_iterations_is_shown_whole():
    spec = spec_of(problem("ep", "S"))
    timeline, record = record_timeline(spec), simulate(spec)
    assert timeline.iteration is None
    spent_s = timeline.spent_s[:, Activity.COMPUTATION]
    np.testing.assert_allclose(spent_s, record.compute_s, rtol=1e-9)


def test_iterations_of_a_users_program_are_found(tmp_path):
    program = read_program("examples/jacobi/jacobi.c", "100 {iterations} charged", 50)
    timeline = record_timeline(spec_of(own_problem(program)))
    assert (timeline.iteration, timeline.simulated) == (4, 5)
    assert (timeline.end_s > timeline.begin_s).all()


def test_shares_are_of_the_time_of_their_bin():
    # By hand: from 0 to 1 s computing, to 3 s a message, to 4 s computing; its iteration is from 1 to 4 s, in two bins
    # of 1.5 s: 1.5 s message; 0.5 s message and 1 s computing.
    timeline = Timeline(
        iteration=2, simulated=3, clock_s=(np.array([0.0, 1.0, 3.0, 4.0]),), activity=(np.array([0, 1, 0, -1]),),
        begin_s=np.array([1.0]), end_s=np.array([4.0]),
    )  # fmt: skip
    shares = timeline.shares(2)[0]
    np.testing.assert_allclose(shares[Activity.COMPUTATION], [0, 2 / 3])
    np.testing.assert_allclose(shares[Activity.MESSAGES], [1, 1 / 3])
    np.testing.assert_allclose(shares[Activity.COLLECTIVES], [0, 0])
    np.testing.assert_allclose(timeline.spent_s, [[1, 2, 0]])
