"""What belongs to results: measured times, downloads, timelines, reports, removal, and programs of the user."""

import io
import json

import pytest

from apps.errors import SimulationError
from platforms.errors import UserError
from validation.campaign import read_campaign
from validation.workbench.dispatch.desk import Desk
from validation.workbench.dispatch.dispatcher import Dispatcher
from validation.workbench.pages import downloads
from validation.workbench.project.folder import open_project
from validation.workbench.project.own_programs import program_files
from validation.workbench.project.suite_files import SuiteForm, check_files, read_form, text_of_form
from validation.workbench.queue.results import ResultsView
from validation.workbench.queue.suites import QueuedCase
from validation.workbench.work import child, showing
from validation.workbench.work.campaigns import campaign_of, content_of
from validation.workbench.work.graphs import graph
from validation.workbench.work.tables import parquet

SUITE = 'scenarios = ["grid4x2"]\napps = ["cg"]\nclasses = ["S"]\npredictors = ["hcf", "npt"]\n'
OWN = f'{SUITE}[[programs]]\nfile = "../programs/mine.c"\narguments = "8"\n'


@pytest.fixture
def done(desk, cases, row):
    """A suite whose three runs are done."""
    (desk.project.private / "queued" / "1.toml").write_text(SUITE)
    (desk.project.suites / "first.toml").write_text(SUITE)
    suite = desk.queue.add("first", "Ann", cases(3))
    for run in desk.queue.take(3).runs.values():
        desk.queue.finish(run, [row("hcf", ranks=run, predicted_s=1 + run, feature_ratio=float("nan"))])
    return suite


def test_measured_times_stand_beside_the_simulated_ones(client, project, done):
    assert "measured, s" not in client.get("/results").text
    project.measured.mkdir()
    (project.measured / "a.csv").write_text(
        "app,platform,class,ranks,time_s\ncg,grid4x2,S,2,7.25\ncg,grid4x2,S,2,7.75\n"
    )
    text = client.get("/results").text
    assert "measured, s" in text and text.count("7.5<") == 1  # the median of the repeats
    assert "7.5<" in client.get("/results/2").text and "measured" in client.get("/results/figure?over=ranks").text


def add_case(desk, row, number, **of_case):
    (desk.project.private / "queued" / f"{number}.toml").write_text(SUITE)
    case = QueuedCase(0, **{"platform": "grid4x2", "network": "gigabit", "app": "cg", "preset": "S", "ranks": 2,
                      "mapping": "block", "efficiency": "reference", "platform_hash": "h", **of_case})  # fmt: skip
    desk.queue.add("more", "Ann", [case])
    (run,) = desk.queue.take(1).runs.values()
    desk.queue.finish(run, [row("hcf")])


@pytest.mark.parametrize(("key", "value"), [("network", "metro"), ("mapping", "cyclic")])
def test_measured_times_stand_only_beside_the_run_that_they_mean(client, desk, project, done, row, key, value):
    project.measured.mkdir()
    (project.measured / "a.csv").write_text("app,platform,class,ranks,time_s\ncg,grid4x2,S,2,7.25\n")
    assert client.get("/results").text.count("7.25<") == 1  # one network and one mapping: no other run can be meant
    add_case(desk, row, 2, **{key: value})
    text = client.get("/results").text
    assert "7.25<" not in text and f"a.csv: no {key}, and the results of grid4x2 have" in text
    assert "7.25<" not in client.get("/results/2").text
    (project.measured / "a.csv").write_text(f"app,platform,class,ranks,{key},time_s\ncg,grid4x2,S,2,{value},7.125\n")
    text = client.get("/results").text
    assert text.count("7.125<") == 1 and "a.csv" not in text
    assert "7.125<" not in client.get("/results/2").text and "7.125<" in client.get("/results/4").text


def test_wrong_or_foreign_files_of_measured_times_are_told(client, project, done, tmp_path):
    project.measured.mkdir()
    (project.measured / "a.csv").write_text("app,ranks\ncg,2\n")
    (tmp_path / "secret.csv").write_text("root,hunter2\n")
    (project.measured / "b.csv").symlink_to(tmp_path / "secret.csv")
    text = client.get("/results").text
    assert "no column platform" in text and "outside of the project folder" in text and "hunter2" not in text


def test_a_suite_is_removed_after_a_question(client, send, desk, done):
    desk.record("timeline", 1)
    desk.record("graph", 1)
    (desk.project.private / "reports").mkdir()
    desk.reports.path(done).write_text("x")
    text = client.get("/queue/1/remove").text
    assert "Remove suite first of Ann?" in text and "3 runs leave the queue" in text and desk.queue.suites()
    assert send("/queue/1/remove").headers["location"] == "/queue"
    assert desk.queue.suites() == [] and ResultsView().count(desk.queue.tables) == 0
    assert (desk.project.suites / "first.toml").read_text() == SUITE
    left = [path.name for path in desk.project.private.rglob("*") if path.is_file() and "sqlite" not in path.name]
    assert left == ["secret"]
    assert "no such result" in client.get("/results/1").text and send("/queue/1/remove").status_code == 400


def test_numbers_of_what_was_removed_are_never_given_again(desk, cases, row, done):
    desk.remove(done)
    again = desk.queue.add("second", "Ann", cases(2))
    assert again == done + 1 == desk.queue.next_number() - 1
    (run, _) = desk.queue.take(2).runs.values()
    assert run == 4 and desk.queue.finish(run, [row()])
    assert [one["id"] for one in ResultsView().rows(desk.queue.tables)] == [4]


def test_a_run_that_ends_after_its_suite_was_removed_leaves_nothing(desk, cases, row):
    suite = desk.queue.add("first", "Ann", cases(1))
    (run,) = desk.queue.take(1).runs.values()
    desk.remove(suite)
    assert not desk.queue.finish(run, [row()]) and ResultsView().count(desk.queue.tables) == 0


def test_the_timeline_is_recorded_once_and_then_shown(client, send, desk, done):
    assert "not recorded yet" in client.get("/results/2/timeline").text
    for _ in range(2):
        assert send("/results/2/timeline").headers["location"] == "/results/2/timeline"
    assert [task for task, _ in desk.asked] == ["timeline"]
    text = client.get("/results/2/timeline").text
    assert "rank 0 on a-0" in text and "number 4 of 5" in text
    assert text.count("</script>") == text.count("<script")  # the data cannot end their element
    answer = client.get("/timeline.js")
    assert answer.headers["content-type"].startswith("text/javascript") and "class Timeline" in answer.text


def test_the_graph_is_recorded_once_and_then_shown(client, send, desk, done):
    assert 'href="/results/2/graph"' in client.get("/results/2").text
    assert "not recorded yet" in client.get("/results/2/graph").text
    for _ in range(2):
        assert send("/results/2/graph").headers["location"] == "/results/2/graph"
    assert [task for task, _ in desk.asked] == ["graph"]
    text = client.get("/results/2/graph").text
    assert "cg.c:66 &lt;b&gt;" in text and "-50.00" in text  # the graph says 1 s, and the simulation 2 s
    assert client.post("/results/2/graph", headers={"origin": "http://evil.example"}).status_code == 403


def test_the_graph_of_a_run_has_the_time_of_its_simulation_by_place(tmp_path):
    (tmp_path / "suites").mkdir()
    text = 'scenarios = ["grid4x2"]\napps = ["ep"]\nclasses = ["S"]\nranks = [4]\npredictors = ["hcf"]\n'
    known = content_of(campaign_of(tmp_path, text).cases[0].target)
    made = next(graph(tmp_path, text, 0, known))
    path_s = sum(row[3] for row in made["rows"])
    assert path_s == pytest.approx(made["simulated_s"], rel=0.01)  # the critical path is the run time, but for clocks
    assert sum(row[2] for row in made["rows"]) == pytest.approx(made["predicted_s"], rel=1e-6)
    places = {row[1] for row in made["rows"]}
    assert any(place.startswith("ep.c:") for place in places)
    computed = [row for row in made["rows"] if row[0] == "computation"]
    assert [row[4] for row in computed] == pytest.approx([row[5] for row in computed])  # both count the same operations
    with pytest.raises(UserError, match="has changed since"):
        next(graph(tmp_path, text, 0, "another hash"))


def test_a_simulation_that_fails_is_a_reason_and_no_end_of_the_worker(tmp_path):
    def failing(folder):
        raise SimulationError("cg S on 8 ranks: time limit of 120 s")
        yield {}

    answers = io.StringIO()
    child._serve({"task": "graph"}, {"graph": failing}, tmp_path, answers)
    assert json.loads(answers.getvalue())["error"][:2] == ["simulation", "cg S on 8 ranks: time limit of 120 s"]


def test_there_is_no_report_before_all_runs_are_done(client, send, desk, cases):
    (desk.project.private / "queued" / "1.toml").write_text(SUITE)
    desk.queue.add("first", "Ann", cases(3))
    assert (
        "0 of 3 runs are done" in send("/queue/1/report").text and "Write the report" not in client.get("/queue/1").text
    )


def test_results_are_downloaded_as_parquet(client, desk, done, monkeypatch):
    files = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    monkeypatch.setattr(desk, "_show", lambda task, **values: next(parquet(desk.project.folder, **values)))
    table = files.read_table(io.BytesIO(client.get("/results.parquet?predictor=hcf").content))
    assert table.column("ranks").to_pylist() == [1, 2, 3] and str(table.schema.field("class").type) == "string"
    assert table.column("predicted_s").to_pylist() == [2, 3, 4]
    assert "as Parquet" in client.get("/results").text
    assert client.get("/results.parquet?predictor=none").status_code == 400
    assert not list(desk.project.private.glob("tmp*"))


def test_without_pyarrow_parquet_is_not_offered(client, done, monkeypatch):
    monkeypatch.setattr(downloads.importlib.util, "find_spec", lambda name: None)
    text = client.get("/results").text
    assert "as Parquet" not in text and "Download as CSV" in text


def test_a_report_of_too_many_runs_names_the_command(tmp_path, monkeypatch):
    monkeypatch.setattr(showing, "MOST_REPORTED", 1)
    text = 'scenarios = ["grid4x2"]\napps = ["ep"]\nclasses = ["S"]\nranks = [2, 4]\npredictors = ["hcf"]\n'
    with pytest.raises(UserError, match=r"gridval series campaign suites/a\.toml --report"):
        list(showing.report(tmp_path, text, str(tmp_path), "x.html", "a", tell=print))


def test_the_timeline_of_a_changed_platform_is_not_recorded(tmp_path):
    with pytest.raises(UserError, match="has changed since"):
        list(showing.timeline(tmp_path, SUITE, 0, "another hash"))


def with_program(project):
    project.programs.mkdir(exist_ok=True)
    (project.programs / "mine.c").write_text("int main(void) { return 0; }\n")
    return project


@pytest.mark.parametrize("allowed", [False, True])
def test_programs_of_the_user_run_only_where_the_server_allows_them(tmp_path, allowed):
    project = with_program(open_project(tmp_path / "mine", str(tmp_path / "store"), allow_programs=allowed))
    if allowed:
        check_files(project, OWN)
    else:
        with pytest.raises(UserError, match="--allow-programs"):
            check_files(project, OWN)


@pytest.mark.parametrize(
    "line",
    ['file = "../../other.c"', 'file = "/bin/true"', 'file = "../programs/mine.c"\nflags = "-fplugin=x.so"',
     'file = "../programs/mine.c"\nflags = "-I/etc"', 'file = "../programs/mine.c"\nflags = "-wrapper sh,-c,ls"',
     'file = "../programs/mine.c"\nflags = "@/etc/passwd"'],
)  # fmt: skip
def test_programs_and_flags_reach_nothing_outside_of_the_project(tmp_path, line):
    project = with_program(open_project(tmp_path / "mine", str(tmp_path / "store"), allow_programs=True))
    with pytest.raises(UserError):
        check_files(project, f"{SUITE}[[programs]]\n{line}\n")


def test_a_waiting_program_does_not_run_on_a_server_that_no_longer_allows_programs(tmp_path, cases):
    project = with_program(open_project(tmp_path / "mine", str(tmp_path / "store"), jobs=1))
    desk = Desk(project)
    suite = desk.queue.add("own", "Ann", cases(2))
    dispatcher = Dispatcher(project, desk.queue, lambda number: OWN)

    class Refusing:
        pid, said = None, list

        def ask(self, *words, **values):
            raise AssertionError("the worker was asked")

    dispatcher._make(0, Refusing(), desk.queue.take(2))
    runs = desk.queue.runs(suite)
    assert {run["state"] for run in runs} == {"failed"} and "--allow-programs" in runs[0]["reason"]


def test_the_panel_writes_one_program_and_keeps_what_it_does_not_show(tmp_path):
    project = with_program(open_project(tmp_path / "mine", str(tmp_path / "store"), allow_programs=True))
    (project.programs / "notes.txt").write_text("no program")
    assert program_files(project) == ["mine.c"]
    path = project.suites / "a.toml"
    path.write_text(text_of_form(project, SuiteForm("a", ("grid4x2",), program={"file": "mine.c", "arguments": "8"})))
    assert read_form(project, "a").program == {"file": "mine.c", "arguments": "8", "iterations": ""}
    (case,) = read_campaign(path).cases
    assert (case.target.problem.name, case.target.problem.program.arguments) == ("mine", ("8",))
    path.write_text(path.read_text() + '\n[[programs]]\nfile = "../programs/mine.c"\nname = "two"  # kept\n')
    form = read_form(project, "a")
    assert form.others == ("programs",) and form.program == {}
    assert "# kept" in text_of_form(project, form)
    assert [one.target.problem.name for one in read_campaign(path).cases] == ["mine", "two"]
    with pytest.raises(UserError, match="not in the folder programs"):
        text_of_form(project, SuiteForm("b", ("grid4x2",), program={"file": "../suites/a.toml"}))
    with pytest.raises(UserError, match="whole number"):
        text_of_form(project, SuiteForm("b", ("grid4x2",), program={"file": "mine.c", "iterations": "many"}))


@pytest.mark.parametrize("name, said", [("mine", "called mine"), ("a b", "name 'a b'"), ("cg", "called cg")])
def test_programs_of_a_campaign_have_names_of_their_own(tmp_path, name, said):
    project = with_program(open_project(tmp_path / "mine", str(tmp_path / "store"), allow_programs=True))
    path = project.suites / "a.toml"
    path.write_text(f'{OWN}[[programs]]\nfile = "../programs/mine.c"\nname = "{name}"\n')
    with pytest.raises(UserError, match=said):
        read_campaign(path)
