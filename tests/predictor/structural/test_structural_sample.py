"""The predictor ``structural`` with the network of some nodes of each cluster, which stands for that of all."""

import numpy as np
import pytest

from apps.probes.plan import Measurement
from apps.programs.problem import problem
from apps.runs.runner import Runner
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from predictor.answers.answers import fit
from predictor.evidence.broker import Broker
from predictor.structural import setting, sharing_survey
from predictor.structural.predictor import STRUCTURAL
from predictor.structural.sharing_survey import Lines, read_sizes

NODES, SOME = 16, 12  # the backbone of the network gigabit is filled by more than 10 nodes


def predicted(nodes, most, monkeypatch):
    """Return the prediction of CG on all nodes of a grid, of which each cluster has ``nodes``, and its evidence."""
    for module in (setting, sharing_survey):
        monkeypatch.setattr(module, "MOST_HOSTS", most)
    platform = materialise(named_grid(f"grid4x{nodes}", "gigabit", [40e9, 50e9, 60e9, 70e9]))
    target = Target(problem("cg", "A"), platform, block(platform, 4 * nodes))
    with Runner(jobs=1) as runner:
        model, evidence = fit(STRUCTURAL, [target], Broker.of(Settings(), [target], runner))
    plans = [e.request.plan for e in evidence if e.request.plan is not None]
    return model.predict(target), max(len(plan.hosts) for plan in plans)


def test_some_nodes_of_each_cluster_stand_for_all(monkeypatch):
    of_all, hosts = predicted(NODES, NODES, monkeypatch)
    of_some, fewer = predicted(NODES, SOME, monkeypatch)
    assert (hosts, fewer) == (4 * NODES, 4 * SOME)
    assert of_some.time_s == pytest.approx(of_all.time_s, rel=0.01)
    assert of_some.flags == of_all.flags


def test_links_that_the_measured_nodes_cannot_fill_are_a_caution(monkeypatch):
    answer, _ = predicted(6, 5, monkeypatch)
    (flag,) = [flag for flag in answer.flags if "not detected" in flag]
    assert "more than 5 nodes of c1, c2, c3, c4" in flag


@pytest.mark.parametrize("disturbed", [(0.0, 1.6e-3, 0.0), (0.0, 0.0, 1.6e-3), (1.6e-3, 0.0, 0.0), (0.0, 0.0, 0.0)])
def test_a_disturbed_message_makes_no_slope_and_no_latency(disturbed):
    # By hand: 600 us and 80 ns/byte; a round trip that is 1.6 ms longer would make a rise of 14 us/byte beside it.
    name, size, late_s = ("c", "c"), 2800, 5e-3
    lines = Lines({name: 0}, np.array([600e-6]), np.array([0.0406]), np.array([12.5e6]), {})
    trips = [(2 * (600e-6 + near * 80e-9) + more,) for near, more in zip((2744, 2800, 2856), disturbed, strict=True)]
    measured = Measurement(((1.2e-3,), *trips, (10e-6, late_s / 1e3)), 1.0, 1.0)
    found = read_sizes(lines, name, [size], measured)
    assert found.s_per_byte[0] == pytest.approx(80e-9)
    assert found.latency[0] == pytest.approx(1.0)
