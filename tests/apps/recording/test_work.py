"""Measured computation: medians over iterations, ranks that compute alike, shorter runs."""

import numpy as np
import pytest

from apps.recording.work import STEP, Irregular, Repeat, from_bytes, measured_work, to_bytes, typical


def steps(times_s, checks, apart=0):
    made = np.empty(len(times_s), STEP)
    made["time_s"], made["check"], made["apart"] = times_s, checks, apart
    return made


def looped(times_s, before=(), after=(), checks=(1, 2)):
    """Steps of a loop: times by iteration and place, with steps before and after it that happen once."""
    body = np.asarray(times_s, float)
    outside = [[100 + place for place in range(len(part))] for part in (before, after)]
    all_checks = [*outside[0], *np.tile(checks, len(body)), *(200 + check for check in outside[1])]
    return steps([*before, *body.ravel(), *after], all_checks)


def test_each_place_of_the_iteration_has_its_median_and_the_first_iteration_stays():
    times_s = [[9.0, 5.0], *[[1.0, 2.0], [1.1, 2.1], [0.9, 1.9]] * 12, [7.0, 2.0]]
    work = measured_work([looped(times_s, before=[3.0], after=[4.0])], 38)
    # By hand: the medians of the last 37 rows.
    assert work.repeats == (Repeat(1, 38, 2),)
    assert work.steps[0]["time_s"].tolist() == [3.0, 9.0, 5.0, *[1.0, 2.0] * 37, 4.0]


def test_where_the_first_iteration_is_not_among_those_that_repeat_all_of_these_have_the_median():
    times_s = [[9.0, 5.0], *[[1.0, 2.0], [1.1, 2.1], [0.9, 1.9]] * 12]
    work = measured_work([looped(times_s, before=[3.0, 8.0, 6.0])], 38)  # the iteration before them took 14 s
    assert work.repeats == (Repeat(3, 37, 2),)
    assert work.steps[0]["time_s"].tolist() == [3.0, 8.0, 6.0, *[1.0, 2.0] * 37]


def test_a_shorter_run_of_iterations_that_vary_has_their_mean():
    shrinking = [[float(64 - iteration), 1.0] for iteration in range(64)]
    work = measured_work([looped(shrinking)], 64)
    # By hand: the mean of 1 to 63 is 32.
    assert work.of(3)[0]["time_s"].reshape(3, 2).tolist() == [[64.0, 1.0], [32.0, 1.0], [32.0, 1.0]]
    later = measured_work([looped(shrinking, before=[70.0, 1.0])], 65)
    assert later.of(3)[0]["time_s"].reshape(3, 2).tolist() == [[70.0, 1.0], [32.0, 1.0], [32.0, 1.0]]


def test_iterations_whose_computation_changes_stay_as_they_were_measured():
    shrinking = [[float(64 - iteration), 1.0] for iteration in range(64)]
    work = measured_work([looped(shrinking)], 64)
    assert work.steps[0]["time_s"].reshape(64, 2).tolist() == shrinking


def test_a_heavy_iteration_out_of_four_keeps_its_weight():
    heavy = [[10.0 if iteration % 4 == 0 else 1.0, 1.0] for iteration in range(40)]
    work = measured_work([looped(heavy)], 40)
    assert work.total_s == pytest.approx(10 * 10 + 30 + 40)


def test_ranks_that_compute_alike_share_their_median_and_a_slower_one_does_not():
    near = [looped([[1.0 + place, 2.0]] * 8) for place in (0.0, 0.01, 0.02)]
    work = measured_work(near, 8)
    assert {tuple(row["time_s"]) for row in work.steps} == {(1.01, 2.0) * 8}
    apart = measured_work([*near, looped([[1.5, 2.0]] * 8)], 8)
    assert apart.steps[3]["time_s"][0] == 1.5


def test_the_spread_holds_what_the_halves_of_the_iterations_differ_by():
    drifting = [[1.00, 1.0]] * 8 + [[1.08, 1.0]] * 8
    work = measured_work([looped(drifting)], 16)
    # By hand: the halves without the first iteration differ by 0.08 s of 2.0x s, to either side of the middle.
    assert work.spread_rel == pytest.approx(0.04 / 2.04, rel=0.2)


def test_a_shorter_run_has_the_steps_around_the_loop_and_fewer_iterations():
    times_s = [[9.0, 9.0], *[[1.0, 2.0]] * 9]
    work = measured_work([looped(times_s, before=[3.0], after=[4.0])], 10)
    short = work.of(3)[0]
    assert short["time_s"].tolist() == [3.0, 9.0, 9.0, 1.0, 2.0, 1.0, 2.0, 4.0]
    assert short["check"].tolist() == [100, 1, 2, 1, 2, 1, 2, 300]


def test_an_iteration_of_two_equal_halves_is_shortened_as_a_whole():
    # Sixteen equal steps of eight iterations: red and black points, say, which take 1 and 2 s.
    work = measured_work([steps([1.0, 2.0] * 8, [7] * 16)], 8)
    assert work.repeats == (Repeat(0, 8, 2),)
    assert work.of(2)[0]["time_s"].tolist() == [1.0, 2.0, 1.0, 2.0]


def test_iterations_in_pairs_cannot_be_shortened_by_one():
    work = measured_work([looped([[1.0, 1.0]] * 20)], 40)
    assert work.of(38)[0].shape == (38,)
    with pytest.raises(Irregular):
        work.of(37)


def test_calls_without_repetition_stay_and_cannot_be_shortened():
    work = measured_work([steps([1.0, 2.0, 3.0], [1, 2, 3])], 5)
    assert work.steps[0]["time_s"].tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(Irregular):
        work.of(4)


def test_computation_takes_as_much_less_as_the_ones_that_were_timed_apart():
    # Two ranks of 16 iterations: 2 s and 1 s among the other ranks' use of the caches, 1 s and 1 s alone.
    apart = np.zeros((16, 2))
    apart[[2, 4, 8]] = 1
    times_s = np.where(apart == 1, 1.0, [2.0, 1.0])
    rows = [steps(times_s.ravel(), [1, 2] * 16, apart.ravel()) for _ in range(2)]
    work = measured_work(rows, 16)
    # By hand: all but the first iteration at half the time; 3 % of the correction may be wrong.
    assert work.steps[1]["time_s"].tolist() == [2.0, 1.0, *[1.0, 1.0] * 15]
    assert work.spread_rel == pytest.approx((15 * 0.03 * 1.0 + 0.045 * 3.0) / 33, rel=0.02)


def test_short_computation_of_several_ranks_that_was_not_timed_apart_may_be_longer_than_alone():
    # By hand: 30 % of each computation, 0.3 ms at most; 4.5 % of the first iteration; clocks that are off by 30 ns.
    short = [looped([[1e-4, 1e-4]] * 16) for _ in range(2)]
    wanted = 0.3 + 0.045 / 16 + 15 / 16 * 3e-8 / 1e-4
    assert measured_work(short, 16).spread_rel == pytest.approx(wanted)
    assert measured_work(short[:1], 16).spread_rel == pytest.approx(wanted - 0.3)
    assert measured_work(short, 16, simulated=False).spread_rel == pytest.approx(wanted - 0.3)
    long = measured_work([looped([[1.0, 1.0]] * 16) for _ in range(2)], 16)
    assert long.spread_rel == pytest.approx(3e-4 + 0.045 / 16, rel=1e-3)


def test_each_step_has_its_median_over_several_runs_whose_differences_are_in_the_spread():
    runs = [measured_work([looped([[seconds, 1.0]] * 8)], 8) for seconds in (1.0, 1.5, 1.1)]
    work = typical(runs)
    assert work.steps[0]["time_s"].tolist() == [1.1, 1.0] * 8
    assert work.spread_rel == pytest.approx(0.5 / 2.1)  # by hand: from 2.0 to 2.5 s an iteration
    assert typical(runs[:1]).spread_rel == runs[0].spread_rel


def test_runs_that_call_otherwise_leave_the_first_one_as_it_is():
    first = measured_work([looped([[1.0, 1.0]] * 8)], 8)
    other = measured_work([looped([[3.0, 3.0]] * 8, checks=(1, 7))], 8)
    assert typical([first, other]) is first


def test_the_archive_keeps_everything_and_refuses_another_number_of_ranks():
    work = measured_work([looped([[1.0, 2.0]] * 6), looped([[3.0, 2.0]] * 6)], 6)
    again = from_bytes(to_bytes(work), nranks=2)
    assert [row.tolist() for row in again.steps] == [row.tolist() for row in work.steps]
    assert (again.repeats, again.iterations, again.spread_rel) == (work.repeats, work.iterations, work.spread_rel)
    for content, nranks in ((to_bytes(work), 3), (b"", 2), (to_bytes(work)[:50], 2)):
        with pytest.raises(ValueError):
            from_bytes(content, nranks=nranks)
