"""Links to read a suite or a result without an account: they are made, followed, and limited to what they show."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response

from platforms.errors import UserError
from validation.workbench.dispatch.desk import Desk
from validation.workbench.guard.accounts import ACCESS, READER, Accounts, Person
from validation.workbench.guard.guard import STREAM, address_of
from validation.workbench.queue.results import one_result
from validation.workbench.web.answers import desk_of, moved, page, person_of, record
from validation.workbench.web.forms import posted

SUITE, RESULT = KINDS = ("suite", "result")
_OF_RESULT = re.compile(r"/results/(\d{1,9})(/timeline|/graph)?")
_OF_SUITE = re.compile(r"/queue/(\d{1,9})(/part|/suite\.toml|/report\.html)?")
_PLACES = ("/results", "/results.csv", "/results/figure", "/results/front")
_FILES = tuple(f"/results/{name}.{kind}" for name in ("figure", "front") for kind in ("svg", "png", "csv"))
_OTHERS = (STREAM, "/timeline.js")


def place_of(kind: str, number: int) -> str:
    """Return the address of what a link shows."""
    return f"/queue/{number}" if kind == SUITE else f"/results/{number}"


async def make(request: Request) -> Response:
    """Make a link, and answer with the page that shows it, once."""
    fields = await posted(request)
    kind, text = str(fields.get("kind", "")), str(fields.get("number", ""))
    if kind not in KINDS or not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise UserError("link", "it names no suite and no result", "Use the button of the page")
    desk, number = desk_of(request), int(text)
    if kind == SUITE:
        desk.queue.suite(number)  # raises an error if there is none
    else:
        one_result(desk.queue.tables, number)
    accounts: Accounts = request.app.state.accounts
    key = accounts.make_link(kind, number, person_of(request).name)
    record(request, f"made a link to read {kind} {number}", ACCESS)
    link = f"{request.url.scheme}://{request.headers['host']}/share/{key}"
    return page(request, "link.html", link=link, kind=kind, number=number, back=place_of(kind, number))


def follow(request: Request) -> Response:
    """Lead to what a link shows; whoever is logged in stays so."""
    accounts: Accounts = request.app.state.accounts
    followed = accounts.follow(request.path_params["key"], address_of(request.scope))
    if followed is None:
        return page(request, "error.html", status=404, error="link: it does not exist, or was taken back.")
    session, kind, number = followed
    if person_of(request).role in ("", READER):
        request.state.cookie(session)
    return moved(place_of(kind, number))


def may_read(desk: Desk, person: Person, path: str, query: str) -> bool:
    """Return whether somebody with a link may see an address.

    Args:
        desk: The project.
        person: Who has the session of the link.
        path: The path of the address.
        query: Its query.
    """
    if person.link is None:
        return False
    kind, number = person.link
    if path in _OTHERS:
        return True
    if match := _OF_RESULT.fullmatch(path):
        if kind == RESULT:
            return int(match[1]) == number
        try:
            return bool(one_result(desk.queue.tables, int(match[1]))["suite"] == number)
        except UserError:
            return False
    if kind != SUITE:
        return False
    if match := _OF_SUITE.fullmatch(path):
        return int(match[1]) == number
    pairs = parse_qsl(query)
    named = [value for key, value in pairs if key in ("suite", "other") and value]
    return path in (*_PLACES, *_FILES) and named == [str(number)] and ("suite", str(number)) in pairs
