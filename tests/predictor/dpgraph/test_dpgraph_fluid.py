"""The fluid model by hand, and against SimGrid's own ping-pong times."""

import numpy as np
import pytest

from apps.recording.events import EVENT, Kind, Mode, Recording
from platforms.errors import UserError
from platforms.model.platform import Link, Route
from predictor.dpgraph.evaluate import execute
from predictor.dpgraph.known import known_network
from predictor.dpgraph.network import NetworkModel
from predictor.dpgraph.program import Sections
from predictor.network.value import DirectedPath, Protocol, Timing

# The one timing of these tests: no latency, and every byte counts as one.
PLAIN = Timing(np.array([-1.0]), np.zeros((1, 1)), np.ones((1, 1)))


def send(peer, size, request, mode=Mode.STANDARD):
    post = {"kind": Kind.SEND, "peer": peer, "size_bytes": size, "request": request, "mode": mode}
    return [post, {"kind": Kind.WAIT, "request": request}]


def receive(peer, request):
    return [{"kind": Kind.RECV, "peer": peer, "request": request}, {"kind": Kind.WAIT, "request": request}]


def compute(flops):
    return [{"kind": Kind.COMPUTE, "amount": flops}]


def program(*ranks):
    """The events of each rank, lists of dictionaries."""
    events = []
    for rows in ranks:
        table = np.zeros(len(rows), EVENT)
        for i, row in enumerate(rows):
            for name, value in row.items():
                table[i][name] = value
        events.append(table)
    world = tuple(range(len(ranks)))
    return Sections(Recording(tuple(events), (np.zeros(0, np.int64),) * len(ranks), (world,))).program()


def ends(network, *ranks):
    hosts = tuple(f"h{i}" for i in range(len(ranks)))
    return execute(program(*ranks), network, hosts, np.ones(len(ranks))).end_s


def shared_link(penalties, *, bounds=None, capacity=300.0, protocol=None):
    """Hosts 0 and 1, 2 and 3, ...: a way for each pair, all over one link."""
    bounds = bounds or [1e9] * len(penalties)
    ways = {
        (f"h{2 * i}", f"h{2 * i + 1}"): DirectedPath(0, bound, penalty, {"link": 1.0})
        for i, (penalty, bound) in enumerate(zip(penalties, bounds, strict=True))
    }
    return NetworkModel(ways, {"link": capacity}, PLAIN, protocol or Protocol(envelope_bytes=0))


def test_flows_share_a_link_in_proportion_to_one_over_their_penalties():
    # 300 byte/s for penalties 1 and 2: 200 and 100.  200 bytes each: the first ends at 1 s; the other has 100 left, and
    # then all of the link: 1/3 s more.
    network = shared_link([1.0, 2.0])
    end_s = ends(network, send(1, 200, 0), receive(0, 0), send(3, 200, 0), receive(2, 0))
    assert end_s[1] == pytest.approx(1.0)
    assert end_s[3] == pytest.approx(4 / 3)


def test_what_a_bounded_flow_leaves_goes_to_the_others():
    # The bounded flow gets 50 of 300 byte/s, the other 250: 500 bytes take 2 s.
    network = shared_link([1.0, 1.0], bounds=[50.0, 1e9])
    end_s = ends(network, send(1, 200, 0), receive(0, 0), send(3, 500, 0), receive(2, 0))
    assert end_s[3] == pytest.approx(2.0)
    assert end_s[1] == pytest.approx(4.0)


def test_a_flow_counts_on_a_link_by_its_weight():
    # Both ways over one link, each with 5 % on the way back: 300 / 1.05 for one alone, half of it for two.
    both = {"link": 1.05}
    ways = {("h0", "h1"): DirectedPath(0, 300.0, 1.0, both), ("h1", "h0"): DirectedPath(0, 300.0, 1.0, both)}
    network = NetworkModel(ways, {"link": 300.0}, PLAIN, Protocol(envelope_bytes=0))
    alone = ends(network, send(1, 1000, 0), receive(0, 0))
    assert alone[1] == pytest.approx(1000 * 1.05 / 300)
    two = ends(network, send(1, 1000, 0) + receive(1, 1), send(0, 1000, 0) + receive(0, 1))
    assert two == pytest.approx([2000 * 1.05 / 300] * 2)


def test_a_second_bottleneck_gets_what_the_first_leaves():
    # Flow a over links 1 (100) and 2 (300), flow b over link 1, flow c over link 2: 50, 50, 250.
    ways = {
        ("h0", "h1"): DirectedPath(0, 1e9, 1.0, {"1": 1.0, "2": 1.0}),
        ("h2", "h3"): DirectedPath(0, 1e9, 1.0, {"1": 1.0}),
        ("h4", "h5"): DirectedPath(0, 1e9, 1.0, {"2": 1.0}),
    }
    network = NetworkModel(ways, {"1": 100.0, "2": 300.0}, PLAIN, Protocol(envelope_bytes=0))
    ranks = [send(1, 50, 0), receive(0, 0), send(3, 50, 0), receive(2, 0), send(5, 250, 0), receive(4, 0)]
    assert ends(network, *ranks)[1::2] == pytest.approx([1.0, 1.0, 1.0])


def test_a_buffered_send_goes_on_and_a_large_one_waits_for_its_receiver():
    network = shared_link([1.0], protocol=Protocol(detached_below_bytes=1000, envelope_bytes=0))
    late = compute(10.0) + receive(0, 0)
    assert ends(network, send(1, 300, 0), late) == pytest.approx([0.0, 11.0])  # moves when the receive is posted
    assert ends(network, send(1, 3000, 0), late) == pytest.approx([20.0, 20.0])
    assert ends(network, send(1, 300, 0, Mode.SYNCHRONOUS), late) == pytest.approx([11.0, 11.0])
    assert ends(network, send(1, 3000, 0, Mode.BUFFERED), late) == pytest.approx([0.0, 20.0])


def test_an_eager_message_has_come_before_it_is_received():
    network = shared_link([1.0], protocol=Protocol(detached_below_bytes=1000, eager_below_bytes=1000, envelope_bytes=0))
    assert ends(network, send(1, 300, 0), compute(10.0) + receive(0, 0)) == pytest.approx([0.0, 10.0])


def test_a_probe_waits_for_the_send():
    network = shared_link([1.0], protocol=Protocol(envelope_bytes=0))
    probe = [{"kind": Kind.PROBE, "peer": 0}]
    end_s = ends(network, compute(5.0) + send(1, 300, 0), probe + compute(1.0) + receive(0, 0))
    assert end_s[1] == pytest.approx(5 + 1 + 1)


def test_ranks_that_wait_for_each_other_are_said():
    network = shared_link([1.0], protocol=Protocol(detached_below_bytes=0, envelope_bytes=0))
    network = NetworkModel(
        {**network.ways, ("h1", "h0"): network.ways["h0", "h1"]}, network.capacity_Bps, PLAIN, network.protocol
    )
    with pytest.raises(UserError, match="waits forever"):
        ends(network, send(1, 300, 0) + receive(1, 1), send(0, 300, 0) + receive(0, 1))


def test_messages_match_in_order_within_pair_tag_and_communicator():
    # Sent 300 then 600 bytes; received with tags the other way round.
    tagged = [dict(row, tag=tag) for tag, rows in ((1, send(1, 300, 0)), (2, send(1, 600, 1))) for row in rows]
    other = [dict(row, tag=tag) for tag, rows in ((2, receive(0, 0)), (1, receive(0, 1))) for row in rows]
    network = shared_link([1.0], protocol=Protocol(envelope_bytes=0))
    assert ends(network, tagged, other)[1] == pytest.approx(3.0)


def test_a_message_that_nobody_receives_is_said():
    with pytest.raises(UserError, match="1 messages are sent and 0 received"):
        program(send(1, 300, 0), [])


NODE, BACKBONE, WAN = (125e6, 50e-6), (1.25e9, 50e-6), (1.25e9, 1e-3)


def routes_of_the_reference_grid():
    """Within a cluster and between two, of tests/apps/data/platform-grid-ref.xml: 1 and 10 Gbit/s, 50 us, WAN 1 ms."""

    def route(a, b, names):
        kinds = {"node": (*NODE, "splitduplex"), "bb": (*BACKBONE, "shared"), "wan": (*WAN, "shared")}
        links = tuple(Link(name, *kinds[name.split()[0]]) for name in names)
        return Route(a, b, sum(link.latency_s for link in links), links)

    return [
        route("h0", "h1", ["node 0 up", "bb 1", "node 1 down"]),
        route("h1", "h0", ["node 1 up", "bb 1", "node 0 down"]),
        route("h0", "h2", ["node 0 up", "bb 1", "wan", "bb 2", "node 2 down"]),
        route("h2", "h0", ["node 2 up", "bb 2", "wan", "bb 1", "node 0 down"]),
    ]


@pytest.mark.parametrize(
    ("size", "near_s", "far_s"),
    [
        # Half round trips measured with SimGrid 3.32 SMPI, default options.
        (8, 0.00030244, 0.00241785),
        (200, 0.00030433, 0.00241974),
        (1024, 0.00031688, 0.00236469),
        (5600, 0.00034013, 0.00231519),
        (14000, 0.00057988, 0.00330252),
        (65536, 0.00230402, 0.01452980),
        (1000000, 0.01025104, 0.02247682),
        (8000000, 0.06978156, 0.08200735),
    ],
)
def test_known_constants_give_simgrids_ping_pong(size, near_s, far_s):
    network = known_network(routes_of_the_reference_grid(), {})
    ping_pong = program(send(1, size, 0) + receive(1, 1), receive(0, 0) + send(0, size, 1))
    for hosts, expected_s in ((("h0", "h1"), near_s), (("h0", "h2"), far_s)):
        end_s = execute(ping_pong, network, hosts, np.zeros(2)).end_s
        assert max(end_s) / 2 == pytest.approx(expected_s, abs=1e-8, rel=1e-6)
