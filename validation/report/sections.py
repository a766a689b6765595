"""Sections of the page, and those that add-ons provide."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from platforms.addons import is_there, provided
from validation.report.gather import Gathered
from validation.report.pictures import Picture
from validation.report.tables import Table

if TYPE_CHECKING:
    import pandas as pd

# Modules that provide sections, as ``Provider`` says, in the order of the page; what is not there has no section.
PROVIDERS = (
    "validation.report.timelines.timelines",
    "validation.report.timelines.graphs",
    "validation.report.league",
    "validation.report.costs",
)

Progress = Callable[[str], None]


@dataclass
class Section:
    """A section of the page: text, tables and pictures, in this order."""

    name: str  # id in the page
    title: str
    text: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def take(self, drawn: Iterable[Picture | str]) -> Section:
        """Add pictures, and notes on missing pictures."""
        for picture in drawn:
            if isinstance(picture, str):
                self.notes.append(picture)
            else:
                self.pictures.append(picture)
        return self


class Provider(Protocol):
    """A module that provides sections."""

    def sections(self, gathered: Gathered, results: pd.DataFrame, progress: Progress) -> list[Section]:
        """Return the sections; ``progress`` is called before each step."""

    def steps(self, gathered: Gathered) -> int:
        """Return the number of steps that take long."""

    def script(self) -> str:
        """Return the JavaScript that the sections need."""


def providers() -> list[Provider]:
    """Return the providers that are there."""
    return [provided(place) for place in PROVIDERS if is_there(place)]
