"""Steady state: periods found in invented and in simulated runs, and their extrapolation."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from apps.programs.own_program import read_program
from apps.programs.problem import own_problem, problem
from apps.results.steady import SETTLED_BOUND, added_s, extrapolate, find_period, next_try, settle
from apps.runs.engines import run_iterations
from apps.runs.simulate import simulate
from apps.spec.run_spec import RunSpec
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.grids.random_grid import random_grid
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise

DATA = Path(__file__).parents[1] / "data"


def ends(durations, offset=0.0):
    """Return the end times of iterations of these durations."""
    total, result = offset, []
    for duration in durations:
        total += duration
        result.append(total)
    return tuple(result)


@pytest.fixture(scope="module")
def template():
    """A real record, whose times the tests replace; its energy would not go with them."""
    platform = materialise(named_grid("grid4x2"))
    target = Target(problem("lu", "S"), platform, block(platform, 2))
    return replace(run_iterations(RunSpec(target), 4), energy_j=None, energy_span_s=None)


def made_up(template, durations, offsets=(0.0, 0.5), after=0.0, compute_share=0.25):
    """Return a record of two ranks that run iterations of these durations, offset against each other."""
    rows = tuple(ends(durations, offset) for offset in offsets)
    computing = tuple(tuple(compute_share * end for end in ends(durations)) for _ in offsets)
    return replace(
        template,
        time_s=rows[1][-1] + after,
        simulated_s=rows[1][-1] + after,
        compute_s=tuple(row[-1] for row in computing),
        comm_s=tuple(row[-1] + after - c[-1] for row, c in zip(rows, computing, strict=True)),
        iteration_s=rows,
        iteration_compute_s=computing,
        messages=tuple(len(durations) * each for each in template.iteration_messages),
    )


def test_equal_iterations_have_period_one():
    period = find_period([ends([3, 2, 2, 2, 2]), ends([3, 2, 2, 2, 2], 0.1)])
    assert (period.iterations, period.time_s) == (1, pytest.approx(2))
    assert period.spread_s == pytest.approx(0, abs=1e-12)


def test_alternating_iterations_have_period_two():
    # MG on 35 ranks alternates by 0.2 %.
    period = find_period([ends([3, 2, 2.004, 2, 2.004])])
    assert (period.iterations, period.time_s) == (2, pytest.approx(4.004))


def test_the_last_iteration_may_do_more():
    assert find_period([ends([3, 2, 2, 2, 2.5])]).time_s == pytest.approx(2)


def test_an_odd_iteration_in_the_window_shows_as_spread():
    assert find_period([ends([3, 2, 2, 2.006, 2])]).spread_s == pytest.approx(0.006)


def test_whole_periods_and_what_is_left_of_one_are_added():
    # By hand: iterations of 2, 1, 2 and 1 s after the first of 1 s; three more are 2, 1 and 2 s.
    assert added_s([1, 3, 4, 6, 7], 3, period=2, period_s=3) == 5
    assert added_s([1, 3, 4, 6, 7], 4, period=2, period_s=3) == 6
    assert added_s([1, 3, 5], 3, period=1, period_s=2) == 6


def test_the_last_iteration_is_not_taken_for_one_that_is_left_over():
    assert added_s([1, 3, 4, 6, 9], 3, period=2, period_s=3) == 5


@pytest.mark.parametrize(
    ("tried", "missing", "period", "expected"), [(5, 35, 2, 6), (5, 36, 2, 10), (5, 35, 1, 10), (6, 34, 2, 12)]
)
def test_runs_that_leave_half_a_period_get_one_iteration_more_and_others_twice_as_many(
    tried, missing, period, expected
):
    assert next_try(tried, missing, period) == expected


# Four iterations cannot show a period of two.
@pytest.mark.parametrize(
    ("pattern", "simulated"), [([2.0], k) for k in (4, 5, 6, 7, 8)] + [([2.0, 2.5], k) for k in (5, 6, 7, 8)]
)
@pytest.mark.parametrize("total", [20, 21])
def test_whole_runs_follow_from_their_beginning(template, simulated, pattern, total):
    durations = [3.0] + [pattern[i % len(pattern)] for i in range(total - 1)]
    whole = made_up(template, durations, after=0.75)
    begun = made_up(template, durations[:simulated], after=0.75)
    found = extrapolate(begun, total)
    assert found.time_s == pytest.approx(whole.time_s, rel=1e-12)
    assert found.compute_s == pytest.approx(whole.compute_s, rel=1e-12)
    assert found.comm_s == pytest.approx(whole.comm_s, rel=1e-12)
    assert found.messages == whole.messages
    assert found.simulated_s == begun.time_s
    assert found.extrapolation.simulated == simulated
    # If half a period is left over, the bound includes the difference of the halves: 0.5 s of 45 to 50 s.
    halved = len(pattern) == 2 and (total - simulated) % 2
    assert found.extrapolation.bound_rel == pytest.approx(0.5 / found.time_s if halved else 0, abs=1e-9)


def settling(template, durations):
    """Settle an invented run of these durations; return the record and the number of iterations of each try."""
    tries = []

    def run(iterations):
        tries.append(iterations)
        return made_up(template, durations[:iterations])

    return settle(run, len(durations)), tries


def test_five_iterations_are_enough_for_a_regular_run(template):
    record, tries = settling(template, [3.0] + [2.0] * 99)
    assert tries == [5]
    assert record.time_s == pytest.approx(0.5 + 3 + 99 * 2)


@pytest.mark.parametrize("simulated", [1, 2, 3])
def test_too_few_iterations_are_continued_like_the_last_without_a_bound(template, simulated):
    found = extrapolate(made_up(template, [2.0] * simulated, offsets=(0.0, 0.0)), 50)
    assert found.time_s == pytest.approx(100)
    assert found.extrapolation.bound_rel is None


def test_an_iteration_takes_at_least_what_its_busiest_rank_computes(template):
    # One iteration: rank 0 computes for 3 s, rank 1 for 0.5 s and sends ahead.
    begun = replace(
        made_up(template, [3.0], offsets=(0.0, 0.0)), time_s=3.0, compute_s=(3.0, 0.5), comm_s=(0.0, 0.5),
        iteration_s=((3.0,), (1.0,)), iteration_compute_s=((3.0,), (0.5,)),
    )  # fmt: skip
    found = extrapolate(begun, 10)
    assert found.compute_s == pytest.approx([30.0, 5.0])
    assert found.comm_s == pytest.approx([0.0, 23.0])  # 9 iterations of 3 s after the first, of which it computes 0.5 s


def test_slow_settling_is_waited_for(template):
    record, tries = settling(template, [3.0, 2.5, 2.2, 2.1, 2.05, 2.01] + [2.0] * 94)
    assert tries == [5, 10, 20]
    assert record.time_s == pytest.approx(0.5 + 3 + 2.5 + 2.2 + 2.1 + 2.05 + 2.01 + 94 * 2, rel=1e-9)


def test_an_isolated_odd_iteration_is_not_extrapolated(template):
    durations = [3.0] + [2.0] * 99
    durations[3] = 2.006
    record, tries = settling(template, durations)
    assert tries[0] == 5 < tries[-1]
    assert record.time_s == pytest.approx(0.5 + sum(durations), rel=1e-9)


def test_a_run_that_never_settles_is_simulated_in_full(template):
    durations = [2 + 0.01 * (i * 7919 % 13) for i in range(40)]
    record, tries = settling(template, durations)
    assert tries == [5, 10, 20, 40]
    assert record.extrapolation is None
    assert record.time_s == pytest.approx(0.5 + sum(durations))


def specs(app, preset, ranks, scenario="grid3x12", options=()):
    platform = materialise(named_grid(scenario))
    target = Target(problem(app, preset), platform, block(platform, ranks))
    return [replace(Settings(options=options).spec(target), iterations=policy) for policy in ("steady", "full")]


@pytest.mark.parametrize(
    ("app", "preset", "ranks"),
    [
        *[(app, preset, 8) for app, preset in (("cg", "S"), ("cg", "W"), ("mg", "B"), ("lu", "S"))],
        ("cg", "S", 12),
        *[  # full runs of seconds
            pytest.param(*case, marks=pytest.mark.slow)
            for case in (("mg", "B", 27), ("lu", "W", 8), ("cg", "S", 27), ("cg", "W", 27), ("lu", "W", 27))
        ],
    ],
)
def test_steady_runs_meet_full_ones_within_their_bound(app, preset, ranks):
    steady, full = (simulate(spec) for spec in specs(app, preset, ranks))
    assert steady.extrapolation.simulated < full.identity["params"].get("itmax", 1000)
    assert abs(steady.time_s - full.time_s) <= steady.extrapolation.bound_rel * full.time_s
    assert steady.extrapolation.bound_rel <= 1e-4
    assert steady.messages == full.messages
    assert steady.bytes == full.bytes
    assert steady.flops == pytest.approx(full.flops, rel=1e-12)
    assert steady.compute_s == pytest.approx(full.compute_s, rel=1e-9)
    assert steady.comm_s == pytest.approx(full.comm_s, rel=1e-6)
    assert full.extrapolation is None


@pytest.mark.parametrize("total", [40, 41])
def test_a_simulated_period_of_two_is_extrapolated_as_such(total):
    platform = materialise(named_grid("grid4x2"))
    asked = own_problem(read_program(DATA / "alternating.c", "{iterations}", total))
    steady, full = (
        simulate(RunSpec(Target(asked, platform, block(platform, 8)), iterations=policy), full_below_messages=0)
        for policy in ("steady", "full")
    )
    how = steady.extrapolation
    # Three periods and the last iteration, and the run ends in the same half of a period.
    assert (how.simulated, how.period) == (7 + (total - 7) % 2, 2)
    assert abs(steady.time_s - full.time_s) <= how.bound_rel * full.time_s
    assert steady.comm_s == pytest.approx(full.comm_s, rel=1e-9)
    # By hand: the slowest hosts have 40 Gflop/s; half of the iterations are long, and the first is a short one.
    short = -(-total // 2)
    assert max(steady.compute_s) == pytest.approx((short * 1e8 + (total - short) * 3e8) / 40e9, rel=1e-9)


def random_lu_b(number):
    """LU B on random platform ``number`` of make bench-steady, on all hosts."""
    platform = materialise(random_grid(20261121, number))
    return Settings().spec(Target(problem("lu", "B"), platform, block(platform, len(platform.hosts))))


@pytest.mark.parametrize(("number", "ranks"), [(70, 24), pytest.param(98, 25, marks=pytest.mark.slow)])
def test_lu_that_is_irregular_is_not_taken_for_settled(number, ranks):
    # Ties between events: now and then an iteration of some ranks is 1e-8 to 1e-6 longer or shorter than others.
    spec = random_lu_b(number)
    assert spec.target.nranks == ranks
    begun = run_iterations(spec, 5)
    assert extrapolate(begun, 250).extrapolation.bound_rel > SETTLED_BOUND
    # The bound covers the irregularity.
    longer = run_iterations(spec, 12)
    found = extrapolate(begun, 12)
    assert abs(found.time_s - longer.time_s) <= found.extrapolation.bound_rel * longer.time_s


@pytest.mark.slow
def test_lu_that_never_settles_is_simulated_in_full():
    spec = random_lu_b(70)
    tries = []

    def run(iterations):
        tries.append(iterations)
        return run_iterations(spec, iterations)

    record = settle(run, 250)
    assert (tries[0], tries[-1]) == (5, 250)
    assert record.extrapolation is None
    assert len(record.iteration_s[0]) == 250


def test_mg_may_alternate_and_is_extrapolated_by_pairs_of_iterations():
    # Found by trying random platforms: with eager small messages iterations alternate by 0.23 %.
    platform = materialise(random_grid(5, 21))
    spec = Settings(options=(("smpi/async-small-thresh", "65536"),)).spec(
        Target(problem("mg", "B"), platform, block(platform, 26))
    )
    steady, full = simulate(spec), simulate(replace(spec, iterations="full"))
    lasting_s = [end - begin for begin, end in pairwise(full.iteration_s[0])]
    assert lasting_s[11] / lasting_s[10] != pytest.approx(1, abs=2e-3)
    assert lasting_s[12] / lasting_s[10] == pytest.approx(1, abs=1e-9)
    how = steady.extrapolation
    # Six, because the work after an odd number of iterations takes 1.2 ms more or less.
    assert (how.period, how.simulated) == (2, 6)
    assert abs(steady.time_s - full.time_s) <= how.bound_rel * full.time_s
    # The same holds for energy; 7 of 20 iterations leave half a period over.
    half = simulate(replace(spec, iterations=7))
    for record in (steady, half):
        bound_rel = record.extrapolation.energy_bound_rel
        assert bound_rel < (1e-9 if record is steady else 1e-2)
        for host, joules in full.energy_j.items():
            assert abs(record.energy_j[host] - joules) <= bound_rel * joules, host


def test_mg_with_eager_small_messages_is_extrapolated_right():
    options = (("smpi/async-small-thresh", "65536"),)
    steady, full = (simulate(spec) for spec in specs("mg", "B", 12, options=options))
    assert steady.time_s == pytest.approx(full.time_s, rel=1e-5)


def test_a_steady_record_is_not_a_full_one():
    steady, full = (spec.identity() for spec in specs("cg", "S", 8))
    assert steady != full


def test_many_messages_to_come_leave_room_for_an_odd_iteration(template):
    # By hand: what rounding adds, at most (0.05 + 1/155 x 1000) x 2^-53 per message, is below 1e-10 for these numbers.
    few, many = (
        extrapolate(made_up(replace(template, iteration_messages=(each, each)), [1.0] * 5), 1005) for each in (50, 100)
    )
    assert few.extrapolation.bound_rel < 1e-10
    assert 1e-7 < many.extrapolation.bound_rel < 1.01e-7


def test_a_change_of_the_rule_makes_extrapolated_records_anew(monkeypatch):
    steady, full = specs("cg", "S", 8)
    before = steady.identity(), full.identity()
    monkeypatch.setattr("apps.spec.run_spec.RULE", 10**6)
    assert steady.identity() != before[0]
    assert full.identity() == before[1]
