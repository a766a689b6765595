"""The queue keeps suites and the states of their runs, whatever happens to the server."""

import sqlite3
import time
from collections import Counter

import pytest

from platforms.errors import UserError
from validation.workbench.dispatch.dispatcher import Dispatcher
from validation.workbench.queue.logs import MOST_LOG, keep_log, log_of, runs_with_logs
from validation.workbench.queue.results import PAGE, ResultsView, one_result
from validation.workbench.queue.states import Queue
from validation.workbench.queue.tables import Tables
from validation.workbench.work import running
from validation.workbench.work.process import WorkerEnded
from validation.workbench.work.running import Running


@pytest.fixture
def queue(tmp_path):
    return Queue(Tables(tmp_path / "queue.sqlite"))


class Cluster:
    """A cluster of some places, which takes no runs."""

    def __init__(self):
        self.places = 1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def simulate(self, spec, **_):
        raise AssertionError


def test_workers_that_join_a_cluster_get_runs_with_the_next_job(tmp_path, monkeypatch):
    cluster = Cluster()
    monkeypatch.setattr(running, "_cluster", lambda scheduler: cluster)
    with Running(tmp_path, tmp_path / "store", ("tcp://127.0.0.1:1",)) as made:
        assert list(made.places(tmp_path)) == [{"most": 4, "places": 1}]
        first = made._runner
        assert list(made.places(tmp_path)) == [{"most": 4, "places": 1}] and made._runner is first
        cluster.places = 3
        assert list(made.places(tmp_path)) == [{"most": 12, "places": 3}]
        assert made._runner is not first and made._jobs == 6


def counts(queue, suite):
    return {state: count for state, count in queue.suite(suite).counts.items() if count}


def test_runs_are_taken_in_their_order_and_end_as_done_or_failed(queue, cases, row):
    suite = queue.add("one", "Ann", cases(3))
    job = queue.take(2)
    assert (job.suite, list(job.runs), job.hashes) == (suite, [0, 1], {0: "hash", 1: "hash"})
    assert counts(queue, suite) == {"waiting": 1, "running": 2}
    assert queue.finish(job.runs[0], [row("hcf"), row("npt")])
    assert queue.finish(job.runs[1], [], "no route between two hosts")
    assert counts(queue, suite) == {"waiting": 1, "done": 1, "failed": 1}
    assert queue.runs(suite, "failed")[0]["reason"] == "no route between two hosts"
    assert ResultsView().count(queue.tables) == 2


def test_users_share_the_places_and_the_list_decides_among_suites_of_one(queue, cases):
    first, second, other = (queue.add("s", user, cases(3)) for user in ("Ann", "Ann", "Bob"))
    assert [queue.take(1).suite for _ in range(4)] == [first, other, first, other]
    queue.shift(second, up=True)
    assert [suite.id for suite in queue.suites()] == [second, first, other]
    assert queue.take(1).suite == second


def test_what_ran_when_a_server_was_killed_is_made_again(queue, cases, row, tmp_path):
    suite = queue.add("one", "Ann", cases(3))
    job = queue.take(2)
    queue.finish(job.runs[0], [row()])
    queue.tables.close()
    again = Queue(Tables(tmp_path / "queue.sqlite"))
    again.give_back()
    assert counts(again, suite) == {"waiting": 2, "done": 1}
    assert ResultsView().count(again.tables) == 1


def test_a_cancelled_suite_is_continued_where_it_stopped(queue, cases, row):
    suite = queue.add("one", "Ann", cases(60))
    job = queue.take(2)
    queue.finish(job.runs[0], [row()])
    queue.cancel(suite)
    assert counts(queue, suite) == {"done": 1, "cancelled": 59}
    assert queue.take(1) is None
    assert not queue.finish(job.runs[1], [row()])  # it came too late
    assert ResultsView().count(queue.tables) == 1
    queue.resume(suite)
    assert counts(queue, suite) == {"done": 1, "waiting": 59}


def test_failed_runs_are_tried_again(queue, cases):
    suite = queue.add("one", "Ann", cases(2))
    job = queue.take(2)
    for run in job.runs.values():
        queue.finish(run, [], "lost")
    queue.retry(suite)
    assert counts(queue, suite) == {"waiting": 2}
    assert {run["reason"] for run in queue.runs(suite)} == {""}


def test_a_suite_that_does_not_exist_is_told(queue):
    for ask in (queue.suite, queue.cancel, queue.resume, queue.retry, lambda one: queue.shift(one, up=True)):
        with pytest.raises(UserError, match="no such suite"):
            ask(7)


def test_a_queue_of_another_format_is_refused(tmp_path):
    connection = sqlite3.connect(tmp_path / "queue.sqlite")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(UserError, match="format 99"):
        Tables(tmp_path / "queue.sqlite")


def test_a_queue_without_columns_of_costs_gets_them_from_the_details(tmp_path, queue, cases, row):
    queue.add("one", "Ann", cases(1))
    (run,) = queue.take(1).runs.values()
    queue.finish(run, [row("hcf", evidence_node_s=7.5), row("npt", evidence_node_s=None)])
    path = tmp_path / "old.sqlite"
    with sqlite3.connect(path) as copy:
        queue.tables._connection().backup(copy)
        for column in ("evidence_node_s", "evidence_wall_s"):
            copy.execute(f"ALTER TABLE results DROP COLUMN {column}")
    copy.close()
    shown = ResultsView.of({"sort": "evidence_node_s"}).rows(Tables(path))
    assert [(one["evidence_node_s"], one["evidence_wall_s"]) for one in shown] == [(7.5, 0.5), (None, 0.5)]


def test_results_are_filtered_sorted_and_cut_into_pages(queue, cases, row):
    suite = queue.add("many", "Ann", cases(250))
    for run in queue.take(250).runs.values():
        queue.finish(run, [row("hcf", predicted_s=1 + run / 100), row("npt", predicted_s=None)])
    view = ResultsView.of({"suite": str(suite), "predictor": "hcf", "sort": "-error_pct", "page": "2"})
    assert view.count(queue.tables) == 250
    shown = [one["error_pct"] for one in view.rows(queue.tables)]
    assert shown == pytest.approx([250 - PAGE - i for i in range(PAGE)])  # run 250 is off by 250 %
    assert ResultsView.of({"sort": "error_pct", "page": "5"}).rows(queue.tables)[-1]["error_pct"] is None
    assert ResultsView.of({"ranks": "8"}).rows(queue.tables)[0]["ranks"] == 8
    assert len(list(ResultsView.of({"predictor": "hcf"}).whole(queue.tables))) == 250
    assert [(one.value, one.many, one.chosen) for one in view.facets(queue.tables)["predictor"]] == [
        ("hcf", 250, True), ("npt", 250, False)
    ]  # fmt: skip
    assert ResultsView.of(dict(pair.split("=") for pair in view.address(page=2).split("&"))) == view


@pytest.mark.parametrize(
    "query", [{"sort": "id; DROP TABLE runs"}, {"sort": "--ranks"}, {"page": "x"}, {"suite": "1 OR 1"}]
)
def test_addresses_with_other_values_are_refused(query):
    with pytest.raises(UserError):
        ResultsView.of(query)


def test_values_of_filters_are_never_read_as_sql(queue, cases, row):
    queue.add("one", "Ann", cases(1))
    queue.finish(queue.take(1).runs[0], [row()])
    assert ResultsView.of({"app": "' OR 1=1 --"}).count(queue.tables) == 0
    with pytest.raises(UserError, match="no such result"):
        one_result(queue.tables, 99)


def test_ten_thousand_runs_cost_ten_times_as_much_as_a_thousand(queue, cases):
    steps = Counter()  # thousands of instructions of SQLite's machine, by number of runs
    for runs in (1_000, 10_000):
        with queue.tables.changing() as connection:
            connection.set_progress_handler(lambda runs=runs: steps.update([runs]), 1_000)
        suite = queue.add("many", "Ann", cases(runs))
        assert queue.suites()[-1].total == runs and len(queue.runs(suite, "waiting", offset=runs - 50)) == 50
    assert 0 < steps[10_000] < 12 * steps[1_000], steps


class FakeWorker:
    """Answers as a worker process does, one answer per run; ``ends`` after so many runs."""

    def __init__(self, row, ends=None):
        self.row, self.ends, self.made = row, ends, 0

    pid = 4711

    def said(self):
        return ["warning: <script>alert(1)</script>"]

    def value(self, task):
        return {"most": 2}

    def ask(self, task, *, text, cases, hashes):
        for case in cases:
            yield {"case": case, "log": f"[    0.10 s] hcf predicts case {case}"}
            if self.made == self.ends:
                raise WorkerEnded("the worker process has ended (signal 11)")
            self.made += 1
            yield {"case": case, "results": [self.row()], "reason": ""}

    def stop(self):
        pass


def dispatched(project, queue, worker, monkeypatch):
    monkeypatch.setattr("validation.workbench.dispatch.dispatcher.Worker", lambda project: worker)
    made = Dispatcher(project, queue, lambda suite: "scenarios = []")
    made.start()
    end_s = time.monotonic() + 20
    while queue.waits() or any(suite.counts["running"] for suite in queue.suites()):
        assert time.monotonic() < end_s
        time.sleep(0.01)
    made.stop()


def test_the_dispatcher_makes_all_runs(project, queue, cases, row, monkeypatch):
    suite = queue.add("one", "Ann", cases(5))
    dispatched(project, queue, FakeWorker(row), monkeypatch)
    assert counts(queue, suite) == {"done": 5}
    log = log_of(queue.tables, queue.runs(suite)[4]["id"])
    assert "process 4711" in log and "hcf predicts case 4" in log and "hcf predicts case 3" not in log
    (end,) = queue.ends()
    assert (end["suite"], end["name"], end["owner"], end["state"], end["counts"]) == (suite, "one", "Ann", "done", {
        "done": 5})  # fmt: skip


def test_logs_are_limited_and_leave_with_their_suite(queue, cases, row, monkeypatch):
    first, second = queue.add("one", "Ann", cases(1)), queue.add("two", "Ann", cases(2))
    keep_log(queue.tables, first, 1, ["x" * 3000] * 100, failed=False)
    assert len(log_of(queue.tables, 1)) < MOST_LOG + 100 and "[...]" in log_of(queue.tables, 1)
    keep_log(queue.tables, first, 1, ["\x1b[2J\u202e"], failed=False)
    assert log_of(queue.tables, 1).isprintable()
    monkeypatch.setattr("validation.workbench.queue.logs.MOST_OF_SUITE", 10)
    keep_log(queue.tables, second, 2, ["done, at length"], failed=False)
    keep_log(queue.tables, second, 3, ["failed, at length"], failed=True)
    assert log_of(queue.tables, 2) is None and log_of(queue.tables, 3) == "failed, at length"
    assert runs_with_logs(queue.tables, [1, 2, 3]) == {1, 3}
    queue.remove(second)
    assert log_of(queue.tables, 3) is None


def test_a_suite_ends_again_when_its_failed_runs_were_tried_again_or_it_is_cancelled(queue, cases, row):
    suite = queue.add("one", "Ann", cases(2))
    for run in queue.take(2).runs.values():
        queue.finish(run, [], "no route")
    queue.cancel(suite)  # nothing waits: it does not end again
    assert [end["state"] for end in queue.ends()] == ["failed"]
    queue.retry(suite)
    queue.cancel(suite)
    assert [end["state"] for end in queue.ends()] == ["cancelled", "failed"]
    assert [end["counts"] for end in queue.ends(after=1)] == [{"cancelled": 2}]


def test_the_run_of_a_worker_that_ends_fails_with_the_reason(project, queue, cases, row, monkeypatch):
    from dataclasses import replace

    suite = queue.add("one", "Ann", cases(1))
    dispatched(replace(project, jobs=1), queue, FakeWorker(row, ends=0), monkeypatch)
    assert counts(queue, suite) == {"failed": 1}
    assert "signal 11" in queue.runs(suite)[0]["reason"]
