"""Command ``python -m validation.blocks``: evaluate and simulate an application of blocks, and compare the results."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from apps.arguments.dry_run import add_dry_run_argument, print_plan
from apps.arguments.exit_status import exit_status
from apps.arguments.runner import add_runner_arguments, runner_from_arguments
from apps.results.cautions import Cautions
from apps.timelines.files import TIMELINE, add_timeline_argument, check_timeline, write_timeline
from platforms.command import EXIT_STATUSES, CommandParser
from platforms.errors import UserError
from platforms.files.writing import usable_folder
from platforms.terminal.progress import doing
from platforms.terminal.width import add_wide_argument
from predictor.blocks.errors import SettingError
from predictor.blocks.names import POWER_RULES, check_rule
from predictor.blocks.options import (
    add_model_arguments,
    add_power_argument,
    add_setting_arguments,
    setting_from_arguments,
)
from predictor.blocks.series.command import OUT, OVER, add_output_arguments, check_series_arguments
from predictor.blocks.series.points import VARY, Point, add_vary_argument, points_of, where_text

if TYPE_CHECKING:
    from apps.runs.runner import Runner
    from validation.blocks.comparison import Comparison
    from validation.blocks.several import Failure


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = CommandParser(
        prog="python -m validation.blocks",
        description="Evaluate an application of blocks, simulate the same description with one rank per process, and "
        "compare times, energies and costs (docs/blocks/applications.md).",
        epilog=EXIT_STATUSES,
        first="application --system --count --set --vary --out --parts --model --power --timeline".split(),
    )
    add_setting_arguments(parser)
    add_model_arguments(parser)
    add_power_argument(parser)
    add_vary_argument(parser, "compare")
    add_output_arguments(parser)
    add_wide_argument(parser)
    parser.add_argument("--parts", action="store_true", help="also compare where the time goes, by label")
    add_timeline_argument(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_runner_arguments(parser)
    add_dry_run_argument(parser)
    return parser


def _run(args: argparse.Namespace) -> int:
    check_series_arguments(args, ("over", "out"))
    points = points_of(args)
    for point in points:
        check_rule(point.args.power)
    if args.timeline is not None:
        if args.vary:
            raise UserError(f"{TIMELINE} {args.timeline}", f"does not go with {VARY}", "Write one timeline at a time")
        check_timeline(TIMELINE, args.timeline)
    # Imported here for a quick start: they are slow to import.
    from predictor.blocks.series.table import over_from
    from validation.blocks.several import status_of

    over = over_from(OVER, args.over, points) if args.vary else ""
    folder = None if args.out is None else usable_folder(OUT, args.out)
    if args.dry_run:
        return _print_plan(args, points)
    rows, failures, cautions, said = compared_points(args, points)
    if all(row.evaluated_s is None and row.simulated_s is None for row in rows):
        raise failures[0].error
    first = next(row for row in rows if row.processes is not None)
    title = f"{first.application}{where_text(points, first.system)}{_rule(points[0])}"
    if folder is not None:
        # Imported here for a quick start: it is slow to import.
        from validation.blocks.series import write_comparisons

        write_comparisons(points, rows, over, folder, title=title)
    for caution in cautions:
        print(f"caution: {caution}", file=sys.stderr)
    if args.json:
        print(json.dumps({"comparisons": [row.to_json() for row in rows], "cautions": [*cautions, *said]}))
    else:
        print(_text(rows, title, args))
    for failure in failures:
        failure.say()
    return status_of(failures)


def compared_points(
    args: argparse.Namespace, points: Sequence[Point], *, saying: bool = True
) -> tuple[list[Comparison], list[Failure], list[str], list[str]]:
    """Return the comparison of each point, what failed, and the cautions of the evaluations and of the runs.

    Args:
        args: The options; a timeline is written if they ask for one.
        points: The points.
        saying: Print the cautions of the runs.

    Raises:
        UserError: An option is wrong.
        KeyboardInterrupt: With the number of results that are kept.
    """
    # Imported here for a quick start: they are slow to import.
    from validation.blocks.evaluations import timed_evaluations
    from validation.blocks.several import comparisons

    said = Cautions()
    evaluated = timed_evaluations(args, points)  # before the runner has threads, because it forks processes
    wrong = [one for one in evaluated if isinstance(one, SettingError)]
    if len(wrong) == len(points):  # a wrong option, for which no simulation is worth while
        raise wrong[0]
    try:
        with runner_from_arguments(args, cautions=said, saying=saying) as runner:
            rows, failures = comparisons(points, evaluated, runner)
            if args.timeline is not None and rows[0].simulated_s is not None:
                _write_timeline(args, points[0], runner)
    except KeyboardInterrupt as err:
        if err.args or args.no_store:
            raise
        raise KeyboardInterrupt("the evaluations are kept in the store") from err
    found: dict[str, None] = {}
    for point, row in zip(points, rows, strict=True):
        if row.evaluated_s is not None:
            found |= dict.fromkeys((*row.cautions, *_model_cautions(point)))
    return rows, failures, list(found), said.lines()


def _model_cautions(point: Point) -> list[str]:
    """Return the cautions about the model of a point; only a calibration file has some."""
    model = point.args.model
    return setting_from_arguments(point.args).cautions(model) if os.path.isfile(model) else []


def _write_timeline(args: argparse.Namespace, point: Point, runner: Runner) -> None:
    # Imported here for a quick start: it is slow to import.
    from validation.blocks.comparison import simulation

    spec = simulation(setting_from_arguments(point.args))
    with doing("writing the timeline"):
        written = write_timeline(TIMELINE, args.timeline, spec, runner.record(spec))
    print(f"timeline: {written}", file=sys.stderr)


def _print_plan(args: argparse.Namespace, points: Sequence[Point]) -> int:
    """Print what would be simulated, and why some points cannot be; return the exit status."""
    # Imported here for a quick start: they are slow to import.
    from apps.runs.plan import Plan, for_timeline
    from validation.blocks.several import Asked, Failure, status_of

    asked = [Asked.of(point) for point in points]
    failures = [Failure(one.point, one.error) for one in asked if one.error is not None]
    specs = tuple(dict.fromkeys(one.spec for one in asked if one.spec is not None))
    if not specs:
        raise failures[0].error
    others = () if args.timeline is None else (for_timeline(specs[0]),)
    print_plan(args, Plan(truths=specs, others=others))
    for failure in failures:
        failure.say()
    return status_of(failures)


def _text(rows: Sequence[Comparison], title: str, args: argparse.Namespace) -> str:
    """Return the table of the comparisons, and that of their parts if it is asked for."""
    # Imported here for a quick start: it is slow to import.
    from validation.blocks.text import parts_lines, table

    shown = table(rows, title, wide=args.wide)
    return "\n".join((shown, "", *parts_lines(rows, wide=args.wide))) if args.parts else shown


def _rule(point: Point) -> str:
    return "" if point.args.power == POWER_RULES[0] or "power" in point.values else f", power rule {point.args.power}"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""

    def chosen() -> int:
        return _run(build_parser().parse_args(argv))

    return exit_status(chosen)
