"""The predictor simulate, and the evidence that it alone may have."""

from dataclasses import replace
from pathlib import Path

import pytest

from apps.machines.machine_file import MachineCluster, read_machine
from apps.programs.problem import problem
from apps.runs.simulate import simulate
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from predictor.base import EvidenceRequest, OutOfRange
from predictor.evidence.broker import Broker, RefusedEvidence
from predictor.registry import predictor, predictors
from predictor.simulation.predictor import SIMULATE

LOCAL = Path(__file__).parents[3] / "examples" / "machines" / "local.toml"


@pytest.fixture(scope="module")
def target():
    platform = materialise(named_grid("grid4x2"))
    return Target(problem("ep", "S"), platform, block(platform, 8))


@pytest.fixture(scope="module")
def settings(target):
    """Settings of a machine with the hosts of the grid; nothing is launched on it here."""
    hosts = tuple(host.name for host in target.platform.hosts)
    machine = replace(read_machine(LOCAL), clusters=(MachineCluster("all", hosts, 1, 1e9),))
    return Settings(machine=machine)


class Measuring:
    """Answers runs as a machine of a given share of the nominal speed would, and simulations by simulating."""

    def __init__(self, share):
        self.share, self.specs = share, []

    def record(self, spec):
        self.specs.append(spec)
        plain = replace(Settings(efficiency="1.0").spec(spec.target), efficiency=spec.efficiency)
        made = simulate(plain)
        if spec.machine is None:
            return made
        return replace(made, compute_s=tuple(one / self.share for one in made.compute_s))


def test_the_simulation_computes_at_the_speed_of_the_probe(settings, target):
    machine = Measuring(0.5)
    broker = Broker(settings, [target], record=machine.record)
    probes = broker.gather(SIMULATE.requests([target]))
    simulated = broker.gather(SIMULATE.further([target], probes))
    found = SIMULATE.fit([*probes, *simulated]).predict(target)
    assert machine.specs[-1].efficiency == pytest.approx(0.5, rel=1e-6)
    assert machine.specs[-1].machine is None
    half, full = (simulate(Settings(efficiency=share).spec(target)) for share in ("0.5", "1.0"))
    assert found.time_s == pytest.approx(half.time_s, rel=1e-6)
    assert found.parts["compute_s"] == pytest.approx(2 * max(full.compute_s), rel=1e-6)
    assert found.cost.node_s == pytest.approx(probes[0].cost.node_s)  # the simulation holds no node of the machine


def test_a_machine_that_computes_faster_than_its_file_says_is_refused(settings, target):
    broker = Broker(settings, [target], record=Measuring(1.5).record)
    probes = broker.gather(SIMULATE.requests([target]))
    assert SIMULATE.further([target], probes) == []
    with pytest.raises(OutOfRange, match=r"1\.5 times as fast"):
        SIMULATE.fit(probes).predict(target)


def test_no_simulation_without_a_machine(target):
    broker = Broker(Settings(), [target], record=simulate)
    with pytest.raises(RefusedEvidence, match="the truth itself"):
        broker.gather([EvidenceRequest("simulation", target, efficiency=1.0)])


def test_simulate_is_asked_by_name_alone():
    assert predictor("Simulate") is SIMULATE
    assert "simulate" not in [one.name for one in predictors(["all"])]
