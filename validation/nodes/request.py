"""Request of ``gridval plan nodes --simulate``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from platforms.command.request import JsonOption, OutOption, WideOption, argument, option
from predictor.nodes.options import SearchOptions


@dataclass(frozen=True, kw_only=True)
class NodesComparisonRequest(SearchOptions, OutOption, WideOption, JsonOption):
    """A choice of nodes, or a campaign of choices, to compare with the simulated optimum."""

    out_files: ClassVar[str] = "the CSV files and figures of a campaign or of --paper"

    campaign: str | None = argument("FILE.toml", "a campaign file (docs/planning/allocation.md)", default=None)
    paper: bool = option(
        False,
        help="instead: the pitfalls of section 7 of the NP-T paper in simulation, Figures 21 to 28, which --out draws",
    )
