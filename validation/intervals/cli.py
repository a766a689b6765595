"""Measure the intervals of predictions: how often they hold the true time, and how wide they are.

The command reads results.csv files, which validation.run, validation.campaign and validation.league write with --out;
nothing is simulated.
"""

from __future__ import annotations

import argparse
import json
import math
import shlex
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from platforms.command.parser import CommandParser
from platforms.command.status import EXIT_STATUSES, exit_status
from platforms.errors import UserError, known_names
from platforms.files.reading import input_text
from platforms.files.writing import check_writable, write_text
from platforms.terminal.width import add_wide_argument
from predictor.intervals.cases import read_cases
from validation.comparison.dataframes import records

if TYPE_CHECKING:
    import pandas as pd

BY = ("app", "class", "scenario", "network", "mapping", "efficiency", "ranks")
_NEEDED = (
    *("predictor", "app", "class", "scenario", "predicted_s", "simulated_s", "interval_low_s", "interval_high_s"),
    *("feature_compute_share", "feature_ratio", "feature_fit_residual"),
)
_REMEDY = "Name a results.csv that validation.run, validation.campaign or validation.league has written"


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = CommandParser(prog="python -m validation.intervals", description=__doc__, epilog=EXIT_STATUSES)
    parser.add_argument("results", nargs="+", metavar="RESULTS", help="results.csv files, or folders that hold one")
    parser.add_argument("--by", metavar="C1,C2,...", help=f"a row for each value of these: of {', '.join(BY)}")
    parser.add_argument(
        "--cases", metavar="FILE.csv",
        help="make the intervals anew, from the calibration cases in this file (--write-cases) instead of those told "
        "when the predictions were made",
    )  # fmt: skip
    parser.add_argument(
        "--write-cases", metavar="FILE.csv", help="write these results as calibration cases, with their features"
    )
    parser.add_argument("--out", metavar="FILE.csv", help="write the table as CSV")
    parser.add_argument("--json", action="store_true", help="print the table as JSON")
    add_wide_argument(parser)
    return parser


def read_results(path: str | Path) -> pd.DataFrame:
    """Return the results in a file, or in results.csv of a folder.

    Raises:
        UserError: The file cannot be read, or lacks columns.
    """
    # Imported here for a quick start: it is slow to import.
    import pandas as pd

    file = Path(path) / "results.csv" if Path(path).is_dir() else Path(path)
    try:
        table = pd.read_csv(StringIO(input_text(file)), dtype={"class": str})
    except (OSError, ValueError) as err:  # pandas' errors of the format are ValueErrors
        raise UserError(str(file), _one_line(err), _REMEDY) from err
    missing = [name for name in _NEEDED if name not in table]
    if missing:
        raise UserError(str(file), f"no columns {', '.join(missing)}", _REMEDY)
    odd = [name for name in _NEEDED[4:] if not pd.api.types.is_numeric_dtype(table[name])]
    if odd:
        raise UserError(str(file), f"column {odd[0]} has values that are no numbers", _REMEDY)
    if table.empty:
        raise UserError(str(file), "no results", _REMEDY)
    for name in ("simulated_s", "feature_ratio"):
        known = table[name].dropna()
        if not ((known > 0) & (known < math.inf)).all():
            raise UserError(str(file), f"column {name} has values that are not positive", _REMEDY)
    return table


def _one_line(err: Exception) -> str:
    if isinstance(err, OSError) and err.strerror:
        return err.strerror
    return str(err).strip().splitlines()[-1] if str(err).strip() else "cannot be read"


def _run(args: argparse.Namespace) -> int:
    # Imported here for a quick start: they are slow to import.
    import pandas as pd

    from validation.intervals.cases_file import cases_text
    from validation.intervals.coverage import coverage, with_intervals
    from validation.intervals.text import coverage_text

    by = [] if args.by is None else list(dict.fromkeys(args.by.split(",")))
    for name in by:
        if name not in BY:
            raise UserError(f"--by {args.by}", f"no column {name!r}", known_names(name, BY))
    for option, file in (("--write-cases", args.write_cases), ("--out", args.out)):
        if file is not None:
            check_writable(option, file)
    results = pd.concat([read_results(path) for path in args.results], ignore_index=True)
    for name in by:
        if name not in results:
            raise UserError(f"--by {args.by}", f"the results have no column {name!r}", _REMEDY)
    if args.cases is not None:
        results = with_intervals(results, read_cases(args.cases))
    if args.write_cases is not None:
        write_text("--write-cases", args.write_cases, cases_text(results, _command(args)))
    table = coverage(results, by)
    if args.out is not None:
        write_text("--out", args.out, table.to_csv(index=False))
    print(json.dumps({"coverage": records(table)}) if args.json else coverage_text(table, by, wide=args.wide))
    return 0


def _command(args: argparse.Namespace) -> str:
    words = ["python -m validation.intervals", *map(shlex.quote, args.results)]
    return " ".join([*words, "--write-cases", shlex.quote(args.write_cases)])


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    return exit_status(lambda: _run(build_parser().parse_args(argv)))
