"""Answers to requests: pages from templates, errors, and the user's name."""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import jinja2
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from apps.runs.limits import rough_duration
from platforms.errors import UserError, printable
from validation.workbench.dispatch.desk import Desk
from validation.workbench.guard.accounts import Accounts, Person
from validation.workbench.guard.guard import address_of
from validation.workbench.guard.tokens import FIELD, Tokens
from validation.workbench.project.application_suites import written
from validation.workbench.project.numbers import number_text, percent_text, value_text
from validation.workbench.queue.suites import Suite

_REAL = re.compile(r"-?\d+\.\d+(e[+-]?\d+)?", re.ASCII)


def desk_of(request: Request) -> Desk:
    """Return the desk of the workbench that serves a request."""
    desk: Desk = request.app.state.desk
    return desk


def page(request: Request, template: str, *, status: int = 200, **context: Any) -> HTMLResponse:
    """Return a page, or a part of one."""
    return HTMLResponse(_templates().get_template(template).render(**_common(request), **context), status)


def blocks_of(request: Request, template: str, blocks: Sequence[str], /, **context: Any) -> dict[str, str]:
    """Return blocks of a template by name, each rendered alone: what they use is imported within them."""
    made = _templates().get_template(template)
    values = made.new_context({**_common(request), **context})
    return {name: "".join(made.blocks[name](values)).strip() for name in blocks}


def _common(request: Request) -> dict[str, Any]:
    """Return what all templates may use."""
    tokens: Tokens = request.app.state.tokens
    return {
        "project": desk_of(request).project,
        "here": request.url.path,
        "form_field": FIELD,
        "form_token": tokens.form(request.state.session),
        "person": person_of(request),
        "now_s": time.time(),
        "name": person_of(request).name,
    }


def person_of(request: Request) -> Person:
    """Return who sends a request; somebody who is not logged in has no role."""
    person: Person | None = request.state.person
    return person or Person("", 0, "", "")


def suites_of(request: Request) -> list[Suite]:
    """Return the suites that somebody may choose: of a link to read, that one alone."""
    link = person_of(request).link
    return [suite for suite in desk_of(request).queue.suites() if link is None or ("suite", suite.id) == link]


def record(request: Request, what: str, about: str = "") -> None:
    """Write down in the audit list what somebody has done; ``about`` as in ``Accounts.record``."""
    accounts: Accounts = request.app.state.accounts
    person = person_of(request)
    accounts.record(person.name or f"session {person.number}", address_of(request.scope), what, about)


def saved_as(name: str, *, shown: bool = False) -> dict[str, str]:
    """Return the header that gives an answer the name of a file, in any script (RFC 6266).

    Args:
        name: The name.
        shown: The browser shows the file instead of saving it.
    """
    return {"content-disposition": f"{'inline' if shown else 'attachment'}; filename*=UTF-8''{quote(name, safe='')}"}


def moved(place: str) -> RedirectResponse:
    """Send the browser to another page after a form."""
    return RedirectResponse(place, 303)


def user_error_page(request: Request, err: Exception) -> Response:
    """Return the page that says what was wrong with a request; of the programming interface, an object."""
    if request.url.path.startswith("/api/") and isinstance(err, UserError):
        error = {"where": err.where, "problem": err.problem, "remedy": err.remedy}
        return JSONResponse({"error": error}, 400)
    if request.headers.get("hx-request") == "true":  # a part of a page: shown in its place
        return page(request, "part_error.html", error=str(err))
    return page(request, "error.html", status=400, error=str(err))


def trouble_page(request: Request, err: Exception) -> Response:
    """Return the page that says why the project folder or the queue cannot be read or written at the moment."""
    why = err.strerror if isinstance(err, OSError) else str(err)
    text = f"project folder: {why or 'it cannot be read or written'}. Make room or mend it, and send it again."
    if request.headers.get("hx-request") == "true":
        return page(request, "part_error.html", error=text)
    return page(request, "error.html", status=507, error=text)


def missing_page(request: Request, err: Exception) -> Response:
    """Return the page for an address that does not exist."""
    text = f"{printable(request.url.path)[:200]}: there is no such page. Choose one from the menu."
    return page(request, "error.html", status=404, error=text)


@functools.cache
def _templates() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("validation.workbench.web", "templates"), autoescape=True, trim_blocks=True,
        lstrip_blocks=True, undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    made.filters |= {
        "value": value_text,
        "count": number_text,
        "when": time_text,
        "size": _size,
        "percent": percent_text,
        "choice": _choice,
        "lasting": rough_duration,
    }
    return made


def _choice(text: str) -> str:
    """Return a value that SQLite gives as text for a list to choose from: large numbers as a user writes them."""
    return written(float(text)) if _REAL.fullmatch(text) else text


def time_text(seconds: float) -> str:
    """Return a time, given in seconds since 1970, in the time zone of the server, which it names."""
    zone = time.strftime("%Z", time.localtime(seconds))
    named = zone if zone[:1].isalpha() else f"UTC{zone}"
    return f"{time.strftime('%Y-%m-%d %H:%M', time.localtime(seconds))} {named}"


def _size(count: int) -> str:
    return f"{number_text(count / 1000, 3)} kB" if count < 1_000_000 else f"{number_text(count / 1e6, 3)} MB"
