"""A measured surface of speed-ups beside the model's: a CSV file of runs on q cores of each of p nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from platforms.errors import UserError
from platforms.files.commented_csv import checked_rows
from platforms.terminal.quantities import percent, significant
from platforms.terminal.table import table_lines
from predictor.hierarchical.surface import Surface

_REMEDY = "Give a CSV file with cores_per_node, nodes, and time_s or speedup"


@dataclass(frozen=True)
class MeasuredPoint:
    """A measured speed-up, #op / (t l_c), and the model's."""

    cores_per_node: int
    nodes: int
    measured: float
    modelled: float

    @property
    def error_pct(self) -> float:
        """Error of the model, % of the measured speed-up."""
        return 100 * (self.modelled / self.measured - 1)


def read_points(path: str, surface: Surface, *, operations: float, core_flops: float) -> list[MeasuredPoint]:
    """Return the points of a file.

    Args:
        path: The file; of ``time_s`` and ``speedup`` it has one.
        surface: The model's surface.
        operations: #op, which makes speed-ups of times.
        core_flops: l_c.

    Raises:
        UserError: It cannot be read, or a value is none that a run has; the error names the line.
    """
    rows = checked_rows(path, ("cores_per_node", "nodes"), _REMEDY)
    points = []
    for line, row in rows:
        where = f"{path}:{line}"
        given = [name for name in ("time_s", "speedup") if row.get(name)]
        if len(given) != 1:
            raise UserError(where, "not one of time_s and speedup", _REMEDY)
        value = _positive(where, given[0], row[given[0]])
        measured = operations / (core_flops * value) if given[0] == "time_s" else value
        q, p = (int(_positive(where, name, row[name])) for name in ("cores_per_node", "nodes"))
        if min(q, p) < 1:
            raise UserError(where, f"{q} cores of {p} nodes", "Give whole numbers from 1 on")
        points.append(MeasuredPoint(q, p, measured, float(surface.speedup(q, p))))
    if not points:
        raise UserError(path, "no runs", _REMEDY)
    return points


def _positive(where: str, name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise UserError(where, f"{name} is {text!r}", "Give a number above 0")
    return value


def points_lines(points: Sequence[MeasuredPoint]) -> list[str]:
    """Return the points as a table, with their mean absolute error."""
    rows: list[tuple[str, ...]] = [("cores per node", "nodes", "measured", "model", "error %")]
    rows += [
        (
            str(point.cores_per_node), str(point.nodes), significant(point.measured, 4), significant(point.modelled, 4),
            percent(point.error_pct, signed=True),
        )
        for point in points
    ]  # fmt: skip
    mean = percent(fmean(abs(point.error_pct) for point in points))
    return ["Measured speed-ups and the model's", *table_lines(rows), f"mean |error| {mean} %"]


def points_json(points: Sequence[MeasuredPoint]) -> list[dict[str, Any]]:
    """Return the points as JSON values."""
    return [{**asdict(point), "error_pct": point.error_pct} for point in points]
