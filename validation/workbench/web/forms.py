"""Forms that pages send: their token, their fields, and the name that a user types once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request

from platforms.errors import UserError
from validation.workbench.guard.accounts import Accounts, checked_user
from validation.workbench.guard.tokens import Tokens
from validation.workbench.web.answers import person_of

MOST_FIELDS = 400


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


def renamed(request: Request, typed: str) -> str:
    """Return the name of who sends a form: that of the account, or as it was typed, which the session keeps.

    Raises:
        UserError: The name that was typed is empty or too long.
    """
    person = person_of(request)
    if person.account:
        return person.name
    name = checked_user(typed)
    accounts: Accounts = request.app.state.accounts
    accounts.rename(person, name)
    return name
