"""The programming interface of a workbench: every route, its description, and ``gridval.connect``."""

import hashlib
import json
import threading
from contextlib import contextmanager

import gridval as gv
import pytest
import uvicorn

from platforms.errors import UserError
from tests import waiting
from validation.workbench.application import application
from validation.workbench.dispatch.desk import Desk
from validation.workbench.guard.tokens import Tokens
from validation.workbench.pages.api import BASE, ENDPOINTS, description
from validation.workbench.pages.routes import ROUTES
from validation.workbench.project.folder import open_project
from validation.workbench.queue import views
from validation.workbench.queue.logs import keep_log
from validation.workbench.work.pictures import drawn as drawn_file

TEXT = 'scenarios = ["grid4x2"]\napps = ["ep"]\nclasses = ["S"]\nranks = [2]\npredictors = ["hcf"]\n'
HERE = "http://127.0.0.1:8765"


@pytest.fixture
def full(desk, cases, row, monkeypatch):
    """A queue with a suite whose runs are done, and one whose run waits."""
    (desk.project.private / "queued" / f"{desk.queue.add('done', 'Ann', cases(2))}.toml").write_text(TEXT)
    for run in desk.queue.take(2).runs.values():
        desk.queue.finish(run, [row()])
    desk.queue.add("waiting", "Ann", cases(1))
    keep_log(desk.queue.tables, 1, 1, ["done"], failed=False)
    for name in ("gone.toml", "mine.toml"):
        (desk.project.platforms / name).write_text("")
    desk.shelf.remove("platforms", "gone.toml", "Ann")
    views.save(desk.queue.tables, "mine", "Ann", "/results", "app=cg&sort=ranks")
    monkeypatch.setattr(desk, "_show", lambda task, **values: next(drawn_file(desk.project.folder, **values)))


CASES = {
    ("GET", "/platforms"): ("/platforms", None),
    ("GET", "/platforms/{name}"): ("/platforms/grid4x2", None),
    ("GET", "/suites"): ("/suites", None),
    ("POST", "/suites"): ("/suites", {"name": "new", "text": TEXT, "user": "Ann"}),
    ("POST", "/suites/count"): ("/suites/count", {"text": TEXT}),
    ("GET", "/suites/{number:int}"): ("/suites/1", None),
    ("GET", "/suites/{number:int}/runs"): ("/suites/1/runs?state=done", None),
    ("POST", "/suites/{number:int}/{action}"): ("/suites/2/cancel", {}),
    ("GET", "/suites/{number:int}/runs/{run:int}/log"): ("/suites/1/runs/1/log", None),
    ("GET", "/places"): ("/places", None),
    ("GET", "/ends"): ("/ends", None),
    ("GET", "/files/{kind}"): ("/files/platforms", None),
    ("GET", "/files/{kind}/{name}"): ("/files/platforms/mine.toml", None),
    ("POST", "/files/{kind}/{name}/{action}"): ("/files/platforms/mine.toml/duplicate", {"to": "żółć"}),
    ("GET", "/history"): ("/history?page=1", None),
    ("POST", "/history/{number:int}/undo"): ("/history/1/undo", {}),
    ("GET", "/results"): ("/results?suite=1&sort=-ranks", None),
    ("GET", "/results/{number:int}"): ("/results/1", None),
    ("GET", "/views"): ("/views", None),
    ("POST", "/views"): ("/views", {"name": "a view", "place": "/results", "query": "app=cg", "user": "Ann"}),
    ("GET", "/views/{number:int}"): ("/views/1", None),
    ("POST", "/views/{number:int}/remove"): ("/views/1/remove", {}),
    ("GET", "/figures/{name}"): ("/figures/figure?suite=1&over=ranks", None),
    ("GET", "/figures/{name}.{kind}"): ("/figures/figure.svg?suite=1", None),
}


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda one: f"{one.method} {one.path}")
def test_every_route_answers_as_its_description_says(client, full, endpoint):
    path, body = CASES[endpoint.method, endpoint.path]
    options = {} if body is None else {"json": body, "headers": {"origin": HERE}}
    answer = client.request(endpoint.method, BASE + path, **options)
    assert answer.status_code == endpoint.status, answer.text
    described = client.get(f"{BASE}/openapi.json").json()["paths"][f"{BASE}{endpoint.path}".replace(":int", "")]
    operation = described[endpoint.method.lower()]
    content = operation["responses"][str(endpoint.status)]["content"]
    assert answer.headers["content-type"].partition(";")[0] in content
    if endpoint.media:
        return
    schema = content["application/json"]["schema"]
    assert set(schema["required"]) <= answer.json().keys() and operation["summary"].endswith(".")
    assert body is None or set(body) <= set(
        operation["requestBody"]["content"]["application/json"]["schema"]["properties"]
    )


def test_the_description_has_every_route_and_no_other():
    routed = {
        (method, route.path.replace(":int", ""))
        for route in ROUTES
        if getattr(route, "path", "").startswith(BASE) and not route.path.endswith("openapi.json")
        for method in route.methods - {"HEAD"}
    }
    described = {(method.upper(), path) for path, of_path in description()["paths"].items() for method in of_path}
    assert described == routed and len(CASES) == len(ENDPOINTS)


def test_a_viewer_changes_nothing_by_any_route_and_the_reader_of_a_link_sees_none(client, full, person):
    viewer, _ = person("viewer", "Vi")
    key = client.app.state.accounts.make_link("suite", 1, "Ann")
    reader, _ = person("viewer", "Vo")
    reader.cookies.clear()
    reader.get(f"/share/{key}")
    for (method, route), (path, body) in CASES.items():
        options = {} if body is None else {"json": body, "headers": {"origin": HERE}}
        allowed = viewer.request(method, BASE + path, **options).status_code
        expected = 403 if method == "POST" else 400 if route.endswith("/log") else 200
        assert allowed == expected, path
        assert reader.request(method, BASE + path, **options).status_code == 403, path
    assert client.get(f"{BASE}/suites/2").json()["state"] == "waiting"


def test_the_numbers_are_those_of_the_pages(client, full):
    rows = client.get(f"{BASE}/results?suite=1").json()["rows"]
    csv = client.get("/results.csv?suite=1").text.splitlines()
    assert [",".join(rows[0])] == csv[:1] and len(rows) == len(csv) - 1 == 2
    assert client.get(f"{BASE}/suites/1").json()["counts"]["done"] == 2
    (run, _) = client.get(f"{BASE}/suites/1/runs").json()["runs"]
    assert run["state"] == "done" and client.get(f"{BASE}/results?run={run['run']}").json()["count"] == 1


@pytest.mark.parametrize(
    ("path", "body", "where"),
    [("/suites", {"name": "x"}, "text"), ("/suites", [], "body"), ("/suites/9/cancel", {}, "suite 9"),
     ("/suites/1/explode", {}, "action 'explode'")],
)  # fmt: skip
def test_errors_are_objects_with_what_where_and_what_to_do(client, full, path, body, where):
    answer = client.post(BASE + path, json=body, headers={"origin": HERE})
    assert answer.status_code == 400 and answer.json()["error"]["where"] == where
    assert answer.json()["error"].keys() == {"where", "problem", "remedy"}


def test_a_suite_of_a_name_that_is_taken_is_refused_unless_it_is_to_be_replaced(client, desk):
    def sent(text, **more):
        body = {"name": "one", "text": text, "user": "Ann", **more}
        return client.post(f"{BASE}/suites", json=body, headers={"origin": HERE}).status_code

    assert (sent(TEXT), sent(TEXT), sent(TEXT + "# other\n"), sent(TEXT + "# other\n", replace=True)) == (
        201, 201, 400, 201
    )  # fmt: skip


def test_scripts_give_the_token_and_browsers_of_other_sites_get_nothing(client, full):
    client.cookies.clear()
    assert client.get(f"{BASE}/suites").status_code == 401
    assert client.get(f"{BASE}/suites", headers={"authorization": "Bearer 0"}).status_code == 401
    token = client.app.state.tokens.access
    given = {"authorization": f"Bearer {token}"}
    assert client.get(f"{BASE}/suites", headers=given).status_code == 200
    assert client.post(f"{BASE}/suites/2/cancel", json={}, headers=given).status_code == 200
    assert client.get("/queue", headers=given).status_code == 303  # pages take the cookie alone
    assert client.post(f"{BASE}/suites/2/resume", content="{}", headers=given).status_code == 400  # as a form is sent
    client.get(f"/?token={token}")
    assert client.post(f"{BASE}/suites/2/cancel", json={}, headers={"origin": "http://evil.example"}).status_code == 403


def test_results_are_given_by_page_search_columns_and_several_values(client, full):
    asked = client.get(f"{BASE}/results?suite=1&column=ranks&column=error_pct&sort=-ranks&ranks=1&ranks=2").json()
    assert asked == {"count": 2, "columns": ["ranks", "error_pct"],
                     "rows": [{"ranks": 2, "error_pct": 50.0}, {"ranks": 1, "error_pct": 50.0}]}  # fmt: skip
    assert client.get(f"{BASE}/results?suite=1&q=nowhere").json()["rows"] == []
    second = client.get(f"{BASE}/results?suite=1&page=2").json()
    assert second["rows"] == [] and second["count"] == 2


def test_what_is_not_known_is_an_error_before_the_answer_begins(client, full):
    for path, where in (
        ("/results?sort=nothing", "sort 'nothing'"), ("/results?column=x%27--", 'column "x\'--"'),
        ("/views/9", "view 9"),
        (f"/results?q={'x' * 300}", "search"), ("/figures/table", "figure 'table'"),
        ("/figures/figure.gif", "figure.gif"), ("/figures/figure?show=beauty", "show 'beauty'"),
        ("/figures/figure?y=cubic", "axis y 'cubic'"),
    ):  # fmt: skip
        answer = client.get(BASE + path)
        assert answer.status_code == 400 and answer.json()["error"]["where"] == where


def test_a_figure_has_the_hash_of_the_rows_that_its_file_has(client, full):
    figure = client.get(f"{BASE}/figures/figure?suite=1&over=ranks&show=time").json()
    csv = client.get(f"{BASE}/figures/figure.csv?suite=1&over=ranks&show=time").text
    rows = "".join(line for line in csv.splitlines(keepends=True) if not line.startswith("#"))
    assert figure["sha256"] == hashlib.sha256(rows.encode()).hexdigest() and figure["svg"].startswith("<svg")
    assert [row[:4] for row in figure["rows"]] == [  # by hand: row() has 1.5 s predicted and 1 s simulated
        ["simulated", "", "1", 1.0], ["simulated", "", "2", 1.0], ["hcf", "", "1", 1.5], ["hcf", "", "2", 1.5]
    ]  # fmt: skip
    assert client.get(f"{BASE}/figures/front?suite=1").json()["svg"] == ""  # there are no energies


def test_viewers_read_and_links_to_a_suite_reach_no_interface(client, full):
    accounts = client.app.state.accounts
    accounts.add_user("Vera", "viewer", "correct horse")
    session = accounts.begin("viewer", "127.0.0.1", user="Vera")
    given = {"authorization": f"Bearer {session}"}
    client.cookies.clear()
    for path in ("/results", "/views", "/views/1", "/figures/figure", "/figures/figure.png?suite=1"):
        assert client.get(BASE + path, headers=given).status_code == 200, path
    for path, body in (("/views", {"name": "x"}), ("/views/1/remove", {})):
        assert client.post(BASE + path, json=body, headers=given).status_code == 403
    reader, _, _ = accounts.follow(accounts.make_link("suite", 1, "Ann"), "127.0.0.1")
    given = {"authorization": f"Bearer {reader}"}
    for path in ("/results?suite=1", "/views", "/views/1", "/figures/figure?suite=1", "/figures/figure.csv?suite=1"):
        assert client.get(BASE + path, headers=given).status_code == 403, path
    client.cookies.set("workbench_8765", reader)
    paths = ("/results/figure.svg?suite=1", "/results/figure.svg?suite=2", "/results/figure.csv", "/views/1", "/views")
    assert [client.get(path).status_code for path in paths] == [200, 403, 403, 403, 403]


def test_only_who_saved_a_view_and_owners_remove_it(client, full):
    accounts = client.app.state.accounts
    sessions = {}
    for name, role in (("Ann", "editor"), ("Eva", "editor"), ("Otto", "owner")):
        accounts.add_user(name, role, "correct horse")
        sessions[name] = {"authorization": f"Bearer {accounts.begin(role, '127.0.0.1', user=name)}"}
    client.cookies.clear()

    def removed(name, number):
        return client.post(f"{BASE}/views/{number}/remove", json={}, headers=sessions[name]).status_code

    made = client.post(f"{BASE}/views", json={"name": "Eva's", "user": "Ann"}, headers=sessions["Eva"]).json()
    assert made["owner"] == "Eva"  # an account is not renamed
    assert (removed("Eva", 1), removed("Ann", 1), removed("Ann", made["number"]), removed("Otto", made["number"])) == (
        400, 200, 400, 200
    )  # fmt: skip


@contextmanager
def served(desk):
    """Serve a project, and yield its address and the token of its link."""
    tokens = Tokens(desk.project.secret())
    server = uvicorn.Server(uvicorn.Config(application(desk, tokens), port=0, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert waiting.until(lambda: server.started, 60)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}", tokens.access
    finally:
        desk.closing = server.should_exit = True
        thread.join()


def test_a_script_gets_results_figures_and_views(desk, full, tmp_path):
    with served(desk) as (url, token):
        use(gv.connect(f"{url}/?token={token}", name="Ann"), url, tmp_path)


def use(bench, url, tmp_path):
    assert bench.results(app="cg", ranks=[1, 2]).equals(bench.suites()[0].results())
    assert bench.results(columns=["ranks", "error_pct"], search="hcf").to_dict("list") == {
        "ranks": [1, 2], "error_pct": [50.0, 50.0]
    }  # fmt: skip
    view = bench.save_view("of a script", columns=["ranks"], ranks=2)
    assert view.results()["ranks"].tolist() == [2] and view in bench.views() and view.link == f"{url}/views/2"
    figure = bench.figure("time", "ranks", suite=1, y="log")
    assert figure.rows["time, s"].tolist() == [1.0, 1.0, 1.5, 1.5] and "y=log" in figure.link
    for kind, start in (("svg", b"<svg"), ("png", b"\x89PNG"), ("csv", b"# figure")):
        figure.save(tmp_path / f"a.{kind}")
        assert (tmp_path / f"a.{kind}").read_bytes().startswith(start)
    with pytest.raises(UserError, match=r"End the name with \.svg"):
        figure.save(tmp_path / "a.gif")
    with pytest.raises(UserError, match="cannot be written"):
        figure.save(tmp_path / "nowhere" / "a.csv")
    view.remove()
    with pytest.raises(UserError, match="no such view"):
        view.remove()


@pytest.mark.slow
def test_a_script_queues_a_suite_and_gets_the_objects_of_a_local_run(tmp_path):
    desk = Desk(open_project(tmp_path / "mine", str(tmp_path / "store"), jobs=1))
    with served(desk) as (address, token):
        with pytest.raises(UserError, match="session: there is none"):
            gv.connect(address)
        bench = gv.connect(f"{address}/?token={token}", name="Ann")
        assert "grid4x2" in bench.platforms() and bench.plan(TEXT)[0] == "1 runs, 1 predictions"
        suite = bench.queue("one", TEXT)
        found = suite.wait(240).results()
        local = gv.run("grid4x2", "ep", problem_class="S", ranks=2, predictors="hcf", store=tmp_path / "s")
        assert type(found) is type(local)
        for column in ("predicted_s", "simulated_s", "error_pct"):
            assert found[column].tolist() == local[column].tolist()
        assert suite.results(predictor="npt").empty and suite.state == "done"
        assert desk.queue.suite(1).owner == "Ann"
        with pytest.raises(UserError, match="there is a suite of this name already"):
            bench.queue("one", TEXT.replace("[2]", "[4]"))
        suite.remove()
        assert bench.suites() == []


def test_the_description_is_json_of_the_version_that_it_names():
    assert json.loads(json.dumps(description()))["openapi"] == "3.1.0"
