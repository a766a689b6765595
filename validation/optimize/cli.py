"""Choose a configuration as ``python -m predictor.optimize`` does, and compare it with the simulated optimum.

A campaign file instead of options compares many apps, sizes, models and noises in tables, CSV files and figures.
--paper simulates what Figures 21 to 28 of the NP-T paper measure.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from apps.options.exit_status import exit_status
from platforms.command.parser import CommandParser
from platforms.command.status import EXIT_STATUSES
from platforms.terminal.width import add_wide_argument
from predictor.optimize.options import FIRST_OPTIONS, add_search_arguments


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = CommandParser(
        prog="python -m validation.optimize",
        description=__doc__,
        epilog=EXIT_STATUSES,
        first=FIRST_OPTIONS,
    )
    parser.add_argument(
        "campaign", nargs="?", metavar="FILE.toml", help="a campaign file (docs/planning/allocation.md)"
    )
    add_search_arguments(parser)
    parser.add_argument(
        "--paper", action="store_true",
        help="instead: the pitfalls of section 7 of the NP-T paper in simulation, Figures 21 to 28, which --out draws",
    )  # fmt: skip
    parser.add_argument(
        "--out", metavar="DIR", help="with a campaign or --paper: write their CSV files and figures there"
    )
    add_wide_argument(parser)
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")
    return parser


def _run(args: argparse.Namespace) -> int:
    # Imported here for a quick start: it is slow to import.
    from validation.optimize.command import run

    return run(args)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    return exit_status(lambda: _run(build_parser().parse_args(argv)))
