"""Pages that explain a result's error: the timeline of its run, and the graph of its program beside the simulation."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from platforms.errors import UserError
from validation.workbench.queue.results import one_result
from validation.workbench.web.answers import desk_of, moved, page
from validation.workbench.web.forms import posted
from validation.workbench.web.lanes import in_lane

TIMELINE, GRAPH = "timeline", "graph"
_INSTEAD = {
    TIMELINE: "Write it with gridval blocks run and --timeline",
    GRAPH: "The page of the result has the times of each label",
}


def show(request: Request) -> Response:
    """Answer with the timeline of a result's run, or the button that records it."""
    result, found = _found(request, TIMELINE)
    data = Markup("")
    if found is not None:
        data = Markup(json.dumps(found["data"], separators=(",", ":")).replace("<", "\\u003c"))
    return page(request, "timeline.html", result=result, fields=result["fields"], found=found, data=data)


def show_graph(request: Request) -> Response:
    """Answer with the times of a program's elements by its graph and simulated, or the button that records them."""
    result, found = _found(request, GRAPH)
    return page(request, "graph.html", result=result, fields=result["fields"], found=found)


async def record(request: Request) -> Response:
    """Record the timeline of a result's run."""
    return await _record(request, TIMELINE)


async def record_graph(request: Request) -> Response:
    """Record the graph of a result's run."""
    return await _record(request, GRAPH)


def _found(request: Request, what: str) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Return the result of an address, and what was recorded of its run.

    Raises:
        UserError: There is no such result, or it is a point of an application.
    """
    desk = desk_of(request)
    result = one_result(desk.queue.tables, request.path_params["number"])
    if "labels" in result["fields"]:
        problem = f"points of applications have no {what} here"
        raise UserError(f"result {result['id']}", problem, _INSTEAD[what])
    return result, desk.shown(what, result["run"])


async def _record(request: Request, what: str) -> Response:
    await posted(request)
    desk, number = desk_of(request), request.path_params["number"]

    def recorded() -> None:
        result, found = _found(request, what)
        if found is None:
            desk.record(what, result["run"])

    await in_lane(request, recorded)
    return moved(f"/results/{number}/{what}")


def script(request: Request) -> Response:
    """Answer with the script of the report that draws timelines."""
    text = files("validation.report.timelines").joinpath("timeline.js").read_text("utf-8")
    return Response(text, media_type="text/javascript")
