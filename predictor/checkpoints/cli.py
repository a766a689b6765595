"""Expect failures of the hardware that an application of blocks is placed on: ``python -m predictor.checkpoints``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from platforms.command import EXIT_STATUSES, CommandParser, exit_status
from platforms.errors import UserError, nearest
from platforms.terminal.progress import doing
from platforms.terminal.width import add_wide_argument
from predictor.blocks.options import (
    add_model_arguments,
    add_power_argument,
    add_setting_arguments,
    machine_from_arguments,
    say_cautions,
    setting_from_arguments,
)
from predictor.blocks.series.command import add_pool_arguments, jobs_from_arguments, store_from_arguments
from predictor.blocks.series.points import Point, add_vary_argument, points_of, where_text
from predictor.reliability.names import INTERVALS

if TYPE_CHECKING:
    from predictor.checkpoints.placed import Placed
    from predictor.checkpoints.report import Row

LONGEST_S = 1e15  # of a checkpoint and of a restart
MOST_REPEATS = 1_000_000_000


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = CommandParser(
        prog="python -m predictor.checkpoints",
        description="Expected time and energy of an application of blocks on hardware that fails: with restarts from "
        "the beginning, and with the checkpoints that its own write_disk writes, at its own interval and at Young's or "
        "Daly's. With --vary, the best number of nodes too (docs/planning/checkpoints.md).",
        epilog=EXIT_STATUSES,
        first="application --system --vary --restart --checkpoint --repeat --failure-rate --model --power".split(),
    )
    add_setting_arguments(parser)
    add_model_arguments(parser)
    add_power_argument(parser)
    add_checkpoint_arguments(parser)
    add_wide_argument(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser


def add_checkpoint_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options for failures and checkpoints, which ``rows_from_arguments`` reads."""
    add_vary_argument(parser, "answer")
    parser.add_argument(
        "--checkpoint", type=float, metavar="S", help="seconds of a checkpoint (default: those of the own write_disk)"
    )
    parser.add_argument("--restart", type=float, default=0.0, metavar="S", help="seconds of a restart (default: 0)")
    parser.add_argument(
        "--intervals", default="daly", metavar="I1,I2,...",
        help=f"intervals between checkpoints, of {', '.join(INTERVALS)} (default: daly)",
    )  # fmt: skip
    parser.add_argument(
        "--repeat", type=int, default=1, metavar="N", help="number of runs in a row that make up the job (default: 1)"
    )
    add_pool_arguments(parser)


def rows_from_arguments(args: argparse.Namespace) -> tuple[str, list[Row], list[str]]:
    """Return a description of the runs, their rows, and why some points of a series have none.

    Raises:
        UserError: A file or an option is wrong, or no point has a row.
        KeyboardInterrupt: With the number of placements that are kept.
    """
    # Imported here for a quick start: they are slow to import.
    from predictor.checkpoints.expectation import expectations
    from predictor.checkpoints.placed import Placed
    from predictor.checkpoints.report import Row

    intervals = _checked_intervals(args)
    points = points_of(args)
    rows, failures, failed = [], [], None
    for point, run in zip(points, _placements(args, points), strict=True):
        if isinstance(run, Placed):
            rows.append(Row(point.values, run, expectations(run, intervals, restart_s=args.restart)))
            continue
        failures.append(f"{point}: {run}")
        failed = failed or run
    if failed is not None and not rows:
        raise failed
    rows.sort(key=lambda row: (row.run.nodes, row.run.processes))
    first = setting_from_arguments(next(point.args for point in points if point.values == rows[0].varied))
    say_cautions(points[0].args, first)
    times = "" if args.repeat == 1 else f"{args.repeat} times "
    return f"{times}{first.application.name}{where_text(points, first.system.name)}", rows, failures


def _placements(args: argparse.Namespace, points: Sequence[Point]) -> list[Placed | UserError]:
    """Return the placement of each point, or why it has none; they are pooled and kept."""
    # Imported here for a quick start: they are slow to import.
    from predictor.blocks.series.evaluations import made_and_kept
    from predictor.checkpoints.placed import Placed
    from predictor.series.sources import sources_hash

    jobs = jobs_from_arguments(args)
    also = {"checkpoint": args.checkpoint, "repeat": args.repeat, "checkpoints": sources_hash("predictor/checkpoints")}
    with store_from_arguments(args) as store, doing("placing the application"):
        return made_and_kept(points, placed_from_arguments, Placed, store, jobs, also)


def placed_from_arguments(args: argparse.Namespace) -> Placed:
    """Return times, powers and the failure rate of the application that the options name.

    Raises:
        UserError: A file or an option is wrong, or the application cannot be evaluated.
    """
    # Imported here for a quick start: it is slow to import.
    from predictor.checkpoints.placed import placed

    return placed(
        setting_from_arguments(args), partial(machine_from_arguments, args),
        power=args.power, evaluator=args.evaluator, checkpoint_s=args.checkpoint, repeat=args.repeat,
    )  # fmt: skip


def say_failures(failures: Sequence[str]) -> int:
    """Print why points have no row, and return the exit status."""
    for text in failures:
        print(f"error: {text}", file=sys.stderr)
    return 2 if failures else 0


def _checked_intervals(args: argparse.Namespace) -> list[str]:
    """Return the names of the intervals, each once.

    Raises:
        UserError: An option is out of its range.
    """
    for option, value, least in (("--checkpoint", args.checkpoint, 1e-9), ("--restart", args.restart, 0.0)):
        if value is not None and not least <= value <= LONGEST_S:
            raise UserError(f"{option} {value:g}", "not a time", f"Give {least:g} to {LONGEST_S:g} s")
    if not 1 <= args.repeat <= MOST_REPEATS:
        raise UserError(f"--repeat {args.repeat}", "out of its range", f"Give 1 to {MOST_REPEATS}")
    names = [part.strip() for part in args.intervals.split(",") if part.strip()]
    for name in names:
        if name not in INTERVALS:
            raise UserError(f"--intervals {name}", "no such interval", nearest(name, INTERVALS))
    if not names:
        raise UserError(f"--intervals {args.intervals!r}", "names none", f"Give some of {', '.join(INTERVALS)}")
    return list(dict.fromkeys(names))


def _run(args: argparse.Namespace) -> int:
    # Imported here for a quick start: they are slow to import.
    from predictor.checkpoints.report import as_json, as_text

    source, rows, failures = rows_from_arguments(args)
    if args.json:
        print(json.dumps(as_json(source, rows, restart_s=args.restart)))
    else:
        print(as_text(source, rows, restart_s=args.restart, wide=args.wide))
    return say_failures(failures)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""

    def chosen() -> int:
        return _run(build_parser().parse_args(argv))

    return exit_status(chosen)
