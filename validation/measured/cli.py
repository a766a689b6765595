"""Command line: predict measured runs of a real cluster from a few of them, and compare."""

from __future__ import annotations

import argparse
import csv
import io
import json
from collections.abc import Sequence

from apps.options.exit_status import exit_status
from platforms.command.parser import CommandParser
from platforms.command.status import EXIT_STATUSES
from platforms.files.spreadsheets import cell
from platforms.files.writing import check_picture, check_writable, write_picture, write_text

_EVIDENCE = "1,2,8@8"


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = CommandParser(
        prog="python -m validation.measured",
        description="Predict measured runs of NAS kernels on a real cluster of equal nodes from a few of them, and "
        "compare. The evidence tells how much longer an operation takes when more cores of a node are busy; messages "
        "follow the declared structure of the program, on a platform that describes the network.",
        epilog=f"docs/validation/real-raspberry-pi.md. {EXIT_STATUSES}",
    )
    parser.add_argument(
        "runs", metavar="RUNS.csv", help="measured runs, with the columns app, class, ranks, nodes, time_s"
    )
    parser.add_argument("--platform", metavar="FILE.xml", required=True, help="the cluster: its nodes and its network")
    parser.add_argument(
        "--evidence", metavar="LIST", default=_EVIDENCE,
        help="runs that are evidence, by their nodes or as RANKS@NODES; the others are judged (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--apart", metavar="LIST", default="", help="runs whose errors are told apart, in the same form (default: none)"
    )
    parser.add_argument("--out", metavar="FILE.csv", help="write a row per run there")
    parser.add_argument("--picture", metavar="FILE", help="draw the times there (.png, .svg, .pdf)")
    parser.add_argument("--json", action="store_true", help="print everything as JSON, in SI units")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    return exit_status(lambda: _run(build_parser().parse_args(argv)))


def _run(args: argparse.Namespace) -> int:
    if args.out is not None:
        check_writable("--out", args.out)
    if args.picture is not None:
        check_picture("--picture", args.picture)
    # Imported here for a quick start: they are slow to import.
    from platforms.read.read import read_platform
    from validation.measured.judge import judged
    from validation.measured.picture import runs_figure
    from validation.measured.report import as_json, as_rows, as_text
    from validation.measured.runs import choices, read_runs

    evidence, apart = choices("--evidence", args.evidence), choices("--apart", args.apart)
    found = judged(read_runs(args.runs), read_platform(args.platform), evidence, apart)
    if args.out is not None:
        text, rows = io.StringIO(newline=""), as_rows(found)
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: cell(value) for name, value in row.items()} for row in rows)
        write_text("--out", args.out, text.getvalue())
    if args.picture is not None:
        write_picture("--picture", args.picture, runs_figure(found))
    print(json.dumps(as_json(found), indent=2) if args.json else as_text(found))
    return 0
