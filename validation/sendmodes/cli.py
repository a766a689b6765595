"""Command line: the send modes of MPI on the machines of the Li paper, simulated, fitted and predicted."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from apps.options.dry_run import add_dry_run_argument, print_plan
from apps.options.exit_status import exit_status
from apps.options.runner import add_runner_arguments, runner_from_request
from apps.results.cautions import Cautions
from platforms.command.parser import CommandParser
from platforms.command.status import EXIT_STATUSES
from platforms.errors import UserError, nearest
from platforms.files.writing import written_into
from platforms.terminal.width import add_wide_argument
from validation.sendmodes.machines import CLUSTERS

_DEFAULT = "li-1"

if TYPE_CHECKING:
    from validation.sendmodes.study import Study


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = CommandParser(
        prog="python -m validation.sendmodes",
        description="Simulate one message in each of MPI's send modes on a machine of the Li paper, fit its lines to "
        "the simulated times, and report their errors for longer and shorter messages.",
        epilog=EXIT_STATUSES,
    )
    parser.add_argument(
        "--cluster", metavar="NAME", type=str.lower, help=f"{' or '.join(CLUSTERS)} (default: {_DEFAULT})"
    )
    parser.add_argument(
        "--paper", action="store_true",
        help="instead: the paper's Tables 2 to 4 beside ours, for both machines, and Figures 6 and 7 (IS on li-1), "
        "which --out draws",
    )  # fmt: skip
    parser.add_argument("--out", metavar="DIR", help="write tables (CSV) and figures (PNG, SVG) there")
    parser.add_argument("--json", action="store_true", help="print one JSON object, no text")
    add_wide_argument(parser)
    add_runner_arguments(parser)
    add_dry_run_argument(parser)
    return parser


def _run(args: argparse.Namespace) -> int:
    if args.paper:
        return _run_paper(args)
    cluster = _DEFAULT if args.cluster is None else args.cluster
    if cluster not in CLUSTERS:
        raise UserError(f"--cluster {cluster}", "not a machine of the Li paper", nearest(cluster, CLUSTERS))
    # Imported here for a quick start: they are slow to import.
    from apps.runs.plan import Plan
    from platforms.grids.scenario import named_grid
    from platforms.read.read import materialise
    from validation.output.output import usable_folder
    from validation.sendmodes.costs import read_costs
    from validation.sendmodes.messages import message_specs
    from validation.sendmodes.study import messages, study
    from validation.sendmodes.tables import study_json, study_text

    platform, costs = materialise(named_grid(cluster)), read_costs(cluster)
    if args.dry_run:
        return print_plan(args, Plan(truths=tuple(message_specs(platform, messages(), costs).values())))
    folder, said = None if args.out is None else usable_folder(args.out), Cautions()
    with runner_from_request(args, cautions=said) as runner:
        done = study(cluster, platform, costs, runner)
    if folder is not None:
        _write(done, folder)
    print(json.dumps({**study_json(done), "cautions": said.lines()}) if args.json else study_text(done))
    return 0


def _run_paper(args: argparse.Namespace) -> int:
    if args.cluster is not None:
        raise UserError(f"--cluster {args.cluster}", "--paper takes both machines", "Leave it out")
    # Imported here for a quick start: they are slow to import.
    from validation.output.output import usable_folder
    from validation.sendmodes.paper import paper, paper_json, paper_text, planned_paper, write_tables
    from validation.sendmodes.paper_figures import write_figures

    if args.dry_run:
        return print_plan(args, planned_paper())
    folder, said = None if args.out is None else usable_folder(args.out), Cautions()
    with runner_from_request(args, cautions=said) as runner:
        found = paper(runner)
    if folder is not None:
        with written_into("--out", folder):
            write_tables(found, folder)
            write_figures(found, folder)
    done = {**paper_json(found), "cautions": said.lines()} if args.json else None
    print(paper_text(found, wide=args.wide) if done is None else json.dumps(done))
    return 0


def _write(done: Study, folder: Path) -> None:
    # Imported here for a quick start: they are slow to import.
    from validation.sendmodes.plots import write_figures
    from validation.sendmodes.tables import write_tables

    with written_into("--out", folder):
        write_tables(done, folder)
        write_figures(done, folder)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    return exit_status(lambda: _run(build_parser().parse_args(argv)))
