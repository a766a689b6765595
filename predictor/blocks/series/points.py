"""The points of a series: the options of a command with each combination of the values of --vary."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from platforms.command.request import Request, option
from platforms.errors import UserError, nearest
from predictor.series.grid import combinations, varied

VARY = "--vary"
OPTIONS = ("system", "model", "power", "policy", "evaluator")  # that may be varied beside counts and variables


@dataclass(frozen=True)
class Point:
    """A combination of values."""

    values: Mapping[str, str]  # by name; empty: nothing is varied
    request: VaryOption  # the options, with these values

    def __str__(self) -> str:
        return ", ".join(f"{name} = {value}" for name, value in self.values.items())


@dataclass(frozen=True, kw_only=True)
class VaryOption(Request):
    """Add the option --vary, which ``points_of`` reads; ``verb`` says what the command does for each value."""

    vary: tuple[str, ...] = option(
        (),
        "NAME=V1,V2,...",
        f"{verb} for each of these values of a label's count, a variable, or an option ({', '.join(OPTIONS)}); "
        "2:8 stands for 2, 3, ..., 8, 2:16:x2 for 2, 4, 8, 16; may be repeated, for all combinations",
    )


def points_of(request: VaryOption) -> list[Point]:
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


def _with(request: VaryOption, chosen: Mapping[str, str], kinds: Mapping[str, str]) -> argparse.Namespace:
    """Return the options with these values; names without a kind are options."""
    changed = {**vars(request), "vary": [], "count": list(request.count), "set": list(request.set)}
    for name, value in chosen.items():
        if name in kinds:
            changed[kinds[name]].append(f"{name}={value}")
        else:
            changed[name] = value
    return argparse.Namespace(**changed)


def where_text(points: Sequence[Point], system: str) -> str:
    """Return the system and the model in words, for a title; nothing is said of what is varied."""
    names, args = points[0].values, points[0].args
    on = "" if "system" in names else f" on {system}"
    return f"{on}{'' if 'model' in names else f', model {request.model}'}"
