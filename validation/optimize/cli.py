"""Choose a configuration as ``python -m predictor.optimize`` does, and compare it with the simulated optimum.

A campaign file instead of options compares many apps, sizes, models and noises in tables, CSV files and figures.
--paper simulates what Figures 21 to 28 of the NP-T paper measure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from apps.options.exit_status import exit_status
from platforms.command.command import Command
from platforms.command.common import JsonOption, OutOption, WideOption
from platforms.command.request import argument, option
from predictor.optimize.options import FIRST_OPTIONS, SearchOptions


@dataclass(frozen=True, kw_only=True)
class NodesComparisonRequest(SearchOptions, OutOption, WideOption, JsonOption):
    """What ``gridval plan nodes`` is asked for."""

    out_files: ClassVar[str] = "with a campaign or --paper: write their CSV files and figures"

    campaign: str | None = argument("FILE.toml", "a campaign file (docs/planning/allocation.md)", default=None)
    paper: bool = option(
        False,
        help="instead: the pitfalls of section 7 of the NP-T paper in simulation, Figures 21 to 28, which --out draws",
    )


def _run(request: NodesComparisonRequest) -> int:
    # Imported here for a quick start: it is slow to import.
    from validation.optimize.command import run

    return run(request)


COMMAND = Command(
    "plan nodes",
    NodesComparisonRequest,
    _run,
    __doc__,
    first=FIRST_OPTIONS,
    status=exit_status,
)
main = COMMAND.main
