"""Study of a program on a grid whose clusters have frequency levels."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from apps.options.dry_run import add_dry_run_argument
from apps.options.programs import add_problem_arguments, add_program_arguments
from apps.options.runner import add_runner_arguments
from apps.options.settings import add_settings_arguments
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.grids.grid import Grid
from platforms.options import (
    add_placement_arguments,
    add_platform_arguments,
    grid_from_request,
    placement_from_request,
)
from platforms.read.read import materialise
from predictor.answers.answers import fit
from predictor.base import Evidence
from predictor.frequency.levels import Levels, Point, at_maximum, follows_speeds, levels_of
from predictor.frequency.objectives import EVALUATIONS, OBJECTIVES
from predictor.options import problems_from_request
from predictor.registry import predictor

if TYPE_CHECKING:
    from apps.runs.plan import Plan
    from apps.runs.runner import Runner
    from predictor.frequency.search import Best

MODELS = ("dpgraph", "dpgraph-known", "hcf", "hcf-constant", "hcf-printed")  # use the speeds of nodes


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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add all options except those about output."""
    add_platform_arguments(parser)
    parser.add_argument("--app", metavar="A1,A2,...", help="programs (default: cg,mg,lu)")
    add_problem_arguments(parser, default_class="B")
    add_program_arguments(parser)
    parser.add_argument("--ranks", type=int, metavar="P", help="ranks of the run (default: as many as fit)")
    add_placement_arguments(parser)
    parser.add_argument(
        "--predictor",
        default="dpgraph",
        metavar="NAME",
        type=str.lower,
        help=f"one of {', '.join(MODELS)} (default: dpgraph)",
    )
    parser.add_argument(
        "--time-limit", type=float, default=None, metavar="X",
        help="take at most X times the time at the highest frequencies (default: no limit)",
    )  # fmt: skip
    parser.add_argument(
        "--objective",
        default="energy",
        metavar="NAME",
        type=str.lower,
        help=f"value to minimise: {' or '.join(OBJECTIVES)}",
    )
    parser.add_argument(
        "--evaluations", type=int, default=EVALUATIONS, metavar="K",
        help=f"limit of the predictions that the search makes if there are more choices (default: {EVALUATIONS})",
    )  # fmt: skip
    add_settings_arguments(parser)
    add_runner_arguments(parser)
    add_dry_run_argument(parser)


def grid_at_maximum(args: argparse.Namespace) -> Grid:
    """Return the grid of the command line, at its highest frequencies.

    Raises:
        UserError: An option does not fit, or frequency levels are not known.
    """
    if args.platform is not None:
        problem = "the watts and frequencies of its nodes cannot be changed"
        raise UserError("--platform", problem, "Give --scenario, with a scenario file for a grid of your own")
    if args.frequency is not None:
        problem = "the command chooses the frequencies itself"
        raise UserError(f"--frequency {args.frequency}", problem, "Leave it out")
    if args.predictor not in MODELS:
        raise _follows_no_speeds(args.predictor)
    return at_maximum(grid_from_request(args))


def _follows_no_speeds(name: str) -> UserError:
    problem = "does not take the speed of nodes into account"
    return UserError(f"--predictor {name}", problem, f"Use one of {', '.join(MODELS)}")


def targets_from_request(args: argparse.Namespace, grid: Grid) -> list[Target]:
    """Return one target for each problem of the command line, on the grid's platform."""
    problems = problems_from_request(args)
    platform = materialise(grid)
    placement = placement_from_request(args, platform, args.ranks)
    return [Target(problem, platform, placement) for problem in problems]


def plan_from_request(args: argparse.Namespace, targets: Sequence[Target], settings: Settings) -> Plan:
    """Return the simulations for the evidence of these targets."""
    # Imported here for a quick start: it is slow to import.
    from predictor.evidence.plan import planned

    return planned(((settings, [target]) for target in targets), [predictor(args.predictor)], truths=False)


def study(args: argparse.Namespace, grid: Grid, target: Target, settings: Settings, runner: Runner) -> Study:
    """Gather evidence for one target and search for its best frequencies.

    Raises:
        OutOfRange: The model has no answer.
    """
    # Imported here for a quick start: they are slow to import.
    from predictor.evidence.broker import Broker
    from predictor.frequency.search import best

    fitted, evidence = fit(predictor(args.predictor), [target], Broker.of(settings, [target], runner))
    if not follows_speeds(fitted):
        raise _follows_no_speeds(args.predictor)
    levels = Levels(grid, target, fitted)
    limit = float("inf") if args.time_limit is None else args.time_limit
    found = best(levels, time_limit=limit, objective=args.objective, evaluations=args.evaluations)
    sweeps = {name: tuple(map(levels.point, choices)) for name, choices in levels.sweeps().items()}
    highest, lowest = levels.point(levels.highest), levels.point(levels.lowest)
    return Study(target, levels, evidence, highest, lowest, sweeps, found)


def option_text(grid: Grid, levels: Levels, point: Point) -> str:
    """Return the value of --frequency that sets these frequencies."""
    chosen = dict(zip((cluster.name for cluster in levels.clusters), point.frequencies_hz, strict=True))
    return ",".join(f"{chosen.get(c.name, levels_of(c).max_hz) / 1e9:.6g}" for c in grid.clusters)


def assumed(grid: Grid) -> Sequence[str]:
    """Return the clusters whose levels are assumed, at least in part."""
    return [cluster.name for cluster in grid.clusters if levels_of(cluster).assumed]
