"""The programming interface of a workbench: every route, its description, and ``gridval.connect``."""

import json
import threading

import gridval as gv
import pytest

from platforms.errors import UserError
from validation.workbench.dispatch.desk import Desk
from validation.workbench.pages.api import BASE, ENDPOINTS, description
from validation.workbench.pages.routes import ROUTES
from validation.workbench.project.folder import open_project
from validation.workbench.queue.logs import keep_log

TEXT = 'scenarios = ["grid4x2"]\napps = ["ep"]\nclasses = ["S"]\nranks = [2]\npredictors = ["hcf"]\n'
HERE = "http://127.0.0.1:8765"


@pytest.fixture
def full(desk, cases, row):
    """A queue with a suite whose runs are done, and one whose run waits."""
    (desk.project.private / "queued" / f"{desk.queue.add('done', 'Ann', cases(2))}.toml").write_text(TEXT)
    for run in desk.queue.take(2).runs.values():
        desk.queue.finish(run, [row()])
    desk.queue.add("waiting", "Ann", cases(1))
    keep_log(desk.queue.tables, 1, 1, ["done"], failed=False)
    for name in ("gone.toml", "mine.toml"):
        (desk.project.platforms / name).write_text("")
    desk.shelf.remove("platforms", "gone.toml", "Ann")


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
}


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda one: f"{one.method} {one.path}")
def test_every_route_answers_as_its_description_says(client, full, endpoint):
    path, body = CASES[endpoint.method, endpoint.path]
    options = {} if body is None else {"json": body, "headers": {"origin": HERE}}
    answer = client.request(endpoint.method, BASE + path, **options)
    assert answer.status_code == endpoint.status, answer.text
    described = client.get(f"{BASE}/openapi.json").json()["paths"][f"{BASE}{endpoint.path}".replace(":int", "")]
    operation = described[endpoint.method.lower()]
    schema = operation["responses"][str(endpoint.status)]["content"]["application/json"]["schema"]
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
    assert client.get(f"{BASE}/suites/1/runs").json()["runs"][0]["state"] == "done"


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


@pytest.mark.slow
def test_a_script_queues_a_suite_and_gets_the_objects_of_a_local_run(tmp_path):
    import uvicorn

    from tests import waiting
    from validation.workbench.application import application
    from validation.workbench.guard.tokens import Tokens

    desk = Desk(open_project(tmp_path / "mine", str(tmp_path / "store"), jobs=1))
    tokens = Tokens(desk.project.secret())
    server = uvicorn.Server(uvicorn.Config(application(desk, tokens), port=0, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert waiting.until(lambda: server.started, 60)
        address = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        with pytest.raises(UserError, match="session: there is none"):
            gv.connect(address)
        bench = gv.connect(f"{address}/?token={tokens.access}", name="Ann")
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
    finally:
        desk.closing = server.should_exit = True
        thread.join()


def test_the_description_is_json_of_the_version_that_it_names():
    assert json.loads(json.dumps(description()))["openapi"] == "3.1.0"
