"""Intervals of true times and ranges of the validity map, in the tables of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from platforms.terminal.quantities import interval_text
from validation.comparison.coverage import coverage
from validation.report.tables import NOTHING, Cell, Table, interval, known, number, number_text, numbers, table, words

if TYPE_CHECKING:
    import pandas as pd

_FEW = 3  # intervals of a predictor, fewer of which have no table: a sentence counts them


def interval_cell(row: dict[str, Any], reason: str | None) -> Cell:
    """Return the cell of a prediction's interval, or of the reason why there is none.

    It has the digits that its width needs.
    """
    low_s, high_s = row["interval_low_s"], row["interval_high_s"]
    if not known(low_s):
        return Cell(NOTHING, note=reason or "")
    return _marked(interval_text(low_s, high_s, like_s=row["simulated_s"]), low_s, inside=row["in_interval"])


def range_cell(row: dict[str, Any]) -> Cell:
    """Return the cell of a prediction's range of errors in the validity map, %."""
    low, high = row["range_low_pct"], row["range_high_pct"]
    if not known(low):
        return Cell(NOTHING, note="the validity map has no such cases")
    return _marked(f"{_signed(low)} to {_signed(high)}", low, inside=row["in_range"])


def _marked(text: str, order: float, *, inside: bool) -> Cell:
    return Cell(text, order=order) if inside else Cell(f"{text}, missed", order=order, mark="outside")


def _signed(value: float) -> str:
    return number_text(value, "{:+,.0f}" if abs(value) >= 100 else "{:+.3g}")


def coverage_table(results: pd.DataFrame) -> Table | None:
    """Return the table of how many true times lie in the intervals of each predictor; None: too few have one."""
    covered = coverage(results)
    if covered["intervals"].max() < _FEW:
        return None
    rows: list[list[Cell | str]] = [
        [
            str(row["predictor"]),
            Cell(f"{row['inside']} of {row['intervals']}", order=row["inside"]),
            number(100 * row["coverage"], "{:.0f}"),
            interval(100 * row["coverage_low"], 100 * row["coverage_high"], "{:.0f}"),
            number(row["below"], "{:.0f}"),
            number(row["above"], "{:.0f}"),
            number(row["median_width_pct"], "{:.3g}"),
        ]
        for row in covered[covered["intervals"] > 0].to_dict("records")
    ]
    if not rows:
        return None
    columns = [
        *words("predictor"),
        *numbers("inside", "inside, %", "95 % interval, %", "below", "above", "median width, % of the true time"),
    ]
    return table("intervals", "True times inside the 90 % intervals of the predictions", columns, rows)
