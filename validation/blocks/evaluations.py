"""Evaluations with their wall times."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from predictor.blocks.evaluation.evaluate import Result, evaluate
from predictor.blocks.options import machine_from_request, setting_from_request
from predictor.blocks.series.points import ApplicationOptions

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
