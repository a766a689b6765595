"""Answers of the programming interface about files of the project, its history, places, logs and suites that ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from validation.workbench.dispatch.webhooks import message_of
from validation.workbench.pages.bodies import body_of
from validation.workbench.pages.files import do, history, item_of, put_back
from validation.workbench.pages.queue import lanes, log_of_run
from validation.workbench.project.shelf import Item
from validation.workbench.web.answers import desk_of


def files(request: Request) -> Response:
    """List the files of a kind with their tags: platforms, applications or suites."""
    return JSONResponse({"files": [_item(item) for item in desk_of(request).shelf.items(request.path_params["kind"])]})


def file(request: Request) -> Response:
    """Describe a file: its tags, its text, and what names it."""
    kind, name = request.path_params["kind"], request.path_params["name"]
    item, uses = item_of(request, kind, name), desk_of(request).uses_of(kind, name)
    text = desk_of(request).shelf.path(kind, name).read_text("utf-8", errors="replace")
    return JSONResponse({**_item(item), "text": text, "used_by": list(map(str, uses))})


async def act(request: Request) -> Response:
    """Copy, rename, tag, archive or remove a file; one that others name is renamed or removed with ``although``."""
    fields = await body_of(request)
    kind, name, action = (request.path_params[key] for key in ("kind", "name", "action"))
    although = fields.get("although") is True
    made = await run_in_threadpool(do, request, kind, name, action, fields, although=although)
    return JSONResponse({"kind": kind, "name": made, "action": action})


def changes(request: Request) -> Response:
    """List what was done in the project, and the removed files that can be put back."""
    shown = history(request)
    return JSONResponse({
        "page": shown["at"], "pages": shown["pages"], "changes": [dict(change) for change in shown["changes"]],
        "removed": [vars(removed) for removed in shown["removed"]],
    })  # fmt: skip


async def undo(request: Request) -> Response:
    """Put a removed file back."""
    await body_of(request)
    kind, name = await run_in_threadpool(put_back, request)
    return JSONResponse({"kind": kind, "name": name})


def log(request: Request) -> Response:
    """Return the log of a run to who queued its suite, or an owner."""
    number, text = log_of_run(request)
    return JSONResponse({"run": number, "log": text})


def places(request: Request) -> Response:
    """List what each place for runs does now."""
    desk = desk_of(request)
    names = {suite.id: suite.name for suite in desk.queue.suites()}
    return JSONResponse({"places": lanes(desk, names), "trouble": desk.dispatcher.trouble})


def ends(request: Request) -> Response:
    """List the suites that have ended, the latest first."""
    return JSONResponse({"ends": [message_of(end) for end in desk_of(request).queue.ends()]})


def _item(item: Item) -> Mapping[str, Any]:
    return {"name": item.name, "size_bytes": item.size_bytes, "changed_s": item.changed_s,
            "tags": list(item.labels.tags), "archived": item.labels.archived}  # fmt: skip
