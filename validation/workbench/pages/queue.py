"""The queue: suites of all users, their progress as it goes on, and the runs of each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from platforms.errors import UserError
from validation.workbench.dispatch.desk import Desk
from validation.workbench.queue.points import is_of_applications
from validation.workbench.queue.suites import STATES
from validation.workbench.web.answers import desk_of, moved, page
from validation.workbench.web.forms import posted

RUNS = 100  # of a page
MOST_STREAMS = 200
_STEP_S = 0.5  # interval between two looks for changes
_BEAT_S = 15.0  # an idle stream says that it is alive
ACTIONS = ("up", "down", "cancel", "resume", "retry")


def show(request: Request) -> Response:
    """Answer with the queue."""
    return page(request, "queue.html", **_suites(desk_of(request)))


def show_list(request: Request) -> Response:
    """Answer with the part of the queue that changes."""
    return page(request, "queue_part.html", **_suites(desk_of(request)))


def _suites(desk: Desk) -> dict[str, Any]:
    return {"suites": desk.queue.suites(), "states": STATES, "trouble": desk.dispatcher.trouble}


def show_suite(request: Request) -> Response:
    """Answer with the runs of a suite."""
    return page(request, "suite.html", **_runs(request))


def show_runs(request: Request) -> Response:
    """Answer with the part of a suite's page that changes."""
    return page(request, "suite_part.html", **_runs(request))


def _runs(request: Request) -> dict[str, Any]:
    desk, number = desk_of(request), request.path_params["number"]
    suite = desk.queue.suite(number)
    state = request.query_params.get("state", "")
    if state not in ("", *STATES):
        raise UserError(f"state {state!r}", "no such state", f"Choose one of {', '.join(STATES)}")
    text = request.query_params.get("page", "1")
    at = int(text) if text.isascii() and text.isdecimal() and 0 < len(text) < 8 and int(text) > 0 else 1
    many = suite.counts[state] if state else suite.total
    runs = desk.queue.runs(number, state, offset=(at - 1) * RUNS, limit=RUNS)
    of_points = is_of_applications(desk.queue.tables, number)
    return {
        "suite": suite, "runs": runs, "state": state, "states": STATES, "at": at,
        "pages": max(1, -(-many // RUNS)), "of_points": of_points,
        "report": _report(desk, number), "writing": desk.reports.state(number), "trouble": desk.dispatcher.trouble,
    }  # fmt: skip


def _report(desk: Desk, number: int) -> tuple[float, int] | None:
    """Return when the report page of a suite was written, and its bytes; None: there is none."""
    with suppress(OSError):
        status = desk.reports.path(number).stat()
        return status.st_mtime, status.st_size
    return None


def suite_file(request: Request) -> Response:
    """Answer with the file of a suite as it was queued."""
    desk = desk_of(request)
    suite = desk.queue.suite(request.path_params["number"])
    headers = {"content-disposition": f'attachment; filename="{suite.name}.toml"'}
    return Response(desk.text_of(suite.id), media_type="application/toml", headers=headers)


def ask_removal(request: Request) -> Response:
    """Answer with the page that asks whether a suite is to be removed."""
    return page(request, "remove.html", suite=desk_of(request).queue.suite(request.path_params["number"]))


async def remove(request: Request) -> Response:
    """Remove a suite from the queue."""
    await posted(request)
    await run_in_threadpool(desk_of(request).remove, request.path_params["number"])
    return moved("/queue")


async def act(request: Request) -> Response:
    """Do what a button of a suite asks for."""
    fields = await posted(request)
    number, action = request.path_params["number"], request.path_params["action"]
    if action not in ACTIONS:
        raise UserError(f"action {action!r}", "no such action", f"Choose one of {', '.join(ACTIONS)}")

    def done() -> None:
        desk = desk_of(request)
        if action in ("up", "down"):
            desk.queue.shift(number, up=action == "up")
        elif action == "cancel":
            desk.dispatcher.cancel(number)
        elif action == "resume":
            desk.queue.resume(number)
        else:
            desk.queue.retry(number)

    await run_in_threadpool(done)
    return moved("/queue" if fields.get("back") != "suite" else f"/queue/{number}")


async def events(request: Request) -> Response:
    """Answer with a stream that says whenever the queue has changed."""
    if request.method == "HEAD":  # a stream would never end
        return Response(media_type="text/event-stream")
    open_now = _streams(request)
    if len(open_now) >= MOST_STREAMS:
        return Response("error: the server: too many pages are open. Close some.\n", 503, media_type="text/plain")
    return StreamingResponse(_changes(request, open_now), media_type="text/event-stream")


def _streams(request: Request) -> set[object]:
    """Return the set of the streams that are open."""
    state = request.app.state
    if not hasattr(state, "streams"):
        state.streams = set()
    streams: set[object] = state.streams
    return streams


async def _changes(request: Request, open_now: set[object]) -> AsyncIterator[str]:
    desk, mark, seen, idle_s = desk_of(request), object(), -1, 0.0
    open_now.add(mark)
    try:
        while not desk.closing:
            count = desk.queue.changes.count
            if count != seen:
                seen, idle_s = count, 0.0
                yield f"data: {count}\n\n"
            elif idle_s >= _BEAT_S:
                idle_s = 0.0
                yield ": nothing has changed\n\n"
            await asyncio.sleep(_STEP_S)
            idle_s += _STEP_S
    finally:
        open_now.discard(mark)
