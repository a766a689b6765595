"""A workbench without worker processes: the tests say what they would answer."""

import json
import re
import threading
import time

import pytest

pytest.importorskip("starlette", reason="the extra workbench is not installed")

import uvicorn
from starlette.testclient import TestClient

from platforms.terminal import progress
from validation.workbench.application import application
from validation.workbench.dispatch.desk import Desk
from validation.workbench.guard.tokens import Tokens
from validation.workbench.project.folder import open_project
from validation.workbench.queue.suites import QueuedCase
from validation.workbench.work import checking
from validation.workbench.work.reading import check_profiles

HERE = "http://127.0.0.1:8765"


@pytest.fixture(autouse=True)
def progress_is_shown_again():
    """Runs that a test makes in this process would leave it quiet, as workers are."""
    yield
    progress._heard = None


class Url(str):
    """The address of a server, with its application and the token of its link."""


@pytest.fixture(scope="module")
def url(desk):
    """The address of a server of the module's own ``desk``, in a thread."""
    tokens = Tokens(desk.project.secret())
    served = application(desk, tokens)
    config = uvicorn.Config(served, port=0, log_level="warning")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    made = Url(f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}")
    made.token, made.application = tokens.access, served
    yield made
    desk.closing = True
    server.should_exit = True
    thread.join()


@pytest.fixture
def project(tmp_path):
    return open_project(tmp_path / "mine", str(tmp_path / "store"), jobs=2)


class StillDesk(Desk):
    """A desk whose runs are never made, and whose reader gives prepared answers."""

    def start(self):
        self.asked = []

    def check(self, task, **values):
        """Check drafts in this process, as a worker would."""
        return next(getattr(checking, task)(self.project.folder, **json.loads(json.dumps(values))))

    def evaluate(self, limit_s=0, **values):
        return next(checking.evaluate(self.project.folder, **values))

    def check_upload(self, path):
        check_profiles(self.project.folder, str(path))
        self.show(name=str(path))

    def _read(self, task, **values):
        self.asked.append((task, values))
        return {
            "show": {"text": "holds 16 hosts", "xml": "<platform/>", "hosts": 16, "svg": "<svg/>"},
            "count": {"runs": 3, "predictions": 6, "plan": ["3 runs: 1 in the store"], "estimate": None},
            "expand": {"cases": [["grid4x2", "gigabit", "cg", "S", p, "block", "reference", "h"] for p in (2, 4, 8)]},
        }[task]

    def _show(self, task, **values):
        self.asked.append((task, values))
        if task == "timeline":
            data = {"tick_s": 1e-3, "span": 2, "activities": [], "mixes": [], "rows": [{"name": "</script>"}]}
            return {"title": "cg S", "iteration": 4, "recorded": 5, "span_s": 0.002, "clusters": ["a"],
                    "rows": [["rank 0 on a-0", 1, 0.001, 0.001, 0.0]], "data": data}  # fmt: skip
        if task == "graph":
            return {"title": "cg S", "iterations": 3, "what": "time", "predicted_s": 1.0, "simulated_s": 2.0,
                    "cautions": [], "rows": [["MPI", "cg.c:66 <b>", 1.0, 2.0, 4.0, 8.0]]}  # fmt: skip
        return {}


@pytest.fixture
def desk(project):
    return StillDesk(project)


@pytest.fixture
def client(desk, project):
    tokens = Tokens(project.secret())
    with TestClient(application(desk, tokens), base_url=HERE, follow_redirects=False) as made:
        made.get(f"/?token={tokens.access}")
        yield made


@pytest.fixture
def send(client):
    """Send a form as a browser does: with the origin of the page and the token that the page has."""

    def sent(path, data=None, **options):
        token = re.search(r'name="form_token" value="(\w+)"', client.get("/platforms").text)[1]
        options.setdefault("headers", {"origin": HERE})
        return client.post(path, data={"form_token": token, **(data or {})}, **options)

    return sent


@pytest.fixture
def person(client):
    """Return a function that gives the browser of a person with an account, and a function that sends its forms."""

    def made(role, name):
        accounts = client.app.state.accounts
        accounts.add_user(name, role, "correct horse battery")
        session = accounts.begin(role, "127.0.0.1", user=name)
        browser = TestClient(client.app, base_url=HERE, follow_redirects=False, cookies={"workbench_8765": session})

        def post(path, **fields):
            token = client.app.state.tokens.form(session)
            return browser.post(path, data={"form_token": token, **fields}, headers={"origin": HERE})

        return browser, post

    return made


@pytest.fixture
def change(client, send):
    """Send an operation of an editor with the stamp that its page has."""

    def sent(address, op, **fields):
        seen = re.search(r'name="seen" value="(\d+)"', client.get(address).text)[1]
        return send(address, {"seen": seen, "op": op, **fields})

    return sent


@pytest.fixture
def cases():
    """Return runs on 1, 2, ... ranks."""
    return lambda count: [
        QueuedCase(number, "grid4x2", "gigabit", "cg", "S", number + 1, "block", "reference", "hash")
        for number in range(count)
    ]


@pytest.fixture
def row():
    """Return the fields of a result."""

    def made(predictor="hcf", predicted_s=1.5, simulated_s=1.0, **more):
        error = None if predicted_s is None else 100 * (predicted_s - simulated_s) / simulated_s
        fields = {
            "scenario": "grid4x2", "app": "cg", "class": "S", "ranks": 8, "efficiency": 0.041, "predictor": predictor,
            "predicted_s": predicted_s, "simulated_s": simulated_s, "error_pct": error,
            "abs_error_pct": None if error is None else abs(error), "evidence_share": 0.25, "flags": "",
            "evidence_node_s": 1.25, "evidence_wall_s": 0.5,
        }  # fmt: skip
        return {**fields, **more}

    return made
