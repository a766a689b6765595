"""A figure of the parts of times, a bar for each row of a series."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import cycle

from platforms.plotting.bars import draw_bar
from platforms.plotting.charts import Figure, legend_below, new_figure
from platforms.plotting.words import Row, texts_of
from platforms.terminal.quantities import duration

MOST_BARS = 40
_BARS = ("#0072B2", "#E69F00", "0.75", "#009E73", "0.92")


def bars_figure(
    rows: Sequence[Row],
    columns: Sequence[str],
    names: Sequence[str],
    *,
    title: str = "",
    labels: Mapping[str, str] | None = None,
) -> Figure:
    """Return a figure with a bar for each of the first MOST_BARS rows, on which the times of these columns are stacked.

    Args:
        rows: The rows.
        columns: Columns of times, s, whose names end with ``_s``.
        names: All varied names; they name the bars.
        title: Title above the figure.
        labels: Names of the columns in the legend; None: those of the columns.
    """
    if len(rows) > MOST_BARS:
        title = f"{title}\n" * bool(title) + f"the first {MOST_BARS} of {len(rows)}"
    texts, rows = texts_of(rows, names), rows[:MOST_BARS]
    figure = new_figure(7.0, 1.7 + 0.3 * len(rows))
    axes = figure.add_subplot()
    said = labels or {column: column.removesuffix("_s") for column in columns}
    looks = {said[column]: {"facecolor": color} for column, color in zip(columns, cycle(_BARS), strict=False)}
    for place, row in enumerate(rows):
        time_s = math.fsum(row[column] for column in columns)
        shares = {said[column]: 100 * row[column] / time_s if time_s else 0.0 for column in columns}
        draw_bar(axes, place, shares, looks, duration(time_s), end=101, beside=100)
    called = [", ".join(texts[name][row[name]] for name in names) for row in rows]
    axes.set_yticks(range(len(rows)), called, parse_math=False)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, 115)
    axes.set_xticks(range(0, 101, 20))
    axes.set_xlabel("share of the time, %, mean over the processes")
    axes.set_ylabel(", ".join(names), parse_math=False)
    if title:
        axes.set_title(title, fontsize=10, parse_math=False)
    legend_below(figure, looks)
    return figure
