"""Limit of the time and memory that the evidence of a prediction may take."""

import pytest

from apps.errors import SimulationError
from apps.probes.network.measure import Exchange, Measurement, NetworkPlan
from apps.programs.problem import problem
from apps.runs.limits import EvidenceLimit
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from predictor import predict
from predictor.base import EvidenceRequest
from predictor.evidence.broker import Broker, RefusedEvidence
from predictor.network.layout import layout
from predictor.network.survey import next_plan


@pytest.fixture(scope="module")
def target():
    platform = materialise(named_grid("grid4x2"))
    return Target(problem("cg", "S"), platform, block(platform, 8))


def messages(target, count):
    """A request for this number of messages."""
    plan = NetworkPlan(target.platform, ((Exchange(*target.placement[:2], 1, 1),),) * count)
    return EvidenceRequest("exchange", target, plan=plan)


def measuring(limit, measure=lambda plan: Measurement(((1.0,),) * len(plan.experiments), 2.0, 0.1)):
    return Broker(Settings(), (), record=pytest.fail, measure=measure, limit=limit)


def test_messages_beyond_the_limit_are_refused_before_they_are_sent(target):
    # By hand: 10,000 measurements take 2e-4 s and 1,300 bytes each, together 2 s and 13 MB.
    request = messages(target, 10_000)
    assert measuring(EvidenceLimit(2.0, 13e6)).gather([request])
    with pytest.raises(
        RefusedEvidence, match=r"10,000 measurements take about 2 s and 0\.013 GB, and the limit is 1 s and"
    ):
        measuring(EvidenceLimit(1.0, 13e6), pytest.fail).gather([request])
    with pytest.raises(RefusedEvidence, match=r"and the limit is 15 minutes and 0\.012 GB"):
        measuring(EvidenceLimit(memory_bytes=12e6), pytest.fail).gather([request])


def test_evidence_that_takes_longer_than_it_may_is_the_last(target):
    broker = measuring(EvidenceLimit(time_s=1e-9, memory_bytes=1e9))
    request = messages(target, 0)
    broker.gather([request])
    with pytest.raises(RefusedEvidence, match="takes longer than the limit"):
        broker.gather([request])


def test_a_measurement_that_ends_at_the_limit_is_no_failed_simulation(target):
    def late(plan):
        raise SimulationError("time limit reached after 900.0 s of wall time")

    with pytest.raises(RefusedEvidence, match="--evidence-time"):
        measuring(EvidenceLimit(time_s=1e-9), late).gather([messages(target, 0)])
    with pytest.raises(SimulationError, match="time limit reached"):  # of the simulation, not of the evidence
        measuring(EvidenceLimit(), late).gather([messages(target, 1)])


@pytest.mark.parametrize("grid", ["grid4x2", "grid3x9", "grid3x16"])
def test_the_number_of_the_first_messages_is_known_before_they_are_made(grid):
    platform = materialise(named_grid(grid))
    plan = next_plan(platform, [host.name for host in platform.hosts])
    assert len(plan.experiments) == len(list(plan.experiments))
    again = next_plan(platform, [host.name for host in platform.hosts])
    assert again == plan and hash(again) == hash(plan)
    assert layout(platform, plan.hosts).hosts  # all take part


def test_the_plan_says_the_limit_and_what_is_beyond_it(capsys):
    words = "--scenario grid4x2 --app cg --class S --predictor dpgraph --no-store --dry-run --evidence-time 0.01"
    assert predict.main(words.split()) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("no answer from dpgraph, 1 prediction: its ")
    assert "limit of a prediction's evidence: 1 s and 4 GB" in said


def test_a_limit_is_no_negative_number(refused):
    words = "--scenario grid4x2 --app cg --class S --no-store --evidence-memory -1"
    refused(predict.main, words.split(), "--evidence-memory -1: not a limit. Give a positive number, or 0 for any")
