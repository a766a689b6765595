"""Simulate a program, and show its graph's times, critical path and gains beside the simulated ones.

The prediction is that of python -m predictor.dpgraph.  With --what-if, the first links, nodes and clusters of the table
are simulated too, on a platform where they are so many times as fast.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace

from apps.options.dry_run import print_plan
from apps.options.exit_status import exit_status
from apps.options.runner import runner_from_request
from apps.options.settings import wall_limit_from_request
from apps.results.cautions import Cautions
from apps.spec.target import Target
from platforms.command.parser import CommandParser
from platforms.command.status import EXIT_STATUSES
from platforms.errors import UserError
from predictor.dpgraph.cli import (
    FIRST,
    RECORDED,
    add_arguments,
    check_arguments,
    has_platform,
    problem_of,
    write_pictures,
)

_ROWS = 3


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = CommandParser(
        prog="python -m validation.graph", description=__doc__, epilog=EXIT_STATUSES, first=(*FIRST, "--rows")
    )
    add_arguments(parser)
    parser.add_argument(
        "--rows", type=int, metavar="N",
        help="with --what-if: simulate the platforms of the first N rows that change the platform "
        f"(default: {_ROWS}; 0: of none)",
    )  # fmt: skip
    return parser


def _check(args: argparse.Namespace) -> int:
    """Check the options, and return the number of rows to simulate.

    Raises:
        UserError: One is impossible, or does not go with another one.
    """
    check_arguments(args)
    if not has_platform(args):
        raise UserError("--simulate", "it needs a platform", "Give --scenario NAME or --platform FILE too")
    if args.times == "li":
        raise UserError("--times li", "these times have no dates to compare", "Choose network or measured")
    if args.recording is not None:
        raise UserError(f"--recording {args.recording}", "a trace cannot be simulated", "Give its --program instead")
    if args.rows is not None and args.what_if is None:
        raise UserError(f"--rows {args.rows}", "there is no table without --what-if", "Give that too, such as 2")
    if args.rows is not None and args.rows < 0:
        raise UserError(f"--rows {args.rows}", "less than 0", "Give a number of rows")
    if args.what_if is None:
        return 0
    return _ROWS if args.rows is None else int(args.rows)


def _run(args: argparse.Namespace) -> int:
    rows = _check(args)
    # Imported here for a quick start: they are slow to import.
    from predictor.dpgraph.on_platform import analysis, recorded, settings_of, target_from_request
    from predictor.dpgraph.timed_text import analysis_json
    from validation.graph.compare import compared, simulation
    from validation.graph.gains import changed_platforms
    from validation.graph.text import compared_json, compared_text

    target = target_from_request(args, problem_of(args), args.ranks)
    if args.dry_run:
        return _print_plan(args, target, rows)
    spec, said = settings_of(args).spec(target), Cautions()
    with runner_from_request(args, cautions=said, saying=False) as runner:
        recording = recorded(args, target, runner)
        said.add(f"recording of {target.problem.on(target.nranks)}", recording.cautions, key=RECORDED)
        made = analysis(args, target, recording, runner)
        said.say(*made.cautions)
        changed = [] if made.answers is None else changed_platforms(target, made.network, made.answers, most=rows)
        runner.start([spec])
        iterations = made.iterations or target.iterations
        simulate = simulation(spec, iterations, time_limit_s=wall_limit_from_request(args))
        found = compared(made, changed, simulate, runner.record(spec).time_s)
    write_pictures(args, made)
    if args.json:
        print(json.dumps({**analysis_json(made), **compared_json(found), "cautions": said.lines()}))
    else:
        print(compared_text(found, rows=rows, wide=args.wide))
    said.say_all()
    return 0


def _print_plan(args: argparse.Namespace, target: Target, rows: int) -> int:
    # Imported here for a quick start: they are slow to import.
    from apps.runs.plan import Other, wall_s
    from predictor.dpgraph.on_platform import iterations_of, plan_on_platform, settings_of

    spec = settings_of(args).spec(target)
    recorded = replace(spec, iterations=iterations_of(args, target)) if target.problem.iterative else spec
    each_s = 2 * wall_s([recorded], 1)  # with the recorder
    others = [Other("run with dates", "runs with dates", 1, each_s)]
    if rows:
        others.append(Other("run on a changed platform", "runs on changed platforms", rows, rows * each_s))
    return print_plan(args, replace(plan_on_platform(args, target), truths=(spec,), others=tuple(others)))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    return exit_status(lambda: _run(build_parser().parse_args(argv)))
