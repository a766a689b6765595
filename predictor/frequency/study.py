"""What is asked: a program on a grid whose clusters have frequency levels, and what a model says of them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from apps.options import add_problem_arguments, add_program_arguments, add_runner_arguments, add_settings_arguments
from apps.runner import Runner
from apps.spec import Settings, Target
from platforms.errors import UserError
from platforms.grid import Grid
from platforms.options import (
    add_placement_arguments,
    add_platform_arguments,
    grid_from_arguments,
    placement_from_arguments,
)
from predictor.base import Evidence
from predictor.evidence import Broker
from predictor.frequency.levels import Levels, Point, at_maximum, follows_speeds, levels_of
from predictor.frequency.search import EVALUATIONS, OBJECTIVES, Best, best
from predictor.predict import fit, problems_from_arguments
from predictor.registry import predictor

MODELS = ("dpgraph", "dpgraph-known", "hcf", "hcf-constant", "hcf-printed")  # those that follow the speed of nodes


@dataclass(frozen=True)
class Study:
    """What the predictions of one program say."""

    target: Target
    levels: Levels
    evidence: tuple[Evidence, ...]  # gathered at the highest frequencies
    highest: Point
    lowest: Point
    sweeps: dict[str, tuple[Point, ...]]  # by cluster in use: it at each of its levels, the others at the highest
    best: Best


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """All options but what is printed."""
    add_platform_arguments(parser)
    parser.add_argument("--app", metavar="A1,A2,...", help="programs (default: cg,mg,lu)")
    add_problem_arguments(parser, default_class="B")
    add_program_arguments(parser)
    parser.add_argument("--ranks", type=int, metavar="P", help="ranks of the run (default: as many as fit)")
    add_placement_arguments(parser)
    parser.add_argument(
        "--predictor", default="dpgraph", metavar="NAME", help=f"one of {', '.join(MODELS)} (default: dpgraph)"
    )
    parser.add_argument(
        "--time-limit", type=float, default=None, metavar="X",
        help="take at most X times the time at the highest frequencies (default: no limit)",
    )  # fmt: skip
    parser.add_argument(
        "--objective", default="energy", metavar="NAME", help=f"what is to be small: {' or '.join(OBJECTIVES)}"
    )
    parser.add_argument(
        "--evaluations", type=int, default=EVALUATIONS, metavar="K",
        help=f"predictions that the search may make, where there are more choices (default: {EVALUATIONS})",
    )  # fmt: skip
    add_settings_arguments(parser)
    add_runner_arguments(parser)


def grid_at_maximum(args: argparse.Namespace) -> Grid:
    """The grid that is asked for, at its highest frequencies.  Raises UserError for what does not fit."""
    if args.platform is not None:
        problem = "the watts and frequencies of its nodes cannot be changed"
        raise UserError("--platform", problem, "Give --scenario, with a scenario file for a grid of your own")
    if args.frequency is not None:
        problem = "frequencies are what is looked for"
        raise UserError(f"--frequency {args.frequency}", problem, "Leave it out")
    if args.predictor not in MODELS:
        raise _follows_no_speeds(args.predictor)
    return at_maximum(grid_from_arguments(args))


def _follows_no_speeds(name: str) -> UserError:
    problem = "does not follow the speed of nodes"
    return UserError(f"--predictor {name}", problem, f"Use one of {', '.join(MODELS)}")


def targets_from_arguments(args: argparse.Namespace, grid: Grid) -> list[Target]:
    """One for each program, on the grid's platform."""
    from platforms.read import materialise

    problems = problems_from_arguments(args)
    platform = materialise(grid)
    placement = placement_from_arguments(args, platform, args.ranks)
    return [Target(problem, platform, placement) for problem in problems]


def study(args: argparse.Namespace, grid: Grid, target: Target, settings: Settings, runner: Runner) -> Study:
    """What the model says of one program.  Raises OutOfRange where it has no answer."""
    fitted, evidence = fit(predictor(args.predictor), [target], Broker.of(settings, [target], runner))
    if not follows_speeds(fitted):
        raise _follows_no_speeds(args.predictor)
    levels = Levels(grid, target, fitted)
    limit = float("inf") if args.time_limit is None else args.time_limit
    found = best(levels, time_limit=limit, objective=args.objective, evaluations=args.evaluations)
    lowest = levels.point(tuple(one.min_hz for one in levels.frequencies))
    return Study(target, levels, evidence, levels.point(levels.highest), lowest, sweeps(levels), found)


def sweeps(levels: Levels) -> dict[str, tuple[Point, ...]]:
    """Each cluster at each of its levels, the others at the highest."""
    made = {}
    for i, cluster in enumerate(levels.clusters):
        rest = levels.highest
        made[cluster.name] = tuple(levels.point((*rest[:i], hz, *rest[i + 1 :])) for hz in levels_of(cluster).levels_hz)
    return made


def option_text(grid: Grid, levels: Levels, point: Point) -> str:
    """The value of --frequency that runs the grid so."""
    chosen = dict(zip((cluster.name for cluster in levels.clusters), point.frequencies_hz, strict=True))
    return ",".join(f"{chosen.get(c.name, levels_of(c).max_hz) / 1e9:.6g}" for c in grid.clusters)


def assumed(grid: Grid) -> Sequence[str]:
    """Clusters whose levels are, in part, not published."""
    return [cluster.name for cluster in grid.clusters if levels_of(cluster).assumed]
