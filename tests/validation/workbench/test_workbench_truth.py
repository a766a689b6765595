"""Pages say before what comes after: which predictions are refused, what does not fit, and how a result is repeated."""

import json
import os
import re
import shlex
import shutil
from pathlib import Path

import pytest
from gridval.__main__ import main as gridval

from validation.workbench.dispatch.desk import Desk
from validation.workbench.pages.results import run_command, suite_command
from validation.workbench.project.folder import open_project
from validation.workbench.queue.results import one_result
from validation.workbench.queue.states import Queue
from validation.workbench.queue.suites import QueuedCase, Suite
from validation.workbench.queue.tables import Tables
from validation.workbench.work.reading import count, expand
from validation.workbench.work.running import Running

ROOT = Path(__file__).parents[3]
REFUSED = re.compile(r"no answer from (\S+), (\d+) predictions?: (.*)")


def made(project, text):
    """Make all runs of a suite in this process, and return the answers."""
    (expanded,) = expand(project.folder, text)
    hashes = [case[-1] for case in expanded["cases"]]
    with Running(project.folder, project.store, None) as running:
        return list(running.run(project.folder, text, list(range(len(hashes))), hashes))


def test_the_panel_says_which_predictions_will_be_refused_and_a_misfit_is_left_out(project):
    text = (
        'scenarios = ["grid4x2"]\napps = ["ep"]\nclasses = ["S"]\nranks = [1, 2, 4, 9]\n'
        'predictors = ["hcf", "fit:log", "npt", "dpgraph:li-size"]\n'
    )
    (counted,) = count(project.folder, text, str(project.store), 1)
    assert (counted["runs"], counted["predictions"]) == (3, 12)
    left_out = "left out: platform grid4x2: 9 ranks do not fit: 8 hosts with 1 each. Give at most 8 ranks."
    assert left_out in counted["plan"]
    before = {}
    for name, many, reason in (match.groups() for match in map(REFUSED.fullmatch, counted["plan"]) if match):
        before.setdefault(name, []).extend([reason] * int(many))
    after = {}
    for row in (row for answer in made(project, text) for row in answer["results"] if row["predicted_s"] is None):
        after.setdefault(row["predictor"], []).append(row["flags"])
    assert {name: len(reasons) for name, reasons in after.items()} == {
        name: len(reasons) for name, reasons in before.items()
    }
    assert sum(map(len, after.values())) >= 6  # half of the table would be blank
    for name, reasons in after.items():
        assert all(any(said in reason for said in before[name]) for reason in reasons), name


GRID = 'network = "gigabit"\n[[clusters]]\nnodes = 4\nspeed_gflops = 40\n[[clusters]]\nnodes = 4\nspeed_gflops = 60\n'


@pytest.fixture
def places(project):
    """One platform of each kind that suites may have, by the key of a campaign file and the name there."""
    shutil.copy(ROOT / "examples" / "systems" / "figure-2.toml", project.platforms)
    shutil.copy(ROOT / "examples" / "platforms" / "campus.xml", project.platforms)
    (project.platforms / "mine.toml").write_text(GRID)
    return {
        "scenario": ("scenarios", "grid4x2"), "grid": ("scenarios", "../platforms/mine.toml"),
        "system": ("scenarios", "../platforms/figure-2.toml"), "file": ("platforms", "../platforms/campus.xml"),
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["scenario", "grid", "system", "file"])
def test_the_commands_of_a_result_repeat_it_on_each_kind_of_platform(project, places, kind, capsys):
    key, name = places[kind]
    networks = 'networks = ["metro"]\n' if kind in ("scenario", "grid") else ""
    text = f'{key} = ["{name}"]\n{networks}apps = ["ep"]\nclasses = ["S"]\nranks = [4]\npredictors = ["hcf"]\n'
    desk = Desk(project)
    try:
        (project.suites / "one.toml").write_text(text)
        (project.private / "queued" / "1.toml").write_text(text)
        (expanded,) = expand(project.folder, text)
        desk.queue.add("one", "Ann", [QueuedCase(0, *expanded["cases"][0])])
        (answer,) = made(project, text)
        desk.queue.finish(desk.queue.take(1).runs[0], answer["results"], answer["reason"])
        result = one_result(desk.queue.tables, 1)
        commands = [run_command(desk, result), suite_command(desk, 1)]
    finally:
        desk.stop()
    here = os.getcwd()
    os.chdir(project.folder)
    try:
        for command in commands:
            words = shlex.split(command)
            assert words[0] == "gridval"
            capsys.readouterr()
            assert gridval([*words[1:], "--json"]) == 0, command
            row = json.loads(capsys.readouterr().out)["results"][0]
            assert row["predicted_s"] == result["fields"]["predicted_s"], command
            assert row["simulated_s"] == result["fields"]["simulated_s"]
    finally:
        os.chdir(here)


def test_a_run_without_any_prediction_has_a_state_of_its_own(client, desk, cases, row):
    desk.queue.add("one", "Ann", cases(2))
    first, second = desk.queue.take(2).runs.values()
    desk.queue.finish(first, [row(predicted_s=None, flags="too few nodes"), row("npt", predicted_s=None)])
    desk.queue.finish(second, [row(), row("npt", predicted_s=None)])
    suite = desk.queue.suite(1)
    assert (suite.counts["done, no prediction"], suite.counts["done"], suite.ended, suite.state) == (1, 1, 2, "done")
    text = client.get("/queue/1", params={"state": "done, no prediction"}).text
    assert "too few nodes" in text and text.count('<tr><th scope="row"') == 1


def test_the_queue_says_how_long_a_suite_has_taken_and_how_long_it_will():
    counts = {"waiting": 2, "running": 0, "done": 2, "done, no prediction": 0, "failed": 0, "cancelled": 0}
    ranks = {**counts, "waiting": 30, "done": 10}  # the others are three times as large
    suite = Suite(1, "one", "Ann", 0.0, counts, ranks, begun_s=100.0, last_s=160.0)
    assert (suite.spent_s(160.0), suite.left_s(160.0)) == (60.0, 180.0)
    done = Suite(1, "one", "Ann", 0.0, {**counts, "waiting": 0}, {**ranks, "waiting": 0}, 100.0, 160.0)
    assert (done.spent_s(999.0), done.left_s(999.0)) == (60.0, None)
    assert Suite(1, "one", "Ann", 0.0, counts, ranks).spent_s(9.0) is None


def test_the_page_of_the_queue_shows_the_time_so_far(client, desk, cases, row):
    desk.queue.add("one", "Ann", cases(3))
    assert "so far" not in client.get("/queue").text
    desk.queue.finish(desk.queue.take(1).runs[0], [row()])
    assert "1 s so far" in client.get("/queue").text and "left" in client.get("/queue").text


SUITE = {"suite_name": "first", "platforms": "grid4x2", "apps": "ep", "classes": "S", "predictors": "hcf"}


def test_of_two_people_who_save_a_suite_of_one_name_the_second_is_told(client, send, project):
    seen = re.search(r'name="form_seen" value="(\w*)"', client.get("/panel").text)[1]
    ann = {**SUITE, "user": "Ann", "form_seen": seen, "then": "save"}
    assert send("/panel", ann).status_code == 303
    assert send("/panel", ann).status_code == 303  # the same again
    written = (project.suites / "first.toml").read_text()
    bob = {**ann, "user": "Bob", "ranks": "4"}
    refused = send("/panel", bob)
    assert refused.status_code == 400 and "there is a suite of this name already" in refused.text
    assert (project.suites / "first.toml").read_text() == written
    assert 'name="replace"' in refused.text and 'value="Bob"' in refused.text
    opened = re.search(r'name="form_seen" value="(\w+)"', client.get("/panel?suite=first").text)[1]
    assert send("/panel", {**bob, "form_seen": opened}).status_code == 303
    changed = send("/panel", {**ann, "form_seen": opened, "ranks": "8"})
    assert changed.status_code == 400 and "changed meanwhile" in changed.text
    assert send("/panel", {**ann, "form_seen": opened, "ranks": "8", "replace": "1"}).status_code == 303
    assert "ranks = [8]" in (project.suites / "first.toml").read_text()


def finished(queue, row, name, values):
    """Add a suite of (kernel, network, time, energy), and finish its runs."""
    queue.add(name, "Ann", [
        QueuedCase(at, "grid4x2", network, app, "S", 4, "block", "reference", "h")
        for at, (app, network, _, _) in enumerate(values)
    ])  # fmt: skip
    job = queue.take(len(values))
    for at, (app, _, time_s, energy_j) in enumerate(values):
        energies = {"energy_simulated_j": energy_j, "energy_predicted_j": energy_j}
        queue.finish(job.runs[at], [row(simulated_s=time_s, app=app, **energies)])


def test_each_workload_has_a_front_of_its_own(client, desk, row):
    values = [("ep", "gigabit", 1.0, 10.0), ("cg", "gigabit", 5.0, 50.0), ("cg", "metro", 9.0, 40.0)]
    finished(desk.queue, row, "one", values)
    text = client.get("/results/front?suite=1").text
    assert "simulated, ep: 1 of 1 on the front" in text and "simulated, cg: 2 of 2 on the front" in text
    assert "<h2>The front of cg</h2>" in text and '<td class="number">50</td>' in text  # ep does not beat it


def test_a_comparison_ignores_what_is_chosen_and_has_each_workload(client, desk, row):
    finished(desk.queue, row, "one", [("ep", "gigabit", 1.0, 1.0), ("cg", "metro", 2.0, 1.0)])
    finished(desk.queue, row, "two", [("ep", "infiniband", 0.5, 1.0), ("cg", "gigabit", 1.8, 1.0)])
    assert "nothing in common" in client.get("/results/compare?first=1&second=2").text
    text = client.get("/results/compare?first=1&second=2&ignore=network").text
    assert "2 predictions are in both" in text and "ignoring network" in text
    rows = re.findall(r'<th scope="row">(\w+ S)</th><td class="number">1</td><td class="number">([-+.\d]+)</td>', text)
    assert rows == [("ep S", "-50.00"), ("cg S", "-10.00")]


def test_a_queue_of_an_earlier_version_is_read(tmp_path, cases, row):
    queue = Queue(Tables(tmp_path / "queue.sqlite"))
    queue.add("one", "Ann", cases(1))
    queue.finish(queue.take(1).runs[0], [row(predicted_s=None)], "")
    with queue.tables.changing() as connection:
        connection.execute("UPDATE runs SET state = 'done'")
    assert queue.suite(1).done == 1
    assert open_project(tmp_path / "mine", str(tmp_path / "store")).suites.is_dir()
