"""Find the grid to buy: the one that runs a mix of programs fastest among all that a budget allows.

A TOML file gives the prices of nodes and networks, the number of clusters that a grid may have, and the programs with
their weights (docs/planning/grid-design.md).  Every grid of that space is evaluated by a predictor, or ruled out by
bounds on its times; none is simulated.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from apps.options.dry_run import add_dry_run_argument, print_plan
from apps.options.exit_status import exit_status
from apps.options.runner import add_runner_arguments, runner_from_request
from apps.options.settings import add_settings_arguments, settings_from_request
from apps.spec.settings import Settings
from platforms.command.parser import CommandParser, any_case
from platforms.command.status import EXIT_STATUSES
from platforms.errors import UserError
from platforms.files.writing import check_writable, write_text
from platforms.model.placement import write_host_file
from platforms.terminal.progress import Progress
from platforms.wording import number_of
from predictor.base import OutOfRange
from predictor.design.output import as_json, text
from predictor.design.request import Request, read_request
from predictor.design.scenario_file import scenario_text
from predictor.design.search import Search
from predictor.design.space import affordable
from predictor.design.times import PredictorTimes, Times, candidate_targets
from predictor.evidence.plan import planned
from predictor.registry import PREDICTORS, help_text, predictor

if TYPE_CHECKING:
    from apps.runs.plan import Plan
    from apps.runs.runner import Runner
    from predictor.design.space import Candidate

DEFAULT_PREDICTOR = "dpgraph-known"  # a grid that does not exist cannot be measured, only described


def _graph_times(request: Request, settings: Settings, runner: Runner) -> Times:
    # Imported here for a quick start: it is slow to import.
    from predictor.design.graph_times import GraphTimes

    return GraphTimes(request, settings, runner)


# Predictors that evaluate many grids without a SimGrid process for each, and give bounds of the times.
_QUICK: Mapping[str, Callable[[Request, Settings, Runner], Times]] = {"dpgraph-known": _graph_times}


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = CommandParser(
        prog="python -m predictor.design",
        description=__doc__,
        epilog=EXIT_STATUSES,
    )
    parser.add_argument("file", metavar="FILE.toml", help="prices of nodes and networks, and the programs to run")
    parser.add_argument("--budget", type=float, metavar="B", help="budget, in place of the file's")
    parser.add_argument("--top", type=int, default=5, metavar="K", help="number of best grids to show (default: 5)")
    parser.add_argument(
        "--predictor", default=DEFAULT_PREDICTOR, metavar="NAME", type=any_case(*PREDICTORS),
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
    add_dry_run_argument(parser)
    return parser


def request_from_request(args: argparse.Namespace) -> Request:
    """Read the design file, with the budget of --budget if it is given.

    Raises:
        UserError: An option or the file is wrong.
    """
    if args.top < 1:
        raise UserError(f"--top {args.top}", "below one", "Give at least 1")
    request = read_request(args.file)
    return request if args.budget is None else request.with_budget(args.budget)


def times_for(name: str, request: Request, settings: Settings, runner: Runner) -> Times:
    """Return the source of the programs' times on candidate grids, for a predictor by name.

    Raises:
        UserError: The predictor is not known.
    """
    model = predictor(name)
    quick = _QUICK.get(name)
    return PredictorTimes(model, request, settings, runner) if quick is None else quick(request, settings, runner)


def plan(name: str, request: Request, settings: Settings, candidates: Sequence[Candidate]) -> Plan:
    """Return the simulations for the evidence of a predictor by name.

    Raises:
        UserError: The predictor is not known.
    """
    model = predictor(name)
    remark = f"{number_of(len(candidates), 'grid')} within the budget, each to be evaluated or ruled out"
    if name in _QUICK:
        # Imported here for a quick start: it is slow to import.
        from predictor.design.graph_times import recorded_targets

        targets = [[one] for one in recorded_targets(request, candidates)]
    else:
        targets = [candidate_targets(request, one) for one in candidates]
    return planned(((settings, some) for some in targets), [model], truths=False, remark=remark)


def _run(args: argparse.Namespace) -> int:
    for option, path in (("--write", args.write), ("--write-hostfile", args.write_hostfile)):
        if path is not None:
            check_writable(option, path)
    request = request_from_request(args)
    settings = settings_from_request(args)
    grids = affordable(request)
    if args.dry_run:
        return print_plan(args, plan(args.predictor, request, settings, grids.candidates))
    search = Search(
        grids.candidates,
        [program.weight for program in request.programs],
        top=args.top,
        with_front=not args.no_front,
        exhaustive=args.exhaustive,
    )
    status = 0
    progress = Progress()
    with runner_from_request(args) as runner:
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
        problem, remedy = f"no answer for any grid: {reason.rstrip('.')}", "Change that, or use another --predictor"
        raise OutOfRange(f"{args.file}, {args.predictor}", problem, remedy)
    if args.json:
        made = as_json(request, search, grids.refused, predictor=args.predictor, cost=times.cost)
        found = json.dumps({**made, "cautions": runner.cautions.lines()})
    else:
        found = text(request, search, grids.refused, predictor=args.predictor, cost=times.cost)
    print(found, flush=True)  # before the files are written, because writing may fail
    _write(args, request, search)
    return status


def _write(args: argparse.Namespace, request: Request, search: Search) -> None:
    """Write the requested files for the best grid."""
    best = search.best[0].candidate
    if args.write is not None:
        money = f"{best.price:.10g} {request.currency}".rstrip()
        source = f"Designed from {Path(args.file).name}: {best}, network {best.network.name}, for {money}."
        write_text("--write", args.write, scenario_text(best, source))
    if args.write_hostfile is not None:
        write_host_file(args.write_hostfile, best.placement(best.grid()))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    return exit_status(lambda: _run(build_parser().parse_args(argv)))
