"""Command ``python -m validation.blocks``: evaluate and simulate an application of blocks, and compare the results."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from apps.arguments.dry_run import add_dry_run_argument, print_plan
from apps.arguments.exit_status import exit_status
from apps.arguments.runner import add_runner_arguments, runner_from_arguments
from platforms.command import EXIT_STATUSES, CommandParser
from platforms.files.writing import usable_folder
from platforms.terminal.prose import prose_lines
from platforms.terminal.quantities import duration, significant
from platforms.terminal.table import Cell
from platforms.terminal.width import add_wide_argument
from predictor.blocks.lines import named_lines
from predictor.blocks.names import POWER_RULES, check_rule
from predictor.blocks.options import (
    add_model_arguments,
    add_power_argument,
    add_setting_arguments,
    machine_from_arguments,
    say_cautions,
    setting_from_arguments,
)
from predictor.blocks.series.command import OUT, OVER, add_output_arguments, check_series_arguments
from predictor.blocks.series.points import Point, add_vary_argument, points_of, where_text
from validation.presentation.tables import error_cell, table_of

if TYPE_CHECKING:
    from apps.runs.runner import Runner
    from predictor.blocks.setting import Setting
    from validation.blocks.comparison import Comparison


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = CommandParser(
        prog="python -m validation.blocks",
        description="Evaluate an application of blocks, simulate the same description with one rank per process, and "
        "compare times, energies and costs (docs/blocks/applications.md).",
        epilog=EXIT_STATUSES,
    )
    add_setting_arguments(parser)
    add_model_arguments(parser)
    add_power_argument(parser)
    add_vary_argument(parser, "compare")
    add_output_arguments(parser)
    add_wide_argument(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_runner_arguments(parser)
    add_dry_run_argument(parser)
    return parser


def table(rows: Sequence[Comparison], title: str, *, wide: bool = False) -> str:
    """Return the comparisons as a table of text; ``wide``: with energies, messages and costs."""
    columns: dict[str, Sequence[str | Cell]] = {
        **{name: [str(row.varied[name]) for row in rows] for name in rows[0].varied},
        "processes": [str(row.processes) for row in rows],
        "evaluated": [duration(row.evaluated_s, like_s=row.simulated_s) for row in rows],
        "simulated": [duration(row.simulated_s) for row in rows],
        "error %": [error_cell(row.error_pct) for row in rows],
    }
    if wide:
        columns["evaluated J"] = [significant(row.evaluated_j) for row in rows]
        columns["simulated J"] = [significant(row.simulated_j) for row in rows]
        columns["evaluated as"] = [row.evaluator for row in rows]
    columns["energy error %"] = [error_cell(row.energy_error_pct) for row in rows]
    if wide:
        columns["point-to-point messages"] = [str(row.messages) for row in rows]
    if all(row.success is not None for row in rows):
        columns["success"] = [significant(row.success) for row in rows]
    if wide:
        columns["evaluation wall s"] = [f"{row.evaluation_wall_s:.4f}" for row in rows]
        columns["simulation wall s"] = [f"{row.simulation_wall_s:.3f}" for row in rows]
    return "\n".join([*prose_lines(title), "", *table_of(columns, left=tuple(rows[0].varied), wide=wide)])


def _run(args: argparse.Namespace) -> int:
    check_series_arguments(args, ("over", "out"))
    points = points_of(args)
    for point in points:
        check_rule(point.args.power)
    settings = [setting_from_arguments(point.args) for point in points]
    # Imported here for a quick start: they are slow to import.
    from apps.runs.plan import Plan
    from predictor.blocks.series.table import over_from
    from validation.blocks.comparison import simulation

    over = over_from(OVER, args.over, points) if args.vary else ""
    folder = None if args.out is None else usable_folder(OUT, args.out)
    say_cautions(points[0].args, settings[0])
    if args.dry_run:
        return print_plan(args, Plan(truths=tuple(dict.fromkeys(map(simulation, settings)))))
    with runner_from_arguments(args) as runner:
        rows = comparisons(points, settings, runner)
    title = f"{rows[0].application}{where_text(points, rows[0].system)}{_rule(points[0])}"
    if folder is not None:
        # Imported here for a quick start: it is slow to import.
        from validation.blocks.series import write_comparisons

        write_comparisons(points, rows, over, folder, title=title)
    found = dict.fromkeys(caution for row in rows for caution in row.cautions)
    for caution in found:
        print(f"caution: {caution}", file=sys.stderr)
    cautions = [*found, *settings[0].cautions(points[0].args.model), *runner.cautions.lines()]
    shown = {"comparisons": [row.to_json() for row in rows], "cautions": cautions}
    print(json.dumps(shown) if args.json else table(rows, title, wide=args.wide))
    return 0


def comparisons(points: Sequence[Point], settings: Sequence[Setting], runner: Runner) -> list[Comparison]:
    """Return the comparison of each point, which has this setting; the simulations go side by side.

    Raises:
        UserError: A point cannot be evaluated or simulated; errors of the engine are passed on.
    """
    # Imported here for a quick start: it is slow to import.
    from validation.blocks.comparison import compare, simulation

    runner.start(dict.fromkeys(map(simulation, settings)))
    return [
        compare(
            setting, partial(machine_from_arguments, point.args), runner,
            varied=point.values, evaluator=point.args.evaluator, power=point.args.power,
        )
        for point, setting in zip(points, settings, strict=True)
    ]  # fmt: skip


def _rule(point: Point) -> str:
    return "" if point.args.power == POWER_RULES[0] or "power" in point.values else f", power rule {point.args.power}"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""

    def chosen() -> int:
        with named_lines():
            return _run(build_parser().parse_args(argv))

    return exit_status(chosen)
