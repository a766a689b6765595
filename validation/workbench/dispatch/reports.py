"""Report pages of suites, which a worker process of its own writes one after the other."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from pathlib import Path

from platforms.errors import UserError
from validation.workbench.project.folder import Project
from validation.workbench.queue.suites import FAILED, RUNNING, WAITING, Changes
from validation.workbench.work.process import Worker, WorkerEnded

_LIMIT_S = 3600.0  # of one report
_TOLD_S = 1.0  # interval between two signs of progress, which pages answer with a request each


@dataclass
class Report:
    """A report page that is to be written."""

    suite: int
    name: str
    text: str  # of the suite
    state: str = WAITING
    what: str = ""  # what is being done
    at: int = 0  # steps of it that are done
    total: int = 0
    reason: str = ""  # why it failed


class Reports:
    """Writes report pages in a thread, so that no request waits for one.

    Args:
        project: The project.
        changes: Told of progress, so that pages show it.
    """

    def __init__(self, project: Project, changes: Changes):
        self._project, self._changes = project, changes
        self._lock = threading.Lock()
        self._known: dict[int, Report] = {}  # by suite, those that wait first come first; without those that are done
        self._thread: threading.Thread | None = None
        self._running: tuple[Report, Worker] | None = None
        self._stopped = False

    def path(self, suite: int) -> Path:
        """Return the path of a suite's report page, which may not be there yet."""
        return self._project.private / "reports" / f"{suite}.html"

    def state(self, suite: int) -> Report | None:
        """Return the report of a suite that waits, is being written or has failed; None: there is none."""
        with self._lock:
            return self._known.get(suite)

    def ask(self, suite: int, name: str, text: str) -> None:
        """Have the report of a suite written; asking again while it waits or is being written does nothing.

        Args:
            suite: The number of the suite.
            name: Its name.
            text: Its text as it was queued.
        """
        with self._lock:
            known = self._known.get(suite)
            if self._stopped or (known is not None and known.state != FAILED):
                return
            self._known.pop(suite, None)  # the new one goes to the end
            self._known[suite] = Report(suite, name, text)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="reports", daemon=True)
                self._thread.start()
        self._changes.add()

    def cancel(self, suite: int) -> None:
        """Forget the report of a suite; the page that is already there stays."""
        with self._lock:
            self._known.pop(suite, None)
            running = self._running
        if running is not None and running[0].suite == suite:
            running[1].stop()
        self._changes.add()

    def stop(self) -> None:
        """End all reports."""
        with self._lock:
            self._stopped = True
            self._known.clear()
            running, thread = self._running, self._thread
        if running is not None:
            running[1].stop()
        if thread is not None:
            thread.join()

    def _work(self) -> None:
        while True:
            with self._lock:
                waiting = [report for report in self._known.values() if report.state == WAITING]
                if not waiting or self._stopped:
                    self._thread = None
                    return
                report, worker = waiting[0], Worker(self._project)  # a new process: reports need much memory
                report.state = RUNNING
                self._running = report, worker
            try:
                self._write(report, worker)
                problem = ""
            except (UserError, WorkerEnded, OSError) as err:
                problem = str(err)
            finally:
                worker.stop()
            self._end(report, problem)

    def _end(self, report: Report, problem: str) -> None:
        with self._lock:
            self._running = None
            if self._known.get(report.suite) is report:  # not cancelled
                report.state, report.reason = FAILED, problem
                if not problem:
                    del self._known[report.suite]
        self._changes.add()

    def _write(self, report: Report, worker: Worker) -> None:
        """Write the page beside its place, and move it there when it is whole."""
        path = self.path(report.suite)
        path.parent.mkdir(exist_ok=True)
        draft = path.with_name(f"{report.suite}.part.html")
        told_s = 0.0
        try:
            for answer in worker.ask(
                "report", time_limit_s=_LIMIT_S, text=report.text, store=str(self._project.store), path=str(draft),
                name=report.name,
            ):  # fmt: skip
                report.what, report.at, report.total = answer["what"], answer["at"], answer["total"]
                if time.monotonic() - told_s >= _TOLD_S:
                    told_s = time.monotonic()
                    self._changes.add()
            with self._lock:
                if self._known.get(report.suite) is report:
                    draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
