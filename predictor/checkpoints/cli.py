"""Expect failures of the hardware that an application of blocks is placed on: ``gridval plan failures``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from apps.options.exit_status import say_failures
from platforms.command.command import Command, Reply
from platforms.command.request import JsonOption, WideOption, option
from platforms.errors import UserError, nearest
from predictor.blocks.options import machine_from_request, say_cautions, setting_from_request
from predictor.blocks.series.command import EvaluationPool
from predictor.blocks.series.points import ApplicationOptions, Point, points_of, where_text
from predictor.failures.names import INTERVALS

if TYPE_CHECKING:
    from predictor.checkpoints.placed import Placed
    from predictor.checkpoints.report import CheckpointRow

LONGEST_S = 1e15  # of a checkpoint and of a restart
MOST_REPEATS = 1_000_000_000


@dataclass(frozen=True, kw_only=True)
class CheckpointOptions(ApplicationOptions, EvaluationPool):
    """An application, and its checkpoints on hardware that fails."""

    for_each: ClassVar[str] = "answer"
    without: ClassVar[frozenset[str]] = frozenset({"parts"})

    checkpoint: float | None = option(
        None, "S", "seconds of a checkpoint (default: those of the own write_disk)", unit="s"
    )
    restart: float = option(0.0, "S", "seconds of a restart (default: 0)", unit="s")
    intervals: str = option(
        "daly", "I1,I2,...", f"intervals between checkpoints, of {', '.join(INTERVALS)} (default: daly)"
    )
    repeat: int = option(1, "N", "number of runs in a row that make up the job (default: 1)")


@dataclass(frozen=True, kw_only=True)
class CheckpointsRequest(CheckpointOptions, WideOption, JsonOption):
    """An application whose times and energies with failures are expected."""


def rows_from_request(request: CheckpointOptions) -> tuple[str, list[CheckpointRow], list[tuple[str, UserError]]]:
    """Return a description of the runs, their rows, and why some points of a series have none.

    Raises:
        UserError: A file or an option is wrong, or no point has a row.
        KeyboardInterrupt: With the number of placements that are kept.
    """
    # Imported here because they are slow to import.
    from predictor.checkpoints.expectation import expectations
    from predictor.checkpoints.placed import Placed
    from predictor.checkpoints.report import CheckpointRow

    intervals = _checked_intervals(request)
    points = points_of(request)
    rows, failures = [], []
    for point, run in zip(points, _placements(request, points), strict=True):
        if isinstance(run, Placed):
            rows.append(CheckpointRow(point.values, run, expectations(run, intervals, restart_s=request.restart)))
            continue
        failures.append((str(point), run))
    if failures and not rows:
        raise failures[0][1]
    rows.sort(key=lambda row: (row.run.nodes, row.run.processes))
    first = setting_from_request(next(point.request for point in points if point.values == rows[0].varied))
    say_cautions(points[0].request, first)
    times = "" if request.repeat == 1 else f"{request.repeat} times "
    return f"{times}{first.application.name}{where_text(points, first.system.name)}", rows, failures


def _placements(request: CheckpointOptions, points: Sequence[Point]) -> list[Placed | UserError]:
    """Return the placement of each point, or why it has none; they are pooled and kept."""
    # Imported here because they are slow to import.
    from predictor.blocks.series.evaluations import made_from_request
    from predictor.checkpoints.placed import Placed
    from predictor.series.pool import sources_hash

    also = {
        "checkpoint": request.checkpoint,
        "repeat": request.repeat,
        "checkpoints": sources_hash("predictor/checkpoints"),
    }
    return made_from_request(request, points, placed_from_request, Placed, "placing the application", also)


def placed_from_request(request: CheckpointOptions) -> Placed:
    """Return times, powers and the failure rate of the application that the options name.

    Raises:
        UserError: A file or an option is wrong, or the application cannot be evaluated.
    """
    # Imported here because it is slow to import.
    from predictor.checkpoints.placed import placed

    return placed(
        setting_from_request(request), partial(machine_from_request, request),
        power=request.power, evaluator=request.evaluator, checkpoint_s=request.checkpoint, repeat=request.repeat,
    )  # fmt: skip


def _checked_intervals(request: CheckpointOptions) -> list[str]:
    """Return the names of the intervals, each once.

    Raises:
        UserError: An option is out of its range.
    """
    for name, value, least in (("--checkpoint", request.checkpoint, 1e-9), ("--restart", request.restart, 0.0)):
        if value is not None and not least <= value <= LONGEST_S:
            raise UserError(f"{name} {value:g}", "not a time", f"Give {least:g} to {LONGEST_S:g} s")
    if not 1 <= request.repeat <= MOST_REPEATS:
        raise UserError(f"--repeat {request.repeat}", "out of its range", f"Give 1 to {MOST_REPEATS}")
    names = [part.strip() for part in request.intervals.split(",") if part.strip()]
    for name in names:
        if name not in INTERVALS:
            raise UserError(f"--intervals {name}", "no such interval", nearest(name, INTERVALS))
    if not names:
        raise UserError(f"--intervals {request.intervals!r}", "names none", f"Give some of {', '.join(INTERVALS)}")
    return list(dict.fromkeys(names))


def answer(request: CheckpointsRequest) -> Reply:
    """Return the expected times and energies of each point."""
    # Imported here because they are slow to import.
    from predictor.checkpoints.report import as_json, as_text

    source, rows, failures = rows_from_request(request)
    return Reply(
        rows,
        lambda: as_text(source, rows, restart_s=request.restart, wide=request.wide),
        lambda: as_json(source, rows, restart_s=request.restart),
        say_failures(failures),
    )


COMMAND = Command(
    "plan failures",
    CheckpointsRequest,
    answer,
    "Expected time and energy of an application of blocks on hardware that fails: with restarts from "
    "the beginning, and with the checkpoints that its own write_disk writes, at its own interval and at Young's or "
    "Daly's. With --vary, the best number of nodes too (docs/planning/reliability.md).",
    first="application --system --vary --restart --checkpoint --repeat --failure-rate --model --power".split(),
)
main = COMMAND.main
