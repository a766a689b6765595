"""A link between all clusters is found where messages take longer at once than alone, by hand."""

import numpy as np
import pytest

from predictor.dpgraph.network import NetworkModel
from predictor.network.value import DirectedPath, Protocol, Timing
from predictor.workload.backbone import ring_plan, with_backbone

CLUSTERS = [["a0", "a1"], ["b0", "b1"], ["c0", "c1"]]
HOSTS = [host for cluster in CLUSTERS for host in cluster]
# No latency and 100 MB/s between any two hosts: 500,000 bytes take 5 ms.
NETWORK = NetworkModel(
    {(a, b): DirectedPath(0, 1e8, 1.0, {}) for a in HOSTS for b in HOSTS},
    {},
    Timing(np.array([-1.0]), np.zeros((1, 1)), np.ones((1, 1))),
    Protocol(envelope_bytes=0),
)


def test_one_host_of_each_cluster_sends_at_once_and_then_alone():
    at_once, *alone = ring_plan(None, CLUSTERS).experiments
    assert [(send.source, send.destination) for send in at_once] == [("a0", "b1"), ("b0", "c1"), ("c0", "a1")]
    assert alone == [(send,) for send in at_once]


@pytest.mark.parametrize("alone_s", [0.005, 0.00525])
def test_messages_that_take_as_long_at_once_as_alone_share_no_link(alone_s):
    # 5.25 ms: large messages are slower than the network says, which was measured for small ones.
    assert with_backbone(NETWORK, CLUSTERS, [[alone_s] * 3, *[[alone_s]] * 3]) is NETWORK


@pytest.mark.parametrize("alone_s", [0.005, 0.00525])
def test_three_messages_that_take_twice_as_long_at_once_share_a_link(alone_s):
    found = with_backbone(NETWORK, CLUSTERS, [[2 * alone_s] * 3, *[[alone_s]] * 3])
    (capacity_Bps,) = found.capacity_Bps.values()
    assert capacity_Bps == pytest.approx(1.5e8)  # 3 x 500,000 bytes in 10 ms
    assert not found.ways["a0", "a1"].links
    assert len(found.ways["a0", "b1"].links) == 1
