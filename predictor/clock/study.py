"""Study of a program on a grid whose clusters have frequency levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from apps.options.dry_run import DryRunOption
from apps.options.programs import ProgramOptions
from apps.options.runner import RunnerOptions
from apps.options.settings import SettingsOptions
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.command.request import option
from platforms.errors import UserError
from platforms.grids.grid import Grid
from platforms.options import PlacementOptions, PlatformOptions, grid_from_request, placement_from_request
from platforms.read.read import materialise
from predictor.answers.answers import fit
from predictor.base import Evidence
from predictor.clock.levels import EVALUATIONS, OBJECTIVES, Levels, Point, at_maximum, follows_speeds, levels_of
from predictor.evidence.given import Given, RecordingOptions
from predictor.options import problems_from_request
from predictor.registry import predictor

if TYPE_CHECKING:
    from apps.runs.plan import Plan
    from apps.runs.runner import Runner
    from predictor.clock.search import Best

MODELS = ("dpgraph", "dpgraph:known", "hcf", "hcf:constant", "hcf:printed")  # use the speeds of nodes


@dataclass(frozen=True)
class Study:
    """Predictions of one program at the frequency levels, and the best choice."""

    target: Target
    levels: Levels
    evidence: tuple[Evidence, ...]  # gathered at the highest frequencies
    highest: Point
    lowest: Point
    sweeps: dict[str, tuple[Point, ...]]  # by cluster in use: this cluster at each of its levels, others at the highest
    best: Best


@dataclass(frozen=True, kw_only=True)
class ClockOptions(
    PlatformOptions, ProgramOptions, RecordingOptions, PlacementOptions, SettingsOptions, RunnerOptions, DryRunOption
):
    """Add all options except those about output."""

    default_class: ClassVar[str] = "B"

    ranks: int | None = option(None, "P", "ranks of the run (default: as many as fit)")
    predictor: str = option("dpgraph", "NAME", f"one of {', '.join(MODELS)} (default: dpgraph)", parse=str.lower)
    time_limit: float | None = option(
        None, "X", "take at most X times the time at the highest frequencies (default: no limit)"
    )
    objective: str = option("energy", "NAME", f"value to minimise: {' or '.join(OBJECTIVES)}", parse=str.lower)
    evaluations: int = option(
        EVALUATIONS,
        "K",
        f"limit of the predictions that the search makes if there are more choices (default: {EVALUATIONS})",
    )


def grid_at_maximum(request: ClockOptions) -> Grid:
    """Return the grid of the command line, at its highest frequencies.

    Raises:
        UserError: An option does not fit, or frequency levels are not known.
    """
    if request.platform:
        problem = "the watts and frequencies of its nodes cannot be changed"
        raise UserError("--platform", problem, "Give --scenario, with a scenario file for a grid of your own")
    if request.frequency is not None:
        problem = "the command chooses the frequencies itself"
        raise UserError(f"--frequency {request.frequency}", problem, "Leave it out")
    if request.predictor not in MODELS:
        raise _follows_no_speeds(request.predictor)
    return at_maximum(grid_from_request(request))


def _follows_no_speeds(name: str) -> UserError:
    problem = "does not take the speed of nodes into account"
    return UserError(f"--predictor {name}", problem, f"Use one of {', '.join(MODELS)}")


def targets_from_request(request: ClockOptions, grid: Grid, given: Given | None = None) -> list[Target]:
    """Return one target for each problem of the command line, or for its recording, on the grid's platform."""
    problems = problems_from_request(request) if given is None else [given.problem]
    platform = materialise(grid)
    placement = placement_from_request(request, platform, request.ranks if given is None else given.recording.nranks)
    return [Target(problem, platform, placement) for problem in problems]


def plan_from_request(request: ClockOptions, targets: Sequence[Target], settings: Settings) -> Plan:
    """Return the simulations for the evidence of these targets."""
    # Imported here because it is slow to import.
    from predictor.evidence.plan import planned

    return planned(((settings, [target]) for target in targets), [predictor(request.predictor)], truths=False)


def study(
    request: ClockOptions,
    grid: Grid,
    target: Target,
    settings: Settings,
    runner: Runner,
    given: Given | None = None,
) -> Study:
    """Gather evidence for one target and search for its best frequencies.

    Raises:
        OutOfRange: The model has no answer.
    """
    # Imported here because they are slow to import.
    from predictor.clock.search import best
    from predictor.evidence.broker import Broker

    fitted, evidence = fit(predictor(request.predictor), [target], Broker.of(settings, [target], runner, given))
    if not follows_speeds(fitted):
        raise _follows_no_speeds(request.predictor)
    levels = Levels(grid, target, fitted)
    limit = float("inf") if request.time_limit is None else request.time_limit
    optimum = best(levels, time_limit=limit, objective=request.objective, evaluations=request.evaluations)
    sweeps = {name: tuple(map(levels.point, choices)) for name, choices in levels.sweeps().items()}
    highest, lowest = levels.point(levels.highest), levels.point(levels.lowest)
    return Study(target, levels, evidence, highest, lowest, sweeps, optimum)


def option_text(grid: Grid, levels: Levels, point: Point) -> str:
    """Return the value of --frequency that sets these frequencies."""
    chosen = dict(zip((cluster.name for cluster in levels.clusters), point.frequencies_hz, strict=True))
    return ",".join(f"{chosen.get(c.name, levels_of(c).max_hz) / 1e9:.6g}" for c in grid.clusters)


def assumed(grid: Grid) -> Sequence[str]:
    """Return the clusters whose levels are assumed, at least in part."""
    return [cluster.name for cluster in grid.clusters if levels_of(cluster).assumed]
