"""The page that compares two suites."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from platforms.errors import UserError, known_names
from validation.workbench.queue.comparing import ORDERS, compared
from validation.workbench.queue.results import PAGE, number_in
from validation.workbench.web.answers import desk_of, page, suites_of


def show(request: Request) -> Response:
    """Answer with what two suites have in common, and how it differs."""
    desk, query = desk_of(request), request.query_params
    suites = suites_of(request)
    first, second = (number_in(query, key) for key in ("first", "second"))
    order = query.get("sort", "")
    if order and order not in ORDERS:
        raise UserError(f"sort {order!r}", "no such order", known_names(order, ORDERS))
    if first is None or second is None:
        return page(request, "compare.html", suites=suites, first=None, second=None, at=(first, second))
    at = number_in(query, "page") or 1
    ignored = query.getlist("ignore")
    comparison = compared(desk.queue.tables, desk.queue.suite(first).id, desk.queue.suite(second).id, ignored)
    rows = comparison.ordered(order)

    def address(number: int, sort: str) -> str:
        pairs = (
            [("first", first), ("second", second)]
            + [("ignore", key) for key in comparison.ignored]
            + [("sort", sort)] * bool(sort)
            + [("page", number)] * (number > 1)
        )
        return f"/results/compare?{urlencode(pairs)}"

    return page(request, "compare.html", suites=suites, first=desk.queue.suite(first), second=desk.queue.suite(second),
                at=(first, second), comparison=comparison, rows=rows[(at - 1) * PAGE : at * PAGE], order=order,
                number=at, pages=max(1, -(-len(rows) // PAGE)), address=address)  # fmt: skip
