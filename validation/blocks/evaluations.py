"""Evaluations of the points of a series with their wall times: pooled, and kept in the store."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from platforms.errors import UserError
from predictor.blocks.evaluation.evaluate import Result, evaluate
from predictor.blocks.options import machine_from_request, setting_from_request
from predictor.blocks.series.command import SeriesOptions
from predictor.blocks.series.evaluations import made_from_request
from predictor.blocks.series.points import ApplicationOptions, Point

_LONG_S = 1.0  # wall time of an evaluation whose share of imports and caches does not matter


@dataclass(frozen=True)
class Timed:
    """A result and the wall time of making it."""

    result: Result
    wall_s: float  # placement and evaluation without parts, in a warm process


def timed(request: ApplicationOptions) -> Timed:
    """Evaluate the application that the options of a command name.

    Raises:
        UserError: An option or a file is wrong, or the application cannot be evaluated.
    """
    setting = setting_from_request(request)
    started = time.perf_counter()
    result = evaluate(
        setting.application, machine_from_request(request, setting),
        evaluator=request.evaluator, power=request.power, parts=request.parts,
    )  # fmt: skip
    wall_s = time.perf_counter() - started
    if wall_s < _LONG_S or request.parts:
        again = replace(setting)  # without its placement
        started = time.perf_counter()
        evaluate(
            again.application, machine_from_request(request, again), evaluator=request.evaluator, power=request.power
        )
        wall_s = time.perf_counter() - started
    return Timed(result, wall_s)


def timed_evaluations(request: SeriesOptions, points: Sequence[Point]) -> list[Timed | UserError]:
    """Return the result of each point, or the reason why it cannot be evaluated.

    Args:
        request: The values of --jobs, --store and --no-store.
        points: The points.

    Raises:
        UserError: An option is wrong.
        KeyboardInterrupt: With the number of results that are kept.
    """
    return made_from_request(request, points, timed, Timed, "evaluating the series" if request.vary else "evaluating")
