"""The bodies of requests of the programming interface: JSON objects."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request

from platforms.errors import UserError


async def body_of(request: Request) -> dict[str, Any]:
    """Return the object of a request.

    Raises:
        UserError: It is not JSON, or no object.
    """
    problem = "the request has no JSON object"
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise UserError("content-type", problem, "Send application/json")
    try:
        body = json.loads(await request.body() or b"{}")
    except (ValueError, RecursionError):
        raise UserError("body", problem, "Send one") from None
    if not isinstance(body, dict):
        raise UserError("body", problem, "Send one")
    return body


def text_in(body: Mapping[str, Any], key: str) -> str:
    """Return a text of an object.

    Raises:
        UserError: It is missing, empty, or no text.
    """
    text = body.get(key)
    if not isinstance(text, str) or not text.strip():
        raise UserError(key, "it is missing, or not a text", "Give one")
    return text
