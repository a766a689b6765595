"""The places of a dispatcher: the work of each, as the queue shows it, and the logs of the runs there."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from validation.workbench.queue.suites import Job
from validation.workbench.work.process import Worker

_MOST_LINES = 450  # of a run


@dataclass(frozen=True)
class Doing:
    """The work of a place."""

    suite: int
    run: int | None  # in the queue; None: the worker has not begun
    now: str  # the latest line of the log
    since_s: float  # when the job was handed to it, seconds since 1970
    memory_bytes: int | None  # of the worker process, without the simulations that it starts


@dataclass
class Place:
    """A place with the job that is made there."""

    job: Job
    worker: Worker
    since_s: float = field(default_factory=time.time)
    run: int | None = None
    now: str = ""
    _lines: dict[int, list[str]] = field(default_factory=dict)  # by run

    def hear(self, case: int, line: str) -> None:
        """Take a line of the log of a run."""
        run = self.job.runs.get(case, self.run)
        if run is None:
            return
        if run != self.run:
            self.run = run
        lines = self._lines.setdefault(run, [])
        self.now = line
        if len(lines) < _MOST_LINES:
            lines.append(line)

    def log_of(self, run: int, reason: str, number: int) -> list[str]:
        """Return the log of a run that has ended, and begin with the next one.

        Args:
            run: The run.
            reason: Why it failed; empty: it is done.
            number: The number of the place.
        """
        begun = time.strftime("%Y-%m-%d %H:%M:%S %z", time.localtime(self.since_s))
        of_job = f"a job of {len(self.job.runs)} runs" if len(self.job.runs) > 1 else "the run"
        head = f"{begun}: {of_job} begins in place {number + 1}, process {self.worker.pid or 'that has ended'}"
        said = self.worker.said()
        lines = [head, *self._lines.pop(run, [])]
        lines += ["standard error of the worker:", *said] if said else []
        if reason and not any(reason in line for line in lines):
            lines.append(f"failed: {reason}")
        self.since_s, self.run, self.now = time.time(), None, ""
        return lines

    def shown(self) -> Doing:
        """Return what the page shows."""
        return Doing(self.job.suite, self.run, self.now, self.since_s, memory_of(self.worker.pid))


def memory_of(pid: int | None) -> int | None:
    """Return the memory that a process uses, bytes; None: it is not known."""
    with suppress(OSError, ValueError, IndexError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return None


def shown_places(places: Mapping[int, Place], count: int) -> list[Doing | None]:
    """Return what each place works on; None: it is idle."""
    return [None if (place := places.get(number)) is None else place.shown() for number in range(count)]
