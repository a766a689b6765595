"""Requests of commands from the arguments of a function: a platform by one name, and ``store=False``."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from apps.options.machines import MachineOptions
from apps.options.settings import SettingsOptions
from apps.spec.settings import Settings
from platforms.command.request import Request, fields_of
from platforms.command.values import request_of, text_of
from platforms.errors import UserError
from platforms.options import PlatformOptions

Names = str | Sequence[str]
Values = str | float | Sequence[str | float]  # of what is varied
PathLike = str | os.PathLike[str]
_PLATFORM_FILES = (".xml", ".so")
_Request = TypeVar("_Request", bound=Request)


def asked(request: type[_Request], values: Mapping[str, Any]) -> _Request:
    """Return the request of a command from values by the names of its fields.

    ``platform`` may also be the name of a scenario or a scenario file, and is the ``system`` of ``plan cores``; other
    names of options are in _NAMES, such as ``predictors`` for ``predictor``, and ``store=False`` is ``no_store``.

    Raises:
        UserError: A name is unknown or given twice, or a value is wrong.
    """
    given: dict[str, Any] = {}
    keys = keys_of(request)
    for name, value in values.items():
        other = _NAMES.get(name)
        _give(given, other if other in keys and name not in keys else name, value)
    if "platform" in given and not keys & {"platform", "scenario"} and "system" in keys:
        _give(given, "system", given.pop("platform"))
    if "platform" in given and ("scenario" in keys or "platform" not in keys):  # else it is no choice of the two
        for name, value in _platform(given.pop("platform")).items():
            _give(given, name, value)
    if given.get("store") is False:
        given |= {"store": None, "no_store": True}
    return request_of(request, given)


def keys_of(*groups: type[Request]) -> frozenset[str]:
    """Return the names of the fields of groups of options."""
    return frozenset(field.key for group in groups for field in fields_of(group))


OF_MACHINES = keys_of(MachineOptions) - keys_of(PlatformOptions, SettingsOptions)


def _give(given: dict[str, Any], name: str, value: Any) -> None:
    """Add a value; None stands for a value that is not given."""
    if value is None:
        return
    if name in given:
        raise UserError(name, "is given twice, by two names", "Drop one of them")
    given[name] = value


def check_options(verb: str, options: Mapping[str, Any], refused: Collection[str], settings: Settings | None) -> None:
    """Check the other options of a verb that are given to its function.

    Raises:
        UserError: An option is one of ``refused``, which would have no effect; or it is a setting of the runs, and
            ``settings`` is given too.
    """
    asked_for = [name.replace("-", "_") for name, value in options.items() if value is not None and value is not False]
    for name in asked_for:
        if name in refused:
            function = f"gridval.{verb.partition(' ')[0]}"
            raise UserError(name, f"{function} has no such option", f'Call gridval.ask("{verb}", ...), which has')
        if settings is not None and name in keys_of(SettingsOptions):
            raise UserError(name, "does not go with settings", "Drop one of them")


# Other names of options, where the verb does not have an option of that name.
_NAMES = {
    "predictors": "predictor",
    "parameters": "param",
    "counts": "count",
    "variables": "set",
    "apps": "app",
    "networks": "network",
    "mapping": "mappings",
    "mappings": "mapping",
    "classes": "problem_class",
    "ranks_per_node": "ranks_per_host",
}


def _platform(named: PathLike | Sequence[PathLike] | None) -> dict[str, Any]:
    if named is None:
        return {}
    if isinstance(named, list | tuple):
        return {"platform": [text_of(part, "platform") for part in named]}
    if not isinstance(named, str | os.PathLike):
        raise UserError("platform", f"{named!r} is no name", "Name a scenario or a file")
    where = os.fspath(named)
    if not where:
        raise UserError("platform", "an empty name", "Name a scenario or a file")
    return {"platform": where} if Path(where).suffix in _PLATFORM_FILES else {"scenario": where}
