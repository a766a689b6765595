"""Many runs in parallel: each is made once or comes from the store, and none is left running."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from apps.errors import SimulationError, Stopped
from apps.probes.plan import Measurement
from apps.programs.own_program import read_program
from apps.programs.problem import own_problem, problem
from apps.runs import simulate as simulating
from apps.runs.runner import Runner
from apps.runs.simulate import simulate
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from apps.store import Store
from apps.store.database import DATABASE, StoreError
from platforms.grids.scenario import named_grid
from platforms.model.placement import block, probe_placement
from platforms.read.read import materialise
from platforms.read.routes import part_hash


def spec_of(scenario, placement=None, **fields):
    platform = materialise(named_grid(scenario))
    return RunSpec(Target(problem("mg", "S"), platform, placement or block(platform, len(platform.hosts))), **fields)


@pytest.fixture
def counting():
    """Return a simulate function that counts its calls."""
    calls = []

    def count(spec, *, stop):
        calls.append(spec)
        return simulate(spec, stop=stop)

    count.calls = calls
    return count


def test_equal_parts_of_generated_platforms_are_equal():
    parts = [
        part_hash(p, probe_placement(p)) for p in map(materialise, map(named_grid, ("grid4x2", "grid4x8", "grid3x9")))
    ]
    assert parts[0] == parts[1] != parts[2]


def test_the_network_belongs_to_the_part():
    platforms = [materialise(named_grid("grid4x2", network)) for network in ("gigabit", "metro", "infiniband")]
    assert len({part_hash(p, probe_placement(p)) for p in platforms}) == 3


def test_equal_probes_of_different_grids_run_once(counting):
    probes = [
        spec_of(name, probe_placement(materialise(named_grid(name)))) for name in ("grid4x2", "grid4x4", "grid4x8")
    ]
    with Runner(jobs=2, simulate=counting) as runner:
        runner.start(probes)
        records = [runner.record(spec) for spec in probes]
    assert len(counting.calls) == 1
    assert len({record.time_s for record in records}) == 1
    # Each record names its own platform, and a simulation there gives the same.
    assert [r.identity["platform_hash"] for r in records] == [s.target.platform.content_hash for s in probes]
    assert simulate(probes[2]).time_s == records[2].time_s


def test_the_store_saves_the_second_simulation(counting, tmp_path):
    spec = spec_of("grid4x2")
    for _ in range(2):
        with Store(tmp_path) as store, Runner(jobs=1, simulate=counting, store=store) as runner:
            record = runner.record(spec)
    assert len(counting.calls) == 1
    assert record == replace(simulate(spec), wall_s=record.wall_s, timed_wall_s=record.timed_wall_s,
                             peak_memory_bytes=record.peak_memory_bytes)  # fmt: skip


class Counts:
    """A progress that notes its calls."""

    def __init__(self):
        self.total, self.done, self.seen = 0, 0, []

    def check(self):
        pass

    def waits(self, spec):
        pass

    def expect(self, runs):
        self.total += runs

    def __call__(self, spec, *, known):
        self.done += 1
        self.seen.append((self.done, self.total))


def test_runs_are_expected_before_the_first_is_finished():
    progress, specs = Counts(), [spec_of("grid4x2"), spec_of("grid4x4")]
    with Runner(jobs=1, progress=progress) as runner:
        runner.start([*specs, specs[0]])  # one of them twice
        for spec in specs:
            runner.record(spec)
        runner.record(spec_of("grid3x9"))  # a run that has not been begun
    assert progress.seen == [(1, 2), (2, 2), (3, 3)]


def test_full_and_steady_records_are_kept_apart(counting, tmp_path):
    with Store(tmp_path) as store, Runner(jobs=1, simulate=counting, store=store) as runner:
        for policy in ("full", "steady"):
            runner.record(spec_of("grid4x2", iterations=policy))
    assert len(counting.calls) == 2


def test_a_failed_run_is_not_kept(tmp_path):
    spec = spec_of("grid4x2", options=(("smpi/bw-factor", "none"),))
    with Store(tmp_path) as store:
        with Runner(jobs=1, store=store) as runner, pytest.raises(SimulationError):
            runner.record(spec)
        assert store.entries() == []


def test_jobs_run_side_by_side():
    meeting = threading.Barrier(2, timeout=30)  # only two runs at the same time pass it

    def meet(spec, *, stop):
        meeting.wait()
        return simulate(spec, stop=stop)

    with Runner(jobs=2, simulate=meet) as runner:
        specs = [spec_of("grid4x2"), spec_of("grid4x4")]
        runner.start(specs)
        for spec in specs:
            runner.record(spec)


def test_leaving_ends_a_run_between_two_of_its_tries(monkeypatch):
    between, tries = threading.Event(), []

    def run(spec, iterations, *, time_limit_s, stop):
        tries.append(iterations)
        record = run_iterations(spec, iterations, time_limit_s=time_limit_s, stop=stop)
        between.set()
        stop.wait(60)  # the first try is over, and there is no process to end
        return replace(record, iteration_s=tuple((1.0, 2.0, 3.5, 4.0, 6.0) for _ in record.iteration_s))  # irregular

    run_iterations = simulating.run_iterations
    monkeypatch.setattr(simulating, "run_iterations", run)
    target = Target(problem("cg", "S"), *placed("grid4x2"))
    with Runner(jobs=1) as runner:
        runner.start([RunSpec(target, iterations="steady")])
        assert between.wait(60)
    assert tries == [5, 10]
    with pytest.raises(Stopped, match="not started"):
        runner.record(RunSpec(target, iterations="steady"))


def placed(scenario):
    """A platform and one rank on each of its hosts."""
    platform = materialise(named_grid(scenario))
    return platform, block(platform, len(platform.hosts))


def test_nothing_is_begun_once_a_runner_is_left():
    # For any engine.
    stop = threading.Event()
    stop.set()
    jacobi = own_problem(read_program(Path(__file__).parents[3] / "examples/jacobi/jacobi.c", "100 5 charged", None))
    for asked, of in ((problem("mg", "S"), "smpi"), (problem("ep", "S"), "s4u"), (jacobi, "smpi")):
        with pytest.raises(Stopped, match="not started"):
            simulate(RunSpec(Target(asked, *placed("grid4x2")), engine=of), stop=stop)


def test_leaving_one_runner_leaves_the_runs_of_another_alone():
    spec = spec_of("grid4x8", iterations="full")
    with Runner(jobs=1) as other:
        other.start([spec])
        with Runner(jobs=1) as runner:
            runner.start([spec_of("grid3x12", iterations="full")])
        assert other.record(spec).time_s > 0


TRIES = """
import sys
import tempfile
from pathlib import Path
from apps.programs.problem import problem
from apps.child.process import run_bounded
from apps.runs.runner import Runner
from apps.spec.run_spec import RunSpec, Target
from platforms.command.status import exit_status
from platforms.model.placement import block
from platforms.read.read import materialise
from platforms.grids.scenario import named_grid

def tries(spec, *, stop):
    while True:
        print("try\\n", end="", flush=True)  # in one piece
        with tempfile.TemporaryDirectory() as folder:
            run_bounded(["sleep", "0.05"], folder=Path(folder), time_limit_s=None, stop=stop)

def command():
    platform = materialise(named_grid("grid4x2"))
    specs = [RunSpec(Target(problem(app, "S"), platform, block(platform, 8))) for app in ("cg", "mg", "lu")]
    with Runner(jobs=2, simulate=tries, identify=RunSpec.identity) as runner:
        runner.start(specs)
        runner.record(specs[0])

sys.exit(exit_status(command))
"""


@pytest.mark.parametrize("death", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_command_stops_runs_that_would_try_for_ever(death):
    parent = subprocess.Popen([sys.executable, "-c", TRIES], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        for _ in range(10):
            assert parent.stdout.readline() == "try\n"
        parent.send_signal(death)
        _, err = parent.communicate(timeout=30)  # two runs never end, and a third waits for its turn
    finally:
        parent.kill()
    assert (parent.returncode, err) == (130, "interrupted\n")


@pytest.mark.parametrize("death", [signal.SIGINT, signal.SIGKILL])
def test_an_ended_campaign_leaves_no_simulation_and_keeps_what_is_finished(tmp_path, death):
    """Many runs of LU, long enough to be hit in the middle of one."""
    arguments = "--scenario all --app mg,lu --class W --predictor hcf --iterations full --jobs 2 --store"
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    parent = subprocess.Popen(
        [sys.executable, "-m", "validation.run", *arguments.split(), str(tmp_path / "store")],
        env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip

    def finished():
        if not (tmp_path / "store" / DATABASE).exists():
            return 0
        with suppress(StoreError), Store(tmp_path / "store", read_only=True) as store:
            return len(store.entries())
        return 0  # the database is being made

    end = time.monotonic() + 60
    while finished() < 5 and time.monotonic() < end:
        time.sleep(0.1)
    os.kill(parent.pid, death)
    parent.wait(timeout=30)

    def left():
        found = []
        for entry in os.listdir("/proc"):
            try:
                if entry.isdecimal() and os.readlink(f"/proc/{entry}/cwd").startswith(str(tmp_path)):
                    found.append(entry)
            except OSError:
                continue
        return found

    end = time.monotonic() + 20
    while left() and time.monotonic() < end:
        time.sleep(0.1)
    assert left() == []
    with Store(tmp_path / "store") as store:
        assert len(store.entries()) >= 4


@pytest.mark.parametrize("by", ["now", "an earlier version"])
def test_a_probe_is_stored_as_a_probe_and_carried_out_once(tmp_path, monkeypatch, by):
    made = Measurement(((0.5, 0.25),), node_s=2.0, wall_s=0.1)
    plan = SimpleNamespace(identity=lambda: {"experiments": "ab12"}, experiments=(1,), check=lambda made: None)
    plan.platform = SimpleNamespace(name="small", changes=())
    plan.machine, plan.measured, plan.changes = None, "messages", ()
    calls = []
    monkeypatch.setattr("apps.runs.runner.carry_out", lambda plan, time_limit_s, stop: calls.append(plan) or made)
    with Store(tmp_path) as store:
        with Runner(jobs=1, store=store) as runner:
            assert runner.measure(plan) == made
        (entry,) = store.entries()
        assert entry.kind == "probe"
        if by != "now":
            known = store.get("probe", entry.key)
            store.remove([entry])
            store.put("measurement", entry.key, entry.identity, known)
        with Runner(jobs=1, store=store) as runner:
            assert runner.measure(plan) == made
    assert calls == [plan]
