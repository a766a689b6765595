"""A runner that times its steps and tells what it does, for estimates and for the logs of runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from apps.probes.plan import Measurement
from apps.probes.plan import Plan as ExperimentPlan
from apps.recording.events import Recording
from apps.results.record import RunRecord
from apps.runs.neutral import recording_identity
from apps.runs.runner import Runner
from apps.spec.run_spec import RunSpec
from apps.store import Store
from apps.store.identity import identity_hash
from platforms.errors import printable
from validation.workbench.work.durations import ANSWER, MEASUREMENT, RECORDING, Step, run_step

MOST_LINES = 400  # of a run's log
MOST_LINE = 2000  # characters
_ANSWERS = " predicts "  # in what the series says of an answer


class Course:
    """The course of a run in a worker: lines of its log, told as they come, and the steps with their times.

    Args:
        tell: Called with each line.
    """

    def __init__(self, tell: Callable[[str], None] = lambda _: None):
        self._tell = tell
        self._lock = threading.Lock()
        self.begin()

    def begin(self) -> None:
        """Begin another run."""
        self.steps: list[tuple[Step, float]] = []
        self.waited_s = 0.0  # for evidence and the truth
        self._started_s, self._lines = time.perf_counter(), 0
        self.about = ("", 1)  # the kernel with its class, and the number of ranks

    @property
    def spent_s(self) -> float:
        """Time since the run began."""
        return time.perf_counter() - self._started_s

    def say(self, text: str) -> None:
        """Tell a line, unless the log is full."""
        with self._lock:
            self._lines += 1
            if self._lines <= MOST_LINES:
                self._tell(f"[{self.spent_s:8.2f} s] {printable(text)[:MOST_LINE]}")
            elif self._lines == MOST_LINES + 1:
                self._tell("[...] there are more lines, which are not kept")

    def took(self, step: Step, wall_s: float) -> None:
        """Keep how long a step took."""
        with self._lock:
            self.steps.append((step, wall_s))

    @contextmanager
    def heard(self, what: str) -> Iterator[None]:
        """Tell of an activity that the program announces, and time the answers of predictors."""
        self.say(what)
        started_s, waited_s = time.perf_counter(), self.waited_s
        try:
            yield
        finally:
            name, found, _ = what.partition(_ANSWERS)
            if found:
                spent_s = time.perf_counter() - started_s - (self.waited_s - waited_s)
                size, ranks = self.about
                self.took(Step(ANSWER, name, size, ranks, ranks), max(0.0, spent_s))

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Count the time in this context as waiting for evidence."""
        started_s = time.perf_counter()
        try:
            yield
        finally:
            self.waited_s += time.perf_counter() - started_s


class TimedRunner(Runner):
    """A runner that times what it makes; what the store has is not timed.

    Args:
        course: Receives each step.
        store: The store.
        simulate: Makes the record of a spec.
        timed: Whether this computer makes the simulations, so that their times are its own.
        options: Those of the runner.
    """

    def __init__(
        self, course: Course, *, store: Store, simulate: Callable[..., RunRecord], timed: bool = True, **options: Any
    ):
        super().__init__(store=store, simulate=self._timed_simulation, **options)
        self.course = course
        self._made_by, self._timed = simulate, timed

    def _timed_simulation(self, spec: RunSpec, **options: Any) -> RunRecord:
        started_s = time.perf_counter()
        record = self._made_by(spec, **options)
        wall_s = time.perf_counter() - started_s
        if self._timed:
            self.course.took(run_step(spec), wall_s)
        shown = " ".join(record.command)
        self.course.say(
            f"simulated {spec.target}: {record.time_s:.6g} s, in {wall_s:.2f} s and "
            f"{record.peak_memory_bytes / 1e6:.0f} MB: {shown}"
        )
        return record

    def record(self, spec: RunSpec) -> RunRecord:
        """Wait for the record of a run and return it."""
        with self.course.waiting():
            return super().record(spec)

    def recording(self, spec: RunSpec, iterations: int) -> Recording:
        """Wait for a recording and return it."""
        identity = recording_identity(spec, iterations)
        kept = identity_hash({**identity, "flop_scale": spec.flop_scale}) in self._recordings
        kept = kept or (self.store is not None and self.store.unchanged("recording", identity))
        started_s = time.perf_counter()
        with self.course.waiting():
            made = super().recording(spec, iterations)
        if not kept:
            self.course.took(run_step(spec, RECORDING, iterations), time.perf_counter() - started_s)
        return made

    def measure(self, plan: ExperimentPlan) -> Measurement:
        """Wait for the result of experiments and return it."""
        key = identity_hash(plan.identity())
        kept = key in self._measurements or (self.store is not None and self.store.get("probe", key) is not None)
        started_s = time.perf_counter()
        with self.course.waiting():
            made = super().measure(plan)
        if not kept and plan.machine is None:
            many = len(plan.experiments)
            self.course.took(Step(MEASUREMENT, plan.measured, "", 1, many), time.perf_counter() - started_s)
        return made
