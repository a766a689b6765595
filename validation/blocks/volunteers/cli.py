"""Compare the expected times of work units on volunteers with simulations, draw by draw.

SimGrid turns the hosts off and on at the drawn times, or stops them where units continue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from apps.options.exit_status import exit_status
from platforms.command.command import Command, Reply
from platforms.command.request import option
from platforms.terminal.progress import Progress
from platforms.terminal.quantities import duration, percent
from platforms.terminal.table import table_lines
from predictor.blocks.volunteers.cli import VolunteersRequest, expectation

if TYPE_CHECKING:
    from validation.blocks.volunteers.simulated import SimulatedDraw


@dataclass(frozen=True, kw_only=True)
class VolunteersComparisonRequest(VolunteersRequest):
    """A project of volunteers whose draws are simulated."""

    draws: int = option(10, "N", "draws, each simulated (default: 10; one if nothing is random)")


def _answer(request: VolunteersComparisonRequest) -> Reply:
    # Imported here because it is slow to import.
    from validation.blocks.volunteers.simulated import simulated

    found = expectation(request)
    draws: list[SimulatedDraw] = []
    status = 130 if found.interrupted else 0
    progress = Progress()
    try:
        for draw, expected in enumerate(found.outcomes):
            draws.append(simulated(found.project, request.seed, draw, expected))
            progress("draw simulated", len(draws), len(found.outcomes))
    except KeyboardInterrupt:
        if not draws:
            raise
        status = 130
    finally:
        progress.close()
    return Reply(draws, lambda: _text(draws), lambda: [{**asdict(draw), "error": draw.error} for draw in draws], status)


def _text(draws: Sequence[SimulatedDraw]) -> str:
    rows: list[tuple[str, ...]] = [("draw", "expected", "simulated", "error %", "handed out", "simulated")]
    for number, draw in enumerate(draws, 1):
        times = duration(draw.expected.time_s, digits=5), duration(draw.time_s, digits=5)
        handed_out = str(draw.expected.handed_out), str(draw.handed_out)
        rows.append((str(number), *times, percent(100 * draw.error, signed=True), *handed_out))
    return "\n".join(table_lines(rows))


COMMAND = Command("blocks volunteers", VolunteersComparisonRequest, _answer, __doc__, status=exit_status)
main = COMMAND.main
