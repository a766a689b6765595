"""Evidence that a broker gathers on a real machine."""

import shutil
from pathlib import Path

import pytest

from apps.machines.machine_file import read_machine
from apps.machines.machine_platform import machine_platform
from apps.programs.problem import problem
from apps.runs.runner import Runner
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.store import Store
from predictor.base import EvidenceRequest
from predictor.evidence.broker import Broker, RefusedEvidence

EXAMPLE = Path(__file__).parents[2] / "examples" / "machines" / "local.toml"


@pytest.fixture
def machine():
    if shutil.which("mpirun") is None or shutil.which("mpicc") is None:
        pytest.skip("there is no mpirun here: apt-get install openmpi-bin libopenmpi-dev")
    return read_machine(EXAMPLE)


def test_a_broker_gathers_runs_on_the_machine_and_charges_all_repeats(machine, tmp_path, capsys):
    platform = machine_platform(machine)
    target = Target(problem("ep", "S"), platform, ("localhost",) * 2)
    probe = Target(problem("ep", "S"), platform, ("localhost",))
    settings = Settings(machine=machine, repeats=2)
    found = []
    for _ in range(2):  # the second time from the store, which says so
        with Store(tmp_path) as store, Runner(jobs=1, store=store) as runner:
            found += Broker.of(settings, [target], runner).gather([EvidenceRequest("run", probe)])
    first, second = found
    assert first.record.source == "measurement" and first.record.verified is True
    assert first.cost.node_s == pytest.approx(sum(first.record.measured.repeats_s))  # one node
    assert second.record == first.record
    assert "taken from the store" in capsys.readouterr().err


def test_a_run_of_the_target_itself_is_refused_on_the_machine_too(machine):
    target = Target(problem("ep", "S"), machine_platform(machine), ("localhost",) * 2)
    broker = Broker(Settings(machine=machine), [target], record=lambda spec: pytest.fail("the target must not run"))
    with pytest.raises(RefusedEvidence):
        broker.gather([EvidenceRequest("run", target)])
