"""Bottleneck of a predicted run, by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from apps.programs.problem import problem
from apps.spec.target import Target
from platforms.model.platform import Cluster, Host, Platform
from predictor.dpgraph.bottleneck import bottleneck, link_loads_s
from predictor.dpgraph.network import NetworkModel
from predictor.dpgraph.program import Kinds
from predictor.network.value import DirectedPath, Protocol, Timing


@pytest.fixture
def target():
    slow, fast = Cluster("slow", (Host("s-0", 1e9, 1),)), Cluster("fast", (Host("f-0", 2e9, 1),))
    return Target(problem("cg", "S"), Platform("two", "/nowhere.xml", "0", (slow, fast)), ("s-0", "f-0"))


def test_computation_is_that_of_the_cluster_whose_rank_computes_longest(target):
    said = bottleneck(target, 10.0, [8.0, 4.0], {"wire": 1.0})
    assert said == "computation on the nodes of slow, 80.0 % of the time"


def test_a_link_that_is_full_most_of_the_time_is_named(target):
    said = bottleneck(target, 10.0, [2.0, 1.0], {"wire": 6.0, "other": 1.0})
    assert said == "link 'wire', in use for 60.0 % of it; communication, 80.0 % of the time"


def test_without_a_full_link_ranks_wait(target):
    said = bottleneck(target, 10.0, [2.0, 1.0], {"wire": 0.5})
    assert said.startswith(
        "communication, 80.0 % of the time: latency and waiting for other ranks, since no link is full"
    )
    assert "'wire', is in use for 5.00 % of it" in said
    assert bottleneck(target, 10.0, [2.0, 1.0], {}) == "communication, 80.0 % of the time"


def program(*, loop=None):
    """Three messages of 84 bytes from rank 0 to rank 1, of which the last two are in the loop if there is one."""
    kinds = Kinds(np.array([0]), np.array([84]), np.array([0]), np.zeros(3, np.int32))
    return SimpleNamespace(nmessages=3, nranks=2, pairs=np.array([1]), kinds=kinds, loop=loop)


NETWORK = NetworkModel(
    {("s-0", "f-0"): DirectedPath(0, 1e3, 1.0, {"wire": 1.0, "back": 0.05})},
    {"wire": 1e3, "back": 1e3},
    Timing(np.array([-1.0]), np.zeros((1, 1)), np.ones((1, 1))),
    Protocol(envelope_bytes=16),
)


def test_a_link_is_in_use_while_it_carries_all_bytes_one_after_the_other():
    # By hand: 3 messages of 100 bytes at 1000 bytes/s take 0.3 s; 4 iterations where 2 were evaluated twice as long.
    loads = link_loads_s(program(), NETWORK, ("s-0", "f-0"), 2, 2)
    assert loads == {"wire": pytest.approx(0.3), "back": pytest.approx(0.015)}
    assert link_loads_s(program(), NETWORK, ("s-0", "f-0"), 4, 2)["wire"] == pytest.approx(0.6)


def test_messages_of_a_loop_count_once_for_each_copy():
    # By hand: one message outside, and two in each of the 3 + 100 - 5 copies: 197 messages of 100 bytes.
    loop = SimpleNamespace(fixed=1, copies=3)
    loads = link_loads_s(program(loop=loop), NETWORK, ("s-0", "f-0"), 100, 5)
    assert loads["wire"] == pytest.approx(19.7)
