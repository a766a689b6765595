"""Predict a run during which links or hosts change: the time with the events beside the time without them.

The graph of the program is evaluated on the network with and without the events.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from apps.errors import OptionError
from apps.options.exit_status import exit_status
from apps.options.programs import ProgramOptions
from apps.options.runner import RunnerOptions, runner_from_request
from apps.options.settings import SettingsOptions, settings_from_request
from apps.results.cautions import Cautions
from apps.together.run import EXAMPLES, parse_event
from platforms.command.command import Command
from platforms.command.request import JsonOption, option
from platforms.command.status import EXIT_STATUSES
from platforms.errors import known_names
from platforms.options import PlacementOptions, PlatformOptions, placement_from_request, platform_from_request
from platforms.terminal.quantities import duration, percent
from predictor.evidence.broker import Broker
from predictor.options import problems_from_request
from predictor.registry import predictor
from predictor.workload.file import checked_links
from predictor.workload.predicted import Predicted
from predictor.workload.schedule import Job, Policy, Workload
from predictor.workload.side import Quiet, Side, side, side_json

PREDICTORS = ("dpgraph", "dpgraph:known")


@dataclass(frozen=True, kw_only=True)
class EventOptions(PlatformOptions, ProgramOptions, PlacementOptions, SettingsOptions, RunnerOptions, JsonOption):
    """A run, and events on its platform."""

    without = frozenset({"engine", "iterations", "memory_bus", "bytes_per_flop", "jobs"})

    event: tuple[str, ...] = option((), "EVENT", f"a change of the platform: {EXAMPLES}; may be given several times")
    ranks: int | None = option(None, "P", "number of ranks (default: as many as fit)")
    predictor: str = option("dpgraph", "NAME", "dpgraph (default) or dpgraph:known")


@dataclass(frozen=True, kw_only=True)
class PredictEventRequest(EventOptions):
    """Request of ``gridval predict --event``."""


@dataclass(frozen=True)
class EventAnswer:
    """The times of a run with and without events, by how they are known."""

    workload: Workload
    sides: dict[str, tuple[Side, Side]]  # "predicted", "simulated": with the events, and without
    cautions: Cautions

    def text(self) -> str:
        """Return a line for each."""
        job = self.workload.jobs[0]
        lines = [f"{job.target(self.workload.platform, ())}, with {'; '.join(map(str, self.workload.events))}"]
        for name, (with_events, quiet) in self.sides.items():
            time_s, quiet_s = (one.courses[job.name].end_s for one in (with_events, quiet))
            cost = (
                f"{duration(time_s - quiet_s, like_s=quiet_s)}, {percent(100 * (time_s / quiet_s - 1), signed=True)} %"
            )
            lines.append(f"{name}: {duration(time_s)}, {duration(quiet_s)} without the events: they cost {cost}")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Return the times in s, and the cautions."""
        job = self.workload.jobs[0].name
        answer: dict[str, Any] = {"events": [str(event) for event in self.workload.events]}
        for name, (with_events, quiet) in self.sides.items():
            answer[f"{name}_s"] = with_events.courses[job].end_s
            answer[f"{name}_without_events_s"] = quiet.courses[job].end_s
            answer[name] = side_json(with_events)
        return {**answer, "cautions": self.cautions.lines()}


def event_workload(request: EventOptions) -> Workload:
    """Return the run of a request as a workload of one job, on the hosts of its placement.

    Raises:
        UserError: The options do not fit together, or an event is wrong.
    """
    if request.predictor not in PREDICTORS:
        remedy = known_names(request.predictor, PREDICTORS)
        raise OptionError(f"--predictor {request.predictor}", "it cannot follow events", remedy)
    events = tuple(parse_event(text, "--event") for text in request.event)
    problems = problems_from_request(request)
    if len(problems) > 1:
        raise OptionError("--event", f"{len(problems)} programs, but events are for one run", "Name one with --app")
    platform = platform_from_request(request)
    placement = tuple(placement_from_request(request, platform, request.ranks))
    hosts = tuple(dict.fromkeys(placement))
    job = Job(problems[0].name, len(hosts), 0.0, problem=problems[0], ranks=len(placement), placement=placement)
    workload = Workload("--event", platform, (job,), Policy(), events, hosts)
    checked_links(workload, events)
    failing = next((event for event in events if event.fails and event.name in hosts), None)
    if failing is not None:
        remedy = "Use gridval series workload, which starts the job again on other hosts"
        raise OptionError(f"--event {str(failing)!r}", "the run uses this host and cannot end without it", remedy)
    return workload


def with_and_without(workload: Workload, evaluator: Any) -> tuple[Side, Side]:
    """Return the schedules with the events and without them."""
    return side(workload, evaluator), side(replace(workload, events=()), Quiet(evaluator))


def answer(request: PredictEventRequest) -> EventAnswer:
    """Predict the run of a request with and without its events."""
    workload, settings, said = event_workload(request), settings_from_request(request), Cautions()
    target = workload.jobs[0].target(workload.platform, ())
    settings.spec(target)  # raises an error for impossible settings before anything runs
    with runner_from_request(request, cautions=said, saying=False) as runner:
        model = Predicted(workload, predictor(request.predictor), Broker.of(settings, [target], runner))
        return EventAnswer(workload, {"predicted": with_and_without(workload, model)}, said)


COMMAND = Command(
    "predict --event",
    PredictEventRequest,
    answer,
    __doc__,
    epilog=f"docs/planning/jobs.md. {EXIT_STATUSES}",
    status=exit_status,
)
main = COMMAND.main
