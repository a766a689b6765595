"""Command ``python -m predictor.blocks calibrate``: coefficients of a platform from simulated micro-benchmarks."""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from platforms.errors import UserError, nearest
from platforms.files.spreadsheets import cell
from platforms.terminal.width import add_wide_argument
from predictor.blocks.names import ERRORS

if TYPE_CHECKING:
    from platforms.model.platform import Platform
    from predictor.blocks.calibration.calibrate import Measured


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the sub-command ``calibrate``."""
    # Imported here for a quick start: they are slow to import.
    from apps.options.dry_run import add_dry_run_argument
    from apps.options.runner import add_runner_arguments
    from platforms.options import add_platform_arguments

    parser = subparsers.add_parser(
        "calibrate",
        help="coefficients of all blocks on a platform",
        description="Measure computation, messages, collectives and disks on a platform in simulation, and fit Table "
        "1's formulas and the shapes of SimGrid's algorithms to them (docs/blocks/calibration.md).",
    )
    add_platform_arguments(parser)
    parser.add_argument(
        "--only", metavar="C1,C2,...", help="use only hosts of these clusters, e.g. without file servers (default: all)"
    )
    parser.add_argument(
        "--processes", type=int, default=64, metavar="P", help="most processes to measure, one per host (default: 64)"
    )
    parser.add_argument(
        "--unit-bytes", default="2048", metavar="D_tu", help="data transfer unit in bytes, or fit (default: 2048)"
    )
    parser.add_argument(
        "--error", metavar="E",
        help=f"{' or '.join(ERRORS)}: Table 1's fits minimise the mean percentage or the mean squared error (default: "
        "mpe; for computation, power and barriers mse)",
    )  # fmt: skip
    parser.add_argument(
        "--failure-rate", type=float, metavar="LAMBDA",
        help="failures per second of a node, stored with the calibration (default: none)",
    )  # fmt: skip
    parser.add_argument("--out", metavar="FILE.json", help="write the calibration to this file, for --model FILE.json")
    parser.add_argument("--table", metavar="FILE.csv", help="write the measured samples to this file")
    parser.add_argument(
        "--plot", metavar="DIR", help="write figures into this folder: compute, messages, bcast, collectives, disk"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--cfg", action="append", default=[], metavar="KEY:VALUE", help="a SimGrid option; may be given several times"
    )
    add_wide_argument(parser)
    add_dry_run_argument(parser)
    add_runner_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Calibrate, print and write the results, and return the exit status.

    Each file is written completely or not at all; an older file stays if the new one cannot be written.

    Raises:
        UserError: If an option is wrong, or a file cannot be written.
    """
    # Imported here for a quick start: it is slow to import.
    from apps.options.exit_status import exit_status

    return exit_status(lambda: _run(args))


def _run(args: argparse.Namespace) -> int:
    unit = _unit(args.unit_bytes)
    _check(args)
    # Imported here for a quick start: they are slow to import.
    from apps.options.runner import runner_from_request
    from apps.probes.blocks.measure import disks_of
    from apps.spec.engine_options import parse_options
    from platforms.files.writing import write_text
    from platforms.options import platform_from_request
    from predictor.blocks.calibration.calibrate import calibrate, measured
    from predictor.blocks.calibration.calibrated import Calibrated
    from predictor.blocks.calibration.experiments import experiments, selector
    from predictor.blocks.calibration.table import text, to_json
    from predictor.network.collectives import SELECTOR

    options = parse_options(args.cfg)
    whole = platform_from_request(args)
    platform = whole if args.only is None else part_of(whole, args.only.split(","))
    if selector(platform, options) != SELECTOR:
        problem = "the shapes are those of SimGrid's default algorithms; check their errors"
        print(f"caution: smpi/coll-selector is {selector(platform, options)}: {problem}", file=sys.stderr)
    asked = experiments(platform, disks=disks_of(whole), most_processes=args.processes, options=options)
    if args.dry_run:
        # Imported here for a quick start: they are slow to import.
        from apps.options.dry_run import print_plan
        from apps.runs.plan import Plan

        return print_plan(args, Plan(experiments=(asked.plan,)))
    with runner_from_request(args) as runner:
        measurement = runner.measure(asked.plan)
    found = calibrate(
        platform, asked, measurement, D_tu_bytes=unit, error=args.error, failure_rate_per_s=args.failure_rate
    )
    data = to_json(found)
    data["cautions"] += runner.cautions.lines()
    print(json.dumps(data) if args.json else text(found, wide=args.wide), flush=True)
    table = measured(asked, measurement)
    if args.out is not None:
        write_text("--out", args.out, found.text())
    if args.table is not None:
        write_text("--table", args.table, _table_text(table))
    if args.plot is not None:
        # Imported here for a quick start: it is slow to import.
        from predictor.blocks.calibration.plots import write_figures

        write_figures(Calibrated(found), table, Path(args.plot))
    return 0


def part_of(platform: Platform, clusters: Sequence[str]) -> Platform:
    """Return the platform with only the hosts of these clusters.

    Raises:
        UserError: If the platform has no cluster of a name.
    """
    known = [cluster.name for cluster in platform.clusters]
    for name in clusters:
        if name not in known:
            raise UserError(f"--only {name}", f"no such cluster in {platform.name}", nearest(name, known))
    return replace(platform, clusters=tuple(one for one in platform.clusters if one.name in clusters))


def _unit(text: str) -> float | None:
    if text == "fit":
        return None
    try:
        unit = float(text)
    except ValueError:
        unit = -1.0
    if not 1 <= unit < float("inf"):
        raise UserError(f"--unit-bytes {text}", "not a number of bytes", "Give 1 or more, or fit")
    return unit


def _check(args: argparse.Namespace) -> None:
    # Imported here for a quick start: they are slow to import.
    from platforms.files.writing import check_writable, usable_folder

    if args.processes < 2:
        raise UserError(f"--processes {args.processes}", "below two", "Give 2 or more")
    if args.error is not None and args.error not in ERRORS:
        raise UserError(f"--error {args.error}", "not known", nearest(args.error, ERRORS))
    if args.failure_rate is not None and not 0 <= args.failure_rate < float("inf"):
        raise UserError(f"--failure-rate {args.failure_rate}", "not a rate", "Give failures per second of a node")
    for option, path in (("--out", args.out), ("--table", args.table)):
        if path is not None:
            check_writable(option, path)
    if args.plot is not None:
        usable_folder("--plot", args.plot)


def _table_text(table: Measured) -> str:
    """Return the measured samples as CSV."""
    # Imported here for a quick start: it is slow to import.
    from predictor.blocks.calibration.calibrate import rows

    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, ["block", "size_bytes", "processes", "where", "use", "time_s", "node_power_w"])
    writer.writeheader()
    writer.writerows({name: cell(value) for name, value in row.items()} for row in rows(table))
    return text.getvalue()
