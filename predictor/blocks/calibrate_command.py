"""``python -m predictor.blocks calibrate``: coefficients of a platform from micro-benchmarks in simulation."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from platforms.errors import UserError, nearest

if TYPE_CHECKING:
    from platforms.platform import Platform
    from predictor.blocks.calibration.calibrate import Measured


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from apps.options import add_runner_arguments
    from platforms.options import add_platform_arguments
    from predictor.blocks.calibration.fit import ERRORS

    parser = subparsers.add_parser(
        "calibrate",
        help="coefficients of all blocks on a platform",
        description="Measure computation, messages, collectives and disks on a platform in simulation, and fit Table "
        "1's formulas and the shapes of SimGrid's algorithms to them (docs/blocks/calibration.md).",
    )
    add_platform_arguments(parser)
    parser.add_argument(
        "--only", metavar="C1,C2,...", help="only hosts of these clusters, not those that serve disks, say (all)"
    )
    parser.add_argument(
        "--processes", type=int, default=64, metavar="P", help="most processes that are measured, one per host (64)"
    )
    parser.add_argument(
        "--unit-bytes", default="2048", metavar="D_tu", help="data transfer unit: bytes, or fit (default: 2048)"
    )
    parser.add_argument(
        "--error", metavar="E",
        help=f"{' or '.join(ERRORS)}: what Table 1's fits minimise, mean percentage or mean squared error (default: "
        "mpe; for computation, power and barriers mse)",
    )  # fmt: skip
    parser.add_argument(
        "--failure-rate", type=float, metavar="LAMBDA", help="of a node, 1/s, kept with the calibration (default: none)"
    )
    parser.add_argument("--out", metavar="FILE.json", help="write the calibration there, for --model FILE.json")
    parser.add_argument("--table", metavar="FILE.csv", help="write what was measured there")
    parser.add_argument("--plot", metavar="DIR", help="write figures there: compute, messages, bcast")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--cfg", action="append", default=[], metavar="KEY:VALUE", help="a SimGrid option; may be given several times"
    )
    add_runner_arguments(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Calibrates, prints and writes; the exit status.  Raises UserError for what does not fit."""
    from apps.options import exit_status

    return exit_status(lambda: _run(args))


def _run(args: argparse.Namespace) -> int:
    unit = _unit(args.unit_bytes)
    _check(args)
    from apps.blockprobe.measure import disks_of
    from apps.options import runner_from_arguments
    from apps.spec import parse_options
    from platforms.options import platform_from_arguments
    from predictor.blocks.calibration.calibrate import calibrate, measured
    from predictor.blocks.calibration.calibrated import Calibrated
    from predictor.blocks.calibration.experiments import experiments, selector
    from predictor.blocks.calibration.table import text, to_json
    from predictor.dpgraph.collectives import SELECTOR

    options = parse_options(args.cfg)
    whole = platform_from_arguments(args)
    platform = whole if args.only is None else part_of(whole, args.only.split(","))
    if selector(platform, options) != SELECTOR:
        problem = "the shapes are those of SimGrid's default algorithms, see their errors"
        print(f"caution: smpi/coll-selector is {selector(platform, options)}: {problem}", file=sys.stderr)
    asked = experiments(platform, disks=disks_of(whole), most_processes=args.processes, options=options)
    with runner_from_arguments(args) as runner:
        measurement = runner.measure(asked.plan)
    found = calibrate(
        platform, asked, measurement, D_tu_bytes=unit, error=args.error, failure_rate_per_s=args.failure_rate
    )
    print(json.dumps(to_json(found)) if args.json else text(found), flush=True)
    table = measured(asked, measurement)
    if args.out is not None:
        found.write(args.out)
    if args.table is not None:
        _write_table(args.table, table)
    if args.plot is not None:
        from pathlib import Path

        from predictor.blocks.calibration.plots import write_figures

        write_figures(Calibrated(found), table, Path(args.plot))
    return 0


def part_of(platform: Platform, clusters: Sequence[str]) -> Platform:
    """The same platform with no hosts but those of some clusters.  Raises UserError for a name that is none."""
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
    from platforms.writing import check_writable, usable_folder
    from predictor.blocks.calibration.fit import ERRORS

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


def _write_table(path: str, table: Measured) -> None:
    import csv

    from predictor.blocks.calibration.calibrate import rows

    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["block", "size_bytes", "processes", "where", "use", "time_s", "node_power_w"])
        writer.writeheader()
        writer.writerows(rows(table))
