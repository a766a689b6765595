"""Forms that pages send: their token, their fields, and the name that a user types once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from platforms.errors import UserError, printable
from validation.workbench.guard.tokens import Tokens
from validation.workbench.web.answers import MOST_NAME, NAME

MOST_FIELDS = 400
_YEAR_S = 365 * 24 * 3600


async def posted(request: Request) -> FormData:
    """Return the fields of a form that comes from a page of this workbench.

    Raises:
        UserError: Its token is missing or wrong.
    """
    try:
        fields = await request.form(max_files=1, max_fields=MOST_FIELDS)
    except HTTPException as err:
        raise UserError("form", str(err.detail).rstrip("."), "Reload the page and send it again") from err
    tokens: Tokens = request.app.state.tokens
    tokens.check_form(request.state.session, fields)
    return fields


def texts(fields: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields of a form that are texts, the last of each name."""
    return {key: value for key, value in fields.items() if isinstance(value, str)}


def checked_user(text: str) -> str:
    """Return a name that a user typed.

    Raises:
        UserError: It is empty or too long.
    """
    name = printable(text.strip())
    if not 0 < len(name) <= MOST_NAME:
        raise UserError("your name", "none is given" if not name else "it is too long", "Type a short one; it is shown")
    return name


def remember(response: Response, name: str) -> Response:
    """Let the browser keep the user's name."""
    response.set_cookie(NAME, quote(name), max_age=_YEAR_S, httponly=True, samesite="strict")
    return response
