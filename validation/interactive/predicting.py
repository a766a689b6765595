"""The function ``gridval.predict``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from apps.options.dry_run import DryRunOption
from apps.options.runner import runner_from_request
from apps.options.settings import settings_from_request
from apps.options.shares import with_asked_shares
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.command.common import JsonOption
from platforms.errors import UserError
from platforms.model.placement import RanksPerHost
from platforms.options import placement_from_request, platform_from_request
from platforms.prices.options import CostOptions
from predictor.answers import answers
from predictor.base import Prediction
from predictor.defaults.choice import best_answer
from predictor.evidence.broker import Broker
from predictor.evidence.given import RecordingOptions
from predictor.options import predictors_from_request, problems_from_request
from predictor.predict import PredictRequest
from validation.interactive.asking import OF_MACHINES, PathLike, asked, check_options, keys_of

# What the command prints and writes, and what is recorded or measured elsewhere, which the function does not have.
_REFUSED = keys_of(RecordingOptions, DryRunOption, JsonOption, CostOptions) | {"write_hostfile", *OF_MACHINES}


def predict(
    platform: PathLike,
    app: str | None = None,
    *,
    predictor: str | None = None,
    problem_class: str | None = None,
    size: int | None = None,
    parameters: Mapping[str, int | float | str] | None = None,
    program: PathLike | None = None,
    program_args: str | None = None,
    program_iterations: int | None = None,
    ranks: int | None = None,
    ranks_per_host: RanksPerHost | None = None,
    mapping: str | None = None,
    hostfile: PathLike | None = None,
    network: str | None = None,
    settings: Settings | None = None,
    store: PathLike | Literal[False] | None = None,
    jobs: int | None = None,
    **options: Any,
) -> Prediction:
    """Predict the run time of one program without running it as a whole, as ``gridval predict`` does.

    The arguments are those of ``run``, with one program and one predictor; without a predictor, the best one that is in
    its range answers.

    Returns:
        The prediction; ``time_s`` is the time, and ``flags`` are reasons to distrust it.

    Raises:
        OutOfRange: The predictor has no answer for this program on this platform.
        UserError: An argument, a file or a program is wrong.
        SimulationError: A simulation for the evidence failed.
    """
    check_options("predict", options, _REFUSED, settings)
    values = dict(
        platform=platform, app=app, predictor=predictor, problem_class=problem_class, size=size,
        parameters=parameters, program=program, program_args=program_args,
        program_iterations=program_iterations, ranks=ranks, ranks_per_host=ranks_per_host, mapping=mapping,
        hostfile=hostfile, network=network, store=store, jobs=jobs,
        **options,
    )  # fmt: skip
    if app is None and program is None:
        raise UserError("predict", "no program is named", "Give app or program")
    request = asked(PredictRequest, values)
    return _prediction(request, settings_from_request(request) if settings is None else settings)


def _prediction(request: PredictRequest, settings: Settings) -> Prediction:
    models = [] if request.predictor is None else predictors_from_request(request)
    problems = problems_from_request(request)
    for what, named in (("app", problems), ("predictor", models)):
        if len(named) > 1:
            raise UserError(what, f"{len(named)} are named", "Name one, or call run")
    platform = platform_from_request(request)
    placement = placement_from_request(request, platform, request.ranks)
    target = Target(with_asked_shares(request, problems[0], platform, placement), platform, placement)
    settings.spec(target)  # raises an error for impossible settings before anything runs
    with runner_from_request(request) as runner:
        broker = Broker.of(settings, [target], runner)
        answer = answers.predict(models[0], [target], broker)[0] if models else best_answer(target, broker).answer
    if answer.error is not None:
        raise answer.error
    assert answer.prediction is not None
    return answer.prediction
