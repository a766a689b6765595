"""Report pages of suites: written by a process of their own while every other page answers."""

import threading
import time
from pathlib import Path

import pytest

from validation.report.gather import Invocation
from validation.report.reporter import Reporter
from validation.workbench.dispatch import reports
from validation.workbench.work.process import WorkerEnded

PAGE = "<!doctype html><title>Report</title><script>alert(1)</script>"


class SlowWorker:
    """A worker that says how far it is, and goes on when the test lets it."""

    def __init__(self, project, made):
        self.asked, self.go_on, self.ended = None, threading.Event(), False
        made.append(self)

    def ask(self, task, *, time_limit_s, **values):
        self.asked = task, values
        Path(values["path"]).write_text("<!doctype html>half of it")
        yield {"what": "predictions", "at": 2, "total": 6}
        assert self.go_on.wait(30)
        if self.ended:
            raise WorkerEnded("ended")
        Path(values["path"]).write_text(PAGE)

    def stop(self):
        self.ended = True
        self.go_on.set()


@pytest.fixture
def workers(monkeypatch):
    made = []
    monkeypatch.setattr(reports, "Worker", lambda project: SlowWorker(project, made))
    return made


@pytest.fixture
def add(desk, cases, row):
    def added(number):
        (desk.project.private / "queued" / f"{number}.toml").write_text('scenarios = ["grid4x2"]\n')
        suite = desk.queue.add(f"suite{number}", "Ann", cases(1))
        (run,) = desk.queue.take(1).runs.values()
        desk.queue.finish(run, [row()])
        return suite

    return added


def until(true):
    end_s = time.monotonic() + 30
    while not true():
        assert time.monotonic() < end_s
        time.sleep(0.01)


def test_a_report_is_written_while_pages_answer_and_then_has_a_link_that_stays(client, send, desk, add, workers):
    add(1)
    assert client.get("/queue/1/report.html").status_code == 400
    assert send("/queue/1/report").headers["location"] == "/queue/1"
    until(lambda: desk.reports.state(1).at == 2)
    text = client.get("/queue/1/part").text
    assert "2 of 6" in text and "predictions" in text and "Cancel the report" in text and "Write the" not in text
    assert client.get("/queue/1/report.html").status_code == 400  # half of it is not shown
    seen = desk.queue.changes.count
    workers[0].go_on.set()
    until(lambda: desk.reports.state(1) is None)
    assert desk.queue.changes.count > seen  # the event streams tell the pages
    assert "Download the report page" in client.get("/queue/1").text
    answer = client.get("/queue/1/report.html")
    assert answer.text == PAGE and answer.headers["content-disposition"] == 'attachment; filename="suite1.html"'
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert [path.name for path in desk.reports.path(1).parent.iterdir()] == ["1.html"]


def test_a_second_report_waits_and_each_is_written_once(client, send, desk, add, workers):
    add(1), add(2)
    for number in (1, 1, 2, 2):
        send(f"/queue/{number}/report")
    until(lambda: desk.reports.state(1).at == 2)
    assert "waits for another one" in client.get("/queue/2").text
    workers[0].go_on.set()
    until(lambda: len(workers) == 2)
    workers[1].go_on.set()
    until(lambda: desk.reports.state(2) is None)
    assert len(workers) == 2 and workers[0].ended  # each in a process that ends with it


def test_a_cancelled_report_leaves_the_one_before(client, send, desk, add, workers):
    add(1)
    desk.reports.path(1).parent.mkdir()
    desk.reports.path(1).write_text("before")
    send("/queue/1/report")
    until(lambda: desk.reports.state(1).at == 2)
    assert send("/queue/1/report/cancel").headers["location"] == "/queue/1"
    assert desk.reports.state(1) is None
    send("/queue/1/report")  # again, at once
    until(lambda: len(workers) == 2)
    assert client.get("/queue/1/report.html").text == "before"
    workers[1].go_on.set()
    until(lambda: desk.reports.state(1) is None)
    assert client.get("/queue/1/report.html").text == PAGE


def test_why_a_report_failed_is_told_and_it_can_be_tried_again(client, send, desk, add, workers, monkeypatch):
    def fails(self, task, **values):
        yield {"what": "predictions", "at": 1, "total": 6}
        raise WorkerEnded("the worker process has ended (signal 9): no memory")

    add(1)
    monkeypatch.setattr(SlowWorker, "ask", fails)
    send("/queue/1/report")
    until(lambda: desk.reports.state(1).state == "failed")
    text = client.get("/queue/1").text
    assert "no memory" in text and "Write the report page" in text


def test_a_suite_that_is_removed_and_an_end_of_the_server_end_its_report(client, send, desk, add, workers):
    add(1)
    send("/queue/1/report")
    until(lambda: desk.reports.state(1).at == 2)
    send("/queue/1/remove")
    until(lambda: workers[0].ended)
    add(2)
    send("/queue/2/report")
    until(lambda: len(workers) == 2 and workers[1].asked)
    desk.stop()
    assert workers[1].ended
    assert list((desk.project.private / "reports").iterdir()) == []


def test_a_report_that_is_interrupted_writes_nothing_if_it_was_asked_to(tmp_path):
    said = []
    with pytest.raises(KeyboardInterrupt), Reporter(
        str(tmp_path / "a.html"), Invocation(("x",)), keep_part=False, progress=lambda *step: said.append(step)
    ) as reporter:  # fmt: skip
        reporter._gathered.rows.append({})
        raise KeyboardInterrupt
    assert not (tmp_path / "a.html").exists() and said == []
