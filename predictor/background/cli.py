"""Predict the distribution of a run time on a grid that others use too.

Background load takes a share of the nodes and of the wide-area links.  The evidence is gathered on the quiet grid, and
the model is evaluated under draws of the load: the result is a distribution of times (docs/planning/shared.md).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, asdict, dataclass
from typing import Any, ClassVar

from apps.errors import SimulationError
from apps.options.dry_run import DryRunOption, print_plan
from apps.options.exit_status import exit_status
from apps.options.programs import ProgramOptions
from apps.options.runner import RunnerOptions, runner_from_request
from apps.options.settings import SettingsOptions, settings_from_request
from apps.results.cautions import Cautions
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.background.site import Loadable, site_of
from platforms.background.statement import Background, asked_background, background_names
from platforms.command.command import Command
from platforms.command.request import JsonOption, WideOption, option
from platforms.command.status import EXIT_STATUSES
from platforms.errors import UserError
from platforms.model.platform import Platform
from platforms.options import (
    PlacementOptions,
    PlatformOptions,
    grid_from_request,
    placement_from_request,
    platform_from_request,
)
from platforms.terminal.progress import Progress, doing
from platforms.terminal.prose import folded_lines
from platforms.terminal.quantities import duration
from platforms.terminal.table import Cell, table_lines
from platforms.wording import number_of
from predictor.answers.answers import names
from predictor.background.forecast import Forecast, Load, forecast
from predictor.base import Gatherer, OutOfRange, Predictor
from predictor.evidence.broker import Broker, RefusedEvidence
from predictor.evidence.given import Given, RecordingOptions, given_from_request
from predictor.options import problems_from_request
from predictor.registry import predictor

DEFAULT_PREDICTORS = "hcf:constant,dpgraph"
_DRAWS, MOST_DRAWS = 100, 10_000
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class BackgroundQuestion:
    """Targets, predictors, load and settings that the options ask for."""

    targets: tuple[Target, ...]  # on the quiet grid
    models: tuple[Predictor, ...]
    load: Load
    settings: Settings
    given: Given | None = None  # a recording of the program from the user


@dataclass(frozen=True)
class Refused:
    """The reason why a predictor has no distribution for a target."""

    predictor: str
    target: Target
    reason: str


@dataclass(frozen=True, kw_only=True)
class BackgroundOptions(
    PlatformOptions,
    ProgramOptions,
    RecordingOptions,
    PlacementOptions,
    SettingsOptions,
    RunnerOptions,
    DryRunOption,
    WideOption,
    JsonOption,
):
    """Add the options that asked_from_request reads, and those of the runner and the output."""

    default_class: ClassVar[str] = "A"

    background: str = option(
        MISSING,
        "NAME|FILE.toml",
        f"load of nodes and wide-area links: {', '.join(background_names())}, or a file of your own",
    )
    ranks: int | None = option(None, "P", "number of ranks (default: as many as fit)")
    predictor: str = option(
        DEFAULT_PREDICTORS,
        "N1,N2,...",
        f"of hcf, hcf:constant, hcf:printed, dpgraph, dpgraph:known (default: {DEFAULT_PREDICTORS})",
    )
    draws: int = option(_DRAWS, "N", f"draws of each distribution (default: {_DRAWS})")
    seed: int = option(1, "S", "seed of all draws (default: 1)")


@dataclass(frozen=True, kw_only=True)
class BackgroundRequest(BackgroundOptions):
    """Request of ``gridval predict --background``."""


def check_number(option: str, value: int, least: int, most: int) -> None:
    """Check the value of an option that takes a whole number.

    Raises:
        UserError: It is out of its range.
    """
    if not least <= value <= most:
        raise UserError(f"{option} {value}", "out of its range", f"Give {least} to {most}")


def asked_from_request(request: BackgroundOptions) -> BackgroundQuestion:
    """Return what the options ask for.

    Raises:
        UserError: The options do not fit together.
    """
    check_number("--draws", request.draws, 10, MOST_DRAWS)
    check_number("--seed", request.seed, 0, 2**63)
    background = asked_background(request.background)
    models = tuple(predictor(name) for name in names(request.predictor, "--predictor"))
    given = given_from_request(request)
    problems = problems_from_request(request) if given is None else [given.problem]
    settings = settings_from_request(request)
    platform, grid = _ground(request, background)
    placement = placement_from_request(request, platform, request.ranks if given is None else given.recording.nranks)
    targets = tuple(Target(problem, platform, placement) for problem in problems)
    for target in targets:
        settings.spec(target)  # raises an error for impossible settings before anything runs
    return BackgroundQuestion(targets, models, Load(grid, background, request.draws, request.seed), settings, given)


def _ground(request: BackgroundOptions, background: Background) -> tuple[Platform, Loadable]:
    """Return the quiet platform, and the grid or site that has the load."""
    # Imported here because it is slow to import.
    from platforms.read.read import materialise

    if not request.platform:
        if request.clusters:
            platform_from_request(request)  # raises an error: a scenario names its clusters
        grid = grid_from_request(request)
        background.check(grid)
        with doing("reading the platform"):
            return materialise(grid), grid
    platform = platform_from_request(request)
    with doing("looking for wide-area links"):
        site = site_of(platform, background.links)
    background.check(site)
    if not site.wan_links and (background.bandwidth or background.latency):
        problem = f"[wan] of background {background.name}: no link is crossed between clusters alone"
        remedy = "Tell the clusters with --clusters, name the links with links = [...] in [wan], or leave [wan] out"
        raise UserError(f"platform {platform.name}", problem, remedy)
    return platform, site


def forecasts(asked: BackgroundQuestion, broker: Gatherer) -> list[Forecast | Refused]:
    """Return the distributions, or why there is none, of each target by each predictor.

    Raises:
        UserError: No predictor has an answer for a target.
    """
    answers: list[Forecast | Refused] = []
    with _progress() as progress:
        for target in asked.targets:
            of_target: list[Forecast | Refused] = []
            for model in asked.models:
                try:
                    of_target.append(forecast(model, target, asked.load, broker, progress=progress))
                except (OutOfRange, RefusedEvidence, SimulationError) as err:
                    of_target.append(Refused(model.name, target, str(err)))
            if all(isinstance(answer, Refused) for answer in of_target):
                reasons = "; ".join(answer.reason for answer in of_target if isinstance(answer, Refused))
                raise UserError(str(target), f"no predictor has an answer: {reasons}", "Name others with --predictor")
            answers += of_target
    return answers


@contextmanager
def _progress() -> Iterator[Progress]:
    progress = Progress()
    try:
        yield progress
    finally:
        progress.close()


def _run(request: BackgroundOptions) -> int:
    asked = asked_from_request(request)
    said = Cautions()
    if request.dry_run:
        # Imported here because it is slow to import.
        from predictor.evidence.plan import planned

        return print_plan(request, planned([(asked.settings, asked.targets)], asked.models, truths=False))
    with runner_from_request(request, cautions=said, saying=False) as runner:
        answers = forecasts(asked, Broker.of(asked.settings, asked.targets, runner, asked.given))
    if request.json:
        print(json.dumps({**load_json(asked.load), "forecasts": [to_json(answer) for answer in answers],
                          "cautions": said.lines()}))  # fmt: skip
    else:
        texts = [
            _text_lines([answer for answer in answers if answer.target is target], request) for target in asked.targets
        ]
        print("\n\n".join("\n".join(lines) for lines in texts))
    said.say_all()
    return 0


def _text_lines(answers: Sequence[Forecast | Refused], request: BackgroundOptions) -> list[str]:
    """Return the quantiles of a target's distributions as a table, and the refusals."""
    heads = [f"{100 * share:g} %" for share in _QUANTILES]
    rows: list[list[str | Cell]] = [["predictor", "quiet", *heads, "node-s"]]
    for answer in answers:
        if isinstance(answer, Forecast):
            quantiles = [duration(answer.quantile_s(share), like_s=answer.quiet.time_s) for share in _QUANTILES]
            quiet = duration(answer.quiet.time_s, like_s=answer.quiet.time_s)
            rows.append([answer.predictor, quiet, *quantiles, f"{answer.quiet.cost.node_s:.3g}"])
    said = [
        *refusal_lines(answers),
        f"quantiles of {number_of(request.draws, 'draw')} of background {request.background}",
    ]
    return [str(answers[0].target), "", *table_lines(rows, left={0}, wide=request.wide), "", *folded_lines(said)]


def refusal_lines(answers: Sequence[Forecast | Refused]) -> list[str]:
    """Return a line for each predictor without an answer."""
    return [f"{answer.predictor} has no answer: {answer.reason}" for answer in answers if isinstance(answer, Refused)]


def load_json(load: Load) -> dict[str, Any]:
    """Return the load as JSON values."""
    return {"background": asdict(load.background), "draws": load.draws, "seed": load.seed}


def to_json(answer: Forecast | Refused) -> dict[str, Any]:
    """Return a distribution as JSON values, in SI units."""
    target = answer.target
    about = {
        "predictor": answer.predictor,
        "platform": target.platform.name,
        "app": target.problem.name,
        "class": target.problem.label,
        "ranks": target.nranks,
    }
    if isinstance(answer, Refused):
        return {**about, "out_of_range": answer.reason}
    return {
        **about,
        "quiet_s": answer.quiet.time_s,
        "interval_s": answer.interval_s,
        "times_s": answer.times_s,
        "flags": list(answer.quiet.flags),
        "cost": asdict(answer.quiet.cost),
    }


COMMAND = Command(
    "predict --background",
    BackgroundRequest,
    _run,
    __doc__,
    epilog=f"docs/planning/shared.md. {EXIT_STATUSES}",
    status=exit_status,
)
main = COMMAND.main
