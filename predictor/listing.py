"""List the predictors: their names, and what they are (docs/predictors/index.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from platforms.command.command import Command
from platforms.command.request import JsonOption, WideOption
from platforms.terminal.table import table_lines
from predictor.families import VARIANTS
from predictor.plugins import installed


@dataclass(frozen=True, kw_only=True)
class ListRequest(WideOption, JsonOption):
    """Request of ``gridval predictor list``."""


@dataclass(frozen=True)
class Listed:
    """A predictor that can be asked."""

    name: str
    place: str  # module and name of the predictor, or of the installed package's entry point
    purpose: str  # what it is, in one line
    in_all: bool  # whether the name ``all`` includes it


@dataclass(frozen=True)
class Listing:
    """All predictors that can be asked by a name."""

    predictors: Sequence[Listed]
    wide: bool

    def text(self) -> str:
        """Return one line for each predictor."""
        rows = [
            [predictor.name, predictor.purpose + ("" if predictor.in_all else " (not in all)")]
            for predictor in self.predictors
        ]
        return "\n".join(table_lines([["predictor", "what it is"], *rows], left={0, 1}, wide=self.wide))

    def to_json(self) -> dict[str, Any]:
        """Return the predictors as JSON values."""
        return {
            "predictors": [
                {
                    "predictor": predictor.name,
                    "place": predictor.place,
                    "purpose": predictor.purpose,
                    "in_all": predictor.in_all,
                }
                for predictor in self.predictors
            ]
        }


def answer(request: ListRequest) -> Listing:
    """Return the predictors of the project, and those of installed packages."""
    listed = [Listed(name, variant.place, variant.purpose, variant.in_all) for name, variant in VARIANTS.items()]
    listed += [Listed(name, place, f"of an installed package, {place}", True) for name, place in installed().items()]
    return Listing(listed, request.wide)


COMMAND = Command("predictor list", ListRequest, answer, __doc__)
main = COMMAND.main
