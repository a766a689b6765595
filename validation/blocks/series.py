"""A series of comparisons: its points, one of which may fail, and the files of their results."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from apps.errors import SimulationError
from apps.results.record import RunRecord
from apps.runs.runner import Runner
from apps.spec.run_spec import RunSpec
from platforms.errors import UserError
from platforms.plotting.charts import Figure
from predictor.blocks.evaluation.evaluate import Result, evaluate
from predictor.blocks.options import machine_from_request, setting_from_request
from predictor.blocks.series.command import write_series
from predictor.blocks.series.evaluations import FIXED, compare_rows, number, set_front
from predictor.blocks.series.evaluations import QUANTITIES as EVALUATED
from predictor.blocks.series.points import ApplicationOptions, Point
from predictor.blocks.setting import Setting
from predictor.series.bars import bars_figure
from validation.blocks.comparison import PARTS, Comparison, compared, mean_parts, simulation

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


_SIMULATED = {name: f"simulated_{name}" for name in ("time_s", "speed_up", "efficiency", "energy_j")}
QUANTITIES = tuple(replace(quantity, simulated=_SIMULATED.get(quantity.column, "")) for quantity in EVALUATED)


def rows_of(points: Sequence[Point], comparisons: Sequence[Comparison], over: str) -> list[dict[str, Any]]:
    """Return the comparisons as rows with the columns of a series, beside which are the simulated ones."""
    rows = []
    for point, comparison in zip(points, comparisons, strict=True):
        row: dict[str, Any] = dict(
            zip(FIXED, (comparison.application, comparison.system, comparison.model, comparison.power), strict=True)
        )
        row |= {name: number(value) for name, value in point.values.items()}
        row |= {
            "processes": comparison.processes,
            "time_s": comparison.evaluated_s,
            "simulated_time_s": comparison.simulated_s,
        }
        row |= {"error_pct": comparison.error_pct, "speed_up": None, "simulated_speed_up": None}
        row |= {"efficiency": None, "simulated_efficiency": None, "energy_j": comparison.evaluated_j}
        row |= {"simulated_energy_j": comparison.simulated_j, "energy_error_pct": comparison.energy_error_pct}
        row |= {"success": comparison.success, "on_front": None, "messages": comparison.messages}
        row["evaluator"] = comparison.evaluator or row.get(
            "evaluator", ""
        )  # what was asked for stays where it was refused
        row |= {"evaluation_wall_s": comparison.evaluation_wall_s, "simulation_wall_s": comparison.simulation_wall_s}
        if point.request.parts:
            row |= _parts_of(comparison)
        row["refused"] = comparison.refused
        rows.append(row)
    names = list(points[0].values)
    for kind in ("", "simulated_"):
        compare_rows(rows, over, names, kind)
    set_front(rows)
    return rows


def _parts_of(comparison: Comparison) -> dict[str, float | None]:
    """Return the parts of the evaluated and the simulated time by column, s; None where there is no such time."""
    by_column: dict[str, float | None] = {}
    sides = (
        ("", comparison.evaluated_s, comparison.evaluated_parts),
        ("simulated_", comparison.simulated_s, comparison.simulated_parts),
    )
    for prefix, time_s, parts in sides:
        by_column |= dict.fromkeys(f"{prefix}{name}" for name in PARTS)
        if time_s is not None:
            by_column |= mean_parts(parts, time_s, prefix)
    return by_column


def write_comparisons(
    points: Sequence[Point], comparisons: Sequence[Comparison], over: str, folder: Path, *, title: str
) -> None:
    """Write series.csv and the figures of a series, in which hollow markers are simulated, into a folder.

    Raises:
        UserError: A file cannot be written.
    """
    names = list(points[0].values)
    rows = rows_of(points, comparisons, over)
    parts = parts_figure(rows, names, title=title)
    write_series(rows, over, names, folder, title=title, quantities=QUANTITIES, parts=parts)


def parts_figure(rows: Sequence[Mapping[str, Any]], names: Sequence[str], *, title: str) -> Figure | None:
    """Return a figure with a bar for each evaluated and each simulated time, or None if their parts are not known."""
    bars = [
        {**{name: row[name] for name in names}, "side": side, **{name: row[f"{prefix}{name}"] for name in PARTS}}
        for row in rows
        for side, prefix in (("evaluated", ""), ("simulated", "simulated_"))
        if row.get(f"{prefix}idle_s") is not None
    ]
    return bars_figure(bars, tuple(PARTS), [*names, "side"], title=title, labels=PARTS) if bars else None
