"""Command line: predict, simulate and compare."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from apps.errors import OptionError
from apps.options.dry_run import DryRunOption, print_plan
from apps.options.exit_status import exit_status
from apps.options.machines import MachineOptions, machine_from_request, machines_platform
from apps.options.programs import ProgramOptions
from apps.options.runner import RunnerOptions, evidence_limit_from_request, runner_from_request
from apps.options.settings import settings_from_request
from apps.options.shares import SharesOption, with_asked_shares
from apps.options.timeline import TIMELINE, TimelineOption, timelines
from apps.results.cautions import Cautions
from apps.spec.target import Target
from platforms.addons import is_there, provided
from platforms.command.command import Command, show
from platforms.command.request import JsonOption, OutOption, WideOption, given, option
from platforms.errors import UserError
from platforms.options import PlacementOptions, placement_from_request
from platforms.terminal.progress import doing
from predictor.defaults.choice import DEFAULT_TEXT, PredictorsOf, default_predictors
from predictor.options import LearningOptions, PredictorOption, predictors_by_target, problems_from_request
from predictor.registry import predictor
from validation.comparison.truth import read_measured
from validation.options import PlatformsOptions, asked_platforms
from validation.output import EXIT_STATUSES_AND_LIMIT, FailAboveOption, Output, limit_from_request
from validation.report.option import ReportOption, reporter_from_request
from validation.series.case import Case
from validation.series.series import Series, carry_out

if TYPE_CHECKING:
    from apps.programs.problem import Problem
    from apps.runs.plan import Plan
    from apps.spec.settings import Settings
    from platforms.model.platform import Platform
    from predictor.base import Predictor

_KEPT = "validation.kept.keeper"  # an add-on


@dataclass(frozen=True, kw_only=True)
class RunRequest(
    PlatformsOptions,
    MachineOptions,
    ProgramOptions,
    PlacementOptions,
    PredictorOption,
    LearningOptions,
    SharesOption,
    RunnerOptions,
    TimelineOption,
    OutOption,
    WideOption,
    ReportOption,
    DryRunOption,
    FailAboveOption,
    JsonOption,
):
    """Targets to predict, to simulate or measure, and to compare."""

    default_predictors: ClassVar[str] = DEFAULT_TEXT
    out_files: ClassVar[str] = "results.csv, summary.csv and a figure per app"

    ranks: int | None = option(None, "P", "ranks of the full run (default: as many as fit)")
    no_target: bool = option(
        False, help="with --machine: gather evidence and predict, but never run the targets themselves"
    )
    truth: str | None = option(
        None,
        "FILE.csv",
        "compare with times measured on a real machine instead of simulated ones: columns app (or program), platform, "
        "ranks, time_s, and if they matter class, network, mapping (docs/programs/own-program.md)",
    )
    energy: bool = option(
        False,
        help="show energies and energy-delay products in the tables, and draw them too; results.csv always has them",
    )


def mapping_name(request: PlacementOptions) -> str:
    """Return the name of the mapping that the options choose, for the results."""
    return request.mapping or ("hostfile" if request.hostfile else "block")


def _check_no_target(request: RunRequest) -> None:
    """Raise OptionError if --no-target does not go with the other options."""
    if not request.no_target:
        return
    if request.machine is None:
        raise OptionError("--no-target", "goes with --machine", "Give that too, or use gridval predict")
    for name in ("truth", "out", "report", "fail_above"):
        if getattr(request, name) is not None:
            words = f"--{name.replace('_', '-')}"
            raise OptionError("--no-target", f"does not go with {words}: there is no truth", "Drop one of them")
    for name in ("energy", "wide"):
        if getattr(request, name):
            raise OptionError("--no-target", f"does not go with --{name}: there are no tables", "Drop one of them")


def _and_simulation(models: PredictorsOf) -> PredictorsOf:
    """Return the predictors with the simulation on the calibrated platform of a machine beside them."""
    return lambda target: [*models(target), predictor("simulate")]


def _best_alone(target: Target) -> list[Predictor]:
    """Return the predictor that predictor.predict asks first where the user names none."""
    return default_predictors(target)[:1]


def run(request: RunRequest, made: Callable[..., Series] = replace, output_of: type[Output] = Output) -> int:
    """Predict, simulate, compare and print; return the exit status.  ``made`` changes the series, for add-ons."""
    fail_above = limit_from_request(request)
    models = predictors_by_target(request)
    problems = problems_from_request(request)
    machine = machine_from_request(request)
    _check_no_target(request)
    settings = settings_from_request(request, machine, request.repeats)
    said = Cautions()
    with doing("reading the platforms"):
        platforms = asked_platforms(request) if machine is None else [machines_platform(request, machine)]
    if machine is not None and request.platform and request.predictor is None:
        models = _and_simulation(models)
    series = made(series_from_request(request, settings, platforms, models=models, problems=problems))
    targets = [case.target for case in series.cases]
    if request.timeline is not None:
        _check_timeline(request, targets)
    if request.dry_run:
        if request.no_target and request.predictor is None:  # as predictor.predict: the best one of each target
            series = replace(series, predictors=_best_alone)
        plan = series.plan(
            truths=request.truth is None and not request.no_target, limit=evidence_limit_from_request(request)
        )
        return print_plan(request, plan if request.timeline is None else _with_timeline(plan))
    if request.no_target:
        # Imported here because it is slow to import.
        from predictor.predict import predictions, say_cautions

        chosen = None if request.predictor is None else models(targets[0])
        results = predictions(request, settings, targets, chosen, said)
        show(results, as_json=request.json)
        say_cautions(request, results)
        return 0
    if request.truth is not None:
        series = replace(series, measured=read_measured(request.truth))
    with (
        reporter_from_request(request, verb="run", truth=request.truth, energy=request.energy, cautions=said) as report,
        output_of(
            request.out,
            as_json=request.json,
            figures=True,
            energy=request.energy,
            wide=request.wide,
            fail_above=fail_above,
            cautions=said,
        ) as output,
        runner_from_request(request, cautions=said, saying=False) as runner,
    ):
        if is_there(_KEPT):
            series = provided(f"{_KEPT}:keeping")(series, runner, request)
        carry_out(series, runner, output, report)
        if request.timeline is not None and output.status not in (1, 2):  # the run of the target has not failed
            spec = settings.spec(targets[0])
            written = timelines().write_timeline(TIMELINE, request.timeline, spec, runner.record(spec))
            print(f"timeline: {written}", file=sys.stderr)
    return output.status


def series_from_request(
    request: RunRequest,
    settings: Settings,
    platforms: Iterable[Platform],
    *,
    models: Sequence[Predictor] | PredictorsOf,
    problems: Sequence[Problem],
) -> Series:
    """Return every problem on every platform, placed as the options say.

    Raises:
        UserError: The options are impossible.
    """
    places = [(platform, placement_from_request(request, platform, request.ranks)) for platform in platforms]
    targets = (Target(with_asked_shares(request, problem, *place), *place) for place in places for problem in problems)
    return Series(tuple(Case(target, mapping_name(request), settings) for target in targets), models)


def _check_timeline(request: RunRequest, targets: Sequence[Target]) -> None:
    """Raise UserError unless a timeline can be written: of one target, which is simulated."""
    where = f"{TIMELINE} {request.timeline}"
    if len(targets) != 1:
        raise UserError(where, f"it shows one run, but there are {len(targets)} targets", "Ask for one target")
    if request.truth is not None:
        raise UserError(where, "times from a file have no timeline", "Leave out --truth, or the timeline")
    if request.machine is not None:
        raise UserError(where, "shows a simulation, and does not go with --machine", "Drop one")
    timelines().check_timeline(TIMELINE, given(request.timeline))


def _with_timeline(plan: Plan) -> Plan:
    # Imported here because it is slow to import.
    from apps.runs.plan import for_timeline

    return replace(plan, others=(for_timeline(plan.truths[0]),))


COMMAND = Command(
    "run",
    RunRequest,
    run,
    "Predict the run times of MPI kernels on a grid from a cheap probe, simulate the full runs with SimGrid, and "
    "report the error and the cost of each prediction.",
    epilog=EXIT_STATUSES_AND_LIMIT,
    status=exit_status,
)
main = COMMAND.main


if __name__ == "__main__":
    sys.exit(main(prog="python -m validation.run"))
