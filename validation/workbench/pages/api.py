"""The programming interface of the workbench, JSON under ``/api/v1``: it calls the same functions as the pages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from platforms.errors import UserError
from validation.workbench.pages import api_files, api_results
from validation.workbench.pages.bodies import body_of, text_in
from validation.workbench.pages.figures import KINDS, MADE
from validation.workbench.pages.files import ACTIONS as FILE_ACTIONS
from validation.workbench.pages.queue import ACTIONS, RUNS, do, own_suite, remove_suite
from validation.workbench.pages.saving import saved_and_queued
from validation.workbench.project.platform_files import listed, located
from validation.workbench.project.uses import KINDS as FILE_KINDS
from validation.workbench.queue.results import FILTERS, number_in
from validation.workbench.queue.suites import STATES, Suite
from validation.workbench.web.answers import desk_of, suites_of
from validation.workbench.web.forms import renamed
from validation.workbench.web.lanes import in_lane, laned

BASE = "/api/v1"


def platforms(request: Request) -> Response:
    """List the platforms that suites may name."""
    entries = listed(desk_of(request).project)
    return JSONResponse({"platforms": [{"name": entry.name, "kind": entry.kind} for entry in entries]})


def platform(request: Request) -> Response:
    """Describe a platform."""
    desk, name = desk_of(request), request.path_params["name"]
    shown = desk.show(name=located(desk.project, name))
    return JSONResponse({"name": name, "hosts": shown["hosts"], "text": shown["text"], "xml": shown["xml"]})


async def count(request: Request) -> Response:
    """Count the runs of a suite, and say what it costs and which predictions are refused, before it is queued."""
    text = text_in(await body_of(request), "text")
    counted = await in_lane(request, partial(desk_of(request).count, text))
    size = {"runs": counted.runs, "predictions": counted.predictions}
    return JSONResponse({**size, "plan": list(counted.plan), "estimate": counted.estimate})


async def add(request: Request) -> Response:
    """Save and queue a suite, which is the text of a campaign file or of a suite of applications."""
    body = await body_of(request)
    name, text = text_in(body, "name"), text_in(body, "text")

    def done() -> Suite:
        user = renamed(request, str(body.get("user", "")))
        seen = None if body.get("replace") else ""  # a suite of this name may only have the same text
        return desk_of(request).queue.suite(saved_and_queued(request, name, user, text, seen))

    return JSONResponse(_suite(await in_lane(request, done)), 201)


def suites(request: Request) -> Response:
    """List the suites of the queue in the order in which they are worked on."""
    return JSONResponse({"suites": [_suite(suite) for suite in suites_of(request)]})


def suite(request: Request) -> Response:
    """Return the state of a suite."""
    return JSONResponse(_suite(desk_of(request).queue.suite(request.path_params["number"])))


def runs(request: Request) -> Response:
    """List the runs of a suite by state, with the reason of each failure."""
    desk, number = desk_of(request), desk_of(request).queue.suite(request.path_params["number"]).id
    state = request.query_params.get("state", "")
    if state not in ("", *STATES):
        raise UserError(f"state {state!r}", "no such state", f"Choose one of {', '.join(STATES)}")
    at = number_in(request.query_params, "page") or 1
    listed_runs = desk.queue.runs(number, state, offset=(at - 1) * RUNS, limit=RUNS)
    keys = ("number", "platform", "network", "app", "class", "ranks", "mapping", "efficiency", "state", "reason")
    described_runs = [{"run": run["id"], **{key: run[key] for key in keys}} for run in listed_runs]
    return JSONResponse({"page": at, "runs": described_runs})


async def act(request: Request) -> Response:
    """Move, cancel, continue or remove a suite, or try its failed runs again."""
    await body_of(request)
    number, action = request.path_params["number"], request.path_params["action"]
    if action == "remove":
        await run_in_threadpool(remove_suite, request)
        return JSONResponse({"removed": number})
    await run_in_threadpool(do, request, action)
    return JSONResponse(_suite(await run_in_threadpool(own_suite, request)))


def _suite(suite: Suite) -> dict[str, Any]:
    return {"number": suite.id, "name": suite.name, "owner": suite.owner, "queued_s": suite.created_s,
            "state": suite.state, "runs": suite.total, "counts": suite.counts}  # fmt: skip


@dataclass(frozen=True)
class Endpoint:
    """A route of the interface, and what its description says of it."""

    path: str
    method: str
    answer: Any  # the function that answers
    required: tuple[str, ...]  # keys of the object that it answers with
    status: int = 200
    body: Mapping[str, str] | None = None  # types by key; those in ``needed`` are required
    needed: tuple[str, ...] = ()
    query: tuple[str, ...] = ()  # names of values in the address
    media: tuple[str, ...] = ()  # of files; none: the answer is JSON


_OF_SUITE = ("number", "name", "owner", "queued_s", "state", "runs", "counts")
_SEVERAL = (*FILTERS, "column", "mark")  # names of values that an address may have several times
_VIEW = ("suite", "other", "run", "q", *_SEVERAL, "marked")
_FIGURE = (*_VIEW, "show", "over", "x", "y")
_OF_VIEW = ("number", "name", "owner", "saved_s", "place", "query", "link")
_OF_FIGURE = ("title", "link", "commit", "sha256", "columns", "rows", "notes", "svg")
ENDPOINTS = (
    Endpoint("/platforms", "GET", platforms, ("platforms",)),
    Endpoint("/platforms/{name}", "GET", laned(platform), ("name", "hosts", "text", "xml")),
    Endpoint("/suites", "GET", suites, ("suites",)),
    Endpoint("/suites", "POST", add, _OF_SUITE, 201,
             {"name": "string", "text": "string", "user": "string", "replace": "boolean"}, ("name", "text")),
    Endpoint("/suites/count", "POST", count, ("runs", "predictions", "plan", "estimate"), 200, {"text": "string"},
             ("text",)),
    Endpoint("/suites/{number:int}", "GET", suite, _OF_SUITE),
    Endpoint("/suites/{number:int}/runs", "GET", runs, ("page", "runs"), query=("state", "page")),
    Endpoint("/suites/{number:int}/{action}", "POST", act, (), 200, {}),
    Endpoint("/suites/{number:int}/runs/{run:int}/log", "GET", api_files.log, ("run", "log")),
    Endpoint("/places", "GET", api_files.places, ("places", "trouble")),
    Endpoint("/ends", "GET", api_files.ends, ("ends",)),
    Endpoint("/files/{kind}", "GET", api_files.files, ("files",)),
    Endpoint("/files/{kind}/{name}", "GET", api_files.file, ("name", "tags", "archived", "text", "used_by")),
    Endpoint("/files/{kind}/{name}/{action}", "POST", api_files.act, ("kind", "name", "action"), 200,
             {"to": "string", "tags": "string", "although": "boolean"}),
    Endpoint("/history", "GET", api_files.changes, ("page", "pages", "changes", "removed"), query=("page",)),
    Endpoint("/history/{number:int}/undo", "POST", api_files.undo, ("kind", "name"), 200, {}),
    Endpoint("/results", "GET", api_results.results, ("count", "columns", "rows"), query=(*_VIEW, "sort", "page")),
    Endpoint("/results/{number:int}", "GET", api_results.result, ("id", "run", "suite", "fields")),
    Endpoint("/views", "GET", api_results.saved_views, ("views",)),
    Endpoint("/views", "POST", api_results.save, _OF_VIEW, 201,
             {"name": "string", "place": "string", "query": "string", "user": "string"}, ("name",)),
    Endpoint("/views/{number:int}", "GET", api_results.saved_view, _OF_VIEW),
    Endpoint("/views/{number:int}/remove", "POST", api_results.remove, ("removed",), 200, {}),
    Endpoint("/figures/{name}.{kind}", "GET", laned(api_results.figure_file), (), query=_FIGURE,
             media=tuple(KINDS.values())),
    Endpoint("/figures/{name}", "GET", laned(api_results.figure), _OF_FIGURE, query=_FIGURE),
)  # fmt: skip


def described(_: Request) -> Response:
    """Describe this interface as OpenAPI 3.1."""
    return JSONResponse(description())


def description() -> dict[str, Any]:
    """Return the description of the interface in OpenAPI 3.1."""
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in ENDPOINTS:
        path = f"{BASE}{endpoint.path}".replace(":int", "")
        paths.setdefault(path, {})[endpoint.method.lower()] = _operation(endpoint)
    error = {"type": "object", "required": ["error"], "properties": {"error": {"type": "object", "required": [
        "where", "problem", "remedy"], "properties": {key: {"type": "string"} for key in ("where", "problem", "remedy")}
    }}}  # fmt: skip
    return {
        "openapi": "3.1.0", "info": {"title": "gridval workbench", "version": "1"}, "paths": paths,
        "components": {
            "schemas": {"Error": error},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }  # fmt: skip


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    kinds = [part.partition(":")[::2] for part in re.findall(r"\{([^}]+)\}", endpoint.path)]
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "integer" if kind else "string"}}
        for name, kind in kinds
    ]
    for parameter in parameters:
        choices = {"action": [*ACTIONS, "remove"], "kind": list(KINDS)}
        if endpoint.path.startswith("/figures"):
            choices["name"] = list(MADE)
        if endpoint.path.startswith("/files"):
            choices = {"action": list(FILE_ACTIONS), "kind": list(FILE_KINDS)}
        if parameter["name"] in choices:
            parameter["schema"]["enum"] = choices[parameter["name"]]
    several = {"type": "array", "items": {"type": "string"}}
    parameters += [
        {"name": name, "in": "query", "schema": several if name in _SEVERAL else {"type": "string"}}
        for name in endpoint.query
    ]
    answer = {"type": "object", "required": list(endpoint.required)}
    refused = {"description": "refused, with the reason", "content": _json({"$ref": "#/components/schemas/Error"})}
    content = {kind: {"schema": {"type": "string"}} for kind in endpoint.media} or _json(answer)
    made: dict[str, Any] = {
        "summary": (endpoint.answer.__doc__ or "").strip().partition("\n")[0],
        "parameters": parameters,
        "responses": {str(endpoint.status): {"description": "done", "content": content}, "400": refused},
    }
    if endpoint.body is not None:
        properties = {key: {"type": kind} for key, kind in endpoint.body.items()}
        schema = {"type": "object", "properties": properties, "required": list(endpoint.needed)}
        made["requestBody"] = {"required": True, "content": _json(schema)}
    return made


def _json(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


ROUTES: list[BaseRoute] = [
    Route(f"{BASE}/openapi.json", described),
    *(Route(f"{BASE}{one.path}", one.answer, methods=[one.method]) for one in ENDPOINTS),
]
