"""Add-ons: rooms that the core uses if they are installed, but never imports (docs/architecture.md)."""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from typing import Any

from platforms.errors import UserError

_HERE = __name__.split(".")  # in the wheel it begins with gridval
_ROOT = os.path.abspath(os.path.join(__file__, *[os.pardir] * len(_HERE)))


@cache
def is_there(place: str) -> bool:
    """Return whether the module of ``module`` or ``module:NAME`` is installed; nothing is imported.

    >>> is_there("platforms.addons:is_there"), is_there("platforms.nowhere")
    (True, False)
    """
    path = os.path.join(_ROOT, *place.partition(":")[0].split("."))
    return os.path.isfile(f"{path}.py") or os.path.isdir(path)


def provided(place: str) -> Any:
    """Return what an add-on provides: a module, or with ``module:NAME`` an object of it.

    Raises:
        UserError: The add-on is not there.
    """
    module, _, name = place.partition(":")
    if not is_there(module):
        raise UserError(module, "this add-on is not installed", "Install the whole project, or do without it")
    module_found = import_module(module)
    return getattr(module_found, name) if name else module_found
