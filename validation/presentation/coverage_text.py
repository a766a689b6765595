"""The coverage of intervals as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from platforms.terminal.prose import prose_lines
from platforms.terminal.quantities import significant
from platforms.wording import number_of
from validation.comparison.dataframes import Column, rows_of
from validation.comparison.rows import Row, known, rows_by
from validation.presentation.tables import table_of

if TYPE_CHECKING:
    import pandas as pd


def coverage_text(table: pd.DataFrame, by: Sequence[str] = (), *, wide: bool = False) -> str:
    """Return a table of ``coverage`` as text, and the predictors without intervals below it.

    Args:
        table: The table.
        by: The columns beside ``predictor`` that distinguish its rows.
        wide: Allow lines of any length.
    """
    covered = table[table["intervals"] > 0]
    heads = ("predictor", *by)
    columns: dict[str, Column] = {name: [str(value) for value in covered[name]] for name in heads}
    columns["inside"] = [f"{row.inside} of {row.intervals}" for row in rows_of(covered)]
    columns["%"] = [f"{100 * share:.0f}" for share in covered["coverage"]]
    ends = zip(covered["coverage_low"], covered["coverage_high"], strict=True)
    columns["95 % interval"] = [f"{100 * low:.0f} to {100 * high:.0f}" for low, high in ends]
    columns["below"], columns["above"] = covered["below"].map(str), covered["above"].map(str)
    columns["median width %"] = covered["median_width_pct"].map(significant)
    head = "True times inside the 90 % intervals of the predictions, below and above them; width: % of the true time"
    lines = [*prose_lines(head), "", *table_of(columns, left=heads, wide=wide)] if len(covered) else []
    without = [name for name in dict.fromkeys(table["predictor"]) if name not in set(covered["predictor"])]
    if without:
        lines += ["", *prose_lines(f"No intervals: {', '.join(without)}.")]
    return "\n".join(lines).lstrip("\n")


def interval_sentence(results: Sequence[Row]) -> str | None:
    """Return a sentence on how many true times lie in their intervals, by predictor; None: there are no intervals."""
    covered = known(results, "interval_low_s")
    if not covered:
        return None
    each = [f"{_inside(rows)} of {len(rows)} ({name})" for (name,), rows in rows_by(covered, "predictor").items()]
    without = len(known(results, "predicted_s")) - len(covered)
    rest = f"; {number_of(without, 'prediction')} had none" if without else ""
    computing = any(row.get("compute_share") != 0 for row in covered)
    what = "True times" if computing else "True communication times"
    return f"{what} inside the 90 % intervals: {', '.join(each)}{rest}."


def _inside(covered: Sequence[Row]) -> int:
    return sum(row["interval_low_s"] <= row["simulated_s"] <= row["interval_high_s"] for row in covered)
