"""Draw the page of results that were kept, without running or predicting anything.

The command reads results.csv, which ``gridval run``, ``gridval series campaign`` and ``gridval series league`` write
with --out, or what they print with --json. Its page has the tables and figures that need nothing but the results
(docs/validation/report.md).
"""

from __future__ import annotations

import dataclasses
import sys
from dataclasses import dataclass

from platforms.command.command import Command
from platforms.command.request import Request, argument, option
from platforms.command.values import words_of
from platforms.files.writing import check_writable, write_text
from validation.report.gather import Gathered, Invocation, PredictionNote


@dataclass(frozen=True, kw_only=True)
class ReportRequest(Request):
    """Kept results, and the page to write."""

    results: tuple[str, ...] = argument(
        "RESULTS", "results.csv files, folders that hold one, or files of what --json printed"
    )
    out: str = option(dataclasses.MISSING, "FILE.html", "the page; it needs no network")
    energy: bool = option(False, help="show energies too, where they are known")


def gathered_from(request: ReportRequest) -> Gathered:
    """Return the contents of the page of kept results.

    Raises:
        UserError: A file cannot be read, or holds no results.
    """
    # Imported here because it is slow to import.
    from validation.comparison.kept import read_results, rows_of_results
    from validation.comparison.rows import CASE

    rows = [row for path in request.results for row in rows_of_results(read_results(path))]
    cases: dict[tuple[object, ...], int] = {}
    notes = []
    for row in rows:
        case = cases.setdefault(tuple(row[name] for name in CASE), len(cases))
        refusal = (row["flags"] or "the reason is not kept") if row["predicted_s"] is None else None
        notes.append(PredictionNote(case, {}, refusal, None))
    invocation = Invocation(("gridval", "report", *words_of(request)), energy=request.energy)
    return Gathered(invocation, rows=rows, notes=notes, kept=request.results)


def _run(request: ReportRequest) -> int:
    # Imported here because it is slow to import.
    from validation.report.page import page

    check_writable("--out", request.out)
    gathered = gathered_from(request)
    text = page(gathered, progress=lambda what: None)
    write_text("--out", request.out, text)
    print(f"report: {request.out}, {len(gathered.rows)} results, {len(text.encode()) / 1000:,.0f} kB", file=sys.stderr)
    return 0


COMMAND = Command("report", ReportRequest, _run, __doc__)
main = COMMAND.main
