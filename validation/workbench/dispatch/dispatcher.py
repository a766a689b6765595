"""Threads that take runs from the queue and hand them to worker processes."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from platforms.errors import UserError
from validation.workbench.dispatch.places import Doing, Place, shown_places
from validation.workbench.project.folder import Project
from validation.workbench.project.suite_files import check_files
from validation.workbench.queue.logs import keep_log
from validation.workbench.queue.states import Queue
from validation.workbench.queue.suites import Job
from validation.workbench.work.process import Worker, WorkerEnded

_Value = TypeVar("_Value")
_LOOK_S = 5.0  # longest time between two looks at the queue
_PAUSE_S = 2.0  # after a worker that could not begin
_TOLD_S = 2.0  # interval between two signs of what the places do, which pages answer with a request each


class Dispatcher:
    """Makes the runs of the queue, as many at a time as the project has places.

    With a Dask scheduler one worker process hands runs to the cluster; otherwise each place is a worker process.

    Args:
        project: The project.
        queue: Its queue.
        text_of: Returns the text of a queued suite by its number.
    """

    def __init__(self, project: Project, queue: Queue, text_of: Callable[[int], str]):
        self._project, self._queue, self._text_of = project, queue, text_of
        self._stopped = threading.Event()
        self._lock, self._beginning, self._begun = threading.Lock(), threading.Lock(), False
        self._at_work: dict[int, Place] = {}  # by number of the place
        self.has_begun = False  # a worker process has made a run
        self.far_places: int | None = None  # of the scheduler, as far as it is known
        self._told_s = 0.0
        self.trouble = ""  # why no run can be made, such as a scheduler that does not answer
        places = 1 if project.scheduler is not None else project.jobs
        self._threads = [
            threading.Thread(target=self._work, args=(place,), name=f"place {place}", daemon=True)
            for place in range(places)
        ]

    def at_work(self) -> list[Doing | None]:
        """Return for each place what it works on; None: it is idle."""
        with self._lock:
            return shown_places(self._at_work, len(self._threads))

    def start(self) -> None:
        """Begin with the runs that wait; those that ran when the last server ended wait again."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End all runs; they wait again."""
        self._stopped.set()
        self._queue.changes.add()  # wakes the threads
        self._end(lambda suite: True)
        for thread in self._threads:
            if thread.ident is not None:  # it was started
                thread.join()
        with suppress(sqlite3.OperationalError):  # the disk is full: the next server does it
            self._queue.give_back()

    def cancel(self, suite: int) -> None:
        """Cancel the runs of a suite, those that are being made too."""
        self._queue.cancel(suite)
        self._end(lambda other: other == suite)

    def _end(self, chosen: Callable[[int], bool]) -> None:
        with self._lock:
            workers = [place.worker for place in self._at_work.values() if chosen(place.job.suite)]
        enders = [threading.Thread(target=worker.stop) for worker in workers]
        for ender in enders:
            ender.start()
        for ender in enders:
            ender.join()

    def _work(self, place: int) -> None:
        """Make runs until the dispatcher is stopped."""
        worker = Worker(self._project)
        with self._beginning:
            if not self._begun:
                self._kept(self._queue.give_back)
            self._begun = True
        try:
            while not self._stopped.is_set():
                seen = self._queue.changes.count
                if not self._kept(self._queue.waits):
                    self._queue.changes.wait(seen, _LOOK_S)
                    continue
                try:
                    answer = worker.value("places")
                except (UserError, WorkerEnded) as err:
                    self._say_trouble(str(err))
                    self._stopped.wait(_PAUSE_S)
                    continue
                self._say_trouble("")
                self.far_places = answer.get("places")
                job = self._kept(partial(self._queue.take, answer["most"]))
                if job is not None:
                    self._make(place, worker, job)
        finally:
            worker.stop()

    def _kept(self, change: Callable[[], _Value]) -> _Value | None:
        """Make a change of the queue, again and again while its file cannot be written; None: that is the end."""
        while True:
            try:
                return change()
            except sqlite3.OperationalError as err:
                self._say_trouble(f"{self._project.private}: {err}. Make room, or mend it.")
                if self._stopped.wait(_PAUSE_S):
                    return None

    def _say_trouble(self, text: str) -> None:
        if text != self.trouble:
            self.trouble = text
            self._queue.changes.add()

    def _make(self, number: int, worker: Worker, job: Job) -> None:
        place = Place(job, worker)
        with self._lock:
            self._at_work[number] = place
        left = dict(job.runs)
        try:
            text = self._text_of(job.suite)
            check_files(self._project, text)  # a server before this one may have allowed code
            numbers = list(job.runs)
            hashes = [job.hashes[number] for number in numbers]
            for answer in worker.ask("run", text=text, cases=numbers, hashes=hashes):
                if "log" in answer:
                    self._hear(place, answer)
                    continue
                self.has_begun = True
                self._finish(place, number, left.pop(answer["case"]), answer["results"], answer["reason"])
            reason = "the suite as it was queued has no such run any more. Queue it again."
        except UserError as err:
            reason = str(err)
        except WorkerEnded as err:
            reason = str(err)
            if self._stopped.is_set():
                return  # what is left waits again
        finally:
            with self._lock:
                self._at_work.pop(number, None)
        for run in left.values():  # a run that was cancelled stays so
            self._finish(place, number, run, [], reason)

    def _hear(self, place: Place, answer: dict[str, Any]) -> None:
        """Take a line of a log, and let pages show what the place does now, but not too often."""
        with self._lock:
            place.hear(answer["case"], answer["log"])
        if time.monotonic() - self._told_s >= _TOLD_S:
            self._told_s = time.monotonic()
            self._queue.changes.add()

    def _finish(self, place: Place, number: int, run: int, results: list[dict[str, Any]], reason: str) -> None:
        """Keep the results and the log of a run."""
        with self._lock:
            lines = place.log_of(run, reason, number)
        if self._kept(partial(self._queue.finish, run, results, reason)):
            keep = partial(keep_log, self._queue.tables, place.job.suite, run, lines, failed=bool(reason))
            self._kept(keep)
