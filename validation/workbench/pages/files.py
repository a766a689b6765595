"""Files of the project: the list of suites, the page of each file, and the history of the project with undo."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from platforms.errors import UserError
from validation.workbench.guard.accounts import Accounts
from validation.workbench.project.shelf import InUseError, Item
from validation.workbench.project.uses import APPLICATIONS, KINDS, PLATFORMS, SUITES
from validation.workbench.queue.results import PAGE, number_in
from validation.workbench.web.answers import desk_of, moved, page, person_of, record
from validation.workbench.web.forms import posted, texts

ACTIONS = ("duplicate", "rename", "remove", "tag", "archive", "unarchive")
_SINGLE = {PLATFORMS: "platform", APPLICATIONS: "application", SUITES: "suite"}


def shown_items(request: Request, kind: str) -> dict[str, Any]:
    """Return the files of a kind that a list shows, for its template: those of a tag, or those of the archive."""
    items = desk_of(request).shelf.items(kind)
    tag, archived = request.query_params.get("tag", ""), request.query_params.get("archived") == "1"
    of_archive = [item for item in items if item.labels.archived == archived]
    return {
        "kind": kind, "items": [item for item in of_archive if not tag or tag in item.labels.tags], "tag": tag,
        "tags": sorted({tag for item in of_archive for tag in item.labels.tags}), "archived": archived,
        "in_archive": sum(item.labels.archived for item in items),
    }  # fmt: skip


def hidden(request: Request, kind: str) -> set[str]:
    """Return the names of the files in the archive."""
    return {name for name, labels in desk_of(request).shelf.labels(kind).items() if labels.archived}


def show_suites(request: Request) -> Response:
    """Answer with the list of the suites of the project."""
    return page(request, "suites.html", **shown_items(request, SUITES))


def show_file(request: Request) -> Response:
    """Answer with the page of a file: what names it, and the forms that copy, rename, label or remove it."""
    return _file(request)


def _file(request: Request, *, error: str = "", ask: str = "", to: str = "", status: int = 200) -> Response:
    desk, kind, name = desk_of(request), request.path_params["kind"], request.path_params["name"]
    item = item_of(request, kind, name)
    stem = name.rpartition(".")[0]
    places = {PLATFORMS: f"/platforms/{quote(name)}", APPLICATIONS: f"/applications/{quote(name)}",
              SUITES: f"/panel?{urlencode({'suite': stem})}"}  # fmt: skip
    return page(request, "file.html", status=status, kind=kind, single=_SINGLE[kind], item=item, stem=stem,
                uses=desk.uses_of(kind, name), place=places[kind], error=error, ask=ask, to=to)  # fmt: skip


def item_of(request: Request, kind: str, name: str) -> Item:
    """Return a file as lists show it.

    Raises:
        UserError: There is no such kind or file.
    """
    path = desk_of(request).shelf.path(kind, name)
    return next(item for item in desk_of(request).shelf.items(kind) if item.name == path.name)


async def act(request: Request) -> Response:
    """Do what a form of the page of a file asks for; it asks once more where others name the file."""
    fields = texts(await posted(request))
    kind, action = request.path_params["kind"], request.path_params["action"]

    def done() -> Response:
        try:
            name = do(request, kind, request.path_params["name"], action, fields, although=bool(fields.get("although")))
        except InUseError as err:
            return _file(request, error=str(err), ask=action, to=fields.get("to", ""), status=400)
        except UserError as err:
            if err.where == "file" or kind not in KINDS or action not in ACTIONS:
                raise
            return _file(request, error=str(err), to=fields.get("to", ""), status=400)
        return moved(f"/{kind}" if action == "remove" else f"/files/{kind}/{quote(name)}")

    return await run_in_threadpool(done)


def do(request: Request, kind: str, name: str, action: str, fields: Mapping[str, Any], *, although: bool) -> str:
    """Copy, rename, label or remove a file, and return its name or that of the copy.

    Args:
        request: The request, whose sender the history names.
        kind: The kind of the file.
        name: Its name.
        action: One of ACTIONS.
        fields: ``to``, the new name of a copy or of the file; ``tags``, with commas.
        although: Rename it with the files that name it, or remove it although they do.

    Raises:
        UserError: It cannot be done.
    """
    shelf = desk_of(request).shelf
    to = str(fields.get("to", ""))
    if action == "duplicate":
        made = shelf.duplicate(kind, name, to)
        record(request, f"copied {kind}/{name} to {made}")
        return made
    if action == "rename":
        queued = [use for use in desk_of(request).uses_of(kind, name) if use.kind == "queue"]
        if queued and not although:
            raise InUseError(f"{kind}/{name}", f"it is used by {queued[0]}", "Wait for its runs, or confirm it")
        made, followed = shelf.rename(kind, name, to, although=although)
        also = f"; {', '.join(map(str, followed))} followed" if followed else ""
        record(request, f"renamed {kind}/{name} to {made}{also}")
        return made
    if action == "remove":
        if not although and (uses := desk_of(request).uses_of(kind, name)):
            many = ", ".join(map(str, uses[:5])) + (f" and {len(uses) - 5} others" if len(uses) > 5 else "")
            raise InUseError(f"{kind}/{name}", f"it is used by {many}", "Change these first, or confirm it")
        number = shelf.remove(kind, name, person_of(request).name or "somebody", although=although)
        record(request, f"removed {kind}/{name} (removal {number})")
        return name
    if action == "tag":
        tags = shelf.tag(kind, name, str(fields.get("tags", "")))
        record(request, f"gave {kind}/{name} {'the tags ' + ', '.join(tags) if tags else 'no tags'}")
        return name
    if action in ("archive", "unarchive"):
        shelf.archive(kind, name, archived=action == "archive")
        record(request, f"{'put' if action == 'archive' else 'took'} {kind}/{name} "
                        f"{'into' if action == 'archive' else 'from'} the archive")  # fmt: skip
        return name
    raise UserError(f"action {action[:40]!r}", "no such action", f"Choose one of {', '.join(ACTIONS)}")


def show_history(request: Request) -> Response:
    """Answer with what was done in the project, and the removed files that can be put back."""
    return page(request, "history.html", **history(request))


def history(request: Request) -> dict[str, Any]:
    """Return the changes of a page of the history, and the removed files."""
    accounts: Accounts = request.app.state.accounts
    at = number_in(request.query_params, "page") or 1
    return {
        "changes": accounts.changes(offset=(at - 1) * PAGE, limit=PAGE), "removed": desk_of(request).shelf.removed(),
        "at": at, "pages": max(1, -(-accounts.count_changes() // PAGE)),
    }  # fmt: skip


async def undo(request: Request) -> Response:
    """Put a removed file back."""
    await posted(request)
    kind, name = await run_in_threadpool(put_back, request)
    return moved(f"/files/{kind}/{quote(name)}")


def put_back(request: Request) -> tuple[str, str]:
    """Put the removed file of an address back, and return its kind and name.

    Raises:
        UserError: There is none, or another one has its name.
    """
    number = request.path_params["number"]
    kind, name = desk_of(request).shelf.put_back(number)
    record(request, f"put back {kind}/{name} (removal {number})")
    return kind, name
