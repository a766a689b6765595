"""Regressions of block formulas, and the lines and shapes fitted to measurements of a network."""

import numpy as np
import pytest

from platforms.model.placement import block
from platforms.model.platform import Cluster, Host, Platform
from predictor.base import OutOfRange
from predictor.blocks.calibration.fit import (
    Layout,
    Lines,
    Wires,
    fit_compute,
    fit_power,
    held_from,
    linear_fit,
    lines,
    mean_percentage_error,
    quality,
    r_squared,
)
from predictor.blocks.calibration.shapes import Coefficients, Load, Observations, Shape, fit_shape, paths, shape_of

X = np.array([1.0, 10.0, 100.0, 1000.0, 10000.0])
LINE = np.stack([np.ones_like(X), X], axis=1)


def test_percentage_error_and_r2_by_hand():
    assert mean_percentage_error([1.1, 2, 3], [1, 2, 4]) == pytest.approx((10 + 0 + 25) / 3)
    assert mean_percentage_error([5, 1], [0, 1]) == 0  # a measured 0 has no percentage
    # Pearson of (1, 2, 3) and (1, 3, 2): covariance 0.5, both variances 1.
    assert r_squared([1, 2, 3], [1, 3, 2]) == pytest.approx(0.25)
    assert r_squared([1, 1, 1], [1, 3, 2]) is None


@pytest.mark.parametrize("error", ["mpe", "mse"])
def test_a_line_is_recovered_over_many_decades(error):
    found = linear_fit(LINE, 3e-6 + 2e-9 * X, error=error)
    assert found == pytest.approx([3e-6, 2e-9], rel=1e-6)


def test_percentage_fit_is_not_moved_by_one_outlier():
    measured = 2 + 3 * X
    measured[2] *= 1.5  # a line through four of five points has the least sum of absolute errors
    assert linear_fit(LINE, measured, error="mpe") == pytest.approx([2, 3], rel=1e-6)


def test_squares_fit_obeys_the_normal_equations():
    measured = np.array([1.0, 25.0, 90.0, 1200.0, 9000.0])
    found = linear_fit(LINE, measured, error="mse")
    assert LINE.T @ (LINE @ found - measured) == pytest.approx([0, 0], abs=1e-6)


def test_no_neighbour_of_a_percentage_fit_is_better():
    measured = np.array([2.0, 9.0, 130.0, 800.0, 11000.0])
    best = linear_fit(LINE, measured, error="mpe")
    least = mean_percentage_error(LINE @ best, measured)
    for change in (0.99, 0.999, 1.001, 1.01):
        for place in (0, 1):
            other = best.copy()
            other[place] *= change
            assert mean_percentage_error(LINE @ other, measured) >= least - 1e-9


def test_coefficients_can_be_kept_above_zero():
    assert linear_fit(LINE, X - 0.5, error="mpe", nonnegative=True)[0] == 0


def test_what_is_measured_as_0_has_no_percentage():
    # Of (0, 3, 5) at x = 1, 2, 3 the last two lie on 2 x - 1.
    features = np.array([[1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
    assert linear_fit(features, [0.0, 3.0, 5.0], error="mpe") == pytest.approx([-1, 2])
    assert (linear_fit(features, np.zeros(3), error="mpe") == 0).all()


def test_power_of_a_node_is_fitted_to_watts_by_threads():
    # Two cores: a line through 15 W and 25 W, then a maximum.  The idle node, far below, is not a point of the line.
    threads, power_w = np.arange(5.0), np.array([2.0, 15.0, 25.0, 27.0, 29.0])
    found = fit_power(threads, power_w, cores=2)
    assert vars(found.parameters) == pytest.approx(
        {"PW_low_w": 5, "KW_low_w": 10, "PW_hi_w": 5, "KW_hi_w": 10, "PW_max_w": 28}
    )
    assert (found.idle_w, found.error) == (2.0, "mse")
    assert found.quality.worst_pct == pytest.approx(100 / 27)
    # The least mean of |PW_max - w| / w over 27 W, 29 W and 29 W is at one of them, 29 W.
    wider = fit_power(np.arange(6.0), np.append(power_w, 29.0), cores=2, error="mpe")
    assert (wider.parameters.PW_max_w, wider.error) == (pytest.approx(29), "mpe")


def test_power_of_a_single_core_begins_at_the_idle_node():
    found = fit_power(np.array([0.0, 1, 2, 3]), np.array([40.0, 100, 100, 100]), cores=1)
    assert (found.parameters.PW_low_w, found.parameters.KW_low_w) == pytest.approx((40, 60))


def test_computation_minimises_the_error_that_is_asked_for():
    # Two cores.  Up to them T_min: of 1, 3 s and 1 operation the mean, 2, has the least squares; for percentages 1 has,
    # 0 + 2/3 against 1 + 0 at 3.  Beyond: K_hi p_th.
    threads, time_s = np.array([1.0, 2, 3, 4, 5]), np.array([1.0, 3, 6, 8, 10])
    for error, expected in ((None, 2), ("mse", 2), ("mpe", 1)):
        found = fit_compute(np.ones(5), threads, time_s, cores=2, error=error)
        assert found.error == (error or "mse")
        assert found.parameters.T_min_s == pytest.approx(expected)
        assert (found.parameters.T_hi_s, found.parameters.K_hi_s) == (pytest.approx(0, abs=1e-9), pytest.approx(2))


def test_quality_names_the_worst_point():
    assert quality([1.0, 3.0], [1.0, 4.0]).worst_pct == pytest.approx(25)


def test_lines_break_where_the_data_does():
    sizes = np.arange(1.0, 200.0)
    found = lines(sizes, np.where(sizes < 100, 5 + 0.1 * sizes, 20 + 0.2 * sizes))
    assert found.from_bytes == pytest.approx([0, np.sqrt(99 * 100)])
    assert found.latency([1, 150]) == pytest.approx([5, 20])
    assert found.time([0, 50, 150]) == pytest.approx([5, 10, 50])


def test_times_that_make_no_lines_are_refused():
    with pytest.raises(OutOfRange, match="not lie on lines"):
        lines([1, 2, 4, 8], [1, 9, 1, 9])


def test_the_size_from_which_senders_are_held():
    assert held_from([1, 2, 4, 8], [0, 0, 3, 5], [1, 2, 3, 5]) == pytest.approx(np.sqrt(8))
    assert held_from([1, 2], [0, 0], [1, 1]) is None
    assert held_from([1, 2], [1, 1], [1, 1]) == 0


@pytest.mark.parametrize("sizes", [(4,), (3, 1, 5), (1, 1, 8, 2)])
def test_shares_are_those_of_the_block_mapping(tmp_path, sizes):
    clusters = tuple(
        Cluster(f"c{i}", tuple(Host(f"c{i}-{j}", 1e9, 1) for j in range(count))) for i, count in enumerate(sizes)
    )
    platform = Platform("p", tmp_path, "0", clusters)
    for processes in range(1, sum(sizes) + 1):
        hosts = block(platform, processes)
        expected = [sum(host.startswith(f"c{i}-") for host in hosts) for i in range(len(sizes))]
        assert Layout(sizes).shares(processes) == expected


ONE = np.zeros(8, dtype=int)  # eight processes of one cluster
TWO = np.repeat([0, 1], 4)


def test_a_held_binomial_broadcast_to_eight_has_three_rounds():
    found = paths("bcast-binomial", ONE, True)
    assert found.counts.sum(axis=1).max() == 3
    assert {one.all.cluster for one in found.rounds} == {1, 2, 4}  # messages at a time


def test_a_binomial_broadcast_sends_to_a_generation_at_once():
    # 0 sends 3 messages at once, 4 sends 2, 6 sends 1: 0 to 4 to 6 to 7 is the longest path.
    found = paths("bcast-binomial", ONE, False)
    node = np.array([one.all.node for one in found.rounds])
    assert (found.counts @ node).max() == 3 + 2 + 1


def test_one_message_of_a_broadcast_over_two_clusters_is_far():
    found = paths("bcast-binomial", TWO, True)
    far = np.array([one.far is not None for one in found.rounds])
    assert (found.counts @ far).max() == 1  # 0 to 4


def test_loads_of_an_all_to_all_by_hand():
    # Each cluster: 4 x 3 messages within, and 16 leave and 16 enter it.  Between the two: 32.
    (whole,) = paths("alltoall-linear", TWO, False).rounds
    assert whole.all == Load(7, 12 + 32, 32)
    assert whole.far == Load(4, 32, 32)


def test_bruck_and_pairwise_by_hand():
    bruck = paths("alltoall-bruck", ONE, False)
    assert bruck.counts.sum() == 3
    assert {one.blocks for one in bruck.rounds} == {4}
    assert paths("alltoall-pairwise", ONE, False).counts.sum() == 7


def test_shapes_are_named_after_the_algorithms_of_smpi():
    assert shape_of("bcast", 1, 8) == "bcast-binomial"
    # smpi/alltoall of the selector: 16 to 31 ranks take Bruck's for blocks of 4 to 511 bytes.
    assert [shape_of("alltoall", size, 16) for size in (3, 4, 511, 512)] == [
        f"alltoall-{name}" for name in ("linear", "bruck", "bruck", "linear")
    ]


WIRES = Wires(
    near=Lines((0.0, 65536.0), (1e-4, 3e-4), (1e-8, 0.8e-8)),
    far=Lines((0.0, 65536.0), (9e-4, 2e-3), (1e-8, 0.8e-8)),
    held_from_bytes=65536.0,
)


@pytest.mark.parametrize(
    ("name", "truth"),
    [
        ("bcast-binomial", Coefficients(1.0, 1.0, 1e-7, 0.3, 0.0)),
        ("scatter-linear", Coefficients(0.98, 1.05, 2e-7, 0.0, 0.0)),
        ("alltoall-linear", Coefficients(1.0, 1.02, 0.0, 0.0, 0.15)),
        ("alltoall-pairwise", Coefficients(1.0, 1.0, 0.0, 0.1, 0.5)),
    ],
)
def test_a_shape_that_is_the_truth_is_found_again(name, truth):
    layout = Layout((8, 8))
    sizes = np.tile(2.0 ** np.arange(0, 23, 2), 3)
    processes = np.repeat([4, 8, 16], 12)
    time_s = np.concatenate([Shape(name, truth).time_s(sizes[:12], P, layout=layout, wires=WIRES) for P in (4, 8, 16)])
    found = fit_shape(name, Observations(sizes, processes, time_s), layout=layout, wires=WIRES)
    others = np.array([5.0, 700.0, 90000.0])
    for P in (2, 16):
        expected = Shape(name, truth).time_s(others, P, layout=layout, wires=WIRES)
        assert found.time_s(others, P, layout=layout, wires=WIRES) == pytest.approx(expected, rel=0.02)


def test_a_near_message_overtakes_far_ones_and_shares_with_them_later():
    # Root 0 of two clusters of two sends to 2 (far) and 1 (near) at once.  The near one has the link alone for 8e-4 s,
    # in which it moves 80 kB: 60 kB come at 1e-4 + 6e-4 s, and the far one, alone after that, at 9e-4 + 6e-4 s.
    found = Shape("bcast-binomial", Coefficients(1, 1, 0, 0, 0))
    four = found.time_s(np.array([60000.0]), 4, layout=Layout((2, 2)), wires=WIRES)
    assert four == pytest.approx([(9e-4 + 6e-4) + (1e-4 + 6e-4)])  # then 2 sends to 3


def test_a_fit_is_kept_above_zero_by_squares_too():
    # By hand: of 3 x - 2 with no constant the slope is sum(x y) / sum(x^2), at x = 1, 2, 3: (1 + 8 + 21) / 14.
    features = np.array([[1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
    assert linear_fit(features, [1.0, 4.0, 7.0], error="mse") == pytest.approx([-2, 3])
    assert linear_fit(features, [1.0, 4.0, 7.0], error="mse", nonnegative=True) == pytest.approx([0, 30 / 14], abs=1e-6)
    with pytest.raises(ValueError, match="error 'cube' is not of "):
        linear_fit(features, [1.0, 4.0, 7.0], error="cube")
