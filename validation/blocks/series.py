"""Files of a series of comparisons: evaluated and simulated times, speed-ups, efficiencies and energies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from platforms.plotting.charts import Figure
from predictor.blocks.series.command import write_series
from predictor.blocks.series.evaluations import FIXED, compare_rows, number, set_front
from predictor.blocks.series.evaluations import QUANTITIES as EVALUATED
from predictor.series.bars import bars_figure
from validation.blocks.parts import PARTS, mean_parts

if TYPE_CHECKING:
    from predictor.blocks.series.points import Point
    from validation.blocks.comparison import Comparison

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
