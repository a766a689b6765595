"""Several jobs on one platform: their schedule and their times on shared links, predicted beside simulated.

FILE is a workload in TOML, or a log of a batch system: SWF, or the output of sacct --parsable2.  All jobs of a workload
are simulated together, so that they share the links.  A log is replayed under a policy with its own run times.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from apps.errors import OptionError
from apps.options.exit_status import exit_status
from apps.options.runner import RunnerOptions, checked_runner, runner_from_request, store_from_request
from apps.options.settings import SettingsOptions, settings_from_request
from apps.results.cautions import Cautions
from platforms.command.command import Command
from platforms.command.common import JsonOption, WideOption
from platforms.command.request import argument, option
from platforms.command.status import EXIT_STATUSES
from platforms.errors import known_names
from platforms.terminal.progress import Progress
from platforms.terminal.quantities import duration, percent
from platforms.terminal.table import Cell, table_lines
from predictor.evidence.broker import Broker
from predictor.registry import predictor
from predictor.workload.figures import Figures, Span, figures
from predictor.workload.file import EXAMPLE, Logged, log_and_nodes, read_workload
from predictor.workload.predicted import Predicted
from predictor.workload.schedule import ORDERS, PLACEMENTS, Asked, Placed, Policy, scheduled
from predictor.workload.side import HEAD, cost_line, figures_row
from validation.presentation.tables import error_cell
from validation.workload.compare import Compared, compared
from validation.workload.simulated import Simulated


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
