"""Code of users, in the workers of a server with --allow-programs, reaches nothing outside of its sandbox."""

import json
import os
import socket
import threading

import pytest

from validation.workbench.project.folder import open_project
from validation.workbench.work import sandbox
from validation.workbench.work.process import Worker
from validation.workbench.work.sandbox import sandbox_trouble, sandboxed

# A predictor that tries what it should not, and says in its refusal what it has got.
ATTACKER = """
import json, os, socket, urllib.request
from pathlib import Path
from platforms.errors import UserError

def attempt(action):
    try:
        return str(action() or "done")[:60]
    except OSError as err:
        return type(err).__name__

class Attacker:
    name = "attacker"

    def requests(self, targets):
        tried = {
            "secret": attempt(lambda: Path(PRIVATE, "secret").read_text()),
            "homes": attempt(lambda: os.listdir(HOME)),
            "others": attempt(lambda: Path(OUTSIDE).read_text()),
            "project": attempt(lambda: Path(PROJECT, "suites", "evil.toml").write_text("x")),
            "system": attempt(lambda: Path("/usr/evil").write_text("x")),
            "network": attempt(lambda: socket.create_connection(("127.0.0.1", PORT), 5).close()),
            "processes": attempt(lambda: max(int(name) for name in os.listdir("/proc") if name.isdecimal())),
            "scratch": attempt(lambda: Path("/tmp/mine").write_text("x")),
        }
        raise UserError("attacker", json.dumps(tried), "Nothing")

    def further(self, targets, evidence):
        return []

    def fit(self, evidence):
        raise NotImplementedError

ATTACKER = Attacker()
"""


@pytest.fixture
def listening():
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        made.listen()
        yield made.getsockname()[1]


@pytest.mark.slow
@pytest.mark.skipif(sandbox_trouble() != "", reason=f"no sandbox: {sandbox_trouble()}")
def test_code_in_a_suite_reads_no_secrets_writes_nothing_and_reaches_no_network(tmp_path, listening, monkeypatch):
    home = tmp_path / "home"
    home.mkdir()
    (home / "key").write_text("private")
    (tmp_path / "outside").write_text("private")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GRID_VALIDATOR_CACHE", str(sandbox.cache_folder()))
    project = open_project(tmp_path / "mine", str(tmp_path / "store"), allow_programs=True)
    project.secret()
    places = {"PRIVATE": project.private, "HOME": home, "OUTSIDE": tmp_path / "outside", "PROJECT": project.folder}
    lines = [*(f"{name} = {str(path)!r}" for name, path in places.items()), f"PORT = {listening}", ATTACKER]
    (project.suites / "evil.py").write_text("\n".join(lines))
    text = 'scenarios = ["grid4x2"]\napps = ["ep"]\nclasses = ["S"]\nranks = [2]\npredictors = ["evil.py:ATTACKER"]\n'
    worker = Worker(project)
    try:
        (expanded,) = worker.ask("expand", text=text)
        answers = worker.ask("run", text=text, cases=[0], hashes=[expanded["cases"][0][-1]])
        (answer,) = (answer for answer in answers if "results" in answer)  # the others are lines of the log
    finally:
        worker.stop()
    (result,) = answer["results"]  # the run itself is simulated
    assert result["simulated_s"] > 0
    tried = json.loads(result["flags"][result["flags"].index("{") : result["flags"].rindex("}") + 1])
    assert tried["secret"] == tried["others"] == "FileNotFoundError" and "key" not in tried["homes"]
    assert {tried["project"], tried["system"]} == {"OSError"} and tried["network"] == "ConnectionRefusedError"
    assert tried["scratch"] in ("1", "done") and int(tried["processes"]) < 1000  # its own alone
    assert not os.path.exists("/tmp/mine") and not (project.suites / "evil.toml").exists()


def test_without_programs_or_without_bubblewrap_workers_start_as_they_are(project, tmp_path, monkeypatch):
    assert sandboxed(project, ["python"]) == ["python"]
    monkeypatch.setattr(sandbox.shutil, "which", lambda name: None)
    sandbox_trouble.cache_clear()
    try:
        allowed = open_project(tmp_path / "mine", str(tmp_path / "store"), allow_programs=True)
        assert sandbox_trouble() == "bubblewrap (bwrap) is not installed"
        assert sandboxed(allowed, ["python"]) == ["python"]
    finally:
        sandbox_trouble.cache_clear()


def test_a_worker_in_a_sandbox_ends_with_its_server(tmp_path):
    if sandbox_trouble():
        pytest.skip(sandbox_trouble())
    worker = Worker(open_project(tmp_path / "mine", str(tmp_path / "store"), allow_programs=True))
    assert worker.value("hello", time_limit_s=60.0) == {}
    ender = threading.Thread(target=worker.stop)
    ender.start()
    ender.join(30.0)
    assert not ender.is_alive() and worker._process.poll() is not None
