"""The points of a series: the options of a command with each combination of the values of --vary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from platforms.command.request import Request, option
from platforms.errors import UserError, nearest
from predictor.blocks.options import ModelOptions, PowerOption, SettingOptions
from predictor.series.grid import combinations, varied

VARY = "--vary"
OPTIONS = ("system", "model", "power", "policy", "evaluator")  # that may be varied beside counts and variables


@dataclass(frozen=True, kw_only=True)
class ApplicationOptions(SettingOptions, ModelOptions, PowerOption):
    """An application on a system, the model of its costs, and what is varied of all that."""

    for_each: ClassVar[str] = "evaluate"  # what the command does for each value

    vary: tuple[str, ...] = option((), "NAME=V1,V2,...", lambda request: _vary_help(request))
    parts: bool = option(False, help="also print where the time goes, by label and step")


def _vary_help(request: type[Request]) -> str:
    """Return the help of --vary."""
    assert issubclass(request, ApplicationOptions)
    return (
        f"{request.for_each} for each of these values of a label's count, a variable, or an option "
        f"({', '.join(OPTIONS)}); 2:8 stands for 2, 3, ..., 8, 2:16:x2 for 2, 4, 8, 16; may be repeated, for all "
        "combinations"
    )


@dataclass(frozen=True)
class Point:
    """A combination of values."""

    values: Mapping[str, str]  # by name; empty: nothing is varied
    request: ApplicationOptions  # the request with these values

    def __str__(self) -> str:
        return ", ".join(f"{name} = {value}" for name, value in self.values.items())


def points_of(request: ApplicationOptions) -> list[Point]:
    """Return all combinations of the varied values.

    Raises:
        UserError: A value of --vary is wrong, or the application cannot be read.
    """
    values = varied(VARY, request.vary)
    if not values:
        return [Point({}, request)]
    # Imported here for a quick start: it is slow to import.
    from predictor.blocks.description import read_application

    application = read_application(request.application)
    labels = [label.name for label in application.labels]
    options = [name for name in OPTIONS if hasattr(request, name)]
    known = [*labels, *application.variables, *options]
    for name in values:
        if name not in known:
            raise UserError(f"{VARY} {name}=...", f"no label or variable {name!r}", nearest(name, known))
        if name in options and name in (*labels, *application.variables):
            raise UserError(f"{VARY} {name}=...", "an option has this name too", "Rename it in the file")
        if isinstance(application.variables.get(name), tuple):
            raise UserError(f"{VARY} {name}=...", f"{name} is a list", f"Vary numbers; --set {name}=... gives a list")
    kinds = {name: "count" if name in labels else "set" for name in (*labels, *application.variables)}
    return [Point(chosen, _with(request, chosen, kinds)) for chosen in combinations(values)]


def _with(request: ApplicationOptions, chosen: Mapping[str, str], kinds: Mapping[str, str]) -> ApplicationOptions:
    """Return the request with these values; names without a kind are options."""
    changed: dict[str, Any] = {name: value for name, value in chosen.items() if name not in kinds}
    for kind in ("count", "set"):
        given = [f"{name}={value}" for name, value in chosen.items() if kinds.get(name) == kind]
        changed[kind] = (*getattr(request, kind), *given)
    return replace(request, vary=(), **changed)


def where_text(points: Sequence[Point], system: str) -> str:
    """Return the system and the model in words, for a title; nothing is said of what is varied."""
    names, request = points[0].values, points[0].request
    on = "" if "system" in names else f" on {system}"
    return f"{on}{'' if 'model' in names else f', model {request.model}'}"
