"""The functions ``gridval.run`` and ``gridval.predict``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from apps.options.dry_run import DryRunOption
from apps.options.runner import runner_from_request
from apps.options.settings import settings_from_request
from apps.options.shares import with_asked_shares
from apps.options.timeline import TimelineOption
from apps.results.cautions import Cautions
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.command.request import JsonOption, OutOption, WideOption
from platforms.errors import UserError
from platforms.model.placement import RanksPerHost
from platforms.options import placement_from_request, platform_from_request
from platforms.prices.options import CostOptions
from predictor.answers import answers
from predictor.base import Prediction
from predictor.defaults.choice import best_answer
from predictor.evidence.broker import Broker
from predictor.evidence.given import RecordingOptions
from predictor.options import predictors_by_target, predictors_from_request, problems_from_request
from predictor.predict import PredictRequest
from validation.comparison.compare import COLUMNS, Failure
from validation.comparison.truth import read_measured
from validation.interactive.asking import OF_MACHINES, Names, PathLike, asked, check_options, keys_of
from validation.interactive.results import Results, results
from validation.options import asked_platforms
from validation.output import FailAboveOption
from validation.report.option import ReportOption
from validation.run import RunRequest, series_from_request

# What the command prints and writes, and what is recorded or measured elsewhere, which the function does not have.
_REFUSED_BY_PREDICT = keys_of(RecordingOptions, DryRunOption, JsonOption, CostOptions) | {
    "write_hostfile",
    *OF_MACHINES,
}


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
    check_options("predict", options, _REFUSED_BY_PREDICT, settings)
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


# What the command prints and writes, and measured runs, which the function does not have.
_OUTPUT = keys_of(TimelineOption, OutOption, WideOption, ReportOption, DryRunOption, FailAboveOption, JsonOption)
_REFUSED = _OUTPUT | keys_of(CostOptions) | {"energy", "no_target", *OF_MACHINES}


def run(
    platform: PathLike,
    app: Names | None = None,
    *,
    predictors: Names | None = None,
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
    truth: PathLike | None = None,
    settings: Settings | None = None,
    store: PathLike | Literal[False] | None = None,
    jobs: int | None = None,
    **options: Any,
) -> Results:
    """Predict run times, simulate the full runs, and compare, as ``gridval run`` does.

    Args:
        platform: The name of a scenario, such as ``grid4x8``, or a file: a scenario (.toml) or a SimGrid platform
            (.xml, .so).
        app: One kernel or several; default: as ``gridval run``.
        predictors: One name or several; default: as ``gridval run``.
        problem_class: Class of the kernels, such as ``B``.
        size: Size of a kernel that has no classes.
        parameters: With ``size``, other parameters of the kernel.
        program: Instead of kernels, a program of your own: a source file, a binary built by smpicc, or Python.
        program_args: Its arguments in one text; ``{iterations}`` in it stands for the number of iterations.
        program_iterations: Number of iterations of its full run.
        ranks: Number of ranks; default: as many as fit.
        ranks_per_host: Number of ranks on each host, or ``cores`` for one on each core.
        mapping: Mapping of ranks to hosts, such as ``cyclic``.
        hostfile: Instead of a mapping, a file with one host per line, in rank order.
        network: Network of the scenario.
        truth: A CSV file of times measured on a real machine, to be compared with instead of simulations.
        settings: Settings of the runs.
        store: Folder of the store; False: keep no runs; None: the user's store.
        jobs: Number of simulations at a time; default: the number of cores.
        options: Other options of ``gridval run`` by the names of their fields, such as ``efficiency``, but not those
            of output and of machines.

    Returns:
        One row per prediction.

    Raises:
        UserError: An argument, a file or a program is wrong.
        SimulationError: A simulation failed.
    """
    check_options("run", options, _REFUSED, settings)
    values = dict(
        platform=platform, app=app, predictors=predictors, problem_class=problem_class, size=size,
        parameters=parameters, program=program, program_args=program_args,
        program_iterations=program_iterations, ranks=ranks, ranks_per_host=ranks_per_host, mapping=mapping,
        hostfile=hostfile, network=network, store=store, jobs=jobs,
        **options,
    )  # fmt: skip
    request = asked(RunRequest, values)
    return _results(request, settings_from_request(request) if settings is None else settings, truth)


def _results(request: RunRequest, settings: Settings, truth: PathLike | None) -> Results:
    series = series_from_request(
        request, settings, asked_platforms(request),
        models=predictors_by_target(request), problems=problems_from_request(request),
    )  # fmt: skip
    if truth is not None:
        series = replace(series, measured=read_measured(str(truth)))
    said = Cautions()
    rows = []
    with runner_from_request(request, cautions=said) as runner:
        for _, outcome in series.outcomes(runner):
            if isinstance(outcome, Failure):
                raise outcome.error
            rows.append(outcome.to_json())
    return results(rows, COLUMNS, said.lines())
