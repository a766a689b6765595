"""Command ``python -m predictor.blocks``, with a sub-command for each module of this package named ``*_command``."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence
from pathlib import Path

from platforms.command import EXIT_STATUSES, CommandParser, exit_status

_SUFFIX = "_command"


def build_parser() -> argparse.ArgumentParser:
    """Return the parser with all sub-commands.

    The module of a sub-command has ``add_parser(subparsers)``, which sets the default ``run``: a function from the
    parsed arguments to the exit status.
    """
    parser = CommandParser(
        prog="python -m predictor.blocks",
        description="Applications as blocks of computation and communication: time, energy, probability of success.",
        epilog=EXIT_STATUSES,
    )
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    for module in sorted(path.stem for path in Path(__file__).parent.glob(f"*{_SUFFIX}.py")):
        importlib.import_module(f"predictor.blocks.{module}").add_parser(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""

    def chosen() -> int:
        args = build_parser().parse_args(argv)
        status: int = args.run(args)
        return status

    return exit_status(chosen)
