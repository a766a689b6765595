"""Evidence from a machine: recordings and messages, compared with those of simulations and with what must hold."""

import numpy as np
import pytest

from apps.errors import KernelError
from apps.machines.machine_platform import machine_platform
from apps.measuring.blocks import machine_plan
from apps.measuring.rehearsal import solo_times
from apps.probes.blocks.measure import BlockPlan, Disk, Experiment
from apps.probes.network.measure import Exchange, NetworkPlan
from apps.probes.plan import carry_out
from apps.programs.problem import problem
from apps.recording.events import EVENT, Kind, Mark, Recording
from apps.recording.files import from_bytes, to_bytes
from apps.runs import cautions
from apps.runs.cautions import experiments_cautions, recording_cautions
from apps.runs.record_events import record_events
from apps.spec.settings import Settings
from apps.spec.target import Target

REPAIRS = cautions._repairs  # before tests do without it
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
    assert all(events["clock_s"].max() == 0 for events in measured.events)  # dates would reveal the target's time
    assert from_bytes(to_bytes(measured)).held_node_s == measured.held_node_s


def test_messages_take_time_on_a_machine(named):
    platform = machine_platform(named)
    small, large = (Exchange("left1", "right1", size, 0) for size in (1, 8_000_000))
    both = Exchange("left2", "right1", 8_000_000, 0)
    measured = carry_out(NetworkPlan(platform, ((small,), (large,), (large, both)), machine=named))
    (first,), (second,), together = measured.times_s
    assert min(first, second, *together) > 0
    assert len(together) == 2
    assert measured.node_s > 0


def test_a_host_sends_to_its_second_rank(local):
    (host,) = local.hosts
    experiments = tuple((Exchange(host, host, size, 0),) for size in (1, 16_000_000))
    plan = NetworkPlan(machine_platform(local), experiments, machine=local)
    assert plan.lines(plan.second_ranks) == ["1 0 1 1 0", "1 0 1 16000000 0"]
    assert min(carry_out(plan).times_s) > (0,)


def test_plans_of_a_machine_and_of_a_simulation_have_other_identities(named):
    platform = machine_platform(named)
    plan = NetworkPlan(platform, ((Exchange("left1", "right1", 1, 0),),))
    assert "simgrid" in plan.identity()
    on_machine = NetworkPlan(platform, plan.experiments, machine=named).identity()
    assert on_machine["source"] == "measurement"
    assert "simgrid" not in on_machine


def test_cautions_name_the_machine_and_not_simgrid(local, monkeypatch):
    monkeypatch.setattr("apps.runs.cautions.simgrid_identity", lambda: f"3.32-{'0' * 16}")  # a repaired SimGrid
    monkeypatch.setattr("apps.runs.cautions._repairs", REPAIRS)
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


def test_processes_that_compute_on_one_host_are_threads_of_its_first_rank():
    experiments = (
        Experiment("compute", ("a", "a", "a"), 1e6),
        Experiment("p2p", ("b", "a"), 8.0),
        Experiment("barrier", ("a", "a", "b")),
    )
    hosts, lines = machine_plan(experiments)
    assert hosts == ["a", "a", "b"]
    assert lines[0] == "groups 4 experiments 3"
    groups = lines[1:5]
    chosen = [groups[int(line.split()[1])] for line in lines[5:]]
    assert chosen == ["3 0 0 0", "2 2 0", "3 0 1 2"]


def test_blocks_take_time_on_a_machine_and_have_no_energies(named):
    platform = machine_platform(named)
    experiments = (
        Experiment("compute", ("left1",), 1e7),
        Experiment("compute", ("left1",), 4e8),
        Experiment("p2p", ("left1", "right1"), 1.0),
        Experiment("p2p", ("left1", "right1"), 8e6),
        Experiment("send", ("left1", "left2"), 8e6),
        Experiment("bcast", ("left1", "left2", "right1"), 1e6),
        Experiment("idle", ("left2",), 0.02),
        Experiment("barrier", ("left2", "left1")),
    )
    plan = BlockPlan(platform, experiments, machine=named)
    measured = carry_out(plan)
    plan.check(measured)
    times_s = [time_s for (time_s,) in measured.times_s]
    assert min(times_s) > 0
    assert times_s[6] > 0.01  # the pause of 20 ms, which a busy machine prolongs
    assert measured.energies_j == (None,) * len(experiments)
    assert measured.node_s > 5 * 0.02  # five rounds of the pause on one node
    assert plan.identity()["source"] == "measurement"
    assert plan.identity() != BlockPlan(platform, experiments).identity()


def test_disks_are_no_part_of_a_machine(local):
    disk = Experiment("disk_read", ("localhost",), 1e6, Disk("localhost", "sda", 1e8, 1e8))
    with pytest.raises(KernelError, match="its file names no disks"):
        carry_out(BlockPlan(machine_platform(local), (disk,), machine=local))


def test_every_rank_runs_a_copy_of_the_kernel_for_itself(local):
    # IS of class W ranks 2^20 keys in each of its 10 iterations, however many copies run.
    operations, times_s = solo_times(local, machine_platform(local), "is", local.hosts * 2)
    assert operations == 10 * 2**20
    assert len(times_s) == 2 and min(times_s) > 0


def test_a_recording_of_one_rank_can_be_made_on_a_machine(local):
    target = Target(problem("ep", "S"), machine_platform(local), local.hosts)
    assert record_events(Settings(machine=local).spec(target), 1).communicators == ((0,),)
