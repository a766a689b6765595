"""The server's side of a worker process: requests and answers are lines of JSON."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from platforms.errors import Place, UserError
from validation.workbench.project.folder import Project
from validation.workbench.work.sandbox import sandboxed

_PATIENCE_S = 8.0  # time that a worker gets to end its simulations
_SHORT_S = 1.0  # the same where nothing is to be kept
_KEPT_LINES, _KEPT_LINE = 100, 1000  # of standard error, and characters of each


class WorkerEnded(Exception):
    """The worker process has ended, or was ended, before it had answered."""


class Worker:
    """A worker process, which is started at the first request and again after it has ended.

    One thread at a time may ask it; ``stop`` may be called by any thread.
    """

    def __init__(self, project: Project):
        self._project = project
        self._process: subprocess.Popen[str] | None = None
        self._errors: list[str] = []
        self._answers: queue.Queue[str | None] = queue.Queue()
        self._lock = threading.Lock()

    def ask(self, task: str, *, time_limit_s: float | None = None, **values: Any) -> Iterator[dict[str, Any]]:
        """Send a request and yield its answers, until the worker says that it is done.

        Raises:
            UserError: The worker refuses the request, or takes longer than the limit.
            WorkerEnded: The worker has ended.
        """
        process = self._started()
        end_s = None if time_limit_s is None else time.monotonic() + time_limit_s
        try:
            assert process.stdin is not None
            process.stdin.write(json.dumps({"task": task, **values}) + "\n")
            process.stdin.flush()
        except OSError as err:
            raise WorkerEnded(self._last_words()) from err
        while True:
            answer = self._answer(end_s)
            if "error" in answer:
                where, problem, remedy = answer["error"]
                raise UserError(Place(where, None, tuple(answer["keys"])), problem, remedy)
            if answer.get("done"):
                return
            yield answer

    def value(self, task: str, *, time_limit_s: float | None = None, **values: Any) -> dict[str, Any]:
        """Send a request that has one answer, and return it."""
        answers = list(self.ask(task, time_limit_s=time_limit_s, **values))
        return answers[0] if answers else {}

    def _answer(self, end_s: float | None) -> dict[str, Any]:
        try:
            line = self._answers.get(timeout=None if end_s is None else max(0.0, end_s - time.monotonic()))
        except queue.Empty:
            self.stop(_SHORT_S)
            raise UserError("worker", "it takes too long", "Ask for less at once") from None
        if line is None:
            raise WorkerEnded(self._last_words())
        answer: dict[str, Any] = json.loads(line)
        return answer

    def start(self) -> None:
        """Start the process ahead of the first request."""
        self._started()

    def stop(self, patience_s: float = _PATIENCE_S) -> None:
        """End the process and its simulations; a request that waits for it raises WorkerEnded.

        Args:
            patience_s: Time that it gets to end by itself, s; then it is killed with all that it has started.
        """
        with self._lock:
            process = self._process
        if process is None or process.poll() is not None:
            return
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience_s)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def _started(self) -> subprocess.Popen[str]:
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                return self._process
            project = self._project
            words = [sys.executable, "-m", "validation.workbench.work", str(project.folder), str(project.store)]
            if project.scheduler is not None:
                words += project.scheduler
            words = sandboxed(project, words)
            self._errors, self._answers = [], queue.Queue()
            # In a session of its own: Ctrl-C reaches the server alone, which ends its workers in order.
            self._process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                encoding="utf-8", errors="replace", start_new_session=True,
            )  # fmt: skip
            for read in (self._read_answers, self._read_errors):
                target_of = (self._process, self._answers if read == self._read_answers else self._errors)
                threading.Thread(target=read, args=target_of, daemon=True).start()
            return self._process

    @staticmethod
    def _read_answers(process: subprocess.Popen[str], answers: queue.Queue[str | None]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            answers.put(line)
        answers.put(None)

    @staticmethod
    def _read_errors(process: subprocess.Popen[str], errors: list[str]) -> None:
        assert process.stderr is not None
        for line in process.stderr:
            errors.append(line.rstrip()[:_KEPT_LINE])
            del errors[:-_KEPT_LINES]

    def said(self) -> list[str]:
        """Return the latest lines that the process wrote to standard error since this was called before."""
        said = list(self._errors)
        del self._errors[: len(said)]
        return said

    @property
    def pid(self) -> int | None:
        """The number of the process; None: there is none."""
        process = self._process
        return None if process is None or process.poll() is not None else process.pid

    def _last_words(self) -> str:
        """Return why the process has ended, as far as it is known."""
        process = self._process
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = None if process is None else process.wait(1.0)
            said = f"signal {-status}" if status is not None and status < 0 else f"exit status {status}"
            return f"the worker process has ended ({said}){': ' + self._errors[-1] if self._errors else ''}"
        return "the worker process does not answer"
