"""Draw the page of results that were kept, without running or predicting anything, or publish them as a static site.

The command reads results.csv, which ``gridval run``, ``gridval series campaign`` and ``gridval series league`` write
with --out, or what they print with --json. Its page has the tables and figures that need nothing but the results
(docs/validation/campaigns.md). With --public it adds each of the results to a folder of pages that any web server, or
none, can show.
"""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import dataclass
from datetime import date

from platforms.command.command import Command
from platforms.command.request import Request, argument, option
from platforms.command.values import words_of
from platforms.errors import UserError
from platforms.files.writing import check_writable, write_text
from platforms.terminal.progress import Progress
from validation.report.gather import Gathered, Invocation
from validation.report.public.kept import gathered_of


@dataclass(frozen=True, kw_only=True)
class ReportRequest(Request):
    """Kept results, and the page or the site to write."""

    results: tuple[str, ...] = argument(
        "RESULTS", "results.csv files, folders that hold one, or files of what --json printed", default=()
    )
    out: str | None = option(None, "FILE.html", "the page; it needs no network")
    public: str | None = option(
        None, "DIR", "instead of --out: add each of the RESULTS to the static site in this folder, or begin one"
    )
    clusters: str | None = option(
        None,
        "FILE.csv",
        "with --public: publish this league of predictors on real clusters, as make clusters writes it",
    )
    title: str | None = option(None, "TEXT", "with --public: heading of the site (default: as before)")
    address: str | None = option(
        None, "URL", "with --public: where the site will be on the web, for the links of its feed (default: as before)"
    )
    date: str | None = option(
        None, "YYYY-MM-DD", "with --public: day of publication (default: the day on which each file was last changed)"
    )
    energy: bool = option(False, help="with --out: show energies too, where they are known")


def gathered_from(request: ReportRequest) -> Gathered:
    """Return the contents of the page of kept results.

    Raises:
        UserError: A file cannot be read, or holds no results.
    """
    # Imported here because it is slow to import.
    from validation.comparison.kept import read_results, rows_of_results

    rows = [row for path in request.results for row in rows_of_results(read_results(path))]
    invocation = Invocation(("gridval", "report", *words_of(request)), energy=request.energy)
    return gathered_of(rows, invocation, request.results)


def _run(request: ReportRequest) -> int:
    _check(request)
    if request.public is not None:
        return _publish(request, request.public)
    # Imported here because it is slow to import.
    from validation.report.page import page

    assert request.out is not None
    check_writable("--out", request.out)
    gathered = gathered_from(request)
    text = page(gathered, progress=lambda what: None)
    write_text("--out", request.out, text)
    print(f"report: {request.out}, {len(gathered.rows)} results, {len(text.encode()) / 1000:,.0f} kB", file=sys.stderr)
    return 0


def _check(request: ReportRequest) -> None:
    if (request.out is None) == (request.public is None):
        problem = "neither a page nor a site is named" if request.out is None else "a page and a site at once"
        raise UserError("gridval report", problem, "Name either --out FILE.html or --public DIR")
    if request.public is not None:
        if request.energy:
            raise UserError("--energy", "pages of a site show no energies", "Leave it out, or draw a page with --out")
        return
    if not request.results:
        raise UserError("gridval report", "no results are named", "Name files or folders of results")
    for name in ("clusters", "title", "address", "date"):
        if getattr(request, name) is not None:
            raise UserError(f"--{name}", "only a site has it", "Name its folder with --public DIR")


def _publish(request: ReportRequest, folder: str) -> int:
    # Imported here because they are slow to import.
    from validation.report.public.kept import kept_clusters, kept_results
    from validation.report.public.site import publish

    day = _day(request.date)
    more = [kept_results(path, day) for path in request.results]
    if request.clusters is not None:
        more.append(kept_clusters(request.clusters, day))
    with closing(Progress()) as terminal:
        site = publish(
            folder, more, title=request.title, address=request.address,
            progress=lambda what, done, total: terminal(f"report: {what}", done, total),
        )  # fmt: skip
    print(f"report: {folder}/index.html, {len(site.published)} published", file=sys.stderr)
    return 0


def _day(text: str | None) -> date | None:
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError as err:
        raise UserError("--date", f"{text!r} is no day", "Write for example 2026-11-28") from err


COMMAND = Command("report", ReportRequest, _run, __doc__)
main = COMMAND.main
