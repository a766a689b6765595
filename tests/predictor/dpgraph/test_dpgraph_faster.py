"""Measured networks with faster parts: by hand, and against the networks of platforms that have such parts."""

import numpy as np
import pytest

from predictor.dpgraph.network import NetworkModel
from predictor.graph.faster import MeasuredNetwork
from predictor.network.value import DirectedPath, Timing

# Two clusters of two hosts: 2 s inside of each, 7 s between them; nodes of 100 B/s, and 40 B/s between the clusters.
CLUSTERS = {"a0": "a", "a1": "a", "b0": "b", "b1": "b"}
INSIDE_S, BETWEEN_S = 2.0, 7.0


def network(between_Bps=40.0):
    ways = {}
    for a, c in CLUSTERS.items():
        for b, d in CLUSTERS.items():
            links = {f"up {a}": 1.0, f"down {b}": 1.0, f"in {c}": 1.0}
            if c != d:
                links |= {f"in {d}": 1.0, f"{c} to {d}": 1.0, "a and b": 1.0}
            ways[a, b] = DirectedPath(int(c != d), 100.0 if c == d else 40.0, 1.0, links)
    capacity_Bps = dict.fromkeys((name for way in ways.values() for name in way.links), np.inf)
    capacity_Bps |= {name: 100.0 for name in capacity_Bps if name.startswith(("up", "down"))}
    capacity_Bps |= {"a to b": between_Bps, "b to a": between_Bps}
    timing = Timing(np.array([-1.0]), np.array([[INSIDE_S], [BETWEEN_S]]), np.array([[1.0], [1.0]]))
    return MeasuredNetwork(NetworkModel(ways, capacity_Bps, timing), CLUSTERS)


def latency_s(model, a, b):
    return model.timing.latency_s[model.ways[a, b].timing_class][0]


def test_parts_are_those_that_messages_use_the_busiest_first():
    assert network().parts({("a0", "a1"): 3, ("a1", "b0"): 2}) == ["of a1", "of a0", "of b0", "between a and b"]
    assert network().parts({}) == []


def test_what_joins_two_clusters_has_the_latency_that_their_nodes_leave():
    # At most 7 - 1 - 1 s, at least 7 - 2 - 2 s; half of it remains.
    most, least = network().faster("between a and b", 2.0, 2.0)
    assert (latency_s(most, "a0", "b1"), latency_s(least, "a0", "b1")) == pytest.approx((4.5, 5.5))
    assert most.ways["a0", "b1"].bound_Bps == pytest.approx(80)
    assert most.capacity_Bps["a to b"] == most.capacity_Bps["b to a"] == 80
    assert most.ways["a0", "a1"] == network().model.ways["a0", "a1"]


def test_a_link_of_a_node_has_half_of_the_latency_to_its_neighbour_or_none():
    most, least = network().faster("of a0", 2.0, 2.0)
    expected_s = {
        ("a0", "a1"): (1.5, 2),
        ("a1", "a0"): (1.5, 2),
        ("a0", "b0"): (6.5, 7),
        ("a0", "a0"): (1, 2),
        ("b0", "b1"): (2, 2),
    }
    for pair, (most_s, least_s) in expected_s.items():
        assert (latency_s(most, *pair), latency_s(least, *pair)) == pytest.approx((most_s, least_s))
    # Its neighbour's link is not faster; the way to itself has no other one.
    assert (most.ways["a0", "a1"].bound_Bps, most.ways["a0", "a0"].bound_Bps) == pytest.approx((100, 200))
    assert most.capacity_Bps["up a0"] == most.capacity_Bps["down a0"] == 200
    assert most.capacity_Bps["up a1"] == 100


def test_a_way_slower_than_its_known_links_is_limited_by_what_joins_the_clusters():
    (most, _) = network(between_Bps=np.inf).faster("between a and b", 2.0, 2.0)
    assert most.ways["a0", "b0"].bound_Bps == pytest.approx(80)
    (most, _) = network(between_Bps=np.inf).faster("between a and b", 10.0, 10.0)
    assert most.ways["a0", "b0"].bound_Bps == pytest.approx(100)  # that of the nodes


def test_a_slower_link_slows_messages_down():
    most, _ = network().faster("of a0", 0.5, 0.5)
    assert (latency_s(most, "a0", "a1"), most.ways["a0", "a1"].bound_Bps) == pytest.approx((3, 50))
