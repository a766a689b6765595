"""Values of the queue: suites, runs, and the changes that pages wait for."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

WAITING, RUNNING, DONE, UNANSWERED, FAILED, CANCELLED = STATES = (
    "waiting", "running", "done", "done, no prediction", "failed", "cancelled"
)  # fmt: skip


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
    ranks: dict[str, int]  # of all runs in each state, together
    begun_s: float | None = None  # when its first run began, seconds since 1970
    last_s: float | None = None  # when its latest run ended

    @property
    def total(self) -> int:
        """The number of runs."""
        return sum(self.counts.values())

    @property
    def ended(self) -> int:
        """The number of runs that are done or have failed."""
        return self.done + self.counts[FAILED]

    @property
    def done(self) -> int:
        """The number of runs that are done, also without a prediction."""
        return self.counts[DONE] + self.counts[UNANSWERED]

    def spent_s(self, now_s: float) -> float | None:
        """Return the time since its first run began, s, until now or until all had ended; None: none has begun."""
        goes_on = self.counts[WAITING] or self.counts[RUNNING]
        end_s = now_s if goes_on else self.last_s
        return None if self.begun_s is None or end_s is None else max(0.0, end_s - self.begun_s)

    def left_s(self, now_s: float) -> float | None:
        """Return about how long its other runs take, s, if each takes as long for each of its ranks as those so far.

        None: none has ended yet, or none is left.
        """
        spent_s, ended = self.spent_s(now_s), sum(self.ranks[state] for state in (DONE, UNANSWERED, FAILED))
        left = self.ranks[WAITING] + self.ranks[RUNNING]
        return None if not spent_s or not ended or not left else spent_s * left / ended

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
