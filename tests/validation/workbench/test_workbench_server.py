"""The command that serves a workbench, as a process of its own with real worker processes."""

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from urllib.parse import urlencode, urlsplit

import pytest

from validation.workbench.cli import main

pytest.importorskip("starlette", reason="the extra workbench is not installed")
LIMIT_S = 240  # a busy machine is slow


@contextmanager
def served(folder, store, *words):
    """Start the command and yield the process and the link that it prints."""
    command = [sys.executable, "-m", "gridval", "workbench", "--port", "0", "--jobs", "1", "--store", str(store)]
    process = subprocess.Popen(
        [*command, *words, str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process, re.search(r"http://\S+", process.stdout.readline())[0]
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


class Browser:
    """Sends requests as a browser does, with its cookies."""

    def __init__(self, link):
        self.host, self.cookies = urlsplit(link).netloc, {}
        self.ask("GET", link.removeprefix(f"http://{self.host}"))

    def ask(self, method, path, fields=None):
        end_s = time.monotonic() + 30
        while True:  # the server needs a moment after it has printed its address
            try:
                connection = http.client.HTTPConnection(self.host, timeout=LIMIT_S)
                headers = {"cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
                if fields is not None:
                    headers |= {"origin": f"http://{self.host}", "content-type": "application/x-www-form-urlencoded"}
                connection.request(method, path, None if fields is None else urlencode(fields, doseq=True), headers)
                answer = connection.getresponse()
                for name, value in answer.getheaders():
                    if name == "set-cookie":
                        key, _, rest = value.partition("=")
                        self.cookies[key] = rest.partition(";")[0]
                return answer, answer.read().decode()
            except ConnectionError:
                assert time.monotonic() < end_s
                time.sleep(0.1)

    def get(self, path):
        return self.ask("GET", path)[1]

    def post(self, path, **fields):
        token = re.search(r'name="form_token" value="(\w+)"', self.get("/platforms"))[1]
        return self.ask("POST", path, {"form_token": token, **fields})[0]

    def wait_for(self, path, pattern):
        end_s = time.monotonic() + LIMIT_S
        while not (found := re.search(pattern, self.get(path))):
            assert time.monotonic() < end_s, self.get(path)
            time.sleep(0.2)
        return found


def test_help_does_not_need_the_extra(monkeypatch, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "usage: gridval workbench" in capsys.readouterr().out
    assert main(["somewhere"]) == 2
    line = capsys.readouterr().err
    assert line.startswith("error: workbench: filelock, ") and "[workbench]" in line and line.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [(["--port", "70000"], "not a port"), (["--jobs", "0"], "not positive"), (["--store", ""], "an empty name"),
     ([""], "an empty name"), (["/dev/null"], "not a project folder"),
     (["--address", "no.such.name.invalid"], "address")],
)  # fmt: skip
def test_wrong_options_are_told_in_one_line(words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    line = capsys.readouterr().err
    assert said in line and line.count("\n") == 1


def test_a_port_in_use_is_told(tmp_path, capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert main(["--port", str(taken.getsockname()[1]), str(tmp_path / "mine")]) == 2
    assert "in use" in capsys.readouterr().err


def test_a_suite_is_finished_by_the_server_that_follows_one_that_was_killed(tmp_path):
    folder, store = tmp_path / "mine", tmp_path / "store"
    suite = {"suite_name": "first", "user": "Ann", "platforms": "grid4x2", "apps": ["ep", "is", "cg"], "classes": "S",
             "predictors": "hcf"}  # fmt: skip
    with served(folder, store) as (process, link):
        browser = Browser(link)
        assert browser.post("/panel", **suite).getheader("location") == "/queue/1"
        assert first_event(browser).startswith(b"data: ")
        browser.wait_for("/queue/1", r">done [123]<|[123] of 3 ended")
        again = [sys.executable, "-m", "gridval", "workbench", "--port", "0", str(folder)]
        other = subprocess.run(again, capture_output=True, text=True, timeout=LIMIT_S)
        assert other.returncode == 2 and "another workbench has this folder open" in other.stderr
        workers = children(process.pid)
        process.send_signal(signal.SIGKILL)
        process.wait()
    wait_until_ended(workers)
    with served(folder, store) as (process, link):
        browser = Browser(link)
        browser.wait_for("/queue/1", "3 of 3 ended")
        assert "3 results" in browser.get("/results?suite=1") and ">failed 0<" in browser.get("/queue/1")
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=LIMIT_S)
        assert process.returncode == 130 and said == "interrupted\n"


def first_event(browser):
    connection = http.client.HTTPConnection(browser.host, timeout=LIMIT_S)
    cookies = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    connection.request("GET", "/queue/events", headers={"cookie": cookies})
    answer = connection.getresponse()
    assert answer.getheader("content-type").startswith("text/event-stream")
    return answer.readline()


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        listed = [int(one) for one in file.read().split()]
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/children") as file:
            listed += [int(one) for one in file.read().split()]
    return sorted(set(listed))


def wait_until_ended(pids):
    end_s = time.monotonic() + 60
    while any(os.path.exists(f"/proc/{pid}") and state(pid) != "Z" for pid in pids):
        assert time.monotonic() < end_s, pids
        time.sleep(0.1)


def state(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "Z"


def test_a_platform_that_has_changed_since_is_refused_by_the_worker(tmp_path):
    from validation.workbench.work.running import Running

    (tmp_path / "suites").mkdir()
    with Running(tmp_path, tmp_path / "store", None) as running:
        text = 'scenarios = ["grid4x2"]\napps = ["ep"]\nclasses = ["S"]\npredictors = ["hcf"]\n'
        (answer,) = running.run(tmp_path, text, [0], ["another hash"])
    assert answer["results"] == [] and "has changed since" in answer["reason"]
