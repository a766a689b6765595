"""Which grid to buy: of all that a budget allows, the one that runs a mix of programs fastest.

A TOML file says what nodes and networks cost, how many clusters there may be, and what is to be run how often
(docs/planning/grid-design.md).  Every grid of that space is evaluated by a predictor, or proved not to matter; none is
simulated.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from apps.options import (
    add_runner_arguments,
    add_settings_arguments,
    exit_status,
    runner_from_arguments,
    settings_from_arguments,
)
from apps.spec import Settings
from platforms.command import EXIT_STATUSES, CommandParser
from platforms.errors import UserError
from platforms.placement import write_host_file
from platforms.writing import check_writable, write_text
from predictor.base import OutOfRange
from predictor.design.output import as_json, text
from predictor.design.request import Request, read_request
from predictor.design.scenario_file import scenario_text
from predictor.design.search import Search
from predictor.design.space import candidates
from predictor.design.times import PredictorTimes, Times
from predictor.progress import Progress
from predictor.registry import help_text, predictor

if TYPE_CHECKING:
    from apps.runner import Runner

DEFAULT_PREDICTOR = "dpgraph-known"  # a grid that does not exist cannot be measured, only described


def _graph_times(request: Request, settings: Settings, runner: Runner) -> Times:
    from predictor.design.graph_times import GraphTimes

    return GraphTimes(request, settings, runner)


# Predictors that answer for many grids without a process of SimGrid's for each, and know bounds.
_QUICK: Mapping[str, Callable[[Request, Settings, Runner], Times]] = {"dpgraph-known": _graph_times}


def build_parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="python -m predictor.design",
        description=__doc__,
        epilog=EXIT_STATUSES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE.toml", help="what can be bought and what is to be run")
    parser.add_argument("--budget", type=float, metavar="B", help="instead of the file's")
    parser.add_argument("--top", type=int, default=5, metavar="K", help="how many of the best grids (default: 5)")
    parser.add_argument(
        "--predictor", default=DEFAULT_PREDICTOR, metavar="NAME",
        help=f"{help_text()} (default: {DEFAULT_PREDICTOR}, the only one with bounds; with another every grid is "
        "evaluated, and its evidence gathered)",
    )  # fmt: skip
    parser.add_argument("--no-front", action="store_true", help="the best grids only, which takes fewer evaluations")
    parser.add_argument("--exhaustive", action="store_true", help="evaluate every grid, to check the bounds")
    parser.add_argument("--write", metavar="FILE.toml", help="write the best grid as a scenario file, for --scenario")
    parser.add_argument("--write-hostfile", metavar="FILE", help="write its hosts, one per line in rank order")
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")
    add_settings_arguments(parser, programs=False)
    add_runner_arguments(parser)
    return parser


def request_from_arguments(args: argparse.Namespace) -> Request:
    """Raises UserError for what does not fit."""
    if args.top < 1:
        raise UserError(f"--top {args.top}", "below one", "Give at least 1")
    request = read_request(args.file)
    return request if args.budget is None else request.with_budget(args.budget)


def times_for(name: str, request: Request, settings: Settings, runner: Runner) -> Times:
    """What answers for the grids.  Raises UserError for a predictor that is not known."""
    model = predictor(name)
    quick = _QUICK.get(name)
    return PredictorTimes(model, request, settings, runner) if quick is None else quick(request, settings, runner)


def _run(args: argparse.Namespace) -> int:
    for option, path in (("--write", args.write), ("--write-hostfile", args.write_hostfile)):
        if path is not None:
            check_writable(option, path)
    request = request_from_arguments(args)
    settings = settings_from_arguments(args)
    search = Search(
        candidates(request),
        [program.weight for program in request.programs],
        top=args.top,
        with_front=not args.no_front,
        exhaustive=args.exhaustive,
    )
    status = 0
    progress = Progress()
    with runner_from_arguments(args) as runner:
        times = times_for(args.predictor, request, settings, runner)
        try:
            search.run(times, progress)
        except KeyboardInterrupt:
            if not search.evaluated:
                raise
            status = 130
        finally:
            progress.close()
    if not search.evaluated:
        ((reason, _),) = search.unanswered.most_common(1)
        problem, remedy = f"no answer for any grid: {reason.rstrip('.')}", "Change that, or ask another --predictor"
        raise OutOfRange(f"{args.file}, {args.predictor}", problem, remedy)
    if args.json:
        found = json.dumps(as_json(request, search, predictor=args.predictor, cost=times.cost))
    else:
        found = text(request, search, predictor=args.predictor, cost=times.cost)
    print(found, flush=True)  # before anything is written, which may fail
    _write(args, request, search)
    return status


def _write(args: argparse.Namespace, request: Request, search: Search) -> None:
    """The files that are asked for, of the best grid."""
    best = search.best[0].candidate
    if args.write is not None:
        money = f"{best.price:.10g} {request.currency}".rstrip()
        source = f"Designed from {Path(args.file).name}: {best}, network {best.network.name}, for {money}."
        write_text("--write", args.write, scenario_text(best, source))
    if args.write_hostfile is not None:
        write_host_file(args.write_hostfile, best.placement(best.grid()))


def main(argv: Sequence[str] | None = None) -> int:
    args = build_parser().parse_args(argv)
    return exit_status(lambda: _run(args))
