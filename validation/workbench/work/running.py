"""Requests to a worker that make runs: predictions, the truth, and their comparison."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apps.runs.simulate import simulate
from apps.store import Store
from platforms.terminal.progress import be_quiet
from validation.comparison.compare import Failure
from validation.series.case import Case
from validation.series.series import Series
from validation.workbench.project.application_suites import is_of_applications
from validation.workbench.work.campaigns import Campaigns, content_of
from validation.workbench.work.durations import ANSWER, CASE, PROGRAM, START, Step, keep
from validation.workbench.work.points import SuitePoints
from validation.workbench.work.timing import Course, TimedRunner

if TYPE_CHECKING:
    from validation.workbench.work.far import EvaluatingCluster

WALL_LIMIT_S = 4 * 3600.0  # of one simulation, as in the commands
_RUNS_KEPT = 200  # a runner keeps its records in memory, so that a new one takes its place after this many runs
_PER_PLACE = 4  # runs in a job for each place of a Dask cluster
_KEPT_S, _KEPT_STEPS = 1.0, 500  # times of steps are written down this often, or when there are this many


class Running:
    """Makes the runs of suites with one runner after another.

    Args:
        folder: The project folder.
        store: Folder of the store.
        scheduler: Address of a Dask scheduler, and its certificates; None: this process simulates, one run at a time.
        tell: Called with each line of a run's log, which has the number of the case.
    """

    def __init__(
        self, folder: Path, store: Path, scheduler: tuple[str, ...] | None,
        tell: Callable[[dict[str, Any]], None] = lambda _: None,
    ):  # fmt: skip
        self._folder, self._store, self._scheduler = folder, store, scheduler
        self._campaigns = Campaigns()
        self._stack = ExitStack()
        self._runner: TimedRunner | None = None
        self._case = -1  # the run that is being made
        self._course = Course(lambda line: tell({"log": line, "case": self._case}))
        self._steps: list[tuple[Step, float]] = []  # that are not written down yet
        self._kept_s, self._begun = time.monotonic(), False
        self._made = 0
        self._kept: Store | None = None
        self._points: tuple[str, SuitePoints] | None = None  # of the latest suite of applications, by its text
        self._cluster: EvaluatingCluster | None = None
        self._jobs = 0  # simulations that are handed to the cluster at a time

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *_: object) -> None:
        self._write_steps()
        self._stack.close()

    def places(self, _: Path) -> Iterator[dict[str, Any]]:
        """Yield how many runs a job for this worker should have, and the places of the cluster; None: there is none."""
        self._ready()
        places = None if self._cluster is None else self._cluster.places
        yield {"most": 1 if places is None else max(1, _PER_PLACE * places), "places": places}

    def run(self, folder: Path, text: str, cases: Sequence[int], hashes: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Make runs and yield for each the results, or the reason why it failed, as soon as they are known.

        Args:
            folder: The project folder.
            text: The suite.
            cases: The numbers of the runs in the suite.
            hashes: The hash of each run's platform when it was queued; a run whose platform has changed is refused.
        """
        if is_of_applications(text):
            yield from self._run_points(folder, text, list(zip(cases, hashes, strict=True)))
            return
        campaign = self._campaigns.read(folder, text)
        chosen = [(number, campaign.cases[number]) for number in cases if number < len(campaign.cases)]
        runner = self._ready()
        self._made += len(chosen)
        if len(chosen) > 1:
            for _, case in chosen:
                campaign.start(runner, [case])
        for (number, case), known in zip(chosen, hashes, strict=True):
            if content_of(case.target) != known:
                what = "platform" if case.target.problem.program is None else "platform or the program"
                reason = f"{case.target.platform.name}: the {what} has changed since the suite was queued. Queue it"
                yield {"case": number, "results": [], "reason": f"{reason} again."}
            else:
                target, names = case.target, ", ".join(sorted(model.name for model in campaign.asked(case.target)))
                self._begin(number, f"{target.problem.name} {target.problem.label or ''}".strip(), target.nranks)
                answer = _outcome(campaign, case, runner)
                yield {"case": number, **self._ended(names, answer)}

    def _begin(self, case: int, size: str = "", ranks: int = 1) -> None:
        """Begin the log of a run."""
        be_quiet(self._course.heard)
        self._case = case
        self._course.begin()
        self._course.about = size, ranks

    def _ended(self, name: str, answer: dict[str, Any]) -> dict[str, Any]:
        """Return the answer of a run that has ended, and keep the times of its steps."""
        course, spent_s = self._course, self._course.spent_s
        refused = [row for row in answer["results"] if row.get("predicted_s") is None]
        for row in refused:
            course.say(f"{row.get('predictor')} does not answer: {row.get('flags')}")
        course.say(f"failed: {answer['reason']}" if answer["reason"] else "done")
        if self._cluster is None and not answer["reason"]:
            name += ", simulated" if any(step.kind.startswith(PROGRAM) for step, _ in course.steps) else ""
            # What the process imports at first, also when a predictor answers first, counts as its start.
            steps = [taken for taken in course.steps if self._begun or taken[0].kind != ANSWER]
            parts_s = sum(wall_s for _, wall_s in steps)
            rest = Step(CASE, name, amount=parts_s), spent_s
            self._steps += [*steps, rest if self._begun else (Step(START, "worker"), max(0.0, spent_s - parts_s))]
            self._begun = True
            if time.monotonic() - self._kept_s >= _KEPT_S or len(self._steps) >= _KEPT_STEPS:
                self._write_steps()
        return answer

    def _write_steps(self) -> None:
        if self._steps:
            keep(self._store, self._steps)
        self._steps, self._kept_s = [], time.monotonic()

    def _run_points(self, folder: Path, text: str, chosen: list[tuple[int, str]]) -> Iterator[dict[str, Any]]:
        """Evaluate points of a suite of applications, and simulate them if the suite asks for it."""
        # Imported here for a quick start: it is slow to import, and workers without such suites never need it.
        from validation.workbench.work.evaluating import outcomes

        if self._points is None or self._points[0] != text:
            self._points = text, SuitePoints(folder, text)
        suite = self._points[1]
        runner = self._ready()
        self._made += len(chosen)
        assert self._kept is not None
        known = [(number, content) for number, content in chosen if number < len(suite.points)]
        for answer in outcomes(folder, suite, known, runner, self._kept, self._cluster, self._begin):
            yield self._ended(", ".join(suite.models), answer)

    def _ready(self) -> TimedRunner:
        """Return the runner, a new one after many runs."""
        grown = self._cluster is not None and 2 * self._cluster.places > self._jobs  # a worker has joined it
        if self._runner is not None and self._made < _RUNS_KEPT and not grown:
            return self._runner
        self._stack.close()
        self._made = 0
        store = self._kept = self._stack.enter_context(Store(self._store))
        jobs, simulating = 1, partial(simulate, time_limit_s=WALL_LIMIT_S, store=store)
        if self._scheduler is not None:
            self._cluster = self._stack.enter_context(_cluster(self._scheduler))
            jobs = self._jobs = max(1, 2 * self._cluster.places)
            simulating = partial(self._cluster.simulate, time_limit_s=WALL_LIMIT_S)
        self._runner = TimedRunner(
            self._course, jobs=jobs, store=store, simulate=simulating, time_limit_s=WALL_LIMIT_S,
            timed=self._scheduler is None,
        )  # fmt: skip
        self._stack.enter_context(self._runner)
        return self._runner


def _cluster(scheduler: tuple[str, ...]) -> EvaluatingCluster:
    # Imported here for a quick start: it is slow to import, and workers without a scheduler never need it.
    from validation.workbench.work.far import EvaluatingCluster

    return EvaluatingCluster(*scheduler)


def _outcome(campaign: Series, case: Case, runner: TimedRunner) -> dict[str, Any]:
    """Return the results of a run, or the reason why it failed."""
    outcomes = [outcome for _, outcome in campaign.outcomes(runner, [case])]
    failed = next((outcome for outcome in outcomes if isinstance(outcome, Failure)), None)
    rows = [outcome.to_json() for outcome in outcomes if not isinstance(outcome, Failure)]
    return {"results": rows, "reason": "" if failed is None else str(failed.error)}
