"""What holds a run up, by hand: one message between two hosts of two clusters."""

import numpy as np
import pytest
from recordings_by_hand import collective, compute, receive, recording, send

from apps.programs.problem import problem
from apps.recording.events import Op
from apps.spec.target import Target
from platforms.model.platform import Cluster, Host, Platform
from predictor.base import Prediction
from predictor.dpgraph.network import NetworkModel
from predictor.dpgraph.program import Sections
from predictor.network.value import DirectedPath, Protocol, Timing
from predictor.scale.points import critical_part

LATENCY_S, SPEED_FLOPS = 0.5, 1e9


class ByHand:
    """A model of one recording, and links of 100 bytes/s on the hosts and of 50 bytes/s between their clusters."""

    def __init__(self, recorded):
        self.recorded = recorded

    def sections(self, target):
        return Sections(self.recorded)

    def recording_of(self, target):
        return self.recorded

    def network(self, target):
        ways = {
            (a, b): DirectedPath(0, 50.0, 1.0, {f"{a}_UP": 1.0, "wan": 1.0, f"{b}_DOWN": 1.0})
            for a in target.placement
            for b in target.placement
        }
        capacities = {f"{host}_{way}": 100.0 for host in target.placement for way in ("UP", "DOWN")} | {"wan": 50.0}
        timing = Timing(np.array([-1.0]), np.array([[LATENCY_S]]), np.array([[1.0]]))
        return NetworkModel(ways, capacities, timing, Protocol(envelope_bytes=0))


def held_by(*ranks):
    clusters = tuple(Cluster(f"c{rank}", (Host(f"h{rank}", SPEED_FLOPS, 1),)) for rank in range(len(ranks)))
    platform = Platform("by hand", "/nowhere.xml", "", clusters)
    target = Target(problem("cg", "S"), platform, tuple(f"h{rank}" for rank in range(len(ranks))))
    return critical_part(ByHand(recording(*ranks)), Prediction(1.0), target)


def test_a_large_message_is_held_up_by_the_narrowest_link():
    # 1 s of computation, latency 0.5 s, then 100 bytes at 50 bytes/s: 2 s of 3.5 s.
    found = held_by([compute(1e9), send(1, 100, 0)], [receive(0, 100, 0)])
    assert (found.name, found.call) == ("bandwidth of wan", "messages")
    assert found.share == pytest.approx(2 / 3.5)
    assert found.call_share == pytest.approx(2.5 / 3.5)


def test_a_small_message_is_held_up_by_latency():
    found = held_by([send(1, 5, 0)], [receive(0, 5, 0)])
    assert found.name == "latency between c0 and c1" and found.share == pytest.approx(0.5 / 0.6)


def test_a_computation_is_named_by_its_cluster():
    found = held_by([compute(1e9), send(1, 5, 0)], [receive(0, 5, 0), compute(9e9)])
    assert found.name == "computation on c1" and found.share == pytest.approx(9 / 10.6)


def test_a_collective_is_named_as_the_call():
    found = held_by([collective(Op.BARRIER)], [collective(Op.BARRIER)])
    assert found.call == "barrier" and found.call_share == pytest.approx(1.0)


def test_a_model_without_a_graph_tells_computation_or_communication():
    asked = Target(problem("cg", "S"), Platform("p", "/no", "", (Cluster("c", (Host("h", 1e9, 1),)),)), ("h",))
    found = critical_part(object(), Prediction(10.0, parts={"compute_s": 3.0}), asked)
    assert (found.name, found.share) == ("communication", pytest.approx(0.7))
    assert critical_part(object(), Prediction(10.0), asked) is None
