"""Requests of commands from the arguments of a function: a platform by one name, and ``store=False``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from platforms.command.request import Request
from platforms.command.values import request_of
from platforms.errors import UserError

Names = str | Sequence[str]
PathLike = str | os.PathLike[str]
_PLATFORM_FILES = (".xml", ".so")
_Request = TypeVar("_Request", bound=Request)


def asked(request: type[_Request], values: Mapping[str, Any]) -> _Request:
    """Return the request of a command from values by the names of its fields.

    ``platform`` may also be the name of a scenario or a scenario file, ``predictors`` and ``parameters`` stand for
    ``predictor`` and ``param``, and ``store=False`` for ``no_store``.

    Raises:
        UserError: A name is unknown, or a value is wrong.
    """
    given = {_NAMES.get(name, name): value for name, value in values.items()}
    if "platform" in given:
        given |= _platform(given.pop("platform"))
    if given.get("store") is False:
        given |= {"store": None, "no_store": True}
    return request_of(request, given)


_NAMES = {"predictors": "predictor", "parameters": "param"}


def _platform(named: PathLike | Sequence[PathLike] | None) -> dict[str, Any]:
    if named is None:
        return {}
    if not isinstance(named, str | os.PathLike):
        return {"platform": [os.fspath(one) for one in named]}
    where = os.fspath(named)
    if not where:
        raise UserError("platform", "an empty name", "Name a scenario or a file")
    return {"platform": where} if Path(where).suffix in _PLATFORM_FILES else {"scenario": where}
