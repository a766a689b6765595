"""Suites of applications on a real server: it is killed in the middle, and its simulations go to Dask workers."""

import csv
import importlib.util
import io
import shutil
import signal
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the extra workbench is not installed")

spec = importlib.util.spec_from_file_location("served", Path(__file__).with_name("test_workbench_server.py"))
command = importlib.util.module_from_spec(spec)
spec.loader.exec_module(command)

SUITE = {"suite_name": "slaves", "user": "Ann", "applications": "master-slave.toml", "systems": "figure-1.toml",
         "n:slave1": "1-64*4", "models": ["simgrid", "hardware"], "simulate": "yes"}  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "mine"
    for part in ("platforms", "applications"):
        (made / part).mkdir(parents=True)
    shutil.copy("examples/systems/merpsys.toml", made / "platforms" / "figure-1.toml")
    shutil.copy("validation/workbench/editing/examples/master-slave.toml", made / "applications")
    return made


def results(browser):
    rows = csv.DictReader(io.StringIO(browser.get("/results.csv")))
    return sorted((int(row["slave1"]), row["predictor"], row["predicted_s"], row["simulated_s"]) for row in rows)


@pytest.mark.slow
def test_points_are_finished_by_the_server_that_follows_one_that_was_killed(folder, tmp_path):
    with command.served(folder, tmp_path / "store") as (process, link):
        browser = command.Browser(link)
        assert browser.post("/panel/applications", **SUITE).getheader("location") == "/queue/1"
        browser.wait_for("/queue/1", "[1-4] of 4 ended")
        workers = command.children(process.pid)
        process.send_signal(signal.SIGKILL)
        process.wait()
    command.wait_until_ended(workers)
    with command.served(folder, tmp_path / "store") as (_, link):
        browser = command.Browser(link)
        browser.wait_for("/queue/1", "4 of 4 ended")
        assert "failed 0" in browser.get("/queue/1")
        assert [row[:2] for row in results(browser)] == [
            (slaves, model) for slaves in (1, 4, 16, 64) for model in ("hardware", "simgrid")
        ]


@pytest.mark.slow
def test_points_are_evaluated_and_simulated_by_the_workers_of_a_scheduler(folder, tmp_path):
    distributed = pytest.importorskip("distributed", reason="the extra cluster is not installed")
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster,
        command.served(folder, tmp_path / "far", "--scheduler", cluster.scheduler_address) as (_, link),
    ):
        browser = command.Browser(link)
        browser.post("/panel/applications", **SUITE)
        browser.wait_for("/queue/1", "4 of 4 ended")
        far = results(browser)
        assert "It hands runs to 1 worker thread of the scheduler." in browser.get("/queue")
        assert any("evaluate_there" in name for name in cluster.scheduler.task_prefixes)  # evaluated there too
    assert len(far) == 8
    for _, model, evaluated, simulated in far:
        if model == "simgrid":  # exact where messages do not share a link (docs/blocks/applications.md)
            assert float(evaluated) == pytest.approx(float(simulated))
