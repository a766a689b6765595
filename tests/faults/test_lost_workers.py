"""Dask workers and schedulers that end for good give a failed run with a message, and nothing waits forever."""

import os
import shutil
import signal
import subprocess
import sys
import threading
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

ROOT = Path(__file__).parents[2]
distributed = pytest.importorskip("distributed")
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("dask")]


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
