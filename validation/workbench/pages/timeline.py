"""The timeline of a result's run: what each rank does during one iteration."""

from __future__ import annotations

import json
from importlib.resources import files

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from platforms.errors import UserError
from validation.workbench.queue.results import one_result
from validation.workbench.web.answers import desk_of, moved, page
from validation.workbench.web.forms import posted
from validation.workbench.web.lanes import in_lane


def show(request: Request) -> Response:
    """Answer with the timeline of a result's run, or the button that records it."""
    desk = desk_of(request)
    result = one_result(desk.queue.tables, request.path_params["number"])
    if "labels" in result["fields"]:
        remedy = "Write it with gridval blocks run and --timeline"
        raise UserError(f"result {result['id']}", "points of applications have no timeline here", remedy)
    timeline, data = desk.timeline(result["run"]), Markup("")
    if timeline is not None:
        data = Markup(json.dumps(timeline["data"], separators=(",", ":")).replace("<", "\\u003c"))
    return page(request, "timeline.html", result=result, fields=result["fields"], found=timeline, data=data)


async def record(request: Request) -> Response:
    """Record the timeline of a result's run."""
    await posted(request)
    desk, number = desk_of(request), request.path_params["number"]

    def recorded() -> None:
        run = one_result(desk.queue.tables, number)["run"]
        if desk.timeline(run) is None:
            desk.record(run)

    await in_lane(request, recorded)
    return moved(f"/results/{number}/timeline")


def script(request: Request) -> Response:
    """Answer with the script of the report that draws timelines."""
    text = files("validation.report.timelines").joinpath("timeline.js").read_text("utf-8")
    return Response(text, media_type="text/javascript")
