"""Expected times on failing nodes and intervals of checkpoints, against papers, closed forms and limits."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import lambertw

from platforms.errors import UserError
from predictor.failures.expected import (
    INTERVALS,
    NO_FAILURES,
    SCRATCH,
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


@pytest.mark.parametrize(("M_min", "optimum_min"), [(24 * 60, 117), (6 * 60, 57), (15, 9.1)])
def test_dalys_interval_is_that_of_his_figures(M_min, optimum_min):
    # Daly 2006, Figures 3 to 5: R = 10 min, delta = 5 min, T = 500 h; "the new model predicts" 117, 57 and 9.1 min.
    assert daly(5, M_min) == pytest.approx(optimum_min, abs=0.5 if optimum_min > 10 else 0.05)


def test_youngs_interval_by_hand():
    assert young(5, 1440) == 120  # sqrt(2 x 5 x 1440)
    assert daly_first_order(5, 1440, 10) == pytest.approx(math.sqrt(14500))


@pytest.mark.parametrize("x", [0.3, 0.01, 1e-4, 1e-9])
def test_the_exact_interval_is_the_minimum_of_dalys_cost(x):
    M = 1000.0
    found = exact(x * M, M)
    # d/d tau of ln((e^((tau + delta)/M) - 1)/tau) is 0 there, which a search for the minimum cannot see so sharply.
    slope = 1 / (M * -np.expm1(-(found + x * M) / M)) - 1 / found
    assert abs(slope) * found < 1e-9
    assert daly(x * M, M) == pytest.approx(found, rel=0.005)


def test_dalys_cost_is_lowest_at_the_exact_interval():
    def cost(interval_s):
        return float(daly_time(1e6, 1e-3, interval_s=interval_s, checkpoint_s=40, restart_s=7))

    found = minimize_scalar(cost, bounds=(50, 900), method="bounded", options={"xatol": 1e-6})
    assert found.x == pytest.approx(float(exact(40, 1000)), abs=0.01)
    for name, interval in INTERVALS.items():
        assert cost(float(interval(40, 1000, 7))) == pytest.approx(found.fun, rel=0.01), name


def test_beyond_two_mean_times_dalys_interval_is_one():
    assert daly(2.5, 1.0) == 1.0


def test_where_nothing_fails_no_checkpoint_is_written():
    for interval in INTERVALS.values():
        assert interval(5, math.inf, 0) == math.inf
    assert with_checkpoints(100, 0, interval_s=math.inf, checkpoint_s=5) == 100


def test_restart_from_scratch_has_its_closed_form():
    # (e^(lambda P T) - 1)/(lambda P): lambda P = 0.01, T = 100: (e - 1) 100.
    assert restart_from_scratch(100, 0.01) == pytest.approx(100 * (math.e - 1))
    assert restart_from_scratch(100, 0) == 100
    assert restart_from_scratch(100, 1e-14) == pytest.approx(100, rel=1e-9)
    assert restart_from_scratch(0, 0.01, restart_s=5) == 0
    assert restart_from_scratch(1e6, 1.0) == math.inf


def test_a_restart_may_fail_too():
    # Solve by hand E = integral over the failure time, with rate r and q = 1 - e^(-rL) the chance of a failure:
    # E = q/r + q (E_restart + E), E_restart = (e^(rR) - 1)/r.
    r, L, R = 0.02, 30.0, 10.0
    q = 1 - math.exp(-r * L)
    by_hand = (q / r + q * (math.exp(r * R) - 1) / r) / (1 - q)
    assert stretch_time(L, r, R) == pytest.approx(by_hand)


def test_the_last_segment_writes_no_checkpoint():
    # Without failures: 300 s in intervals of 100 s need two checkpoints, 301 s need three, 99 s and 100 s none.
    times = with_checkpoints([300, 301, 99, 100], 0, interval_s=100, checkpoint_s=10)
    assert times == pytest.approx([320, 331, 99, 100])


def test_dalys_formula_counts_one_checkpoint_more():
    how = {"checkpoint_s": 10.0, "restart_s": 5.0}
    # Three segments: the last is 110 s long with its checkpoint, 100 s without.
    whole = with_checkpoints(300, 1e-3, interval_s=100, **how)
    whole += stretch_time(110, 1e-3, 5.0) - stretch_time(100, 1e-3, 5.0)
    assert daly_time(300, 1e-3, interval_s=100, **how) == pytest.approx(float(whole))


def test_a_run_shorter_than_the_interval_restarts_from_scratch():
    for work_s in (10.0, 100.0):
        assert with_checkpoints(work_s, 1e-3, interval_s=100, checkpoint_s=10, restart_s=5) == pytest.approx(
            float(restart_from_scratch(work_s, 1e-3, restart_s=5))
        )


def test_the_best_number_of_nodes_of_amdahls_law_has_its_closed_form():
    # T(P) = T_1 (f + (1 - f)/P), restart from scratch: with a = lambda T_1 f, b = lambda T_1 (1 - f) the minimum of
    # (e^(a P + b) - 1)/(lambda P) is at a P = 1 + W(-e^(-1 - b)).
    T_1, f, rate = 3e9, 1e-5, 5.03372e-10
    a, b = rate * T_1 * f, rate * T_1 * (1 - f)
    best = (1 + lambertw(-math.exp(-1 - b)).real) / a
    nodes = np.arange(1, 100_001, dtype=float)
    found = outlook(nodes, T_1 * (f + (1 - f) / nodes), Failures(rate, checkpoint_s=300), ["young", "daly"])
    assert found.nodes[found.best(SCRATCH)] == pytest.approx(best, abs=1)
    assert found.nodes[found.best(NO_FAILURES)] == 100_000


def test_expected_times_are_ordered():
    nodes = 2.0 ** np.arange(0, 18)
    found = outlook(nodes, 1e8 / nodes + 100, Failures(1e-9, checkpoint_s=60, restart_s=30), list(INTERVALS))
    assert np.all(found.success > 0)
    assert np.all(np.diff(found.success) < 0)  # here the fixed 100 s on more nodes outweigh the shorter time
    for name in (SCRATCH, *INTERVALS):
        assert np.all(found.expected_s[name] >= found.run_s)
    long = found.run_s > 10 * found.intervals_s["daly"]
    assert long.any()
    for name in INTERVALS:
        assert np.all(found.expected_s[name][long] < found.expected_s[SCRATCH][long])


@pytest.mark.parametrize("arguments", [(-1, 1, 0), (math.nan, 1, 0), (1e-9, 0, 0), (1e-9, 1, -1), (1e-9, math.inf, 0)])
def test_impossible_failures_are_refused(arguments):
    with pytest.raises(UserError, match="out of its range"):
        Failures(*arguments)
