"""Evidence from a machine: recordings and messages, compared with those of simulations and with what must hold."""

import numpy as np
import pytest

from apps.machines.machine_platform import machine_platform
from apps.probes.carry_out import carry_out
from apps.probes.network.measure import Exchange, NetworkPlan
from apps.programs.problem import problem
from apps.recording.events import EVENT, Kind, Mark, Recording
from apps.recording.files import from_bytes, to_bytes
from apps.runs.cautions import experiments_cautions, recording_cautions
from apps.runs.record_events import record_events
from apps.spec.settings import Settings
from apps.spec.target import Target

PARTS = ["kind", "mode", "op", "comm", "peer", "tag", "size_bytes"]


def calls(recording):
    """Return what every rank calls in the timed section, outside of which arithmetic sends more."""
    rows = []
    for events in recording.events:
        start, stop = (
            np.flatnonzero((events["kind"] == Kind.MARK) & (events["op"] == mark))[0]
            for mark in (Mark.START, Mark.STOP)
        )
        events = events[start:stop]
        kept = events[(events["kind"] != Kind.COMPUTE) & (events["kind"] != Kind.MARK)]
        rows.append([tuple(int(event[part]) for part in PARTS) for event in kept])
    return rows


@pytest.mark.parametrize("app", ["cg", "is", "mg"])
def test_a_kernel_calls_the_same_on_a_machine_and_in_simulation(local, app):
    platform = machine_platform(local)
    target = Target(problem(app, "S"), platform, local.hosts * 2)
    measured = record_events(Settings(machine=local).spec(target), 2)
    assert calls(measured) == calls(record_events(Settings().spec(target), 2))
    assert measured.measured
    assert measured.held_node_s > 0  # one node, for the time of the run
    assert all(events["clock_s"].max() == 0 for events in measured.events)  # dates would tell the target's time
    assert from_bytes(to_bytes(measured)).held_node_s == measured.held_node_s


def test_messages_take_time_on_a_machine_and_large_ones_more(named):
    platform = machine_platform(named)
    small, large = (Exchange("left1", "right1", size, 0) for size in (1, 8_000_000))
    both = Exchange("left2", "right1", 8_000_000, 0)
    measured = carry_out(NetworkPlan(platform, ((small,), (large,), (large, both)), machine=named))
    (first,), (second,), together = measured.times_s
    assert 0 < first < second
    assert len(together) == 2
    assert measured.node_s > 0


def test_a_host_sends_to_its_second_rank(local):
    """Two ranks share memory: a large message takes longer than a small one, which is not so within one rank."""
    (host,) = local.hosts
    experiments = tuple((Exchange(host, host, size, 0),) for size in (1, 16_000_000))
    plan = NetworkPlan(machine_platform(local), experiments, machine=local)
    assert plan.lines(plan.second_ranks) == ["1 0 1 1 0", "1 0 1 16000000 0"]
    (small,), (large,) = carry_out(plan).times_s
    assert large > 2 * small > 0


def test_plans_of_a_machine_and_of_a_simulation_have_other_identities(named):
    platform = machine_platform(named)
    plan = NetworkPlan(platform, ((Exchange("left1", "right1", 1, 0),),))
    assert "simgrid" in plan.identity()
    on_machine = NetworkPlan(platform, plan.experiments, machine=named).identity()
    assert on_machine["source"] == "measurement"
    assert "simgrid" not in on_machine


def test_cautions_name_the_machine_and_not_simgrid(local, monkeypatch):
    monkeypatch.setattr("apps.runs.cautions.simgrid_identity", lambda: f"3.32-{'0' * 16}")  # a repaired SimGrid
    platform = machine_platform(local)
    target = Target(problem("ep", "S"), platform, local.hosts)
    recording = Recording(
        events=(np.zeros(0, EVENT),), counts=(np.zeros(0, np.int64),), communicators=(), measured=True
    )
    on_machine = recording_cautions(Settings(machine=local).spec(target), recording)
    assert on_machine[0] == "computation is timed on machine local: results vary from run to run"
    assert not any("SimGrid" in said for said in on_machine)
    assert any("SimGrid" in said for said in recording_cautions(Settings().spec(target), recording))
    plan = NetworkPlan(platform, ((Exchange("localhost", "localhost", 1, 0),),), machine=local)
    assert experiments_cautions(plan) == ()
