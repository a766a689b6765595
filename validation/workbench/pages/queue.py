"""The queue: suites of all users, their progress as it goes on, and the runs of each."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, suppress
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from platforms.errors import UserError
from validation.workbench.dispatch.desk import Desk
from validation.workbench.guard.accounts import OWNER
from validation.workbench.guard.limits import MOST_STREAMS, MOST_STREAMS_EACH, Limits, Refused
from validation.workbench.queue.logs import log_of, runs_with_logs
from validation.workbench.queue.points import is_of_applications
from validation.workbench.queue.suites import RUNNING, STATES, WAITING, Suite
from validation.workbench.web.answers import desk_of, moved, page, person_of, record, saved_as
from validation.workbench.web.forms import posted

RUNS = 100  # of a page
_STEP_S = 0.5  # interval between two looks for changes
_BEAT_S = 15.0  # an idle stream says that it is alive
# By their names in addresses, in the words of the audit list.
ACTIONS = {
    "up": "moved up", "down": "moved down", "cancel": "cancelled", "resume": "continued",
    "retry": "tried failed runs again of",
}  # fmt: skip


def show(request: Request) -> Response:
    """Answer with the queue."""
    return page(request, "queue.html", **_suites(desk_of(request)))


def show_list(request: Request) -> Response:
    """Answer with the part of the queue that changes."""
    return page(request, "queue_part.html", **_suites(desk_of(request)))


def _suites(desk: Desk) -> dict[str, Any]:
    suites = desk.queue.suites()
    names = {suite.id: suite.name for suite in suites}
    return {"suites": suites, "states": STATES, "trouble": desk.dispatcher.trouble, "places": lanes(desk, names),
            "far_places": desk.dispatcher.far_places}  # fmt: skip


def lanes(desk: Desk, names: Mapping[int, str]) -> list[dict[str, Any] | None]:
    """Return for each place what it does: suite, run, how long, and the memory of its process; None: it is idle."""
    shown: list[dict[str, Any] | None] = []
    for doing in desk.dispatcher.at_work():
        if doing is None:
            shown.append(None)
            continue
        lane = {"suite": doing.suite, "name": names.get(doing.suite, ""), "since_s": doing.since_s,
                "memory_bytes": doing.memory_bytes, "run": None, "what": "", "now": ""}  # fmt: skip
        with suppress(UserError):  # it was removed meanwhile
            if doing.run is not None:
                run = desk.queue.run(doing.run)
                what = " ".join(filter(None, (run["app"], run["class"])))
                lane |= {"run": run["number"] + 1, "what": f"{what} on {run['platform']}, {run['ranks']:,} ranks",
                         "now": doing.now.partition("] ")[2].partition(": smpirun")[0]}  # fmt: skip
        shown.append(lane)
    return shown


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
    with_logs = runs_with_logs(desk.queue.tables, [run["id"] for run in runs]) if _may_change(request, suite) else set()
    return {
        "with_logs": with_logs, "suite": suite, "runs": runs, "with_results": desk.queue.with_results(runs),
        "state": state, "states": STATES, "at": at, "pages": max(1, -(-many // RUNS)), "of_points": of_points,
        "report": _report(desk, number), "writing": desk.reports.state(number), "trouble": desk.dispatcher.trouble,
    }  # fmt: skip


def _report(desk: Desk, number: int) -> tuple[float, int] | None:
    """Return when the report page of a suite was written, and its bytes; None: there is none."""
    with suppress(OSError):
        status = desk.reports.path(number).stat()
        return status.st_mtime, status.st_size
    return None


def show_log(request: Request) -> Response:
    """Answer with the log of a run as plain text, for who queued the suite and for owners."""
    number, text = log_of_run(request)
    headers = saved_as(f"run-{number}.txt", shown=True)
    return Response(text, media_type="text/plain", headers=headers)


def log_of_run(request: Request) -> tuple[int, str]:
    """Return the number of the run of an address in its suite, and its log.

    Raises:
        UserError: There is none, or the suite is somebody else's.
    """
    desk, suite = desk_of(request), own_suite(request)
    number = request.path_params["run"]
    runs = desk.queue.runs(suite.id, offset=number - 1, limit=1) if 0 < number <= suite.total else []
    if not runs:
        raise UserError(f"run {number}", f"suite {suite.name} has no such run", "Choose one from its page")
    text = log_of(desk.queue.tables, runs[0]["id"])
    if text is None:
        remedy = "Wait until it has ended" if runs[0]["state"] in (WAITING, RUNNING) else "Try it again to get one"
        raise UserError(f"run {number}", "no log is kept of it", remedy)
    what = (
        f"{key} {runs[0][key]}" for key in ("app", "class", "platform", "network", "ranks", "mapping", "efficiency")
    )
    words = ["gridval", "series", "campaign", f"suites/{suite.name}.toml", "--store", str(desk.project.store)]
    return number, (
        f"run {number} of suite {suite.name} of {suite.owner}: {runs[0]['state']}\n{', '.join(what)}\n"
        f"the suite on a command line: {shlex.join(words)}\n\n{text}\n"
    )


def suite_file(request: Request) -> Response:
    """Answer with the file of a suite as it was queued."""
    desk = desk_of(request)
    suite = desk.queue.suite(request.path_params["number"])
    headers = saved_as(f"{suite.name}.toml")
    return Response(desk.text_of(suite.id), media_type="application/toml", headers=headers)


def ask_removal(request: Request) -> Response:
    """Answer with the page that asks whether a suite is to be removed."""
    return page(request, "remove.html", suite=desk_of(request).queue.suite(request.path_params["number"]))


async def remove(request: Request) -> Response:
    """Remove a suite from the queue."""
    await posted(request)
    await run_in_threadpool(remove_suite, request)
    return moved("/queue")


def remove_suite(request: Request) -> None:
    """Remove the suite of an address from the queue.

    Raises:
        UserError: There is none, or it is somebody else's.
    """
    suite = own_suite(request)
    desk_of(request).remove(suite.id)
    record(request, f"removed suite {suite.id}, {suite.name} of {suite.owner}")


def own_suite(request: Request) -> Suite:
    """Return the suite of an address, if who asks may change it.

    Raises:
        UserError: There is none, or it is somebody else's, which only an owner changes.
    """
    suite = desk_of(request).queue.suite(request.path_params["number"])
    if not _may_change(request, suite):
        raise UserError(f"suite {suite.name}", f"it is of {suite.owner}", "Ask that person, or an owner")
    return suite


def _may_change(request: Request, suite: Suite) -> bool:
    """Return whether a suite, and the logs of its runs, are the affair of who asks."""
    person = person_of(request)
    return person.role == OWNER or person.name == suite.owner


async def act(request: Request) -> Response:
    """Do what a button of a suite asks for."""
    fields = await posted(request)
    await run_in_threadpool(do, request, request.path_params["action"])
    return moved("/queue" if fields.get("back") != "suite" else f"/queue/{request.path_params['number']}")


def do(request: Request, action: str) -> None:
    """Move, cancel or continue the suite of an address, or try its failed runs again.

    Raises:
        UserError: There is no such suite or action, or the suite is somebody else's.
    """
    if action not in ACTIONS:
        raise UserError(f"action {action!r}", "no such action", f"Choose one of {', '.join(ACTIONS)}")
    desk, suite = desk_of(request), own_suite(request)
    if action in ("up", "down"):
        desk.queue.shift(suite.id, up=action == "up")
    elif action == "cancel":
        desk.dispatcher.cancel(suite.id)
    elif action == "resume":
        desk.queue.resume(suite.id)
    else:
        desk.queue.retry(suite.id)
    record(request, f"{ACTIONS[action]} suite {suite.id}, {suite.name} of {suite.owner}")


async def events(request: Request) -> Response:
    """Answer with a stream that says whenever the queue has changed."""
    if request.method == "HEAD":  # a stream would never end
        return Response(media_type="text/event-stream")
    limits: Limits = request.app.state.limits
    holding = ExitStack()
    try:
        holding.enter_context(
            limits.hold("streams", person_of(request).key, MOST_STREAMS_EACH, most_of_all=MOST_STREAMS)
        )
    except Refused as err:
        return Response(f"error: {err.text}\n", err.status, media_type="text/plain")
    return _Stream(_changes(desk_of(request)), holding)


class _Stream(StreamingResponse):
    """A stream of events that counts as open until it ends, also if it never begins."""

    def __init__(self, changes: AsyncIterator[str], holding: ExitStack):
        super().__init__(changes, media_type="text/event-stream")
        self._holding = holding

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        with self._holding:
            await super().__call__(scope, receive, send)


async def _changes(desk: Desk) -> AsyncIterator[str]:
    seen, idle_s = -1, 0.0
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
