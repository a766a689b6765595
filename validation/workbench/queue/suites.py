"""Values of the queue: suites, runs, and the changes that pages wait for."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

WAITING, RUNNING, DONE, FAILED, CANCELLED = STATES = ("waiting", "running", "done", "failed", "cancelled")


@dataclass(frozen=True)
class QueuedCase:
    """A run as it is queued: the number of its case in the suite, and the words that describe it."""

    number: int
    platform: str
    network: str | None
    app: str
    preset: str | None  # the class, or the size
    ranks: int
    mapping: str
    efficiency: str
    platform_hash: str
    point: str = ""  # of a suite of applications: its counts, variables, policy and power rule, as a JSON object

    @property
    def values(self) -> tuple[Any, ...]:
        """The values in the order of the columns of the table of runs."""
        return (
            self.number, self.platform, self.network, self.app, self.preset, self.ranks, self.mapping,
            self.efficiency, self.platform_hash,
        )  # fmt: skip


@dataclass(frozen=True)
class Suite:
    """A suite in the queue, with the number of its runs in each state."""

    id: int
    name: str
    owner: str
    created_s: float  # seconds since 1970
    counts: dict[str, int]  # by state

    @property
    def total(self) -> int:
        """The number of runs."""
        return sum(self.counts.values())

    @property
    def ended(self) -> int:
        """The number of runs that are done or have failed."""
        return self.counts[DONE] + self.counts[FAILED]

    @property
    def state(self) -> str:
        """The state of the suite as a whole."""
        for state in (RUNNING, WAITING, CANCELLED, FAILED):
            if self.counts[state]:
                return state
        return DONE


@dataclass(frozen=True)
class Job:
    """Runs of one suite that a worker makes now."""

    suite: int
    runs: dict[int, int]  # id of each run by the number of its case
    hashes: dict[int, str]  # hash of the platform of each run when it was queued, by the number of its case


class Changes:
    """A counter that grows with every change of the queue, and that threads can wait on."""

    def __init__(self) -> None:
        self._count = 0
        self._changed = threading.Condition()

    @property
    def count(self) -> int:
        """The number of changes so far."""
        return self._count

    def add(self) -> None:
        """Count a change and wake the threads that wait."""
        with self._changed:
            self._count += 1
            self._changed.notify_all()

    def wait(self, seen: int, timeout_s: float) -> None:
        """Wait until there are more changes than were seen, or the time is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._count > seen, timeout_s)
