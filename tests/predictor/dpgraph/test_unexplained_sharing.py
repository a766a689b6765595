"""Sharing that the links found do not explain: said only where it may matter for the program."""

import numpy as np
import pytest

from predictor.dpgraph.network import NetworkModel
from predictor.dpgraph.unexplained import unexplained
from predictor.network.value import DirectedPath, Timing, Unexplained

INSIDE, OUTSIDE = ("a", "b"), ("a", "z")


@pytest.fixture
def network():
    timing = Timing(np.zeros(1), np.zeros((1, 1)), np.ones((1, 1)))
    ways = {INSIDE: DirectedPath(0, 1e9, 1.0, {"in c": 1.0}), OUTSIDE: DirectedPath(0, 5e8, 1.0, {"wide": 1.0})}
    capacity_Bps = {"in c": 2e9, "wide": 1e9}
    return NetworkModel(ways, capacity_Bps, timing, unexplained=(Unexplained("c", frozenset("ab"), 0.6),))


def time_of(bytes_inside, compute_s):
    """Return the time of a program that computes, and then sends this number of bytes inside the cluster."""
    return lambda network: compute_s + bytes_inside / network.ways[INSIDE].bound_Bps


def test_only_what_lies_inside_the_cluster_becomes_slower(network):
    slower = network.slower_inside(network.unexplained[0], (INSIDE, OUTSIDE))
    assert slower.ways[INSIDE].bound_Bps == pytest.approx(1e9 / 1.6)
    assert slower.capacity_Bps == {"in c": pytest.approx(2e9 / 1.6), "wide": 1e9}
    assert slower.ways[OUTSIDE] == network.ways[OUTSIDE]


def test_a_program_that_sends_much_inside_may_take_that_much_longer(network):
    # By hand: 1 s of computation and 1 s of messages, which take 1.6 s: 30 % longer.
    time_on = time_of(1e9, 1.0)
    (said,) = unexplained(network, (INSIDE, OUTSIDE), time_on(network), time_on)
    assert "take 60 % longer" in said and "up to 30 % longer" in said


def test_a_program_that_mostly_computes_needs_no_caution(network):
    # By hand: 1 s and 0.05 s of messages: 0.03 s longer, 2.9 %.
    time_on = time_of(5e7, 1.0)
    assert list(unexplained(network, (INSIDE, OUTSIDE), time_on(network), time_on)) == []
