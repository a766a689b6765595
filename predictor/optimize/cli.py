"""Choose the nodes, and the number of processes on each, so that a program runs fastest or cheapest.

Models of the program are fitted to runs of small sizes on each cluster alone.  Then every configuration
(P_1, M_1, P_2, M_2, ...) within the limits is estimated: P_i nodes of cluster i with M_i processes on each.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from apps.options.exit_status import exit_status
from platforms.command.parser import CommandParser
from platforms.command.status import EXIT_STATUSES
from predictor.optimize.options import FIRST_OPTIONS, add_search_arguments


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = CommandParser(
        prog="python -m predictor.optimize",
        description=__doc__,
        epilog=EXIT_STATUSES,
        first=FIRST_OPTIONS,
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
    # Imported here for a quick start: it is slow to import.
    from predictor.optimize.command import run

    return run(args)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    return exit_status(lambda: _run(build_parser().parse_args(argv)))
