"""Worker processes that read platforms, suites and drafts for pages: each person has its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from platforms.errors import UserError
from validation.workbench.project.folder import Project
from validation.workbench.work.process import Worker, WorkerEnded

_PROCESSES = 8  # of all persons; the one that was not used for the longest time ends first
_PATIENCE_S = 30.0  # longest wait for a process while all are at work


@dataclass
class _Lane:
    worker: Worker
    lock: threading.Lock = field(default_factory=threading.Lock)
    users: int = 0  # threads that wait for it or use it
    used_s: float = 0.0


class Readers:
    """Worker processes by the names of lanes; requests of one lane wait for each other, those of others do not.

    Args:
        project: The project.
    """

    def __init__(self, project: Project):
        self._project = project
        self._lanes: dict[str, _Lane] = {}
        self._changed = threading.Condition()
        self._spare: Worker | None = None
        self._stopped = False

    def start(self) -> None:
        """Start a process ahead of the first request of somebody, who need not wait for it then."""
        with self._changed:
            if self._spare is None and not self._stopped:
                self._spare = Worker(self._project)
                self._spare.start()

    def stop(self) -> None:
        """End all processes."""
        with self._changed:
            self._stopped = True
            workers = [lane.worker for lane in self._lanes.values()] + ([self._spare] if self._spare else [])
        for worker in workers:
            worker.stop()

    def value(self, lane: str, task: str, limit_s: float, **values: Any) -> dict[str, Any]:
        """Return the answer of a task.

        Raises:
            UserError: The worker refuses it, takes longer than the limit, or ends.
        """
        with self._worker(lane) as worker, _as_user_error():
            return worker.value(task, time_limit_s=limit_s, **values)

    def once(self, task: str, limit_s: float, **values: Any) -> dict[str, Any]:
        """Return the answer of a task in a process of its own, which ends then; the limit begins when it has started.

        Raises:
            UserError: The worker refuses it, takes longer than the limit, or ends.
        """
        worker = Worker(self._project)
        try:
            with _as_user_error():
                worker.value("hello", time_limit_s=_PATIENCE_S)
                return worker.value(task, time_limit_s=limit_s, **values)
        finally:
            worker.stop(0.0)

    @contextmanager
    def _worker(self, name: str) -> Iterator[Worker]:
        lane = self._joined(name)
        try:
            with lane.lock:
                yield lane.worker
        finally:
            with self._changed:
                lane.users -= 1
                lane.used_s = time.monotonic()
                self._changed.notify_all()

    def _joined(self, name: str) -> _Lane:
        with self._changed:
            free = self._changed.wait_for(lambda: name in self._lanes or self._has_room(), _PATIENCE_S)
            if not free:
                raise UserError("worker", "all are at work for others", "Try again in a moment")
            if name not in self._lanes:
                self._lanes[name], self._spare = _Lane(self._spare or Worker(self._project)), None
                threading.Thread(target=self.start, daemon=True).start()
            lane = self._lanes[name]
            lane.users += 1
            return lane

    def _has_room(self) -> bool:
        """Return whether there may be another lane, after ending one that nobody uses if there are too many."""
        if len(self._lanes) < _PROCESSES:
            return True
        idle = [name for name, lane in self._lanes.items() if not lane.users]
        if not idle:
            return False
        ended = self._lanes.pop(min(idle, key=lambda name: self._lanes[name].used_s))
        threading.Thread(target=ended.worker.stop, daemon=True).start()
        return True


@contextmanager
def _as_user_error() -> Iterator[None]:
    try:
        yield
    except WorkerEnded as err:
        raise UserError("worker", str(err), "Try again, with less at once if it repeats") from None
