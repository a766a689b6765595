"""The pages of the workbench: platforms, panel, queue and results, as a browser without scripts sees them."""

import csv
import io
import re
import shlex
import tomllib

import pytest

from platforms.command.values import parsed
from validation.entrance.choosing import choose
from validation.workbench.pages.results import run_command, suite_command

GRID = {
    "grid_name": "mine", "network": "gigabit", "shape": "mesh", "clusters": "2", "nodes_1": "8", "speed_1": "40",
    "cores_1": "1", "nodes_2": "8", "speed_2": "50", "cores_2": "1",
}  # fmt: skip
SUITE = {"suite_name": "first", "user": "Ann", "platforms": "grid4x2", "apps": ["cg", "ep"], "ranks": "2-8*2"}


@pytest.fixture
def results(desk, cases, row):
    """A suite of which three runs are done and one has failed."""
    text = 'scenarios = ["grid4x2"]\napps = ["cg"]\nclasses = ["S"]\npredictors = ["hcf", "npt"]\n'
    (desk.project.private / "queued" / "1.toml").write_text(text)
    suite = desk.queue.add("first", "Ann", cases(4))
    runs = list(desk.queue.take(4).runs.values())
    for run in runs[:3]:
        desk.queue.finish(run, [row("hcf", predicted_s=1 + run), row("npt", predicted_s=None, flags="out of range")])
    desk.queue.finish(runs[3], [], "no route between a and b")
    return suite


def test_empty_pages_say_what_to_do_first(client):
    for path, said in (("/platforms", "no files yet"), ("/panel", "Choose a platform"), ("/queue", "queue is empty"),
                       ("/results", "no results yet")):  # fmt: skip
        answer = client.get(path)
        assert answer.status_code == 200 and said in answer.text
    assert client.get("/").headers["location"] == "/platforms"


def test_a_grid_is_made_from_the_form_and_downloaded_as_toml_and_xml(client, send, project):
    answer = send("/platforms/new", GRID)
    assert answer.headers["location"] == "/platforms/mine.toml"
    shown = client.get("/platforms/mine.toml")
    assert "holds 16 hosts" in shown.text and 'src="/platforms/mine.toml/picture.svg"' in shown.text
    downloaded = client.get("/platforms/mine.toml/file.toml")
    assert downloaded.content == (project.platforms / "mine.toml").read_bytes()
    assert len(tomllib.loads(downloaded.text)["clusters"]) == 2
    assert client.get("/platforms/mine.toml/file.xml").text == "<platform/>"
    assert client.get("/platforms/grid4x2/file.toml").status_code == 400


def test_a_wrong_grid_keeps_what_was_typed(send, project):
    answer = send("/platforms/new", GRID | {"speed_2": "quick"})
    assert answer.status_code == 400
    assert "cluster 2, speed" in answer.text and 'value="quick"' in answer.text and 'value="mine"' in answer.text
    assert list(project.platforms.iterdir()) == []


def test_the_form_of_a_grid_is_kept_in_the_address(client):
    answer = client.get("/platforms/new/part", params=GRID | {"clusters": "3", "nodes_3": "5"})
    address = answer.headers["HX-Replace-Url"]
    assert address.startswith("/platforms/new?")
    again = client.get(address).text
    assert 'name="nodes_3" value="5"' in again and 'value="mine"' in again


def test_the_picture_may_not_act(client):
    answer = client.get("/platforms/grid4x2/picture.svg")
    assert answer.headers["content-type"] == "image/svg+xml"
    assert answer.headers["content-security-policy"] == "default-src 'none'; style-src 'unsafe-inline'; sandbox"


def test_an_upload_is_checked_kept_and_shown(client, send, project, desk):
    answer = send("/platforms/upload", files={"file": ("site.xml", b"<platform/>")})
    assert answer.headers["location"] == "/platforms/site.xml"
    assert (project.platforms / "site.xml").read_bytes() == b"<platform/>"
    assert [task for task, _ in desk.asked] == ["show"]
    again = send("/platforms/upload", files={"file": ("site.xml", b"<platform/>")})
    assert again.status_code == 400 and "one of this name" in again.text
    assert "site.xml" in client.get("/panel").text


def test_an_upload_that_simgrid_cannot_load_is_not_kept(send, project, desk, monkeypatch):
    from platforms.errors import PlatformError

    def refuse(task, *, name, **_):
        raise PlatformError(f"{name}:3", "no such zone", "Correct it")

    monkeypatch.setattr(desk, "_read", refuse)
    answer = send("/platforms/upload", files={"file": ("site.xml", b"<platform/>")})
    assert answer.status_code == 400 and "site.xml:3: no such zone. Correct it." in answer.text
    assert str(project.folder / ".workbench") not in answer.text
    assert [path for path in project.folder.rglob("*.xml")] == []


def test_a_suite_is_counted_saved_and_queued(client, send, project, desk):
    part = client.get("/panel/part", params=SUITE)
    assert "3 runs, 6 predictions" in part.text and "1 in the store" in part.text
    assert "user" not in part.headers["HX-Replace-Url"] and "ranks=2-8" in part.headers["HX-Replace-Url"]
    answer = send("/panel", SUITE)
    assert answer.headers["location"] == "/queue/1"
    written = (project.suites / "first.toml").read_text()
    assert tomllib.loads(written) == {"scenarios": ["grid4x2"], "apps": ["cg", "ep"], "ranks": [2, 4, 8]}
    assert desk.text_of(1) == written
    suite = desk.queue.suite(1)
    assert (suite.name, suite.owner, suite.total) == ("first", "Ann", 3)
    assert 'value="Ann"' in client.get("/panel").text  # typed once


def test_a_suite_may_be_saved_only(send, project, desk):
    assert send("/panel", {**SUITE, "then": "save"}).headers["location"] == "/panel?suite=first"
    assert (project.suites / "first.toml").exists() and desk.queue.suites() == []


@pytest.mark.parametrize(("change", "said"), [({"user": " "}, "your name"), ({"ranks": "many"}, "ranks:"),
                                              ({"suite_name": "../x"}, "name of the suite"),
                                              ({"platforms": "../../x.xml"}, "not in the folder")])  # fmt: skip
def test_a_wrong_suite_keeps_what_was_typed(send, desk, change, said):
    answer = send("/panel", SUITE | change)
    assert answer.status_code == 400 and said in answer.text
    assert re.search(r'value="ep"\s+checked', answer.text)
    assert desk.queue.suites() == []


def test_two_users_see_each_others_suites(client, send):
    send("/panel", SUITE)
    send("/panel", SUITE | {"user": "Bob", "suite_name": "second"})
    shown = client.get("/queue").text
    assert ">Ann<" in shown and ">Bob<" in shown and shown.index(">first<") < shown.index(">second<")
    send("/queue/2/up")
    shown = client.get("/queue").text
    assert shown.index(">second<") < shown.index(">first<")


def test_a_suite_is_cancelled_and_continued_by_its_buttons(client, send, desk):
    send("/panel", SUITE)
    assert ">Cancel<" in client.get("/queue/1").text and ">Continue<" not in client.get("/queue/1").text
    send("/queue/1/cancel")
    assert desk.queue.suite(1).counts["cancelled"] == 3
    assert ">Continue<" in client.get("/queue/1").text
    send("/queue/1/resume")
    assert desk.queue.suite(1).counts["waiting"] == 3
    assert send("/queue/1/burn").status_code == 400


def test_the_runs_of_a_suite_are_listed_by_state_with_the_reason_of_a_failure(client, results):
    shown = client.get(f"/queue/{results}?state=failed").text
    assert "no route between a and b" in shown and shown.count(">failed<") == 1
    assert client.get(f"/queue/{results}?state=lost").status_code == 400
    assert client.get("/queue/99").status_code == 400


def test_results_are_sorted_and_filtered_by_the_server(client, results):
    rising = client.get(f"/results?suite={results}&predictor=hcf&sort=error_pct").text
    assert [float(one) for one in re.findall(r">\+(\d+\.\d\d)<", rising)] == [100.0, 200.0, 300.0]
    assert 'aria-sort="ascending"' in rising and "sort=-error_pct" in rising
    part = client.get("/results?q=&suite=&predictor=npt", headers={"hx-request": "true"})
    assert part.headers["HX-Push-Url"] == "/results?predictor=npt" and "out of range" in part.text
    assert "no results with this filter" in client.get("/results?app=lu").text


def test_the_csv_has_all_fields_of_the_filtered_results(client, results):
    answer = client.get(f"/results.csv?suite={results}&predictor=hcf&sort=-predicted_s")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [float(one["predicted_s"]) for one in rows] == [4.0, 3.0, 2.0]
    assert rows[0]["scenario"] == "grid4x2" and "filename=" in answer.headers["content-disposition"]


def test_a_result_has_an_address_of_its_own_and_the_commands_that_repeat_it(client, desk, results):
    shown = client.get("/results/1").text
    assert "gridval series campaign suites/first.toml" in shown and "has changed since" in shown
    again = choose(shlex.split(suite_command(desk, results))[1:])
    assert again.place == "validation.campaign"
    assert parsed(again.command.request, again.parser(), again.words).file == "suites/first.toml"
    found = {"suite": results, "run": 1, "fields": {"predictor": "hcf"}}
    assert run_command(desk, found) == (
        "gridval run --scenario grid4x2 --network gigabit --app cg --class S --ranks 1 --mapping block "
        f"--efficiency reference --predictor hcf --store {desk.project.store}"
    )
    text = desk.text_of(results)
    (desk.project.suites / "first.toml").write_text(text)
    assert "has changed since" not in client.get("/results/1").text
    (desk.project.private / "queued" / "1.toml").write_text(text + 'iterations = "full"\n')
    assert run_command(desk, found) is None


def test_the_file_of_a_suite_is_downloaded_as_it_was_queued(client, desk, results):
    assert client.get(f"/queue/{results}/suite.toml").text == desk.text_of(results)


@pytest.mark.parametrize(
    "path", ["/queue/9", "/queue/99999999999999999999", "/results/99999999999999999999", "/results?page=0"]
)
def test_numbers_that_do_not_exist_are_told(client, path):
    answer = client.get(path)
    assert answer.status_code == 400 and 'role="alert"' in answer.text


def test_an_address_that_does_not_exist_is_told_on_a_page(client):
    answer = client.get("/nowhere")
    assert answer.status_code == 404 and "there is no such page" in answer.text
