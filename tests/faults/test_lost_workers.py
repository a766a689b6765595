"""Dask workers and schedulers that end for good give a failed run with a message, and nothing waits forever."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import apps.runs.dask_cluster
from apps.errors import SimulationError
from apps.programs.problem import problem
from apps.runs.dask_cluster import Cluster
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise

WRONG = ["nonsense", ":", "tcp://", "foo://a:1", "tcp://[::1", "http://a.b", "127.0.0.1", "tcp://a:b"]
CAMPAIGN = """
scenarios = ["grid4x4", "grid4x2"]
apps = ["ep", "lu"]
classes = ["B"]
predictors = ["hcf-constant"]
iterations = "full"
"""
ROOT = Path(__file__).parents[2]
distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.slow


@pytest.fixture
def cluster():
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as made:
        yield made


def long_run():
    platform = materialise(named_grid("grid4x4"))
    return RunSpec(Target(problem("lu", "B"), platform, block(platform, 16)), iterations="full")


def simulate_while(cluster, action):
    with Cluster(cluster.scheduler_address) as workers:
        thread = threading.Timer(2.0, action)
        thread.start()
        try:
            workers.simulate(long_run())
        finally:
            thread.join()


def test_when_all_workers_are_gone_the_run_fails(cluster, monkeypatch):
    monkeypatch.setattr(apps.runs.dask_cluster, "NO_WORKERS_S", 4.0)
    with pytest.raises(SimulationError, match="there have been no workers for 4 s"):
        simulate_while(cluster, lambda: cluster.scale(0))


def test_when_the_scheduler_is_gone_the_run_fails(cluster):
    with pytest.raises(SimulationError, match="the scheduler of the workers is gone"):
        simulate_while(cluster, lambda: cluster.sync(cluster.scheduler.close))


def test_a_run_that_takes_every_worker_with_it_fails(cluster):
    def kill_who_works():
        while not stopped.wait(0.2):
            for one in list(cluster.scheduler.workers.values()):
                if one.processing and (number := cluster.workers[one.name].pid):
                    os.kill(number, signal.SIGKILL)

    stopped = threading.Event()
    with Cluster(cluster.scheduler_address) as workers:
        thread = threading.Thread(target=kill_who_works)
        thread.start()
        try:
            with pytest.raises(SimulationError, match="every worker that ran it died"):
                workers.simulate(long_run())
        finally:
            stopped.set()
            thread.join()


def test_a_worker_with_other_code_is_refused_in_one_line(tmp_path):
    # A copy of the project, in which CG computes a thousand times as much.
    for package in ("apps", "platforms"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    source = tmp_path / "apps" / "kernels" / "cg" / "cg.c"
    changed = source.read_text().replace("charge_flops(cg->run, ", "charge_flops(cg->run, 1000 * ")
    assert changed != source.read_text()
    source.write_text(changed)
    with distributed.LocalCluster(n_workers=0, dashboard_address=":0") as scheduler:
        address = scheduler.scheduler_address
        command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard"]
        worker = subprocess.Popen(
            command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)}, stderr=subprocess.DEVNULL
        )
        try:
            said = r"--scheduler tcp://.*: worker tcp://.* has another version of this project's code \(.*, here .*\)"
            with pytest.raises(UserError, match=said):
                Cluster(address)
        finally:
            worker.kill()
            worker.wait()


@pytest.mark.parametrize("address", WRONG)
def test_an_address_that_cannot_be_one_is_refused_at_once(address, monkeypatch):
    monkeypatch.setattr(distributed, "Client", lambda *where, **how: pytest.fail(f"asks {where}"))
    with pytest.raises(UserError, match="Give the address of a running scheduler"):
        Cluster(address)


@pytest.fixture
def killable(tmp_path):
    """A scheduler in a process of its own, with one worker: the process and the address."""
    options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(tmp_path / "s.json")]
    scheduler = subprocess.Popen([sys.executable, "-m", "distributed.cli.dask_scheduler", *options])
    worker = None
    try:
        while not (tmp_path / "s.json").is_file() or not (tmp_path / "s.json").read_text().endswith("}"):
            assert scheduler.poll() is None
            time.sleep(0.1)
        address = json.loads((tmp_path / "s.json").read_text())["address"]
        words = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard"]
        worker = subprocess.Popen([*words, "--no-nanny"], cwd=ROOT)
        with distributed.Client(address, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=120)
        yield scheduler, address
    finally:
        for one in filter(None, (worker, scheduler)):
            one.kill()
            one.wait()


def test_a_scheduler_that_is_killed_in_the_middle_leaves_tables_and_failed_runs(tmp_path, killable):
    scheduler, address = killable
    (tmp_path / "c.toml").write_text(CAMPAIGN)
    words = ["--no-store", "--scheduler", address, "--out", str(tmp_path / "out")]
    command = subprocess.Popen(
        [sys.executable, "-m", "validation.campaign", str(tmp_path / "c.toml"), *words],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with distributed.Client(address, set_as_default=False) as client:
        while not any(client.processing().values()):
            assert command.poll() is None
            time.sleep(0.2)
    time.sleep(2)
    scheduler.kill()
    printed, said = command.communicate(timeout=240)
    assert command.returncode == 1, said
    assert "Traceback" not in said
    assert "the scheduler of the workers is gone" in printed + said or "there have been no workers" in printed + said
    assert (tmp_path / "out" / "results.csv").is_file() == (printed != "")  # rows of the runs that were finished
