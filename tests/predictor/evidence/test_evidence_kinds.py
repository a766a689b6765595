"""Kinds of evidence: how a predictor reads each kind, and what each kind of request needs."""

from dataclasses import replace

import pytest

from apps.probes.network.measure import Exchange, NetworkPlan
from apps.probes.plan import Measurement
from apps.programs.problem import problem
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.grids.grid import Grid, GridCluster, Wire
from platforms.model.placement import block
from platforms.model.platform import Power
from platforms.read.read import materialise
from predictor.answers.answers import Answer
from predictor.answers.text import answer_lines
from predictor.base import Cost, Declared, Evidence, EvidenceRequest, Prediction
from predictor.evidence.broker import Broker

WIRE = Wire(125e6, 50e-6)
POWER = Power(idle_w=10, full_w=50, epsilon_w=30)


@pytest.fixture(scope="module")
def target():
    platform = materialise(Grid("two", "gigabit", (GridCluster("c", 2, 1e9, WIRE, WIRE, 1, POWER),), "mesh", ()))
    return Target(problem("cg", "S"), platform, block(platform, 2))


def broker(answer):
    return Broker(Settings(), (), record=answer, recording=answer, measure=answer)


def test_evidence_is_read_as_the_kind_that_was_asked_for(target):
    plan = NetworkPlan(target.platform, ((Exchange(*target.placement, 1, 1),),))
    measured = Evidence(EvidenceRequest("exchange", target, plan=plan), Measurement(((1.0,),), 2.0, 0.1), "e", Cost())
    assert measured.measurement.times_s == ((1.0,),)
    with pytest.raises(TypeError, match="evidence 'exchange' is a Measurement, not a RunRecord"):
        _ = measured.record
    declared = Evidence(EvidenceRequest("declared", target), Declared((("a", "b"),)), "d", Cost())
    assert declared.declared.options == (("a", "b"),)
    with pytest.raises(TypeError, match="not a Recording"):
        _ = declared.recording


@pytest.mark.parametrize(("kind", "lacks"), [("recording", "iterations"), ("exchange", "plan"), ("blocks", "plan")])
def test_a_request_that_lacks_what_its_kind_needs_is_the_predictors_fault(target, kind, lacks):
    with pytest.raises(ValueError, match=lacks):
        broker(lambda *asked: pytest.fail("nothing is to be run")).gather([EvidenceRequest(kind, target)])


def test_an_energy_without_an_interval_is_shown_as_a_point(target):
    # A user's model may give an energy without an interval: 3 J over 2 s, 6 J s.
    alone = Prediction(2.0, {"compute_s": 2.0}, energy_j=3.0)
    shown = " ".join(answer_lines(Answer("own", target, alone, None, (), 0.0)))
    assert "energy at most 3.00 J, energy-delay product 6.00 J s" in shown
    between = replace(alone, energy_low_j=2.5, energy_high_j=3.5)
    shown = " ".join(answer_lines(Answer("own", target, between, None, (), 0.0)))
    assert "3.00 J (between 2.50 and 3.50 J)" in shown
