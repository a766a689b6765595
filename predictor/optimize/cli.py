"""Choose the nodes, and how many processes to start on each, so that a program runs fastest or cheapest.

Models of the program are made from runs on each cluster alone, at small sizes; then every configuration
(P_1, M_1, P_2, M_2, ...) within the limits is estimated: P_i nodes of cluster i with M_i processes on each.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from apps.options import cautions, exit_status, runner_from_arguments, settings_from_arguments
from platforms.command import EXIT_STATUSES
from platforms.errors import UserError
from platforms.placement import Placement, configured, write_host_file
from predictor.base import Cost
from predictor.evidence import Broker
from predictor.npt.configuration import remaining
from predictor.npt.search import Choice
from predictor.npt.tables import equations
from predictor.optimize.arguments import (
    FORMS,
    Search,
    add_search_arguments,
    construction_from_arguments,
    npt_settings_from_arguments,
    refuse_model_arguments,
    search_from_arguments,
    study_from_arguments,
)
from predictor.optimize.drivers import Driver, PredictorDriver, measure, npt_driver
from predictor.optimize.study import Study
from predictor.registry import predictor

if TYPE_CHECKING:
    from apps.runner import Runner


@dataclass(frozen=True)
class Found:
    """The choice of one search, and what it took."""

    choice: Choice
    configurations: int
    search_s: float  # wall time of estimating and choosing


def search(driver: Driver, study: Study, size: int, how: Search) -> Found:
    """One search over the study's space at N."""
    started = time.perf_counter()
    space = study.space(size)
    choice = how.choose(driver, space, size)
    return Found(choice, space.count, time.perf_counter() - started)


def driver_from_arguments(args: argparse.Namespace, study: Study, broker: Broker) -> Driver:
    """What --predictor names, with its evidence gathered.  Raises UserError for what does not fit."""
    if args.predictor not in FORMS:
        driver = PredictorDriver(predictor(args.predictor), study, broker)
        refuse_model_arguments(args)
        return driver
    settings = npt_settings_from_arguments(args)
    runs = list(study.homogeneous(construction_from_arguments(args)))
    settings.check(equations(study.app), runs)
    return npt_driver(measure(study, runs, broker), equations(study.app), settings)


def broker_for(args: argparse.Namespace, runner: Runner) -> Broker:
    """Gathers evidence for searches: of runs on one cluster alone, and of what predictors ask for."""
    settings = settings_from_arguments(args)
    return Broker(settings, (), record=runner.record, trace=runner.trace, measure=runner.measure, start=runner.start)


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m predictor.optimize",
        description=__doc__,
        epilog=EXIT_STATUSES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_search_arguments(parser)
    parser.add_argument(
        "--then",
        type=int,
        default=0,
        metavar="K",
        help="search K times more, each on the nodes that remain (default: 0)",
    )
    parser.add_argument("--write-hostfile", metavar="FILE", help="write the chosen hosts, one per line in rank order")
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")
    return parser


def _run(args: argparse.Namespace) -> int:
    study = study_from_arguments(args)
    if args.size is None:
        raise UserError("--size", "not given", "Give the N that configurations are to be chosen for")
    if args.then < 0:
        raise UserError(f"--then {args.then}", "below zero", "Give 0 or more")
    how = search_from_arguments(args, study.platform)
    study.space(args.size)  # says what does not fit before anything runs
    for caution in cautions(settings_from_arguments(args)):
        print(f"caution: {caution}", file=sys.stderr)
    with runner_from_arguments(args) as runner:
        driver = driver_from_arguments(args, study, broker_for(args, runner))
        found = _in_turn(driver, study, args.size, how, searches=1 + args.then)
    placements = _placements(study, found)
    if args.write_hostfile is not None:
        write_host_file(args.write_hostfile, placements[0])
    if args.json:
        print(json.dumps(_to_json(args, study, how, found, placements, driver.cost)))
    else:
        print(_text(args, study, how, found, placements, driver.cost))
    return 0


def _in_turn(driver: Driver, study: Study, size: int, how: Search, *, searches: int) -> list[Found]:
    """The best, then the best of the nodes that remain, and so on while there are any (section 8)."""
    found = []
    for _ in range(searches):
        if not any(study.limits.most_processes):
            break
        found.append(search(driver, study, size, how))
        study = study.within(remaining(study.limits, found[-1].choice.configuration))
    return found


def _placements(study: Study, found: Sequence[Found]) -> list[Placement]:
    """The hosts of each choice in rank order; later ones begin where earlier ones end."""
    taken = [0] * len(study.platform.clusters)
    placements = []
    for one in found:
        shares = one.choice.configuration.shares
        placements.append(configured(study.platform, shares, skip=taken))
        taken = [before + pes for before, (pes, _) in zip(taken, shares, strict=True)]
    return placements


def driver_name(args: argparse.Namespace) -> str:
    """What drives the search, for a reader."""
    if args.predictor not in FORMS:
        return args.predictor
    settings = npt_settings_from_arguments(args)
    return f"{settings.name}; noise: {settings.noise}"


def _to_json(
    args: argparse.Namespace,
    study: Study,
    how: Search,
    found: Sequence[Found],
    placements: Sequence[Placement],
    cost: Cost,
) -> dict:
    choices = [
        {
            "chosen": str(one.choice.configuration),
            "ranks": one.choice.configuration.total,
            "nodes": one.choice.configuration.nodes,
            "estimated_s": one.choice.time_s,
            "value": one.choice.value,
            "configurations": one.configurations,
            "examined": one.choice.examined,
            "search_s": one.search_s,
            "flags": list(one.choice.flags),
            "hostfile": list(placement),
        }
        for one, placement in zip(found, placements, strict=True)
    ]
    return {
        "app": study.app,
        "size": args.size,
        "platform": study.platform.name,
        "platform_hash": study.platform.content_hash,
        "predictor": args.predictor,
        "objective": args.objective,
        "unit": how.objective.unit,
        **choices[0],
        "then": choices[1:],
        "evidence": asdict(cost),
    }


def _text(
    args: argparse.Namespace,
    study: Study,
    how: Search,
    found: Sequence[Found],
    placements: Sequence[Placement],
    cost: Cost,
) -> str:
    lines = [f"{study.problem(args.size)} on {study.platform.name}, by {driver_name(args)}"]
    for number, (one, placement) in enumerate(zip(found, placements, strict=True)):
        choice = one.choice
        nodes = ", ".join(
            f"{pes} {cluster.name} x {processes}"
            for cluster, (pes, processes) in zip(study.platform.clusters, choice.configuration.shares, strict=True)
            if pes
        )
        lines.append(
            f"{'then' if number else 'chosen'} {choice.configuration}: {nodes}; {choice.configuration.total} ranks"
        )
        lines.append(f"    estimated {choice.time_s:.4g} s" + _value(how, choice))
        lines.append(f"    of {one.configurations} configurations, in {1000 * one.search_s:.3g} ms")
        lines += [f"    caution: {flag}" for flag in choice.flags]
        lines.append(f"    host file: {' '.join(placement)}")
    lines.append(f"evidence costs {cost.node_s:.4g} node-seconds, simulated in {cost.wall_s:.3g} s")
    return "\n".join(lines)


def _value(how: Search, choice: Choice) -> str:
    objective = how.objective
    return "" if objective.name == "time" else f", {objective.name} {choice.value:.4g} {objective.unit}".rstrip()


def main(argv: Sequence[str] | None = None) -> int:
    args = build_parser().parse_args(argv)
    return exit_status(lambda: _run(args))
