"""Logging in and out."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from validation.workbench.guard.accounts import ACCESS, OWNER, Accounts
from validation.workbench.guard.guard import address_of
from validation.workbench.guard.limits import Limits, Refused
from validation.workbench.guard.tokens import Tokens
from validation.workbench.web.answers import moved, page, person_of, record
from validation.workbench.web.forms import posted, texts

_MOST_PLACE = 2000  # characters of an address
FIRST = "/platforms"


def show(request: Request) -> Response:
    """Answer with the form of the login."""
    return _form(request, place_in(request.query_params.get("next", "")))


async def enter(request: Request) -> Response:
    """Log a browser in, by an account or by the token of the server, and lead to the page that it asked for."""
    fields = texts(await request.form(max_files=0, max_fields=10))  # no session yet: the guard has checked the origin
    place, name = place_in(fields.get("next", "")), fields.get("account", "").strip()
    limits: Limits = request.app.state.limits
    accounts: Accounts = request.app.state.accounts
    tokens: Tokens = request.app.state.tokens
    address = address_of(request.scope)
    try:
        limits.fail(address, 0)
    except Refused as err:
        return _form(request, place, f"{err.text}", 429)
    secret = fields.get("secret", "")
    if name:
        session = await run_in_threadpool(accounts.enter, name, secret, address)
    else:
        session = accounts.begin(OWNER, address) if tokens.may_access(secret.strip()) else None
    if session is None:
        limits.fail(address)
        accounts.record(name or "without an account", address, "failed to log in", ACCESS)
        what = "name or password" if name else "token"
        return _form(request, place, f"{what}: wrong. Type it again, or ask who started the server.", 403)
    accounts.record(name or "who has the token", address, "logged in", ACCESS)
    request.state.cookie(session)
    return moved(place)


def _form(request: Request, place: str, error: str = "", status: int = 200) -> Response:
    accounts: Accounts = request.app.state.accounts
    return page(request, "login.html", status=status, place=place, error=error, has_users=bool(accounts.users()))


async def leave(request: Request) -> Response:
    """End the session of the browser; with the field ``others``, those of its other browsers instead."""
    fields = await posted(request)
    person, accounts = person_of(request), request.app.state.accounts
    if fields.get("others"):
        ended = accounts.end_others(person)
        record(request, f"ended {ended} other sessions", ACCESS)
        return moved("/access")
    record(request, "logged out", ACCESS)
    accounts.end(person.number)
    request.state.cookie("")
    return moved("/login")


def place_in(text: str) -> str:
    """Return an address of this server that a form names; the first page for anything else.

    >>> place_in("/results/7"), place_in("//evil.example"), place_in("http://evil.example")
    ('/results/7', '/platforms', '/platforms')
    """
    plain = text.startswith("/") and not text.startswith(("//", "/\\", "/login", "/logout")) and text.isprintable()
    return text if plain and len(text) <= _MOST_PLACE and "\\" not in text else FIRST
