"""Pages and files of figures of the results: a quantity over a parameter, and the front of time and energy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

from starlette.requests import Request
from starlette.responses import Response

from platforms.errors import UserError
from validation.workbench.pages.drawings import (
    MOST_DRAWN,
    Figure,
    figure_of,
    filter_titles,
    front_of,
    parameters_of,
    title_of,
)
from validation.workbench.pages.marking import marked_of
from validation.workbench.pages.views import views_of
from validation.workbench.project.origin import commit
from validation.workbench.queue.points import PointsView, view_of
from validation.workbench.queue.results import ResultsView
from validation.workbench.queue.series import QUANTITIES
from validation.workbench.web.answers import desk_of, page, suites_of
from validation.workbench.web.axes import AUTO, LINEAR, LOGARITHMIC
from validation.workbench.web.plot import picture_of, plot, symbol

KINDS = {"svg": "image/svg+xml", "png": "image/png", "csv": "text/csv"}
MOST_LISTED = 200  # rows below a figure
_SCALES = ((AUTO, "as it fits"), (LINEAR, "linear"), (LOGARITHMIC, "logarithmic"))


def show_figure(request: Request) -> Response:
    """Answer with the figure of a quantity over a parameter, both chosen in the address."""
    figure, view, context = drawn(request, "figure")
    chosen = figure.more
    address = view.address()
    tabs = [
        ("show", [(key, choice.title, _address(figure, address, show=key)) for key, choice in QUANTITIES.items()],
         chosen["quantity"].key),
        ("over", [(key, title_of(key, view), _address(figure, address, over=key)) for key in parameters_of(view)],
         chosen["parameter"]),
    ]  # fmt: skip
    kept = {"show": chosen["quantity"].key, "over": chosen["parameter"]}
    return page(request, "figure.html", **context, tabs=tabs,
                kept={**kept, **_scales(figure)}, **chosen)  # fmt: skip


def show_front(request: Request) -> Response:
    """Answer with the fronts of time and energy: for each workload, the runs that no other run beats in both."""
    figure, _, context = drawn(request, "front")
    return page(request, "front.html", **context, kept=_scales(figure), **figure.more)


def send_file(request: Request) -> Response:
    """Answer with a figure as a file that names its commit, the hash of its rows and its address.

    Raises:
        UserError: There is nothing to draw, or no such kind of file.
    """
    name, kind = request.path_params["name"], request.path_params["kind"]
    if kind not in KINDS:
        raise UserError(f"{name[:40]}.{kind[:40]}", "no such file of a figure", f"Ask for {', '.join(KINDS)}")
    figure, _, _ = drawn(request, name)
    if figure.drawing is None:
        raise UserError("figure", "there is nothing to draw", "Choose other filters")
    base, facts = str(request.base_url).rstrip("/"), facts_of(figure, request)
    if kind == "csv":
        made = "".join(f"# {key}: {value}\n" for key, value in facts.items()).encode() + figure.table.encode()
    else:
        made = desk_of(request).as_file(picture_of(figure.drawing, figure.legend, facts, base), kind)
    headers = {"content-disposition": f'attachment; filename="{name}-{figure.digest[:8]}.{kind}"'}
    return Response(made, media_type=KINDS[kind], headers=headers)


def facts_of(figure: Figure, request: Request) -> dict[str, str]:
    """Return what the files of a figure say about it; no value has a line end."""
    link = f"{str(request.base_url).rstrip('/')}{figure.link}"
    return {"figure": " ".join(figure.title.split()), "made by commit": commit(),
            "SHA-256 of its rows": figure.digest, "link": link}  # fmt: skip


def drawn(request: Request, name: str) -> tuple[Figure, ResultsView, dict[str, Any]]:
    """Return the figure of an address, the view that it shows, and what the pages of both kinds of figures need."""
    desk, query = desk_of(request), request.query_params
    if name not in MADE:
        raise UserError(f"figure {name[:40]!r}", "no such figure", f"Choose one of {', '.join(MADE)}")
    view = view_of(query, desk.queue.tables)
    suites = suites_of(request)
    names = {suite.id: f"{suite.name} ({suite.id})" for suite in suites}
    rows = view.drawn(desk.queue.tables, MOST_DRAWN + 1)
    for row in rows:
        row["suite_name"] = names.get(row["suite"], "")
    figure = MADE[name](desk, view, rows[:MOST_DRAWN], query)
    expected = query.get("rows", "")
    context = {
        "view": view, "facets": view.facets(desk.queue.tables), "suites": suites, "figure": figure,
        "suite": next((suite for suite in suites if suite.id == view.suite), None),
        "other": next((suite for suite in suites if suite.id == view.other), None),
        "cut": len(rows) > MOST_DRAWN, "most": MOST_DRAWN, "of_points": isinstance(view, PointsView),
        "drawn": plot(figure.drawing, view.marks) if figure.drawing else None,
        "legend_entries": [(symbol(style), text) for style, text in figure.legend],
        "titles": filter_titles(view), "changed": bool(expected) and not figure.digest.startswith(expected),
        "scale_tabs": _scale_tabs(figure, view.address()), "place": figure.place,
        "views": views_of(request), "query": _with_marks(figure, view),
        "pairs": parse_qsl(figure.query), "listed": _listed(figure, view), "most_listed": MOST_LISTED,
        "marked": marked_of(request, view),
    }  # fmt: skip
    return figure, view, context


def _with_marks(figure: Figure, view: ResultsView) -> str:
    marks = urlencode([("mark", mark) for mark in view.marks])
    return "&".join(part for part in (figure.query, marks) if part)


def _listed(figure: Figure, view: ResultsView) -> list[tuple[Any, ...]]:
    """Return rows of a figure for its page: what is marked first."""
    return sorted(figure.rows, key=lambda row: row[-1] not in view.marks)[:MOST_LISTED]


def _scales(figure: Figure) -> dict[str, str]:
    return {key: scale for key, scale in figure.more["scales"].items() if scale != AUTO}


def _scale_tabs(figure: Figure, address: str) -> list[tuple[str, list[tuple[str, str, str]], str]]:
    scales: Mapping[str, str] = figure.more["scales"]
    names = {"x": "axis across", "y": "axis up"}
    return [
        (names[axis], [(key, title, _address(figure, address, **{axis: key})) for key, title in _SCALES], scales[axis])
        for axis in names
    ]


def _address(figure: Figure, address: str, **changed: str) -> str:
    """Return the address of a page of this figure with other choices."""
    chosen = {**_scales(figure), **changed}
    if "quantity" in figure.more:
        chosen = {"show": figure.more["quantity"].key, "over": figure.more["parameter"], **chosen}
    more = urlencode({key: value for key, value in chosen.items() if value != AUTO})
    return f"{figure.place}?{'&'.join(part for part in (address, more) if part)}"


Make = Callable[..., Figure]
MADE: dict[str, Make] = {"figure": figure_of, "front": front_of}
