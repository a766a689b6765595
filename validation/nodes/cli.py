"""Choose a configuration as ``gridval plan nodes`` does, and compare it with the simulated optimum.

A campaign file instead of options compares many apps, sizes, models and noises in tables, CSV files and figures.
--paper simulates what Figures 21 to 28 of the NP-T paper measure.
"""

from __future__ import annotations

from apps.options.exit_status import exit_status
from platforms.command.command import Command
from predictor.nodes.options import FIRST_OPTIONS
from validation.nodes.request import NodesComparisonRequest


def _run(request: NodesComparisonRequest) -> int:
    # Imported here for a quick start: it is slow to import.
    from validation.nodes.command import run

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
