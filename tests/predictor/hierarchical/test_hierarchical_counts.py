"""Counted operations, bytes and messages of the hierarchical model, checked by hand and at their limits."""

import itertools
import math

import pytest

from apps.programs.problem import problem
from apps.traffic import traffic
from apps.traffic.lines import Lines
from apps.traffic.path import LARGE_BYTES, Path, Route, all_to_all_path
from platforms.errors import UserError
from predictor.hierarchical.counts.declared import (
    Plan,
    Speeds,
    counted,
    counted_names,
    kernel_problem,
    speeds,
    traffic_path,
)
from predictor.hierarchical.multicore_cluster import LATENCY_S, read_cluster, table_cluster

MACHINE = Speeds(1e9, 10e9, 1e9, 1e-6, inside_Bps=10e9)
PARAMS = {
    "hpl": {"n": 960, "nb": 64, "grid_rows": 1},
    "summa": {"n": 960, "nb": 64, "grid_rows": 0},
    "dot": {"n": 960},
    "fft": {"n": 2**16},
}


def path_of(name, q, p, **params):
    return counted(name).path({**PARAMS[name], **params}, q, p)


@pytest.mark.parametrize("name", counted_names())
def test_one_core_computes_all_and_sends_nothing(name):
    one = path_of(name, 1, 1)
    assert one.operations == pytest.approx(counted(name).operations(PARAMS[name]), rel=1e-12)
    assert one == Path(one.operations, one.memory_bytes)
    # 8 / 64 byte per operation of a panel; 8 of the scalar product; 320 N of the FFT.
    each = {"hpl": 1 / 8, "summa": 1 / 8, "dot": 8, "fft": 64 / 16}[name]
    assert one.memory_bytes == pytest.approx(each * one.operations)


@pytest.mark.parametrize("name", counted_names())
def test_a_node_of_many_cores_sends_nothing_to_others(name):
    one = path_of(name, 16, 1)
    assert (one.link_bytes, one.messages, one.large_messages) == (0, 0, 0)
    assert one.copied_bytes > 0


@pytest.mark.parametrize("name", counted_names())
def test_on_a_flat_cluster_no_message_stays_inside(name):
    # q = 1: each core has a memory and a link of its own, as in the flat clusters of the authors' earlier papers.
    for p in (2, 4, 8):
        one = path_of(name, 1, p)
        assert (one.inside_bytes, one.copied_bytes, one.inside_messages) == (0, 0, 0)
        assert one.link_bytes > 0


def test_the_fft_moves_48_bytes_per_point_over_the_links_of_its_nodes():
    # Three all-to-alls of N points of 16 bytes, of which a share 1 / p stays: 48 N (1 - 1 / p), over p links.
    N = 2**16
    for q, p in ((1, 4), (2, 4), (4, 2)):
        assert path_of("fft", q, p).link_bytes == pytest.approx(48 * N * (1 - 1 / p) / p)
        assert path_of("fft", q, p).operations == 5 * N * 16 / (q * p)


def test_an_all_to_all_of_small_blocks_sends_more_bytes_in_fewer_messages():
    # 256 ranks and 256 bytes: Bruck's algorithm, 8 rounds of half of the blocks; min(q, 2^k) of a node's 16 ranks send.
    found = all_to_all_path(256, 16, 16)
    assert found.messages == 8
    assert found.link_bytes == (1 + 2 + 4 + 8 + 4 * 16) * 128 * 256


def test_the_scalar_product_waits_for_the_tree_of_its_sum():
    # To the first node at once, then down a binomial tree: 1 + log2 p latencies, whatever q is.
    assert [path_of("dot", q, p).latencies for q, p in ((1, 2), (1, 16), (16, 16), (4, 8))] == [2, 5, 5, 4]


def test_summa_on_4_nodes_of_one_core_by_hand():
    # A 2 x 2 grid, n = 960: 2 x 480 / 64 = 16 panels of 60 columns, two messages of 480 x 60 numbers for each.
    one = path_of("summa", 1, 4)
    assert one.link_bytes == 16 * 2 * 480 * 60 * 8
    assert (one.large_messages, one.messages) == (32, 0)
    assert one.operations == 2 * 960 * 480 * 480


def test_hpl_searches_a_pivot_in_every_column():
    # A column of 4 ranks on nodes of their own: 2 exchanges at each of 960 pivots, small ones.  A panel's rows are
    # exchanged in 2 stages too, and back-substitution goes down 2 stages of a tree: both small here or large.
    one = path_of("hpl", 1, 4, grid_rows=4)
    assert one.messages + one.large_messages == 2 * 960 + 15 * 2 + 15 * 2
    assert path_of("hpl", 1, 4).messages < 100  # a single row of ranks needs no search among ranks


def test_hpl_of_many_panels_is_sampled():
    whole, sampled = (
        counted("hpl").path({"n": 64 * panels, "nb": 64, "grid_rows": 4}, 4, 4) for panels in (1024, 1025)
    )
    assert sampled.operations / whole.operations == pytest.approx((1025 / 1024) ** 3, rel=1e-3)
    assert sampled.messages + sampled.large_messages == pytest.approx(
        (whole.messages + whole.large_messages) * 1025 / 1024, rel=1e-3
    )


@pytest.mark.parametrize("name", ["hpl", "summa", "dot", "fft"])
def test_many_nodes_or_cores_leave_no_efficiency(name):
    # The paper's limits: eta falls to 0 for p to infinity with q fixed, and for q to infinity with p fixed.
    app = {"hpl": "hpl", "summa": "matrix-product", "dot": "scalar-product", "fft": "fft"}[name]
    surface = Plan(app, 2**10, table_cluster("bwGRiD")).surface()
    for places in ([(1, 4**k) for k in range(5)], [(4**k, 2) for k in range(5)]):
        eta = [float(surface.efficiency(q, p)) for q, p in places]
        assert all(a > b for a, b in itertools.pairwise(eta))
        assert eta[-1] < 0.5 * eta[0]
    far = float(surface.efficiency(1, 2**14)) if name != "fft" else 0.0
    assert far < 0.02


def test_the_paper_says_one_core_has_x_over_1_plus_x():
    # Kredel, Kruse, Richling 2015, "cases considered", q = p = 1: eta < x / (1 + x), x = a / a*.
    system = table_cluster("bwUniCluster")
    eta = float(Plan("scalar-product", 10**6, system).surface().efficiency(1, 1))
    x = (1 / 8) / float(system.a_star)
    assert eta == pytest.approx(x / (1 + x))


def test_times_follow_from_the_speeds():
    path = Path(2e9, 5e9, 1e9, inside_bytes=4e9, copied_bytes=2e9, messages=3, large_messages=2, inside_messages=7)
    assert MACHINE.time_s(path) == pytest.approx(2 + 0.5 + 1 + 0.2 + 9e-6)  # a large message waits three times
    over_links = Speeds(1e9, 10e9, 1e9, 1e-6, inside_is_network=True)
    assert over_links.time_s(path) == pytest.approx(2 + 0.5 + 1 + 4 + 16e-6)


def test_routes_along_lines_by_hand():
    # A column of 4 x 4 ranks on nodes of 4: every row is a node, each stage leaves it with 4 messages.
    assert Lines(4, 4, 4, 4).merged() == Route(crossing=2, load=8)
    assert Lines(4, 1, 4, 4).merged() == Route(staying=2, beside=8)  # a row is a node
    assert Lines(4, 4, 8, 2).merged() == Route(crossing=1, load=8, staying=1, beside=8)  # two rows are a node
    assert Lines(4, 4, 4, 4, alone=True).merged() == Route(crossing=2, load=2)
    assert Lines(3, 1, 1, 3).merged() == Route(crossing=3, load=3)  # one helper sends first and receives last
    assert Lines(1, 1, 4, 4).merged() == Lines(1, 1, 4, 4).hop() == Lines(1, 1, 4, 4).broadcast() == Route()
    assert Lines(8, 1, 4, 4).hop() == Route(0.25, 0.25, 0.75, 0.75)  # one neighbour of four is in the next node
    assert Lines(8, 1, 1, 8).broadcast() == Route(crossing=3, load=3)
    assert Route(1, 2).path([10, LARGE_BYTES], [3, 1]) == Path(
        link_bytes=2 * (30 + LARGE_BYTES), messages=3, large_messages=1
    )


def test_counts_of_declared_traffic_are_its_totals():
    # FT, class S, 4 ranks: an all-to-all of all points at the start and in each of 6 iterations; 16 bytes per point.
    one = problem("ft", "S")
    found = traffic_path(traffic(one, 4), 6, [0, 1, 2, 3], 0.0)
    points = 64**3
    assert found.link_bytes == pytest.approx(7 * 16 * points / 4 * 3 / 4, rel=1e-3)
    assert found.operations == traffic(one, 4).totals(6).flops.max()
    one_node = traffic_path(traffic(one, 4), 6, [0, 0, 0, 0], 1.5)
    assert (one_node.link_bytes, one_node.latencies) == (0, 0)
    assert one_node.memory_bytes == pytest.approx(1.5 * traffic(one, 4).totals(6).flops.sum())


def test_a_wave_of_lu_reaches_the_last_corner_before_it_goes_on():
    # LU, class S, 4 ranks in 2 x 2: a sweep of 10 planes takes 12 stages.
    one = problem("lu", "S")
    found = traffic_path(traffic(one, 4), 50, range(4), 0.0)
    most = traffic(one, 4).totals(50).flops.max()
    assert 1.0 < found.operations / most < 1.2


def test_a_machine_file_gives_its_latency(tmp_path):
    path = tmp_path / "own.toml"
    text = "core_gflops = 10\nmemory_gbyte_s = inf\nnetwork_gbyte_s = 2\ncores_per_node = 4\nnodes = 8\n"
    path.write_text(text)
    assert read_cluster(str(path)).latency_s == LATENCY_S == 3e-6
    path.write_text(text + "latency_us = 1.5\n")
    system = read_cluster(str(path))
    assert system.latency_s == 1.5e-6
    assert math.isinf(speeds(system).memory_Bps)
    path.write_text(text + "latency_us = -1\n")
    with pytest.raises(UserError, match="latency_us = -1 is no latency"):
        read_cluster(str(path))


def test_programs_without_a_kernel_of_that_size_are_refused():
    with pytest.raises(UserError, match="transforms powers of two"):
        kernel_problem("fft", 1000)
    with pytest.raises(UserError, match="no such program"):
        kernel_problem("linpack", 1000)
    with pytest.raises(UserError, match="no such size"):
        kernel_problem("hpl", 10**9)
