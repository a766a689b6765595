"""Measure the intervals of predictions: how often they hold the true time, and how wide they are.

The command reads results.csv files, which ``gridval run``, ``gridval series campaign`` and ``gridval series league``
write with --out; nothing is simulated.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass

from platforms.command.command import Command
from platforms.command.request import JsonOption, WideOption, argument, given, option
from platforms.errors import UserError, known_names
from platforms.files.writing import check_writable, write_text
from predictor.intervals.cases import read_cases
from validation.comparison.kept import REMEDY, read_results
from validation.comparison.rows import records

BY = ("app", "class", "scenario", "network", "mapping", "efficiency", "ranks")


@dataclass(frozen=True, kw_only=True)
class IntervalsRequest(JsonOption, WideOption):
    """Request of ``gridval series intervals``."""

    results: tuple[str, ...] = argument("RESULTS", "results.csv files, or folders that hold one")
    by: str | None = option(None, "C1,C2,...", f"a row for each value of these: of {', '.join(BY)}")
    cases: str | None = option(
        None,
        "FILE.csv",
        "make the intervals again, from the calibration cases in this file (--write-cases) instead of those shown "
        "when the predictions were made",
    )
    write_cases: str | None = option(None, "FILE.csv", "write these results as calibration cases, with their features")
    out: str | None = option(None, "FILE.csv", "write the table as CSV")


def _run(request: IntervalsRequest) -> int:
    # Imported here because they are slow to import.
    import pandas as pd

    from validation.comparison.coverage import coverage, with_intervals
    from validation.intervals.cases_file import cases_text
    from validation.presentation.sentences import coverage_text

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
            raise UserError(f"--by {request.by}", f"the results have no column {name!r}", REMEDY)
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
