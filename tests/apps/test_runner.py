"""Many runs at once: each once, from the store where it can be, and none left running."""

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest

from apps.catalog import problem
from apps.engine import simulate
from apps.errors import SimulationError
from apps.runner import Runner
from apps.spec import RunSpec, Target
from apps.store import Store
from platforms.part import part_hash
from platforms.placement import block, probe_placement
from platforms.read import materialise
from platforms.scenario import named_grid


def spec_of(scenario, placement=None, **fields):
    platform = materialise(named_grid(scenario))
    return RunSpec(Target(problem("mg", "S"), platform, placement or block(platform, len(platform.hosts))), **fields)


@pytest.fixture
def counting():
    """A simulate function that counts its calls."""
    calls = []

    def count(spec):
        calls.append(spec)
        return simulate(spec)

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
    # Each record says which platform it is for, and simulating there gives the same.
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
    meeting = threading.Barrier(2, timeout=30)  # passed only by two at a time

    def meet(spec):
        meeting.wait()
        return simulate(spec)

    with Runner(jobs=2, simulate=meet) as runner:
        specs = [spec_of("grid4x2"), spec_of("grid4x4")]
        runner.start(specs)
        for spec in specs:
            runner.record(spec)


@pytest.mark.parametrize("death", [signal.SIGINT, signal.SIGKILL])
def test_an_ended_campaign_leaves_no_simulation_and_keeps_what_is_finished(tmp_path, death):
    """Many runs of LU, long enough to be hit in the middle of one."""
    arguments = "-m validation.run --scenario all --app mg,lu --class A --iterations full --jobs 2 --store".split()
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    parent = subprocess.Popen(
        [sys.executable, *arguments, str(tmp_path / "store")], env=environment, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    for line in parent.stderr:  # until some runs are finished
        if "] 5 of" in line:
            break
    os.kill(parent.pid, death)
    parent.wait(timeout=30)
    parent.stderr.close()

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
