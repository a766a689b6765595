"""Comparisons of several points, of which one that fails does not stop the others, with wall times."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from apps.errors import SimulationError
from apps.results.record import RunRecord
from apps.runs.runner import Runner
from apps.spec.run_spec import RunSpec
from platforms.errors import UserError
from predictor.blocks.evaluation.evaluate import Result, evaluate
from predictor.blocks.options import machine_from_request, setting_from_request
from predictor.blocks.series.points import ApplicationOptions, Point
from predictor.blocks.setting import Setting
from validation.blocks.comparison import Comparison, compared, simulation

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


Failure: TypeAlias = "tuple[str, UserError | SimulationError]"  # the values of a point, and why it failed


@dataclass(frozen=True)
class PointRun:
    """A point with the run that simulates it, as far as its options allow."""

    point: Point
    setting: Setting | None = None
    spec: RunSpec | None = None
    error: UserError | None = None  # why there is no run

    @staticmethod
    def of(point: Point) -> PointRun:
        """Return the run of a point, or the reason why it has none."""
        setting = None
        try:
            setting = setting_from_request(point.request)
            if not any(setting.application.counts().values()):
                raise UserError(setting.application.where, "no processes", "Give a label a count of 1 or more")
            return PointRun(point, setting, simulation(setting))
        except UserError as err:
            return PointRun(point, setting, error=err)


def comparisons(
    points: Sequence[Point], evaluated: Sequence[Timed | UserError], runner: Runner
) -> tuple[list[Comparison], list[Failure]]:
    """Return the comparison of each point, and why some points have no evaluation or no simulation.

    Args:
        points: The points.
        evaluated: The evaluation of each point, or why it has none.
        runner: Runner of the simulations, which go side by side.
    """
    asked = []
    for point in points:
        asked.append(PointRun.of(point))
        if asked[-1].spec is not None:
            runner.start((asked[-1].spec,))
    rows: list[Comparison] = []
    failures: list[Failure] = []
    for run, timed in zip(asked, evaluated, strict=True):
        row, errors = _compared(run, timed, runner)
        rows.append(row)
        failures += [(str(run.point), error) for error in errors]
    return rows, failures


def _compared(
    run: PointRun, timed: Timed | UserError, runner: Runner
) -> tuple[Comparison, list[UserError | SimulationError]]:
    """Return the comparison of a point, and the distinct errors of its evaluation and its simulation."""
    errors: dict[str, UserError | SimulationError] = {}
    if isinstance(timed, UserError):
        errors[str(timed)] = timed
    record = _record(run, runner)
    if not isinstance(record, RunRecord):
        errors.setdefault(str(record), record)
    args, refused = run.point.request, " ".join(errors) or None
    if run.setting is None:
        nothing = Comparison(
            args.application, args.system, args.model, None, run.point.values, None, None, {}, None, None, None, None,
            None, power=args.power, refused=refused,
        )  # fmt: skip
        return nothing, list(errors.values())
    known = None if isinstance(timed, UserError) else timed
    row = compared(
        run.setting,
        None if known is None else known.result,
        record if isinstance(record, RunRecord) else None,
        power=args.power,
        model=args.model,
        evaluation_wall_s=None if known is None else known.wall_s,
        varied=run.point.values,
        parts=args.parts,
        refused=refused,
    )
    return row, list(errors.values())


def _record(run: PointRun, runner: Runner) -> RunRecord | UserError | SimulationError:
    if run.spec is None:
        assert run.error is not None
        return run.error
    try:
        return runner.record(run.spec)
    except (UserError, SimulationError) as err:
        return err
