"""The workbench hands its runs to the workers of a Dask scheduler on this computer."""

import importlib.util
from pathlib import Path

import pytest

from platforms.errors import UserError
from predictor.blocks.series.points import ApplicationOptions

distributed = pytest.importorskip("distributed", reason="the extra cluster is not installed")
pytest.importorskip("starlette", reason="the extra workbench is not installed")

from validation.workbench.work.far import _files  # noqa: E402

spec = importlib.util.spec_from_file_location("served", Path(__file__).with_name("test_workbench_server.py"))
command = importlib.util.module_from_spec(spec)
spec.loader.exec_module(command)

SUITE = {"suite_name": "far", "user": "Ann", "platforms": "grid4x2", "apps": ["ep", "is", "cg"], "classes": "S",
         "predictors": "hcf", "ranks": "2-8*2"}  # fmt: skip


@pytest.mark.slow
def test_runs_are_made_by_the_workers_of_a_scheduler_and_give_the_same_times(tmp_path):
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster,
        command.served(tmp_path / "mine", tmp_path / "far", "--scheduler", cluster.scheduler_address) as (_, link),
    ):
        browser = command.Browser(link)
        assert browser.post("/panel", **SUITE).getheader("location") == "/queue/1"
        browser.wait_for("/queue/1", "9 of 9 ended")
        assert ">failed 0<" in browser.get("/queue/1")
        far = browser.get("/results.csv")
    with command.served(tmp_path / "mine", tmp_path / "here") as (_, link):
        browser = command.Browser(link)
        browser.post("/panel", **SUITE)
        browser.wait_for("/queue/2", "9 of 9 ended")
        here = browser.get("/results.csv?suite=2")
    assert times(far) == times(here)


def times(text):
    lines = [line.split(",") for line in text.splitlines()]
    columns = [lines[0].index(name) for name in ("app", "ranks", "simulated_s", "predicted_s")]
    return sorted([line[column] for column in columns] for line in lines[1:])


@pytest.mark.slow
def test_a_scheduler_that_does_not_answer_is_told_and_the_runs_wait(tmp_path):
    with command.served(tmp_path / "mine", tmp_path / "store", "--scheduler", "tcp://127.0.0.1:1") as (_, link):
        browser = command.Browser(link)
        browser.post("/panel", **SUITE)
        browser.wait_for("/queue", "No run can be made now")
        assert ">waiting 9<" in browser.get("/queue/1")


@pytest.mark.parametrize("outside", ["../../secret.toml", "/etc/hostname"])
def test_a_worker_gets_no_file_from_outside_the_project(tmp_path, monkeypatch, outside):
    (tmp_path / "mine" / "platforms").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "mine")
    (tmp_path / "secret.toml").write_text("")
    Path("platforms", "mine.toml").write_text(f'hardware = ["{outside}"]\n')
    request = ApplicationOptions(application="application.toml", system="platforms/mine.toml")
    with pytest.raises(UserError, match="outside the project folder"):
        _files(request)
