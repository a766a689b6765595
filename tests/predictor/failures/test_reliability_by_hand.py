"""Failing nodes: the ends of each formula's range, and scalar and array arguments."""

import math
from fractions import Fraction

import numpy as np
import pytest

from platforms.errors import UserError
from predictor.failures.expected import (
    INTERVALS,
    NO_FAILURES,
    SCRATCH,
    SEGMENTS,
    Failures,
    daly,
    daly_first_order,
    daly_time,
    exact,
    outlook,
    restart_from_scratch,
    stretch_time,
    with_checkpoints,
    young,
)

INF = math.inf


def test_intervals_by_hand_and_without_a_restart():
    # sqrt(2 2 100) = 20; with R = 21 sqrt(4 121) = 22; 20 (1 + 0.1 / 3 + 0.01 / 9) - 2 with delta / 2M = 0.01.
    assert young(2, 100) == 20 == young(2, 100, 50)
    assert daly_first_order(2, 100) == 20 and daly_first_order(2, 100, 21) == 22
    assert float(daly(2, 100)) == pytest.approx(20 * (1 + 0.1 / 3 + 0.01 / 9) - 2, rel=1e-15)
    assert daly(2, 100, 21) == daly(2, 100)
    # Up to delta = 2 M, where the series would say 200 (1 + 1 / 3 + 1 / 9) - 200.
    assert daly(200, 100) == 100 and float(daly(200 - 1e-9, 100)) == pytest.approx(800 / 9)


@pytest.mark.parametrize("name", list(INTERVALS))
def test_intervals_take_fractions_and_arrays(name):
    interval = INTERVALS[name]
    assert float(interval(Fraction(5), Fraction(1000), Fraction(7))) == pytest.approx(float(interval(5.0, 1000.0, 7.0)))
    listed = [interval([Fraction(5)], 1000.0, 7.0)] + (
        [interval(5.0, [Fraction(1000)], 7.0)] if name != "young" else []
    )
    assert all(one.dtype == float and one == pytest.approx([float(interval(5.0, 1000.0, 7.0))]) for one in listed)
    found = interval([5, 500], [[1000], [INF]], 7)
    assert found.shape == (2, 2)
    assert found[0] == pytest.approx([float(interval(5, 1000, 7)), float(interval(500, 1000, 7))])
    assert np.isinf(found[1]).all()


def test_the_exact_interval_solves_its_equation_to_the_last_digits():
    # (tau/M - 1) e^(tau/M - 1) = -e^(-1 - delta/M), on both sides of where the series takes over (delta/M = 5e-7).
    for x in (2.0, 0.5, 1e-3, 5.1e-7):
        tau = float(exact(x * 1000.0, 1000.0)) / 1000
        assert (tau - 1) * math.exp(tau - 1) == pytest.approx(-math.exp(-1 - x), rel=1e-13)
    # By the series alone: with q = sqrt(2 (1 - e^-x)), q - q^2 / 3 + 11 q^3 / 72 - 43 q^4 / 540.
    for x in (4e-7, 1e-9):
        q = math.sqrt(2 * -math.expm1(-x))
        series = q - q**2 / 3 + 11 * q**3 / 72 - 43 * q**4 / 540
        assert float(exact(x, 1.0)) == pytest.approx(series, rel=1e-15, abs=0)
    assert exact(5, 100, 9) == exact(5, 100)  # R does not move it


def test_the_series_is_that_of_lamberts_function():
    # Against Newton's method in rational numbers: u e^u = -e^(-1 - x), u = tau - 1, at x = 5e-7, where q is 1e-3.
    from decimal import Decimal, getcontext

    getcontext().prec = 40
    x = Decimal("4.9e-7")
    tau = Decimal("1e-3")
    for _ in range(50):  # f = ln(1 - tau) + tau + x, f' = 1 - 1 / (1 - tau)
        tau -= ((1 - tau).ln() + tau + x) / (1 - 1 / (1 - tau))
    assert float(exact(float(x), 1.0)) == pytest.approx(float(tau), rel=1e-13, abs=0)  # the next term: 769 q^4 / 17280


def test_a_stretch_by_hand_at_the_ends_of_its_range():
    assert stretch_time(100, 0, 7) == 100 and stretch_time(0, 0.1, 7) == 0
    assert float(stretch_time(math.log(3), 1, math.log(2))) == pytest.approx(4)  # (3 - 1) 2 / 1
    assert stretch_time(1e6, 1) == INF == stretch_time(1, 1, 1e6)
    assert stretch_time([1e-320], 1e-5, 1e9).tolist() == [INF]  # never, before a stretch of next to nothing
    assert stretch_time([1e-320], 1e-5, 1e9).dtype == float
    assert stretch_time(0, 1, 1e6) == 0
    assert float(stretch_time(Fraction(100), Fraction(1, 100))) == pytest.approx(100 * (math.e - 1))
    assert float(restart_from_scratch(100, 0.01)) == pytest.approx(100 * (math.e - 1))
    assert float(restart_from_scratch(100, 0.01, restart_s=100)) == pytest.approx(100 * (math.e - 1) * math.e)


def test_segments_by_hand():
    # r = ln 2 / 110: a segment of 100 s and its checkpoint of 10 s doubles: 110 / ln 2 each; then the last 50 s.
    r = math.log(2) / 110
    last_s = (math.exp(50 * r) - 1) / r
    found = with_checkpoints(250, r, interval_s=100, checkpoint_s=10)
    assert float(found) == pytest.approx(2 * 110 / math.log(2) + last_s)
    assert float(with_checkpoints(150, 0, interval_s=100, checkpoint_s=10)) == 160
    # Restarts of 110 s double every stretch.
    found = with_checkpoints(250, r, interval_s=100, checkpoint_s=10, restart_s=110)
    assert float(found) == pytest.approx(2 * (2 * 110 / math.log(2) + last_s))
    # Daly counts 2.5 segments, each with a checkpoint.
    assert float(daly_time(250, r, interval_s=100, checkpoint_s=10)) == pytest.approx(2.5 * 110 / math.log(2))
    assert float(daly_time(250, r, interval_s=100, checkpoint_s=10, restart_s=110)) == pytest.approx(550 / math.log(2))


def test_whole_intervals_leave_a_last_segment_of_one_interval():
    # 0.3 / 0.1 is a little less or more than 3 in floats: three segments, two checkpoints.
    assert float(with_checkpoints(0.3, 0, interval_s=0.1, checkpoint_s=1)) == pytest.approx(2.3)
    assert float(with_checkpoints(0.7, 0, interval_s=0.1, checkpoint_s=1)) == pytest.approx(6.7)
    assert float(with_checkpoints(100, 0, interval_s=100, checkpoint_s=7)) == 100
    assert float(with_checkpoints(0, 0, interval_s=100, checkpoint_s=7)) == 0


@pytest.mark.parametrize("segments", list(SEGMENTS.values()))
def test_an_infinite_interval_writes_no_checkpoint(segments):
    r = math.log(2) / 100
    found = segments([100, 200], r, interval_s=[INF, INF], checkpoint_s=10, restart_s=100)
    assert found == pytest.approx([100 / math.log(2) * 2, 300 / math.log(2) * 2])
    # Beside finite ones: 100 s and its checkpoint of 100 s, of which Daly's run has one, the other none.
    mixed = segments(100, r, interval_s=[100, INF], checkpoint_s=100)
    assert mixed[1] == pytest.approx(100 / math.log(2))
    assert mixed[0] == pytest.approx((300 if segments is daly_time else 100) / math.log(2))


@pytest.mark.parametrize("segments", list(SEGMENTS.values()))
def test_segments_take_fractions(segments):
    listed = segments([Fraction(300)], [Fraction(0)], interval_s=[Fraction(100)], checkpoint_s=[Fraction(10)])
    assert listed.dtype == float and listed == pytest.approx([330 if segments is daly_time else 320])
    how = {"interval_s": Fraction(100), "checkpoint_s": Fraction(10), "restart_s": Fraction(5)}
    floats = {name: float(value) for name, value in how.items()}
    assert float(segments(Fraction(300), Fraction(1, 1000), **how)) == pytest.approx(
        float(segments(300, 1e-3, **floats))
    )


def test_where_a_segment_never_ends_a_run_without_one_still_does():
    # The checkpoint alone takes longer than a float can say: a run of one segment writes none.
    assert with_checkpoints(10, 1, interval_s=100, checkpoint_s=1e6) == pytest.approx(math.e**10 - 1)
    assert with_checkpoints(1000, 1, interval_s=100, checkpoint_s=1e6) == INF


# The outlook.


def test_an_outlook_by_hand():
    # lambda = 0.001: on 1 and 4 nodes rates of 1e-3 and 4e-3, M = 1000 and 250; success e^-0.8 and e^-0.8.
    failures = Failures(1e-3, checkpoint_s=5.0, restart_s=2.0)
    found = outlook([1, 4], [800, 200], failures, ["young"])
    assert found.nodes.tolist() == [1, 4] and found.run_s.tolist() == [800, 200]
    assert found.nodes.dtype == found.run_s.dtype == float
    assert found.success == pytest.approx([math.exp(-0.8)] * 2)
    assert found.intervals_s["young"] == pytest.approx([100.0, 50.0])
    assert found.expected_s[NO_FAILURES].tolist() == [800, 200]
    scratch = [(math.exp(0.8) - 1) * math.exp(2e-3) / 1e-3, (math.exp(0.8) - 1) * math.exp(8e-3) / 4e-3]
    assert found.expected_s[SCRATCH] == pytest.approx(scratch)
    how = {"interval_s": np.array([100.0, 50.0]), "checkpoint_s": 5.0, "restart_s": 2.0}
    young_s = with_checkpoints([800, 200], [1e-3, 4e-3], **how)
    assert found.expected_s["young"] == pytest.approx(young_s)
    by_daly = outlook([1, 4], [800, 200], failures, ["young"], segments="daly")
    assert by_daly.expected_s["young"] == pytest.approx(daly_time([800, 200], [1e-3, 4e-3], **how))
    assert set(by_daly.expected_s) == {NO_FAILURES, SCRATCH, "young"} and set(by_daly.intervals_s) == {"young"}


def test_infinity_is_no_floating_point_error():
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        assert exact(5, [INF]) == [INF]
        assert stretch_time([1e6, 1e-320, 5], [1, 1e-5, 0], [0, 1e9, 1]).tolist() == [INF, INF, 5]
        assert with_checkpoints(100, 0, interval_s=[INF], checkpoint_s=1) == [100]
        assert daly_time(100, 0.01, interval_s=[INF], checkpoint_s=1)[0] == pytest.approx(100 * (math.e - 1))
        assert outlook([1], [100], Failures(0.0, checkpoint_s=1.0), ["exact"]).expected_s["exact"] == [100]


def test_every_interval_is_given_the_checkpoint_the_mean_time_and_the_restart():
    found = outlook([2], [1e5], Failures(1e-4, checkpoint_s=30.0, restart_s=600.0), list(INTERVALS))
    for name, interval in INTERVALS.items():
        assert found.intervals_s[name] == pytest.approx([float(interval(30.0, 5000.0, 600.0))])


def test_the_best_place_is_the_first_of_the_shortest_and_none_where_nothing_ends():
    found = outlook([1, 2, 3], [50, 20, 20], Failures(0.0, checkpoint_s=1.0), ["young"])
    assert (found.best(NO_FAILURES), found.best("young")) == (1, 1)
    assert found.success.tolist() == [1, 1, 1]
    hopeless = outlook([1e6, 2e6], [1e6, 1e6], Failures(1.0, checkpoint_s=1.0), [])
    assert hopeless.best(SCRATCH) is None and hopeless.best(NO_FAILURES) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((1e-31, 1.0), "failure rate 1e-31: out of its range. Give 0, or from 1e-30 to 1e+09 1/s."),
        ((2e9, 1.0), "failure rate 2e+09: out of its range. Give 0, or from 1e-30 to 1e+09 1/s."),
        ((0.0, 0.9e-9), "checkpoint time 9e-10: out of its range. Give 1e-09 to 1e+15 s."),
        ((0.0, 1.1e15), "checkpoint time 1.1e+15: out of its range. Give 1e-09 to 1e+15 s."),
        ((0.0, 1.0, -1.0), "restart time -1: out of its range. Give 0 to 1e+15 s."),
        ((0.0, 1.0, 1.1e15), "restart time 1.1e+15: out of its range. Give 0 to 1e+15 s."),
    ],
)
def test_failures_out_of_range_are_refused_in_these_words(arguments, said):
    with pytest.raises(UserError) as error:
        Failures(*arguments)
    assert str(error.value) == said


@pytest.mark.parametrize("arguments", [(0.0, 1e-9), (1e-30, 1e15), (1e9, 1.0, 0.0), (1e9, 1.0, 1e15)])
def test_the_ends_of_the_ranges_are_in_them(arguments):
    assert Failures(*arguments).rate_per_s == arguments[0]
