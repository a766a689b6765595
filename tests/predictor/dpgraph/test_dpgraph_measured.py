"""Networks found by messages, against the platforms that were simulated."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from three_clusters import three_clusters

from apps.probes.network.measure import LateReceive, measure
from apps.probes.plan import Measurement
from platforms.grids.grid import Wire
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from predictor.base import OutOfRange
from predictor.dpgraph.measured import measured_network
from predictor.network.layout import layout
from predictor.network.lines import sizes_bytes
from predictor.network.segments import measured_pieces, pieces
from predictor.network.survey import next_plan

LARGE_FACTOR = 0.940694  # smpi/bw-factor of large messages, SimGrid's default
# Sizes at which SimGrid's default factors change, with the 16 bytes of envelope that SimGrid adds.
BREAKS = [257, 732, 1426, 3484, 5776, 9376, 15424, 65472]


@cache
def measured(options=()):
    return network_of(materialise(three_clusters()), options)


def network_of(platform, options=()):
    placement, results = block(platform, len(platform.hosts)), []
    while plan := next_plan(platform, placement, results):
        results.append(measure(replace(plan, options=options)))
    return measured_network(platform, placement, results)


def test_lines_end_where_the_data_says_so():
    size = np.arange(1.0, 101.0)
    time_s = np.where(size <= 40, 1 + 0.1 * size, 3 + 0.2 * size)
    first, second = pieces(size, time_s)
    assert (first.start_s, first.s_per_byte) == pytest.approx((1, 0.1))
    assert (second.start_s, second.s_per_byte) == pytest.approx((3, 0.2))
    assert (size[first.last], size[second.first]) == (40, 41)


def test_sizes_at_which_the_protocol_changes_are_found():
    above = measured().timing.above_bytes[1:]
    assert len(above) == len(BREAKS)
    assert above == pytest.approx(BREAKS, abs=1.01)


def test_two_messages_on_one_link_show_the_envelope_of_each():
    assert measured().protocol.envelope_bytes == pytest.approx(16, abs=1e-4)  # SimGrid's


def test_senders_wait_from_64_kib_on_and_no_message_is_sent_ahead():
    protocol = measured().protocol
    assert protocol.detached_below_bytes == pytest.approx(65536, abs=4)
    assert protocol.eager_below_bytes == 0


def test_latency_and_bandwidth_of_idle_paths_are_found():
    # SimGrid's smallest messages pay 2.01467 times the latency; large ones get 0.940694 of the bandwidth.
    network = measured()
    near, far = network.ways["c1-0", "c1-1"], network.ways["c1-0", "c2-0"]
    assert network.timing.latency_s[near.timing_class, 0] == pytest.approx(2.01467 * 150e-6, rel=1e-4)
    assert near.bound_Bps == pytest.approx(125e6 * LARGE_FACTOR, rel=1e-4)
    assert far.bound_Bps == pytest.approx(40e6 * LARGE_FACTOR / 1.05, rel=1e-4)  # acknowledgements share the WAN link
    assert network.timing.latency_s[far.timing_class, 0] == pytest.approx(2.01467 * 1.2e-3, rel=1e-3)


def test_there_is_a_way_between_all_hosts_and_to_no_others():
    network, hosts = measured(), [host.name for host in materialise(three_clusters()).hosts]
    assert list(network.ways) == [(a, b) for a in hosts for b in hosts] and len(network.ways) == len(hosts) ** 2
    assert {link for way in network.ways.values() for link in way.links} <= network.capacity_Bps.keys()
    assert ("c1-0", "elsewhere") not in network.ways
    with pytest.raises(KeyError):
        network.ways["elsewhere", "c1-0"]


def test_capacities_show_under_load():
    capacity = measured().capacity_Bps
    assert capacity["up c1-0"] == pytest.approx(125e6 * LARGE_FACTOR, rel=1e-3)
    assert capacity["down c2-1"] == pytest.approx(50e6 * LARGE_FACTOR, rel=1e-3)
    assert capacity["in c1"] == pytest.approx(200e6 * LARGE_FACTOR / 1.05, rel=1e-3)  # a ring of four takes 4 x 125e6
    between = min(capacity["c1 and c2"], capacity["c1 to c2"], capacity["c2 to c1"])
    assert between == pytest.approx(40e6 * LARGE_FACTOR / 1.05, rel=1e-3)
    assert capacity["c2 and c3"] == np.inf  # 10 GB/s between one node and three cannot be seen, and need not


def test_a_slow_link_between_pairs_of_nodes_is_no_limit_inside_a_pair():
    # Two links of 125e6 bytes/s, one in each direction, between two clusters of two nodes each.
    grid = named_grid("grid2x2", "gigabit", (40e9, 70e9))
    link = replace(grid.wan_links[0], wire=Wire(125e6, 1e-4), duplex=True)
    capacity = network_of(materialise(replace(grid, wan_links=(link,)))).capacity_Bps
    assert capacity["in c1"] == capacity["in c2"] == np.inf
    between = min(capacity["c1 to c2"], capacity["out of c1"])
    assert between == pytest.approx(125e6 * LARGE_FACTOR, rel=0.06)  # acknowledgements take up to 5 %


def test_acknowledgements_are_seen_on_the_way_back():
    # SimGrid: 5 % of a flow's rate.  In c1 the backbone limits two opposite flows before this effect shows.
    assert measured().ways["c2-0", "c2-1"].links["down c2-0"] == pytest.approx(0.05, rel=1e-2)


def test_shares_of_a_link_follow_the_round_trip_time():
    # SimGrid: in proportion to 1 / (latency + sum of 8775 / bandwidth).  Two nodes are near (150 us), and one is far
    # (300 us), over a link that is fast enough to be negligible.
    near = 150e-6 + 8775 * (2 / 125e6 + 1 / 200e6)
    far = 300e-6 + 8775 * (2 / 125e6 + 2 / 200e6 + 1 / 10e9)
    ways = measured().ways
    assert ways["c1-0", "c3-0"].penalty / ways["c1-0", "c1-1"].penalty == pytest.approx(far / near, rel=1e-3)


def test_other_protocols_are_measured_not_copied():
    options = (
        ("network/crosstraffic", "no"),
        ("smpi/async-small-thresh", "5000"),
        ("smpi/bw-factor", "0:0.5;20000:0.8"),
        ("smpi/lat-factor", "0:1;20000:3"),
        ("smpi/send-is-detached-thresh", "30000"),
    )
    network = measured(options)
    assert network.timing.above_bytes[1:] == pytest.approx([20000], abs=4)
    assert network.protocol.detached_below_bytes == pytest.approx(30000, abs=4)
    assert network.protocol.eager_below_bytes == pytest.approx(5000, abs=2)
    assert network.ways["c2-0", "c2-1"].links.get("down c2-0", 0.0) == 0.0
    assert network.ways["c1-0", "c1-1"].bound_Bps == pytest.approx(125e6 * 0.8, rel=1e-4)


def made_up(plan, time_s):
    """The measurement of a plan whose exchanges take ``time_s`` of their size and their place in the plan."""
    times = tuple(
        (0.0, 0.0) if isinstance(one, LateReceive) else tuple(time_s(e.size_bytes, i) for e in one)
        for i, one in enumerate(plan.experiments)
    )
    return Measurement(times, 1.0, 1.0)


@pytest.mark.parametrize(
    ("time_s", "said"),
    [
        (lambda size, place: 1 + place // 2 % 2, "no three of their times lie on a line"),
        (lambda size, place: 0.0, "no three of their times lie on a line"),
        (lambda size, place: 1 - 1e-8 * size, "larger messages do not take longer"),
    ],
)
def test_times_that_make_no_lines_are_out_of_range(time_s, said):
    platform = materialise(named_grid("grid1x2", "gigabit", [50e9]))
    placement = block(platform, 2)
    result = made_up(next_plan(platform, placement), time_s)
    for use in (next_plan, measured_network):
        with pytest.raises(OutOfRange, match=f"messages from c1-0 to c1-1.*{said}"):
            use(platform, placement, [result])


def test_scattered_times_of_a_machine_have_the_lines_that_they_scatter_around():
    # 50 us and 10 ns/byte, with a step of 100 us at 64 KiB, and 3 % of noise, with the usual outliers.
    sizes, rng = np.array(sizes_bytes(), float), np.random.default_rng(1)
    times_s = 50e-6 + 10e-9 * sizes + np.where(sizes >= 65536, 100e-6, 0.0)
    noisy_s = times_s * np.exp(rng.normal(0.0, 0.03, len(sizes)))
    noisy_s[::17] *= 1.5
    found = measured_pieces(sizes, noisy_s)
    assert all(one.s_per_byte > 0 for one in found)
    middle = [one.time_s(size) for one in found for size in sizes[one.first : one.last + 1]]
    assert np.median(np.abs(np.array(middle) / times_s - 1)) < 0.03
    assert found[0].start_s == pytest.approx(50e-6, rel=0.05)
    assert found[-1].s_per_byte == pytest.approx(10e-9, rel=0.05)
    assert measured_pieces(sizes, times_s) == pieces(sizes, times_s)  # exact times have exact lines


def test_sizes_of_ping_pongs_are_as_many_as_the_documentation_says():
    # ln(150000) / ln(1.05) = 244 points, of which 42 of the shortest coincide when rounded, and 6 powers of two.
    assert len(sizes_bytes()) == 208
    assert (sizes_bytes()[0], sizes_bytes()[-1]) == (1, 2**23)


def test_only_the_hosts_in_use_take_part():
    platform = materialise(three_clusters())
    where = layout(platform, ["c2-2", "c1-3", "c1-1"])
    assert where.hosts == {"c1": ("c1-1", "c1-3"), "c2": ("c2-2",)}
    assert set(next_plan(platform, ["c2-2", "c1-3", "c1-1"]).hosts) == {"c1-1", "c1-3", "c2-2"}
