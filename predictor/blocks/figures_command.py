"""Command ``python -m predictor.blocks figures``: figures like Figures 3 to 5 of the paper, of a published model."""

from __future__ import annotations

import argparse
from pathlib import Path

from platforms.errors import UserError, nearest
from predictor.blocks.published.parameters import CLUSTERS


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the sub-command ``figures``."""
    parser = subparsers.add_parser(
        "figures",
        help="figures of a published model's formulas",
        description="Draw the formulas of a published model as in Figures 3 to 5 of the paper, and those of scatter, "
        "gather, all-to-all and the disk (docs/blocks/formulas.md). For a calibration, calibrate --plot draws them "
        "with the measured points.",
    )
    parser.add_argument("--model", default="galera+", metavar="NAME", help=f"{', '.join(CLUSTERS)} (default: galera+)")
    parser.add_argument("--plot", required=True, metavar="DIR", help="folder of the figures; made if it is absent")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the figures, print their names and return the exit status.

    Raises:
        UserError: The model is not a published one, or a file cannot be written.
    """
    if args.model not in CLUSTERS:
        raise UserError(f"--model {args.model}", "no published model", nearest(args.model, CLUSTERS))
    # Imported here for a quick start: it is slow to import.
    from predictor.blocks.published.figures import write_published_figures

    for path in write_published_figures(args.model, Path(args.plot), "--plot"):
        print(path)
    return 0
