"""Several jobs on one platform: their schedule and their times on shared links, predicted beside simulated.

FILE is a workload in TOML, or a log of a batch system: SWF, or the output of sacct --parsable2.  All jobs of a workload
are simulated together, so that they share the links.  A log is replayed under a policy with its own run times.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from apps.errors import OptionError
from apps.options.exit_status import exit_status
from apps.options.runner import RunnerOptions, checked_runner, runner_from_request, store_from_request
from apps.options.settings import SettingsOptions, settings_from_request
from apps.recording.events import Recording
from apps.results.cautions import Cautions
from apps.runs.runner import Runner
from apps.spec.run_spec import RunSpec
from apps.spec.settings import Settings
from apps.store import Store
from apps.together.run import Attempt, Ran, run_together, together_hash
from platforms.command.command import Command
from platforms.command.request import JsonOption, WideOption, argument, option
from platforms.command.status import EXIT_STATUSES
from platforms.errors import known_names
from platforms.terminal.progress import Progress, doing
from platforms.terminal.quantities import duration, percent
from platforms.terminal.table import Cell, table_lines
from predictor.evidence.broker import Broker
from predictor.registry import predictor
from predictor.series.pool import Kept
from predictor.workload.figures import Figures, Span, figures
from predictor.workload.file import EXAMPLE, Logged, log_and_nodes, read_workload
from predictor.workload.predicted import Predicted
from predictor.workload.schedule import ORDERS, PLACEMENTS, Asked, Placed, Policy, Workload, fixed_dates, scheduled
from predictor.workload.side import (
    HEAD,
    Evaluator,
    Quiet,
    Side,
    cost_line,
    course_json,
    figures_row,
    or_none,
    side,
    side_json,
)
from validation.presentation.tables import error_cell


@dataclass(frozen=True)
class Compared:
    """The schedules of a workload."""

    workload: Workload
    predicted: Side | None
    simulated: Side | None
    quiet_predicted: Side | None = None  # without the events, if there are any
    quiet_simulated: Side | None = None

    def error_pct(self, job: str) -> float:
        """Return the error of a job's predicted time, %; NaN without both sides or without a program."""
        if self.predicted is None or self.simulated is None or self.workload.by_name()[job].problem is None:
            return math.nan
        true_s = self.simulated.courses[job].time_s
        return 100 * (self.predicted.courses[job].time_s / true_s - 1) if true_s > 0 else math.nan

    def slowdown_error_pct(self, job: str) -> float:
        """Return the error of a job's predicted slowdown, %; NaN as for ``error_pct``."""
        if math.isnan(self.error_pct(job)):
            return math.nan
        assert self.predicted is not None and self.simulated is not None
        return 100 * (self.predicted.courses[job].slowdown / self.simulated.courses[job].slowdown - 1)

    @property
    def mean_error_pct(self) -> float:
        """Mean absolute error of the jobs' predicted times, %; NaN without both sides."""
        return _mean([abs(self.error_pct(job.name)) for job in self.workload.programs])

    @property
    def mean_slowdown_error_pct(self) -> float:
        """Mean absolute error of the jobs' predicted slowdowns, %; NaN without both sides."""
        return _mean([abs(self.slowdown_error_pct(job.name)) for job in self.workload.programs])

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        sides = {"predicted": self.predicted, "simulated": self.simulated}
        quiet = {"predicted": self.quiet_predicted, "simulated": self.quiet_simulated}
        return {
            "workload": self.workload.name,
            "events": [str(event) for event in self.workload.events],
            "jobs": [
                {
                    "job": job.name,
                    "nodes": job.nodes,
                    "arrival_s": job.arrival_s,
                    **{name: course_json(one.courses[job.name]) for name, one in sides.items() if one is not None},
                    "error_pct": or_none(self.error_pct(job.name)),
                    "slowdown_error_pct": or_none(self.slowdown_error_pct(job.name)),
                }
                for job in self.workload.jobs
            ],
            "mean_error_pct": or_none(self.mean_error_pct),
            "mean_slowdown_error_pct": or_none(self.mean_slowdown_error_pct),
            **{name: side_json(one) for name, one in sides.items() if one is not None},
            **{f"{name}_without_events": side_json(one) for name, one in quiet.items() if one is not None},
        }


def compared(workload: Workload, predicted: Evaluator | None, simulated: Evaluator | None) -> Compared:
    """Return the predicted and the simulated schedule, with events also those without."""
    sides = [None if one is None else side(workload, one) for one in (predicted, simulated)]
    if not workload.events:
        return Compared(workload, *sides)
    calm = replace(workload, events=())
    quiet = [None if one is None else side(calm, Quiet(one)) for one in (predicted, simulated)]
    return Compared(workload, *sides, *quiet)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan


@dataclass(frozen=True)
class Together:
    """Result of a simulation, for the store: the dates of each attempt; None: it was killed."""

    ran: tuple[Ran | None, ...]


class Simulated:
    """Simulates attempts of a workload's jobs together."""

    def __init__(
        self, workload: Workload, settings: Settings, runner: Runner, store: Store | None, time_limit_s: float | None
    ):
        self.workload, self._runner = workload, runner
        self._settings = replace(settings, iterations="full", engine=None)
        self._kept = Kept("workload", Together, store)
        self._time_limit_s = time_limit_s
        links = {link.name: link for route in workload.some_routes() for link in route.links} if workload.events else {}
        self._links = links

    def ran(self, placed: Sequence[Placed], *, events: bool = True) -> dict[str, Ran]:
        """Return the dates of all attempts that are not stopped, by name."""
        jobs = self.workload.by_name()
        programs = [one for one in placed if jobs[one.job].problem is not None]
        ran = fixed_dates(self.workload, placed)
        if programs:
            attempts = [self._attempt(one) for one in programs]
            changes = [event for event in self.workload.events if not event.fails] if events else []
            identity = {
                "jobs": [attempt.identity() for attempt in attempts],
                "events": [str(event) for event in changes],
                "program": together_hash(),
            }
            answer = self._kept.get(identity)
            if answer is None:
                names = ", ".join(one.name for one in programs[:4])
                with doing(f"simulating {len(programs)} jobs together: {names}{'...' * (len(programs) > 4)}"):
                    made = run_together(
                        attempts, self._recording, events=changes, links=self._links, time_limit_s=self._time_limit_s
                    )
                answer = Together(tuple(made))
                self._kept.put(identity, answer, f"{len(programs)} jobs")
            ran |= {one.name: dates for one, dates in zip(programs, answer.ran, strict=True) if dates is not None}
        return ran

    def ends_s(self, placed: Sequence[Placed]) -> dict[str, float]:
        """Return the ends of attempts, for the schedule."""
        return {name: ran.end_s for name, ran in self.ran(placed).items()}

    def alone(self, one: Placed) -> Ran:
        """Return the dates of an attempt that has the quiet platform to itself from date 0 on."""
        return self.ran([replace(one, start_s=0.0, stop_s=None)], events=False)[one.name]

    def _attempt(self, one: Placed) -> Attempt:
        target = self.workload.by_name()[one.job].target(self.workload.platform, one.hosts)
        return Attempt(one.name, self._settings.spec(target), one.start_s, one.stop_s)

    def _recording(self, spec: RunSpec) -> Recording:
        return self._runner.recording(spec, spec.target.iterations)


@dataclass(frozen=True, kw_only=True)
class WorkloadRequest(SettingsOptions, RunnerOptions, WideOption, JsonOption):
    """Request of ``gridval series workload``."""

    without: ClassVar[frozenset[str]] = frozenset({"engine", "iterations", "memory_bus", "bytes_per_flop", "jobs"})

    file: str = argument("FILE", "workload in TOML; or a log: .swf, or the output of sacct --parsable2")
    predictor: str = option("dpgraph", "NAME", "dpgraph (default) or dpgraph:known")
    policy: str | None = option(None, "NAME", f"{' or '.join(ORDERS)}, in place of the file's (default: fcfs)")
    place: str | None = option(None, "NAME", f"{' or '.join(PLACEMENTS)}, in place of the file's (default: packed)")
    event: tuple[str, ...] = option(
        (),
        "EVENT",
        'a change of the platform: "t=100 link NAME bandwidth=0.1", "t=50 host NAME speed=0.5" (factors), or '
        '"t=50 host NAME fails"; may be given several times',
    )
    no_target: bool = option(False, help="predict only")
    no_predict: bool = option(False, help="simulate only")
    nodes: int | None = option(None, "N", "with a log: nodes of its machine (default: as the log says)")
    cores_per_node: int = option(1, "N", "with a log in SWF that counts processors: how many are a node (default: 1)")


@dataclass(frozen=True)
class WorkloadAnswer:
    """Schedules of a workload as text and as JSON values."""

    compared: Compared
    cautions: Cautions
    wide: bool = False

    def text(self) -> str:
        """Return a table of the jobs and one of the schedules."""
        lines = [*_job_lines(self.compared, wide=self.wide), "", *_side_lines(self.compared, wide=self.wide)]
        mean, slowdown = self.compared.mean_error_pct, self.compared.mean_slowdown_error_pct
        if not math.isnan(mean):
            lines += ["", f"mean error of the jobs' times {percent(mean)} %, of their slowdowns {percent(slowdown)} %"]
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Return the schedules and the cautions."""
        return {**self.compared.to_json(), "cautions": self.cautions.lines()}


@dataclass(frozen=True)
class LogAnswer:
    """A log, replayed under a policy, beside the log's own waiting times."""

    file: str
    policy: str
    nodes: int
    replayed: Figures
    logged: Figures | None  # None: the log does not know all waiting times

    def text(self) -> str:
        """Return a table."""
        rows: list[list[str | Cell]] = [list(HEAD)]
        rows.append(figures_row(f"by {self.policy}", self.replayed))
        if self.logged is not None:
            rows.append(figures_row("in the log", self.logged))
        return "\n".join(
            [f"{self.file}: {self.replayed.jobs} jobs, {self.nodes} nodes", "", *table_lines(rows, left={0})]
        )

    def to_json(self) -> dict[str, Any]:
        """Return the figures, in SI units."""
        logged = None if self.logged is None else asdict(self.logged)
        return {"log": self.file, "nodes": self.nodes, "policy": self.policy, "replayed": asdict(self.replayed),
                "in_the_log": logged}  # fmt: skip


def answer(request: WorkloadRequest) -> WorkloadAnswer | LogAnswer:
    """Predict and simulate the workload of a request, or replay its log."""
    path = Path(request.file)
    if path.suffix != ".toml":
        return _replayed(request, path)
    if request.nodes is not None or request.cores_per_node != 1:
        raise OptionError("--nodes, --cores-per-node", f"{request.file} is no log", "Leave them out")
    if request.no_target and request.no_predict:
        raise OptionError("--no-target", "does not go with --no-predict", "Drop one")
    if request.predictor not in ("dpgraph", "dpgraph:known"):
        remedy = known_names(request.predictor, ["dpgraph", "dpgraph:known"])
        raise OptionError(f"--predictor {request.predictor}", "it cannot follow several jobs on shared links", remedy)
    workload = read_workload(path, policy=request.policy, placement=request.place, events=request.event)
    settings = settings_from_request(request)
    said = Cautions()
    _, limit_s = checked_runner(request)
    with runner_from_request(request, cautions=said, saying=False) as runner, store_from_request(request) as store:
        hosts = [host for cluster in workload.clusters for host in cluster]
        targets = [job.target(workload.platform, hosts[: job.nodes]) for job in workload.programs]
        for target in targets:
            settings.spec(target)  # raises an error for impossible settings before anything runs
        simulated = None if request.no_target else Simulated(workload, settings, runner, store, limit_s)
        predicted = None
        if not request.no_predict:
            predicted = Predicted(workload, predictor(request.predictor), Broker.of(settings, targets, runner))
        return WorkloadAnswer(compared(workload, predicted, simulated), said, request.wide)


def _replayed(request: WorkloadRequest, path: Path) -> LogAnswer:
    """Return the schedule of a log with its own run times."""
    if request.event or request.no_target or request.no_predict:
        raise OptionError(str(path), "a log runs no programs", "Name it in a workload file: log = ..., [[programs]]")
    if request.cores_per_node < 1 or (request.nodes is not None and request.nodes < 1):
        raise OptionError("--nodes, --cores-per-node", "less than 1", "Give at least 1")
    order = request.policy or ORDERS[0]
    if order not in ORDERS:
        raise OptionError(f"--policy {order}", "no such policy", known_names(order, ORDERS))
    jobs, nodes = log_and_nodes(path, request.nodes, request.cores_per_node)
    spans = log_schedule(jobs, nodes, order)
    logged = None
    if not any(math.isnan(job.wait_s) for job in jobs):
        waited = [(job, job.arrival_s + job.wait_s) for job in jobs]
        logged = figures([Span(job.arrival_s, at_s, at_s + job.run_s, job.nodes) for job, at_s in waited], nodes)
    return LogAnswer(str(path), order, nodes, figures(spans, nodes), logged)


def log_schedule(jobs: Sequence[Logged], nodes: int, order: str) -> list[Span]:
    """Return the schedule of a log on a number of nodes, with the run times of the log."""
    by_number = {str(at): job for at, job in enumerate(jobs)}
    asked = [Asked(name, job.arrival_s, job.nodes, job.walltime_s) for name, job in by_number.items()]
    progress = Progress()

    ends: dict[str, float] = {}

    def ends_s(placed: Sequence[Placed]) -> dict[str, float]:
        ends.update({one.name: one.start_s + by_number[one.job].run_s for one in placed[len(ends) :]})
        return ends

    try:
        placed = scheduled(
            asked,
            [[str(host) for host in range(nodes)]],
            Policy(order),
            ends_s,
            progress=lambda done, total: progress("jobs of the log", done, total),
        )
    finally:
        progress.close()
    return [
        Span(job.arrival_s, one.start_s, one.start_s + job.run_s, job.nodes)
        for one in placed
        for job in (by_number[one.job],)
    ]


def _job_lines(result: Compared, *, wide: bool) -> list[str]:
    """Return a table with a line for each job."""
    predicted, simulated = result.predicted, result.simulated
    sides = [one for one in (predicted, simulated) if one is not None]
    names = [name for name, one in (("predicted", predicted), ("simulated", simulated)) if one is not None]
    head = ["job", "nodes", "arrives", *(["starts"] if wide else []), *names, *(f"slowdown, {n}" for n in names)]
    rows: list[list[str | Cell]] = [[*head, *(["error %"] if len(sides) == 2 else [])]]
    for job in result.workload.jobs:
        courses = [one.courses[job.name] for one in sides]
        scale_s = courses[-1].time_s
        row: list[str | Cell] = [job.name, str(job.nodes), f"{job.arrival_s:g} s"]
        if wide:
            row.append(f"{courses[-1].placed.start_s:.6g} s")
        row += [duration(course.time_s, like_s=scale_s) for course in courses]
        row += [f"{course.slowdown:.3f}" for course in courses]
        if len(sides) == 2:
            error = result.error_pct(job.name)
            row.append("" if math.isnan(error) else error_cell(error))
        rows.append(row)
    return table_lines(rows, left={0}, wide=wide)


def _side_lines(result: Compared, *, wide: bool) -> list[str]:
    """Return a table of the schedules, with what events cost."""
    rows: list[list[str | Cell]] = [list(HEAD)]
    pairs = [
        ("predicted", result.predicted, result.quiet_predicted),
        ("simulated", result.simulated, result.quiet_simulated),
    ]
    costs = []
    for name, one, quiet in pairs:
        if one is None:
            continue
        rows.append(figures_row(name, one.figures))
        if quiet is not None:
            rows.append(figures_row(f"{name}, without the events", quiet.figures))
            costs.append(cost_line(name, one, quiet))
    return [*table_lines(rows, left={0}, wide=wide), *costs]


def _epilog() -> str:
    return f"A workload file:\n\n{textwrap.indent(EXAMPLE, '  ')}\ndocs/planning/jobs.md. {EXIT_STATUSES}"


COMMAND = Command(
    "series workload",
    WorkloadRequest,
    answer,
    __doc__,
    epilog=_epilog(),
    status=exit_status,
)
main = COMMAND.main
