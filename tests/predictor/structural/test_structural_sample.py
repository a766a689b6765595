"""The predictor ``structural`` with the network of some nodes of each cluster, which stands for that of all."""

import pytest

from apps.programs.problem import problem
from apps.runs.runner import Runner
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from predictor.answers.answers import fit
from predictor.evidence.broker import Broker
from predictor.structural import measured, setting
from predictor.structural.predictor import STRUCTURAL

NODES, SOME = 16, 12  # the backbone of the network gigabit is filled by more than 10 nodes


def predicted(nodes, most, monkeypatch):
    """Return the prediction of CG on all nodes of a grid, of which each cluster has ``nodes``, and its evidence."""
    for module in (setting, measured):
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
