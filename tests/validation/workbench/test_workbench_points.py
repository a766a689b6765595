"""Suites of applications: their files, the panel, the runs of their points, and their results."""

import csv
import html
import io
import json
import math
import re
import shlex
import shutil
import tomllib
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from apps.errors import SimulationError
from platforms.errors import UserError
from tests.verbs import blocks
from validation.workbench.dispatch.dispatcher import Dispatcher
from validation.workbench.pages.point_results import point_commands, suite_commands
from validation.workbench.project import application_suites
from validation.workbench.project.application_suites import ApplicationForm, read_suite, variables_of, written
from validation.workbench.project.numbers import percent_text
from validation.workbench.project.suite_files import SuiteForm, text_of_form
from validation.workbench.queue.points import point_of, varied_names
from validation.workbench.queue.states import Queue
from validation.workbench.queue.tables import Tables
from validation.workbench.work import evaluating, points, reading
from validation.workbench.work.running import Running

TWO = """
[variables]
work = 1e9
[labels.boss]
count = 1
program = [{ receive_from = "helper" }]
[labels.helper]
count = 2
program = [{ compute = "work" }, { send_to = "boss", bytes = 1000 }]
"""
SUITE = """# mine
applications = ["../applications/two.toml"]
systems = ["../platforms/figure-1.toml"]
models = ["simgrid", "hardware"]
simulate = true

[counts]
boss = 1
slave1 = "1-4"  # all of them
"""
FORM = {"suite_name": "first", "user": "Ann", "applications": "two.toml", "systems": "small.toml"}


@pytest.fixture
def project(project):
    """A project with the system of the paper's Figure 1, a small one for the labels of TWO, and two applications."""
    shutil.copy("examples/systems/merpsys.toml", project.platforms / "figure-1.toml")
    small = '[lan]\nnetwork = "gigabit-ethernet"\n[[lan.node]]\nname = "node"\ncount = 4\ncpu = "core-i7-2600k"\n'
    (project.platforms / "small.toml").write_text(f"{small}slots = {{ boss = 1, helper = 2 }}\n")
    (project.applications / "two.toml").write_text(TWO)
    shutil.copy("validation/workbench/editing/examples/master-slave.toml", project.applications)
    return project


@pytest.fixture
def desk(desk, monkeypatch):
    """A desk that asks the tasks of the worker in this process."""
    tasks = {"describe": points.describe, "count": reading.count, "expand": reading.expand}
    monkeypatch.setattr(
        desk, "_read", lambda task, **values: next(tasks[task](desk.project.folder, **values)), raising=True
    )
    return desk


@pytest.fixture
def made(desk):
    """Return a function that makes all runs that wait, as the dispatcher does."""

    def make():
        with Running(desk.project.folder, desk.project.store, None) as running:
            while job := desk.queue.take(2):
                answers = running.run(
                    desk.project.folder, desk.text_of(job.suite), list(job.runs), [job.hashes[one] for one in job.runs]
                )
                for answer in answers:
                    desk.queue.finish(job.runs[answer["case"]], answer["results"], answer["reason"])

    return make


def states(desk, suite):
    return {state: count for state, count in desk.queue.suite(suite).counts.items() if count}


def test_the_file_of_a_suite_keeps_its_comments_and_its_ranges(project):
    (project.suites / "first.toml").write_text(SUITE)
    form = application_suites.read_form(project, "first")
    assert form.counts == {"boss": "1", "slave1": "1-4"} and form.simulate
    assert application_suites.text_of_form(project, form) == SUITE
    changed = ApplicationForm(**{**vars(form), "variables": {"work": "1e9, 2*boss"}, "simulate": False})
    text = application_suites.text_of_form(project, changed)
    assert text.startswith("# mine\n") and 'slave1 = "1-4"  # all of them' in text
    table = tomllib.loads(text)
    assert table["variables"] == {"work": ["1e9", "2*boss"]} and table["simulate"] is False


def test_values_are_lists_ranges_and_expressions():
    assert read_suite(SUITE).counts["slave1"] == ("1", "2", "3", "4")
    assert variables_of("1e9, 2 * boss", "v") == ("1e9", "2 * boss")
    assert variables_of("min(1, 2)", "v") == ("min(1, 2)",)
    numbers = {2e10: "2e10", 1.5e-9: "1.5e-09", 7: "7", 0.1: "0.1", 123456789.0: "123456789.0"}
    assert {one: written(one) for one in numbers} == numbers


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("models =", "model ="), "suite, model: no such key. "),
        (('"hardware"', '"hardwar/x.json"'), "not in the folder platforms"),
        (("../applications/two", "../../two"), "not in the folder applications"),
        (("../platforms/figure-1", "../platforms/gone"), "not in the folder platforms"),
        (("simulate = true", 'simulate = "yes"'), "neither true nor false"),
        (('"1-4"', '"4-1"'), "'4-1' has no numbers"),
        (('"1-4"', "true"), "not a number, an expression or a list of them"),
        (("[counts]", "powers = ['loud']\n[counts]"), "'loud' is not known"),
        (('"hardware"]', '"simgrid"]'), "a name is given twice"),
        (("figure-1.toml", 'grid3x9.toml", "grid3x9'), "two have the same name"),
    ],
)
def test_a_wrong_suite_is_told_in_one_line(project, change, said):
    with pytest.raises(UserError) as caught:
        application_suites.check_files(project, SUITE.replace(*change))
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_a_value_that_a_command_line_cannot_vary_is_refused():
    with pytest.raises(UserError, match="has a comma or a colon"):
        variables_of("min(1, 2), 3", "v")


def test_a_product_that_is_too_large_is_told_by_its_size(client):
    values = {**FORM, "n:helper": "1-1000", "v:work": ", ".join(map(str, range(1, 201)))}
    text = client.get("/panel/applications/part", params=values).text
    assert "a product of 200,000 runs. Ask for at most 10,000." in text and len(text) < 2000


@pytest.mark.parametrize("page", ["/platforms/small.toml", "/systems/small.toml"])
def test_a_system_leads_to_the_panels_of_applications_and_of_kernels(client, project, monkeypatch, desk, page):
    if page.startswith("/platforms"):
        monkeypatch.setattr(desk, "show", lambda **_: {"text": "small", "hosts": 4})
    text = client.get(page).text
    assert 'href="/panel/applications?systems=small.toml">Use in a suite of applications<' in text
    assert 'href="/panel?platforms=small.toml">Use in a suite of kernels<' in text
    assert 'name="systems" value="small.toml" checked' in client.get("/panel/applications?systems=small.toml").text


def test_a_saved_application_leads_to_its_panel(client):
    link = 'href="/panel/applications?applications=two.toml">Use in a suite<'
    assert link in client.get("/applications/two.toml").text


def test_odd_addresses_and_forms_are_answered_in_one_line(client, send, project):
    (project.applications / "power.toml").write_text(TWO.replace("work", "power"))
    (project.applications / "broken.toml").write_text("[labels")
    answer = send("/panel/applications", {**FORM, "applications": "power.toml"})
    assert answer.status_code == 400 and "the results have a column of this name" in answer.text
    broken = client.get("/panel/applications", params={**FORM, "applications": "broken.toml"})
    assert broken.status_code == 200 and "applications/broken.toml" in broken.text and "not TOML" in broken.text
    assert send("/panel/applications", {**FORM, "systems": "gone.toml"}).status_code == 400
    assert "applications: none is chosen" in send("/panel/applications", {**FORM, "applications": []}).text
    assert client.get("/panel/applications?suite=nothing").status_code == 400
    assert client.get("/panel/applications/fields", params={**FORM, "systems": "../etc"}).status_code == 200


def test_suites_of_kernels_and_of_applications_do_not_overwrite_each_other(project):
    (project.suites / "first.toml").write_text(SUITE)
    with pytest.raises(UserError, match="this is a suite of applications"):
        text_of_form(project, SuiteForm(name="first", platforms=("grid4x2",)))
    (project.suites / "second.toml").write_text('scenarios = ["grid4x2"]\n')
    with pytest.raises(UserError, match="this is a suite of kernels"):
        application_suites.text_of_form(project, ApplicationForm("second", ("two.toml",), ("grid4x2",)))


def test_the_panel_shows_labels_with_their_limits_and_variables(client):
    assert "Choose an application and a system" in client.get("/panel/applications").text
    text = client.get(
        "/panel/applications", params={"applications": "master-slave.toml", "systems": "figure-1.toml"}
    ).text
    # 3,200 Core i7 of four cores, and one Xeon (examples/systems/merpsys.toml)
    assert "in the application 12,800; figure-1 takes up to 12,800" in text
    assert "in the application 1; figure-1 takes up to 1<" in text
    assert 'name="v:operations"' in text and "1 run, 1 evaluation" in text


def test_wrong_values_are_told_at_their_fields(client):
    values = {**FORM, "n:helper": "1, 9", "n:boss": "none", "v:work": "1,,2"}
    text = client.get("/panel/applications/part", params=values).text
    told = dict(re.findall(r'id="wrong-(\S+)" hx-swap-oob="true">([^<]*)<', text))
    assert told["n-helper"] == "9 is more than small takes: up to 8. Those runs would fail."
    assert "is no number and no range" in told["n-boss"] and told["v-work"].startswith("an empty value")
    text = client.get("/panel/applications/part", params={**FORM, "v:work": "1 +"}).text
    told = dict(re.findall(r'id="wrong-(\S+)" hx-swap-oob="true">([^<]*)<', text))
    assert told["v-work"] and "it is told there" in text


def test_the_address_of_the_panel_has_all_that_was_chosen(client):
    values = {**FORM, "n:helper": "1-4", "simulate": "yes", "models": ["simgrid", "hardware"]}
    answer = client.get("/panel/applications/part", params=values)
    assert "4 runs, 8 evaluations" in answer.text and "simulations" in answer.text
    again = client.get(answer.headers["HX-Replace-Url"]).text
    assert re.search(r'name="n:helper" .*value="1-4"', again) and re.search(
        r'name="simulate" value="yes" checked', again
    )


def test_points_are_evaluated_simulated_and_kept(client, send, desk, made):
    answer = send("/panel/applications", {**FORM, "n:helper": "1, 2, 20", "models": ["simgrid", "hardware"],
                                          "simulate": "yes", "v:work": "1e9,2e9"})  # fmt: skip
    assert answer.headers["location"] == "/queue/1"
    assert client.get("/panel?suite=first").headers["location"] == "/panel/applications?suite=first"
    made()
    assert states(desk, 1) == {"done": 4, "failed": 2}
    shown = client.get("/queue/1").text
    assert "20 processes, but 8 free slots" in shown and "helper = 20, work = 1e9" in shown
    assert "Write the report page" not in shown and "has no report page" in shown
    for place in ("figure?suite=1", "front?suite=1", "compare?first=1"):
        assert f'href="/results/{place}"' in shown and client.get(f"/results/{place}").status_code == 200
    rows = list(csv.DictReader(io.StringIO(client.get("/results.csv?suite=1").text)))
    assert len(rows) == 8 and {row["predictor"] for row in rows} == {"simgrid", "hardware"}
    for row in rows:
        # By hand: a core of 3.4 GHz with 8 operations in a cycle (the hardware database).
        assert float(row["helper_computing_s"]) == pytest.approx(float(row["work"]) / (8 * 3.4e9))
        assert float(row["helper_simulated_computing_s"]) == pytest.approx(float(row["work"]) / (8 * 3.4e9))
        parts = sum(float(row[f"boss_{kind}_s"]) for kind in ("computing", "sending", "waiting", "disk"))
        assert parts == pytest.approx(float(row["boss_last_s"])) == float(row["predicted_s"])
        assert float(row["boss_energy_j"]) + float(row["helper_energy_j"]) <= float(row["energy_predicted_j"]) * 1.0001
    exact = [float(row["error_pct"]) for row in rows if row["predictor"] == "simgrid"]
    assert exact == pytest.approx([0.0] * 4, abs=1e-6)  # as docs/blocks/applications.md says of this model
    one = client.get("/results/1").text
    assert "boss" in one and "mean power, W" in one and "simulated" in one


def test_a_suite_is_queued_if_one_of_its_first_points_can_be_placed(client, send, desk):
    refused = send("/panel/applications", {**FORM, "n:helper": "20, 21"})
    assert refused.status_code == 400 and "20 processes, but 8 free slots" in refused.text
    assert send("/panel/applications", {**FORM, "n:helper": "20, 8"}).headers["location"] == "/queue/1"


def test_the_probability_of_success_follows_the_failure_rate(client, send, desk, made):
    text = client.get("/panel/applications/part", params={**FORM, "failure_rate": "often"}).text
    assert "&#39;often&#39; is not a rate" in text and "it is told there" in text
    send("/panel/applications", {**FORM, "failure_rate": "1e-3", "objectives": ["success"]})
    assert "failure_rate = 0.001" in (desk.project.suites / "first.toml").read_text()
    made()
    (row,) = csv.DictReader(io.StringIO(client.get("/results.csv?suite=1").text))
    expected = math.exp(-1e-3 * float(row["predicted_s"]) * int(row["nodes"]))  # docs/blocks/applications.md
    assert float(row["success"]) == pytest.approx(expected) and expected < 1
    assert "most probable success" in client.get("/results?suite=1").text
    assert "--failure-rate=0.001" in client.get("/results/1").text


def test_a_variable_may_be_a_list(client, send, project, desk, made):
    (project.applications / "two.toml").write_text(TWO.replace("work = 1e9", "work = [1e9, 2e9]").replace(
        '"work"', '"work[index]"'))  # fmt: skip
    assert "in the application [1e9, 2e9]" in client.get("/panel/applications", params=FORM).text
    send("/panel/applications", {**FORM, "v:work": "[3e9, 4e9]"})
    made()
    (row,) = csv.DictReader(io.StringIO(client.get("/results.csv?suite=1").text))
    assert row["work"] == "[3e9, 4e9]" and float(row["helper_computing_s"]) == pytest.approx(3.5e9 / (8 * 3.4e9))
    assert "--set=work=[3e9, 4e9]" in unescape(client.get("/results/1").text)


def test_failed_points_are_tried_again_and_a_changed_file_is_told(client, send, desk, project, made):
    send("/panel/applications", {**FORM, "n:helper": "1, 2"})
    (project.applications / "two.toml").write_text(TWO.replace("1000", "2000"))
    made()
    assert states(desk, 1) == {"failed": 2} and "has changed since the suite was queued" in client.get("/queue/1").text
    (project.applications / "two.toml").write_text(TWO)
    send("/queue/1/retry", {"back": "suite"})
    made()
    assert states(desk, 1) == {"done": 2}


def test_a_simulation_that_fails_leaves_the_evaluations_and_their_numbers(client, send, desk, made, monkeypatch):
    def failing(setting, runner):
        raise SimulationError("out of memory")

    send("/panel/applications", {**FORM, "models": ["simgrid", "hardware"], "simulate": "yes"})
    with monkeypatch.context() as changed:
        changed.setattr(evaluating, "simulate", failing)
        made()
    assert states(desk, 1) == {"failed": 1} and "out of memory" in client.get("/queue/1").text
    assert "2 results" in client.get("/results?suite=1").text
    send("/queue/1/retry", {"back": "suite"})
    made()
    rows = desk.queue.tables.rows("SELECT id, simulated_s FROM results ORDER BY id")
    assert [row["id"] for row in rows] == [1, 2] and all(row["simulated_s"] for row in rows)


def test_all_reasons_of_a_run_are_told(client, send, desk, made, monkeypatch):
    def failing(setting, runner):
        raise SimulationError("out of memory")

    def refused(some, make, kind, store, jobs):
        return [UserError("it", f"number {number} is refused", "Take another") for number, _ in enumerate(some)]

    monkeypatch.setattr(evaluating, "simulate", failing)
    monkeypatch.setattr(evaluating, "made_and_kept", refused)
    send("/panel/applications", {**FORM, "models": ["simgrid", "hardware"], "simulate": "yes"})
    made()
    shown = client.get("/queue/1").text
    for reason in ("out of memory", "model simgrid: it: number 0 is refused", "model hardware: it: number 1 is"):
        assert reason in shown


def test_what_the_store_has_is_told_before_the_suite_is_queued_again(client, send, made):
    values = {**FORM, "n:helper": "1, 2"}
    assert "0 in the store, 2 to make" in client.get("/panel/applications/part", params=values).text
    send("/panel/applications", values)
    made()
    assert "2 in the store, 0 to make" in client.get("/panel/applications/part", params=values).text


@pytest.fixture
def done(send, desk, made):
    """Two suites of one application: they differ in the work, and the second has another count."""
    send("/panel/applications", {**FORM, "n:helper": "1, 2, 4", "objectives": ["time", "energy", "success"]})
    send("/panel/applications", {**FORM, "suite_name": "second", "n:helper": "2, 4, 8", "v:work": "4e9"})
    made()
    return desk


def test_results_are_filtered_sorted_and_drawn_over_the_values_of_points(client, done):
    assert varied_names(done.queue.tables, [1]) == ["helper"]
    assert varied_names(done.queue.tables, [1, 2]) == ["helper", "work"]
    text = client.get("/results?suite=1&sort=-v:helper").text
    assert [int(one) for one in re.findall(r'data-key="v:helper">(\d+)<', text)] == [4, 2, 1]
    assert "1 result." in client.get("/results?suite=1&v:helper=2").text
    assert client.get("/results?suite=1&sort=v:nothing").status_code == 400
    assert 'value="4000000000.0"> 4e9 ' in client.get("/results?suite=1&other=2").text
    assert "3 results." in client.get("/results?suite=1&other=2&v:work=4000000000.0").text
    figure = client.get("/results/figure?suite=1&show=speedup&over=v:helper").text
    assert "Speed-up over helper" in figure and "the point on 2 processes" in figure
    both = client.get("/results/figure?suite=1&other=2&over=suite").text
    assert "first (1)" in both and "second (2)" in both
    assert "energy over time" in client.get("/results/front?suite=1").text.lower()
    best = re.search(r"shortest time, s.*?</tr>", client.get("/results?suite=1").text, re.S)[0]
    assert "helper 1<" in best  # with more helpers the boss only receives one message; each has the same work


def test_two_suites_are_compared_by_the_values_of_their_points(client, done):
    assert "second (2)" in client.get("/results/figure?over=v:helper").text  # without suites of kernels, of all suites
    offered = client.get("/results/compare?first=2").text
    assert re.findall(r'<option value="(\d)" selected', offered) == ["2", "1"]  # never a suite beside itself
    text = client.get("/results/compare?first=1&second=2").text
    assert "2 predictions are in both" in text and "1 only in the first, 1 only in the second" in text
    assert "work 1e9 in the first and 4e9 in the second" in text and "Evaluated times differ by" in text


def test_a_simulated_suite_and_one_that_is_not_are_compared_by_their_evaluations(client, send, done, made):
    send("/panel/applications", {**FORM, "suite_name": "third", "n:helper": "2, 4", "v:work": "4e9", "simulate": "yes"})
    made()
    for first, second in ((2, 3), (3, 2)):
        text = client.get(f"/results/compare?first={first}&second={second}").text
        assert "Evaluated times differ by +0.00 %" in text  # the same points, evaluated by the same model
        assert 'data-title="processes"' in text and 'data-title="model"' in text and 'data-title="ranks"' not in text


def test_a_percentage_that_rounds_to_nothing_has_no_sign_of_its_own():
    assert [percent_text(one) for one in (-1e-14, 1e-14, -0.005001, 0.5)] == ["+0.00", "+0.00", "-0.01", "+0.50"]


def test_the_commands_give_the_same_result_to_the_last_digit(client, done, project, monkeypatch, capsys):
    monkeypatch.chdir(project.folder)
    rows = done.queue.tables.rows("SELECT id, run, suite, fields FROM results JOIN details ON result = id WHERE id = 5")
    found = {**dict(rows[0]), "fields": json.loads(rows[0]["fields"])}
    (command,) = point_commands(done, found)
    words = shlex.split(command)
    assert words[:3] == ["gridval", "blocks", "run"] and "--count=helper=4" in words and "--set=work=4e9" in words
    assert blocks([*words[2:], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["time_s"] == found["fields"]["predicted_s"]
    assert command in unescape(client.get("/results/5").text)
    (command,) = suite_commands(done, 2)
    assert blocks([*shlex.split(command)[2:], "--json"]) == 0
    series = json.loads(capsys.readouterr().out)["series"]
    assert [row["time_s"] for row in series][1] == found["fields"]["predicted_s"]
    assert (Path("results-2") / "series.csv").is_file()


def test_all_results_stand_in_one_table_and_are_removed_with_their_suite(client, send, desk, done, cases, row):
    done.queue.add("kernels", "Bob", cases(1))
    (run,) = done.queue.take(1).runs.values()
    done.queue.finish(run, [row()])
    text = client.get("/results").text
    assert "7 results" in text and "helper = 2" in text and "grid4x2" in text
    lines = list(csv.DictReader(io.StringIO(client.get("/results.csv").text)))
    assert lines[0]["helper_last_s"] and lines[6]["helper_last_s"] == "" and lines[6]["evidence_share"] == "0.25"
    done.remove(1)
    assert done.queue.tables.rows("SELECT count(*) FROM points")[0][0] == 3


def test_timelines_and_reports_are_refused_in_one_line(client, send, done):
    assert "points of applications have no timeline here" in client.get("/results/1/timeline").text
    assert "points of applications have no graph here" in client.get("/results/1/graph").text
    from validation.workbench.work.showing import report

    with pytest.raises(UserError, match="no timeline and no report page"):
        next(report(done.project.folder, done.text_of(1), str(done.project.store), "report.html", "first", tell=print))


def test_runs_of_a_killed_server_wait_again_and_cancelled_ones_stay(desk, project, send):
    send("/panel/applications", {**FORM, "n:helper": "1-8"})
    desk.queue.take(2)  # as a server that is killed now
    dispatcher = Dispatcher(project, desk.queue, desk.text_of)
    desk.queue.give_back()
    assert states(desk, 1) == {"waiting": 8}
    dispatcher.cancel(1)
    assert states(desk, 1) == {"cancelled": 8}
    send("/queue/1/resume", {"back": "suite"})
    assert states(desk, 1) == {"waiting": 8}


def test_a_queue_of_an_earlier_version_takes_suites_of_applications(tmp_path, cases):
    tables = Tables(tmp_path / "queue.sqlite")
    with tables.changing() as connection:
        connection.execute("DROP TABLE points")
    tables.close()
    queue = Queue(Tables(tmp_path / "queue.sqlite"))
    queue.add("first", "Ann", [replace(cases(1)[0], point='{"slave1": 8}')])
    assert point_of(queue.tables, 1) == '{"slave1": 8}' and not varied_names(queue.tables, [1])


def test_a_result_is_laid_over_the_drawing_of_its_system(client, done):
    page = html.unescape(client.get("/systems/small.toml?result=1").text)
    row = next(csv.DictReader(io.StringIO(client.get("/results.csv?suite=1").text)))
    share = 100 * float(row["helper_computing_s"]) / float(row["predicted_s"])
    assert row["helper"] == "1" and f"1 helper placed, {share:.3g} % computing" in page
    raw = re.search(r'data-elements="(.*?)"', client.get("/systems/small.toml?result=1").text)[1]
    elements = json.loads(html.unescape(raw))
    (figures,) = [one["data"]["figures"] for one in elements if "figures" in one["data"]]
    boss = 100 * float(row["boss_computing_s"]) / float(row["predicted_s"])
    assert figures["computing"] == pytest.approx((share + boss) / 2)
    assert figures["load"] == pytest.approx(2 / 12)  # 2 processes; 4 nodes take a boss and two helpers each
    wrong = client.get("/systems/figure-1.toml?result=1").text
    assert "not one of an application on this system" in html.unescape(wrong)
