"""Evidence that a broker gathers on a real machine."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from apps.machines.machine_file import read_machine
from apps.machines.machine_platform import machine_platform
from apps.probes.blocks.measure import BlockPlan, Experiment
from apps.programs.own_program import read_program
from apps.programs.problem import own_problem, problem
from apps.recording.events import Kind
from apps.runs.runner import Runner
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.store import Store
from predictor.base import EvidenceRequest
from predictor.evidence.broker import Broker, RefusedEvidence, as_carried_out
from predictor.graph.places import places_of
from predictor.registry import PREDICTORS
from validation.run import main

EXAMPLE = Path(__file__).parents[3] / "examples" / "machines" / "local.toml"

CALLS = """
#include <mpi.h>
int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  int rank;
  double mine = 0, sum;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 1)
    MPI_Send(&mine, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
  for (int i = 0; i < 3; i++)
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0)
    MPI_Recv(&mine, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
"""


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


def test_blocks_are_measured_on_the_machine_and_simulated_where_it_is_calibrated(machine):
    platform = machine_platform(machine)
    plan = BlockPlan(platform, (Experiment("compute", ("localhost",), 1e8),))
    calibrated = replace(platform, options=(("smpi/lat-factor", "0:1"), ("smpi/os", "0:1e-6:0")))
    settings = Settings(machine=machine)
    assert calibrated.calibrated
    assert as_carried_out(replace(plan, platform=calibrated), settings).machine is None
    target = Target(problem("ep", "S"), platform, ("localhost",) * 2)
    with Runner(jobs=1) as runner:
        (found,) = Broker.of(settings, [target], runner).gather([EvidenceRequest("blocks", target, plan=plan)])
    ((time_s,),) = found.measurement.times_s
    assert 0 < time_s < found.cost.node_s == found.measurement.node_s
    assert found.once_node_s == found.cost.node_s


def test_calls_that_are_recorded_on_a_machine_are_known_by_their_paths_on_all_ranks(machine, tmp_path):
    source = tmp_path / "calls.c"
    source.write_text(CALLS)
    asked = own_problem(read_program(source, real_mpi=True))
    target = Target(asked, machine_platform(machine), ("localhost",) * 2)
    other, wanted = Target(asked, target.platform, ("localhost",)), EvidenceRequest("recording", target, iterations=1)
    with Runner(jobs=1) as runner:
        (found,) = Broker.of(Settings(machine=machine), [other], runner).gather([wanted])
    recording = found.recording
    sums = [events["site"][events["kind"] == Kind.COLLECTIVE].tolist() for events in recording.events]
    assert sums[0] == sums[1] and len(sums[0]) == 4
    assert len({recording.paths[site - 1] for site in sums[0]}) == 2  # two places, of which one is passed three times
    assert set(places_of(asked, recording.paths)) <= {f"{path[0] - 1:#x}" for path in recording.paths}


@pytest.mark.slow
def test_every_predictor_answers_on_a_machine_or_says_why_it_cannot(named_file, capsys):
    """The file has three hosts in two clusters; no refusal is about the machine being none of a simulation."""
    words = ["--machine", str(named_file), "--app", "ep", "--class", "S", "--repeats", "1", "--predictor", "all"]
    assert main([*words, "--no-store", "--json"]) == 0
    rows = {row["predictor"]: row for row in json.loads(capsys.readouterr().out)["results"]}
    assert set(rows) >= set(PREDICTORS)
    answered = {name for name, row in rows.items() if row["predicted_s"] is not None}
    assert answered >= {"hcf", "dpgraph:known", "dpgraph:li", "blocks", "blocks:simgrid"}
    reasons = {name: row["flags"] for name, row in rows.items() if name not in answered}
    laws = (
        "too few sizes",
        "smaller sizes are needed",
        "measurements for the",
        "equal",
        "numbers of nodes",
        "Extra-P",
        "needs",
        "so the rate",
    )
    assert all(any(law in reason for law in laws) for reason in reasons.values()), reasons


def test_a_run_of_the_target_itself_is_refused_on_the_machine_too(machine):
    target = Target(problem("ep", "S"), machine_platform(machine), ("localhost",) * 2)
    broker = Broker(Settings(machine=machine), [target], record=lambda spec: pytest.fail("the target must not run"))
    with pytest.raises(RefusedEvidence):
        broker.gather([EvidenceRequest("run", target)])
