"""Results, saved views and figures in the programming interface, by the same functions as on the pages."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from validation.workbench.pages.bodies import body_of, text_in
from validation.workbench.pages.figures import drawn, facts_of, send_file
from validation.workbench.pages.views import remove_view, save_view
from validation.workbench.project.origin import commit
from validation.workbench.queue import views
from validation.workbench.queue.points import view_of
from validation.workbench.queue.results import one_result
from validation.workbench.queue.views import SavedView
from validation.workbench.web.answers import desk_of
from validation.workbench.web.forms import renamed
from validation.workbench.web.plot import picture_of

_STEP = 200  # results that are sent at a time


def results(request: Request) -> Response:
    """Return the results of a view, with the columns of results.csv or those chosen; the query is that of the page."""
    tables, query = desk_of(request).queue.tables, request.query_params
    view = view_of(query, tables)  # before the answer begins, so that what is wrong is an error
    columns = list(view.shown) or view.fields(tables)
    if query.get("page"):
        every = view.whole_page(tables) if not view.shown else iter(view.rows(tables))
    else:
        every = view.every_row(tables) if view.shown else view.whole(tables)
    many = view.count(tables)
    return StreamingResponse(_sent(columns, every, many), media_type="application/json")


def _sent(columns: list[str], every: Iterator[Mapping[str, Any]], many: int) -> Iterator[str]:
    yield f'{{"count": {many}, "columns": {json.dumps(columns)}, "rows": ['
    part: list[str] = []
    first = True
    for row in every:
        part.append(json.dumps({key: known(row.get(key)) for key in columns}))
        if len(part) == _STEP:
            yield ("" if first else ", ") + ", ".join(part)
            part, first = [], False
    if part:
        yield ("" if first else ", ") + ", ".join(part)
    yield "]}"


def known(value: Any) -> Any:
    """Return a value as JSON has it: what is no number is null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def result(request: Request) -> Response:
    """Return one result with all its fields."""
    made = one_result(desk_of(request).queue.tables, request.path_params["number"])
    return JSONResponse({**made, "fields": {key: known(value) for key, value in made["fields"].items()}})


def saved_views(request: Request) -> Response:
    """List the saved views by their names."""
    return JSONResponse({"views": [_view(view) for view in views.views(desk_of(request).queue.tables)]})


async def save(request: Request) -> Response:
    """Save a view: a name for the query of the page of results, of a figure, or of time and energy."""
    body = await body_of(request)
    name, place, query = text_in(body, "name"), str(body.get("place", "/results")), str(body.get("query", ""))

    def saved() -> SavedView:
        if body.get("user"):
            renamed(request, str(body["user"]))
        return save_view(request, name, place, query, owner=str(body.get("user", "")))

    return JSONResponse(_view(await run_in_threadpool(saved)), 201)


def saved_view(request: Request) -> Response:
    """Return a saved view, with the address of what it shows."""
    return JSONResponse(_view(views.view(desk_of(request).queue.tables, request.path_params["number"])))


async def remove(request: Request) -> Response:
    """Remove a saved view; what it shows stays."""
    await body_of(request)
    removed = await run_in_threadpool(remove_view, request)
    return JSONResponse({"removed": removed.id})


def figure(request: Request) -> Response:
    """Return a figure, or the front of time and energy: its rows with their hash, and the drawing as SVG."""
    made, _, _ = drawn(request, request.path_params["name"])
    facts, base = facts_of(made, request), str(request.base_url).rstrip("/")
    picture = picture_of(made.drawing, made.legend, facts, base) if made.drawing else None
    svg = desk_of(request).as_file(picture, "svg").decode() if picture else ""
    return JSONResponse({
        "title": made.title, "link": facts["link"], "commit": commit(), "sha256": made.digest, "columns": made.columns,
        "rows": [[known(value) for value in row] for row in made.rows], "notes": made.notes, "svg": svg,
    })  # fmt: skip


def figure_file(request: Request) -> Response:
    """Return a figure as a file: svg, png or csv."""
    return send_file(request)


def _view(view: SavedView) -> dict[str, Any]:
    return {"number": view.id, "name": view.name, "owner": view.owner, "saved_s": view.created_s, "place": view.place,
            "query": view.query, "link": f"/views/{view.id}"}  # fmt: skip
