"""Table 1 of Proficz and Czarnul, with numbers worked out by hand from Table 3."""

import math

import numpy as np
import pytest

from platforms.errors import UserError
from predictor.base import OutOfRange
from predictor.blocks.names import COLLECTIVES, COMMUNICATION
from predictor.blocks.published.formulas import REGRESSORS, node_power, published, success
from predictor.blocks.published.parameters import CLUSTERS, published_parameters, published_r2

DAY_S, YEAR_S = 86400, 365.25 * 86400


# Computation


@pytest.mark.parametrize(
    ("threads", "seconds"),
    [
        (1, 0.01815),  # 11e6 operations x 0.00165 us: the block of Figure 3a
        (12, 0.01815),
        (13, 0.02134),  # x 0.00194 us
        (24, 0.02134),  # P_hi itself is in the middle branch
        (25, 0.025509),  # x (3.29e-4 + 25 x 7.96e-5) us
    ],
)
def test_a_computation_block_has_three_branches(threads, seconds):
    assert published("galera+").compute_s(11e6, threads) == pytest.approx(seconds, rel=1e-12)


def test_without_hyperthreading_the_middle_branch_is_empty():
    galera = published("galera")
    # 0.0019 us up to 8 threads, then 1.16e-4 + 9 x 2.35e-4 us.
    assert galera.compute_s(1e6, [8, 9]) == pytest.approx([1.9e-3, 2.231e-3], rel=1e-12)
    # And the branches nearly meet at P_low, as they should if there is nothing between them: 1.996e-3 us there.
    of = galera.parameters.compute
    assert of.P_hi == of.P_low == 8
    assert of.T_hi_s + of.K_hi_s * 8 == pytest.approx(of.T_min_s, rel=0.06)


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_operations_are_counted_per_thread(cluster):
    # Then 1/K_hi, operations per second of a node with very many threads, must be what all its logical cores do.
    of = published_parameters(cluster).compute
    of_one_core_s = of.T_low_s if of.P_hi > of.P_low else of.T_min_s
    assert 1 / of.K_hi_s == pytest.approx(of.P_hi / of_one_core_s, rel=0.03)


# Communication


@pytest.mark.parametrize(
    ("block", "size_bytes", "processes", "microseconds"),
    [
        ("p2p", 2048, 2, 3.7 + 0.00063 * 2048),
        ("p2p", 2049, 2, 3.7 + 0.00063 * 4096),  # in whole units of 2048 bytes
        ("p2p", 0, 2, 3.7),
        ("bcast", 65536, 64, 1.7 + 0.00188 * 65536 * 6),  # log2 64 = 6
        ("scatter", 65536, 64, 5.0 + 0.00340 * 65536 * 6 / 64),
        ("gather", 65536, 64, 8.1 + 0.00346 * 65536 * 6 / 64),
        ("alltoall", 65536, 64, 7.5 + 0.00012 * 65536 * 64),
        ("barrier", 0, 64, 1.4 + 7.5 * 6),
        ("disk_read", 1 << 20, 1, 5200 + 0.00253 * (1 << 20)),
        ("disk_write", 1 << 20, 1, 1200 + 0.00474 * (1 << 20)),
    ],
)
def test_each_communication_block_by_hand(block, size_bytes, processes, microseconds):
    seconds = published("galera+").communication_s(block, size_bytes, processes)
    assert seconds == pytest.approx(1e-6 * microseconds, rel=1e-12)


def test_every_block_has_its_row():
    assert set(REGRESSORS) == set(COMMUNICATION)


def test_arrays_are_broadcast_and_numbers_stay_numbers():
    model = published("kask")
    times = model.communication_s("bcast", np.array([[1], [4096]]), np.array([2, 4, 8]))
    assert times.shape == (2, 3)
    assert times[1, 2] == model.communication_s("bcast", 4096, 8)
    assert isinstance(model.communication_s("barrier", 0, 4), float)
    assert model.communication_s("barrier", np.zeros(3), 4).shape == (3,)
    assert model.communication_s("p2p", 8, np.array([2, 3])).shape == (2,)


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_no_time_is_below_zero(cluster):
    model = published(cluster)
    for block in COMMUNICATION:
        assert np.all(model.communication_s(block, [[0], [1], [2048]], [1, 2, 3, 64]) >= 0)
    # Printed intercepts are negative (-1.1 us on Galera): a broadcast of nothing takes no time, not less.
    assert published("galera").communication_s("bcast", 0, 2) == 0


def test_a_collective_of_one_process_takes_no_time():
    for block in COLLECTIVES:
        assert published("galera+").communication_s(block, 4096, 1) == 0
    assert published("galera+").communication_s("disk_read", 4096, 1) > 0


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_the_logarithm_is_to_the_base_2(cluster):
    # A broadcast among two is one message, so that K_bcast log(2) is not below K_p2p.  To the base 10 it would be, on
    # Galera by a factor of 2 (0.00199 x 0.30 against 0.00132).
    lines = published_parameters(cluster).lines
    assert REGRESSORS["bcast"](2048, 2, 2048) == 2048
    assert lines["bcast"].K * math.log2(2) > lines["p2p"].K
    assert (
        published_parameters("galera").lines["bcast"].K * math.log10(2) < published_parameters("galera").lines["p2p"].K
    )


def test_the_root_of_a_scatter_has_d_in_all():
    # Were d the part of each, the root would send 63 d in less time than a single message of d takes.
    model = published("galera+")
    assert model.communication_s("scatter", 1 << 24, 64) < model.communication_s("p2p", 1 << 24)


def test_doubtful_coefficients_are_named():
    assert set(published("kask").cautions) == {"bcast", "alltoall"}
    assert set(published("galera").cautions) == {"gather", "alltoall"}
    lines = published_parameters("kask").lines
    ratio = lines["bcast"].K / lines["p2p"].K
    assert ratio == pytest.approx(32, rel=0.01)


@pytest.mark.parametrize("call", [lambda m: m.communication_s("bcats", 1), lambda m: m.communication_s("p2p", -1),
                                  lambda m: m.communication_s("bcast", 1, 0), lambda m: m.compute_s(math.nan),
                                  lambda m: m.compute_s(1, 0), lambda m: m.power_w(-1)])  # fmt: skip
def test_wrong_arguments_are_refused(call):
    with pytest.raises(UserError):
        call(published("galera+"))


# Power


def test_power_as_printed_falls_and_exceeds_its_maximum():
    model = published("galera+", power_law="printed")
    # 78 + 4.84 x 12; 109 + 1.90 x 13, x 23, x 24; PW_max.
    assert model.power_w([12, 13, 23, 24, 25]) == pytest.approx([136.08, 133.7, 152.7, 154.6, 151])


def test_power_never_falls_with_threads_nor_exceeds_its_maximum():
    watts = published("galera+").power_w(np.arange(0, 40))
    assert watts[0] == 78  # idle
    assert watts[12] == watts[14] == pytest.approx(136.08)
    assert watts[15] == pytest.approx(137.5)  # 109 + 1.90 x 15: the printed line from where it is higher
    assert np.all(np.diff(watts) >= 0)
    assert watts.max() == watts[23] == watts[30] == 151


def test_a_power_law_that_reaches_its_maximum_early_stays_there():
    watts = node_power(
        [2, 4, 5, 9], P_low=4, P_hi=8, PW_low=50, KW_low=20, PW_hi=100, KW_hi=5, PW_max=120, law="monotone"
    )
    assert watts == pytest.approx([90, 120, 120, 120])


@pytest.mark.parametrize("cluster", ["galera", "kask"])
def test_power_and_failures_that_the_paper_does_not_have_are_out_of_range(cluster):
    model = published(cluster)
    assert model.failure_rate_per_s is None
    with pytest.raises(OutOfRange, match="no parameters for power"):
        model.power_w(1)


# Success


def test_lambda_is_per_second_and_node():
    rate = published("galera+").failure_rate_per_s
    assert 1 / rate / YEAR_S == pytest.approx(62.95, abs=0.01)  # a node
    assert 1 / (192 * rate) / DAY_S == pytest.approx(119.8, abs=0.1)  # Galera+
    sequoia = 1.25 / DAY_S / 98304  # the paper's own example, per node and second
    assert 0.1 < rate / sequoia < 10


def test_success_by_hand():
    # 5.03372e-10 x 2,592,000 s x 192 nodes = 0.2505101
    assert success(30 * DAY_S, 192, 5.03372e-10) == pytest.approx(math.exp(-0.2505101), rel=1e-7)
    # Two halves in a row succeed as the whole; twice the nodes as twice the time.
    assert success(100, 4, 1e-3) == pytest.approx(float(success(50, 4, 1e-3)) ** 2)
    assert success(100, 4, 1e-3) == success(50, 8, 1e-3)


# Tables


def test_published_tables_are_read_in_si_units():
    galera = published_parameters("galera+")
    s_per_byte = galera.lines["alltoall"].K
    assert s_per_byte == pytest.approx(0.12e-9)  # 0.00012 us/B
    assert galera.D_tu_bytes == 2048
    assert published_r2("galera+") == {
        "compute": 0.9993, "p2p": 0.9996, "bcast": 0.9902, "scatter": 0.9643, "gather": 0.9620, "alltoall": 0.9296,
        "barrier": 0.7324, "disk_read": 0.9999, "disk_write": 0.9988, "power": 0.9062,
    }  # fmt: skip
    assert "power" not in published_r2("kask")


def test_an_unknown_cluster_is_refused_with_the_known_ones():
    with pytest.raises(UserError, match=r"Known: galera\+, galera, kask"):
        published("galera-plus")
