"""Files of a series of comparisons: evaluated and simulated times, speed-ups, efficiencies and energies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from predictor.blocks.series.command import write_series
from predictor.blocks.series.table import FIXED, compare_rows, number, set_front
from predictor.blocks.series.table import QUANTITIES as EVALUATED

if TYPE_CHECKING:
    from predictor.blocks.series.points import Point
    from validation.blocks.comparison import Comparison

_SIMULATED = {name: f"simulated_{name}" for name in ("time_s", "speed_up", "efficiency", "energy_j")}
QUANTITIES = tuple(replace(one, simulated=_SIMULATED.get(one.column, "")) for one in EVALUATED)


def rows_of(points: Sequence[Point], comparisons: Sequence[Comparison], over: str) -> list[dict[str, Any]]:
    """Return the comparisons as rows with the columns of a series, beside which are the simulated ones."""
    rows = []
    for point, one in zip(points, comparisons, strict=True):
        row: dict[str, Any] = dict(zip(FIXED, (one.application, one.system, one.model, one.power), strict=True))
        row |= {name: number(value) for name, value in point.values.items()}
        row |= {"processes": one.processes, "time_s": one.evaluated_s, "simulated_time_s": one.simulated_s}
        row |= {"error_pct": one.error_pct, "speed_up": None, "simulated_speed_up": None}
        row |= {"efficiency": None, "simulated_efficiency": None, "energy_j": one.evaluated_j}
        row |= {"simulated_energy_j": one.simulated_j, "energy_error_pct": one.energy_error_pct}
        row |= {"success": one.success, "on_front": None, "evaluator": one.evaluator, "messages": one.messages}
        row |= {"evaluation_wall_s": one.evaluation_wall_s, "simulation_wall_s": one.simulation_wall_s}
        rows.append(row)
    names = list(points[0].values)
    for kind in ("", "simulated_"):
        compare_rows(rows, over, names, kind)
    set_front(rows)
    return rows


def write_comparisons(
    points: Sequence[Point], comparisons: Sequence[Comparison], over: str, folder: Path, *, title: str
) -> None:
    """Write series.csv and the figures of a series, in which hollow markers are simulated, into a folder.

    Raises:
        UserError: A file cannot be written.
    """
    names = list(points[0].values)
    write_series(rows_of(points, comparisons, over), over, names, folder, title=title, quantities=QUANTITIES)
