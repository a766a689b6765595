"""List the predictors: their names, and what they are (docs/predictors/index.md)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from platforms.command.command import Command
from platforms.command.common import JsonOption, WideOption
from platforms.terminal.table import table_lines
from predictor.plugins import installed
from predictor.registry import NOT_IN_ALL, PREDICTORS


@dataclass(frozen=True, kw_only=True)
class ListRequest(WideOption, JsonOption):
    """Request of ``gridval predictor list``."""


@dataclass(frozen=True)
class Listed:
    """A predictor that can be asked."""

    name: str
    place: str  # module and name of the predictor, or of the installed package's entry point
    purpose: str  # the first line of its module
    in_all: bool  # whether the name ``all`` includes it


@dataclass(frozen=True)
class Listing:
    """All predictors that can be asked by a name."""

    predictors: Sequence[Listed]
    wide: bool

    def text(self) -> str:
        """Return one line for each predictor."""
        rows = [[one.name, one.purpose + ("" if one.in_all else " (not in all)")] for one in self.predictors]
        return "\n".join(table_lines([["predictor", "what it is"], *rows], left={0, 1}, wide=self.wide))

    def to_json(self) -> dict[str, Any]:
        """Return the predictors as JSON values."""
        return {
            "predictors": [
                {"predictor": one.name, "place": one.place, "purpose": one.purpose, "in_all": one.in_all}
                for one in self.predictors
            ]
        }


def answer(request: ListRequest) -> Listing:
    """Return the predictors of the project, and those of installed packages."""
    known = {**PREDICTORS, **NOT_IN_ALL, **installed()}
    found = [Listed(name, place, _purpose(place), name not in NOT_IN_ALL) for name, place in known.items()]
    return Listing(found, request.wide)


def _purpose(place: str) -> str:
    """Return the first line of a module's docstring, without importing it."""
    # Imported here for a quick start: they are slow to import.
    import ast
    from importlib.util import find_spec

    spec = find_spec(place.partition(":")[0])
    if spec is None or spec.origin is None:
        return ""
    with open(spec.origin, encoding="utf-8") as file:
        said = ast.get_docstring(ast.parse(file.read())) or ""
    return re.split(r"\. +(?=[A-Z])", said.partition("\n")[0])[0].rstrip(".:").replace("``", "")


COMMAND = Command("predictor list", ListRequest, answer, __doc__)
main = COMMAND.main
