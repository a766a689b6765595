"""Saved views of the results: they are named, followed by addresses that stay, and removed."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from platforms.errors import UserError
from validation.workbench.guard.accounts import OWNER, READER
from validation.workbench.queue import views
from validation.workbench.queue.points import view_of
from validation.workbench.queue.views import SavedView
from validation.workbench.web.answers import desk_of, moved, person_of, record
from validation.workbench.web.forms import posted


def views_of(request: Request) -> list[SavedView]:
    """Return the views that somebody may open: with a link to read, none."""
    return [] if person_of(request).role == READER else views.views(desk_of(request).queue.tables)


async def keep(request: Request) -> Response:
    """Save the view that a page shows under a name, and show it."""
    fields = await posted(request)
    name, place, query = (str(fields.get(key, "")) for key in ("view_name", "place", "query"))
    kept = await run_in_threadpool(save_view, request, name, place, query)
    return moved(kept.address)


def follow(request: Request) -> Response:
    """Lead to what a saved view shows."""
    return moved(views.view(desk_of(request).queue.tables, request.path_params["number"]).address)


async def remove(request: Request) -> Response:
    """Remove a saved view."""
    await posted(request)
    kept = await run_in_threadpool(remove_view, request)
    return moved(kept.address)


def save_view(request: Request, name: str, place: str, query: str, *, owner: str = "") -> SavedView:
    """Save a view of the table or of a figure; ``owner`` is the name of a script's user, who has no account.

    Raises:
        UserError: The name is empty, too long or taken, or the view asks for something that is not known.
    """
    tables = desk_of(request).queue.tables
    pairs = [(key, value) for key, value in parse_qsl(query) if key != "page"]
    view_of(QueryParams(pairs), tables)  # raises an error for what is not known
    kept = views.save(tables, name, person_of(request).name or owner, place, urlencode(pairs))
    record(request, f"saved view {kept.id}, {kept.name}")
    return kept


def remove_view(request: Request) -> SavedView:
    """Remove the view of an address, and return it.

    Raises:
        UserError: There is none, or it is somebody else's.
    """
    tables, person = desk_of(request).queue.tables, person_of(request)
    kept = views.view(tables, request.path_params["number"])
    if person.role != OWNER and person.name != kept.owner:
        raise UserError(f"view {kept.name}", f"it is of {kept.owner or 'an owner'}", "Ask that person, or an owner")
    views.remove(tables, kept.id)
    record(request, f"removed view {kept.id}, {kept.name}")
    return kept
