"""Predict and simulate a run during which links or hosts change, with the events and without them."""

from __future__ import annotations

from dataclasses import dataclass

from apps.options.exit_status import exit_status
from apps.options.runner import checked_runner, runner_from_request, store_from_request
from apps.options.settings import settings_from_request
from apps.results.cautions import Cautions
from platforms.command.command import Command
from platforms.command.status import EXIT_STATUSES
from predictor.evidence.broker import Broker
from predictor.registry import predictor
from predictor.workload.event_command import EventAnswer, EventOptions, event_workload, with_and_without
from predictor.workload.predicted import Predicted
from validation.workload.cli import Simulated


@dataclass(frozen=True, kw_only=True)
class RunEventRequest(EventOptions):
    """Request of ``gridval run --event``."""


def answer(request: RunEventRequest) -> EventAnswer:
    """Predict and simulate the run of a request with and without its events."""
    workload, settings, said = event_workload(request), settings_from_request(request), Cautions()
    target = workload.jobs[0].target(workload.platform, ())
    settings.spec(target)  # raises an error for impossible settings before anything runs
    _, limit_s = checked_runner(request)
    with runner_from_request(request, cautions=said, saying=False) as runner, store_from_request(request) as store:
        model = Predicted(workload, predictor(request.predictor), Broker.of(settings, [target], runner))
        simulated = Simulated(workload, settings, runner, store, limit_s)
        both = {"predicted": model, "simulated": simulated}
        return EventAnswer(workload, {name: with_and_without(workload, one) for name, one in both.items()}, said)


COMMAND = Command(
    "run --event",
    RunEventRequest,
    answer,
    __doc__,
    epilog=f"docs/planning/jobs.md. {EXIT_STATUSES}",
    status=exit_status,
)
main = COMMAND.main
