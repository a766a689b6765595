"""Measure the intervals of predictions: how often they hold the true time, and how wide they are.

The command reads results.csv files, which ``gridval run``, ``gridval series campaign`` and ``gridval series league``
write with --out; nothing is simulated.
"""

from __future__ import annotations

import json
import math
import shlex
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from platforms.command.command import Command
from platforms.command.common import JsonOption, WideOption
from platforms.command.request import argument, given, option
from platforms.errors import UserError, known_names
from platforms.files.reading import input_text
from platforms.files.writing import check_writable, write_text
from predictor.intervals.cases import read_cases
from validation.comparison.dataframes import records

if TYPE_CHECKING:
    import pandas as pd

BY = ("app", "class", "scenario", "network", "mapping", "efficiency", "ranks")
_NEEDED = (
    *("predictor", "app", "class", "scenario", "predicted_s", "simulated_s", "interval_low_s", "interval_high_s"),
    *("feature_compute_share", "feature_ratio", "feature_fit_residual"),
)
_REMEDY = "Name a results.csv that gridval run, series campaign or series league has written"


@dataclass(frozen=True, kw_only=True)
class IntervalsRequest(JsonOption, WideOption):
    """Request of ``gridval series intervals``."""

    results: tuple[str, ...] = argument("RESULTS", "results.csv files, or folders that hold one")
    by: str | None = option(None, "C1,C2,...", f"a row for each value of these: of {', '.join(BY)}")
    cases: str | None = option(
        None,
        "FILE.csv",
        "make the intervals anew, from the calibration cases in this file (--write-cases) instead of those told "
        "when the predictions were made",
    )
    write_cases: str | None = option(None, "FILE.csv", "write these results as calibration cases, with their features")
    out: str | None = option(None, "FILE.csv", "write the table as CSV")


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


def _run(request: IntervalsRequest) -> int:
    # Imported here for a quick start: they are slow to import.
    import pandas as pd

    from validation.intervals.cases_file import cases_text
    from validation.intervals.coverage import coverage, with_intervals
    from validation.intervals.text import coverage_text

    by = [] if request.by is None else list(dict.fromkeys(request.by.split(",")))
    for name in by:
        if name not in BY:
            raise UserError(f"--by {request.by}", f"no column {name!r}", known_names(name, BY))
    for name, file in (("--write-cases", request.write_cases), ("--out", request.out)):
        if file is not None:
            check_writable(name, file)
    results = pd.concat([read_results(path) for path in request.results], ignore_index=True)
    for name in by:
        if name not in results:
            raise UserError(f"--by {request.by}", f"the results have no column {name!r}", _REMEDY)
    if request.cases is not None:
        results = with_intervals(results, read_cases(request.cases))
    if request.write_cases is not None:
        write_text("--write-cases", request.write_cases, cases_text(results, _command(request)))
    table = coverage(results, by)
    if request.out is not None:
        write_text("--out", request.out, table.to_csv(index=False))
    print(json.dumps({"coverage": records(table)}) if request.json else coverage_text(table, by, wide=request.wide))
    return 0


def _command(request: IntervalsRequest) -> str:
    words = ["gridval series intervals", *map(shlex.quote, request.results)]
    return " ".join([*words, "--write-cases", shlex.quote(given(request.write_cases))])


COMMAND = Command(
    "series intervals",
    IntervalsRequest,
    _run,
    __doc__,
)
main = COMMAND.main
