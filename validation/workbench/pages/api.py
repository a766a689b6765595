"""The programming interface of the workbench, JSON under ``/api/v1``: it calls the same functions as the pages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from platforms.errors import UserError
from validation.workbench.dispatch.desk import Desk
from validation.workbench.pages import api_files
from validation.workbench.pages.api_files import body_of
from validation.workbench.pages.files import ACTIONS as FILE_ACTIONS
from validation.workbench.pages.queue import ACTIONS, RUNS, do, own_suite, remove_suite
from validation.workbench.pages.saving import saved_and_queued
from validation.workbench.project.platform_files import listed, located
from validation.workbench.project.uses import KINDS
from validation.workbench.queue.points import view_of
from validation.workbench.queue.results import number_in, one_result
from validation.workbench.queue.suites import STATES, Suite
from validation.workbench.web.answers import desk_of, suites_of
from validation.workbench.web.forms import renamed
from validation.workbench.web.lanes import in_lane, laned

BASE = "/api/v1"
_STEP = 200  # results that are sent at a time


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
    text = _text(await body_of(request), "text")
    counted = await in_lane(request, partial(desk_of(request).count, text))
    size = {"runs": counted.runs, "predictions": counted.predictions}
    return JSONResponse({**size, "plan": list(counted.plan), "estimate": counted.estimate})


async def add(request: Request) -> Response:
    """Save and queue a suite, which is the text of a campaign file or of a suite of applications."""
    body = await body_of(request)
    name, text = _text(body, "name"), _text(body, "text")

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
    return JSONResponse({"page": at, "runs": [{key: run[key] for key in keys} for run in listed_runs]})


async def act(request: Request) -> Response:
    """Move, cancel, continue or remove a suite, or try its failed runs again."""
    await body_of(request)
    number, action = request.path_params["number"], request.path_params["action"]
    if action == "remove":
        await run_in_threadpool(remove_suite, request)
        return JSONResponse({"removed": number})
    await run_in_threadpool(do, request, action)
    return JSONResponse(_suite(await run_in_threadpool(own_suite, request)))


def results(request: Request) -> Response:
    """Return all results of a view, with the columns of results.csv; the query is that of the page of results."""
    return StreamingResponse(_results(desk_of(request), request.query_params), media_type="application/json")


def result(request: Request) -> Response:
    """Return one result with all its fields."""
    return JSONResponse(one_result(desk_of(request).queue.tables, request.path_params["number"]))


def _results(desk: Desk, query: Mapping[str, str]) -> Iterator[str]:
    tables = desk.queue.tables
    view = view_of(query, tables)
    columns = view.fields(tables)
    yield f'{{"columns": {json.dumps(columns)}, "rows": ['
    part: list[str] = []
    first = True
    for row in view.whole(tables):
        part.append(json.dumps({key: row.get(key) for key in columns}))
        if len(part) == _STEP:
            yield ("" if first else ", ") + ", ".join(part)
            part, first = [], False
    if part:
        yield ("" if first else ", ") + ", ".join(part)
    yield "]}"


def _suite(suite: Suite) -> dict[str, Any]:
    return {"number": suite.id, "name": suite.name, "owner": suite.owner, "queued_s": suite.created_s,
            "state": suite.state, "runs": suite.total, "counts": suite.counts}  # fmt: skip


def _text(body: Mapping[str, Any], key: str) -> str:
    text = body.get(key)
    if not isinstance(text, str) or not text.strip():
        raise UserError(key, "it is missing, or not a text", "Give one")
    return text


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


_OF_SUITE = ("number", "name", "owner", "queued_s", "state", "runs", "counts")
_VIEW = ("suite", "other", "app", "class", "ranks", "platform", "mapping", "predictor", "sort")
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
    Endpoint("/results", "GET", results, ("columns", "rows"), query=_VIEW),
    Endpoint("/results/{number:int}", "GET", result, ("id", "run", "suite", "fields")),
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
    parts = [part.strip("{}") for part in endpoint.path.split("/") if part.startswith("{")]
    kinds = [part.partition(":")[::2] for part in parts]
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "integer" if kind else "string"}}
        for name, kind in kinds
    ]
    for parameter in parameters:
        if parameter["name"] == "action":
            of_files = endpoint.path.startswith("/files")
            parameter["schema"]["enum"] = list(FILE_ACTIONS) if of_files else [*ACTIONS, "remove"]
        elif parameter["name"] == "kind":
            parameter["schema"]["enum"] = list(KINDS)
    parameters += [{"name": name, "in": "query", "schema": {"type": "string"}} for name in endpoint.query]
    answer = {"type": "object", "required": list(endpoint.required)}
    refused = {"description": "refused, with the reason", "content": _json({"$ref": "#/components/schemas/Error"})}
    made: dict[str, Any] = {
        "summary": (endpoint.answer.__doc__ or "").strip().partition("\n")[0],
        "parameters": parameters,
        "responses": {str(endpoint.status): {"description": "done", "content": _json(answer)}, "400": refused},
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
