"""Predictions of large runs from small ones by few terms, against laws that are known."""

import numpy as np
import pytest

from predictor.few_terms.model import PRIOR, QUANTILES, Allreduces, Prior, Series, Size, Small, quantiles

EXACT = Prior(scatter=1e-3, single=0.0, changes=((1e-9, 1.0),), none=1 - 1e-12)


def median(series, nodes, prior=PRIOR, **size):
    return float(np.interp(0.5, QUANTILES, quantiles(series, [Size(nodes, nodes, **size)], prior)[0]))


def small(*times, **size):
    return Series([Small(Size(nodes, nodes, **size), time_s, 5) for nodes, time_s in times])


def test_work_that_is_divided_and_nothing_else_takes_its_share():
    assert median(small((1, 8.0), (2, 4.0)), 8, EXACT) == pytest.approx(1.0, rel=1e-3)


def test_of_two_equally_sure_runs_the_geometric_mean_of_their_work_counts():
    # 8 and 2 x 4.01 = 8.02 node-seconds: sqrt(8 x 8.02) / 8.
    assert median(small((1, 8.0), (2, 4.01)), 8, EXACT) == pytest.approx(np.sqrt(8 * 8.02) / 8, rel=2e-4)


@pytest.mark.parametrize(
    "law", [lambda p: 1.0, lambda p: p ** (-2 / 3), lambda p: np.log2(2 * p), lambda p: 10 * (1 - 1 / p) / p]
)
def test_a_law_that_five_runs_follow_is_continued(law):
    nodes = (1, 2, 4, 8, 16)
    known = small(*((p, 100 / p + 2 * law(p)) for p in nodes))
    assert median(known, 64) == pytest.approx(100 / 64 + 2 * law(64), rel=0.12)
    low, high = np.quantile(quantiles(known, [Size(64, 64)]), [0.05, 0.95])
    assert low < 100 / 64 + 2 * law(64) < high


def test_a_program_twice_as_fast_in_caches_keeps_its_speed():
    kept = median(small((4, 100.0), (8, 25.0)), 16)
    assert 12.4 < kept < 14.0


def test_work_that_grows_with_the_processes_takes_as_long_on_more_of_them():
    series = Series([Small(Size(p, p, p * 3.0), 10.0, 5) for p in (1, 2, 4)])
    assert median(series, 16, EXACT, work=48.0) == pytest.approx(10.0, rel=1e-3)


def test_known_allreduces_are_added_and_not_fitted():
    times = Allreduces((2, 4, 8), (1e-3, 2e-3, 4e-3))
    runs = [Small(Size(p, p), 4.0 / p + 100 * times(np.array([p]))[0], 5) for p in (2, 4)]
    assert median(Series(runs, times, 100), 8, EXACT) == pytest.approx(0.5 + 0.4, rel=1e-3)


def test_times_of_allreduce_are_continued_as_powers():
    times = Allreduces((4, 16), (1e-4, 2e-4))  # the square root of the nodes
    assert times(np.array([1.0, 8.0, 64.0])) == pytest.approx([0.5e-4, np.sqrt(2) * 1e-4, 4e-4])
    assert Allreduces((2,), (1e-4,))(np.array([8.0])) == pytest.approx(2e-4)


def test_a_single_noisy_run_widens_the_interval():
    sizes = [Size(8, 8)]
    often, once = (
        quantiles(Series([Small(Size(p, p), 8 / p, repeats) for p in (1, 2)]), sizes)[0] for repeats in (100, 1)
    )
    assert once[-6] / once[5] > often[-6] / often[5]
