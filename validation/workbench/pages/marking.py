"""Results that somebody has marked, in a figure or in the table: each with the ways to the cause of its error."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request

from validation.workbench.queue.results import ResultsView
from validation.workbench.web.answers import desk_of

MOST_LISTED = 20  # of the results that are marked


def marked_of(request: Request, view: ResultsView) -> list[dict[str, Any]]:
    """Return the first of the marked results, the largest error first, as far as the view shows their suites."""
    tables = desk_of(request).queue.tables
    of_suites = ResultsView(view.suite, view.other, marks=view.marks, only_marked=True, sort="-abs_error_pct")
    return of_suites.rows(tables)[:MOST_LISTED] if view.marks else []
