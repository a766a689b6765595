"""Pictures of the tables of answers."""

from __future__ import annotations

import pandas as pd

from platforms.plotting.charts import finish, new_figure
from platforms.plotting.styles import style_of
from validation.interactive.results import Picture

_MOST_LINES = 8
_MOST_NAMES = 40  # of rows below a picture without a column across


def drawn(table: pd.DataFrame, x: str | None, y: str, *, title: str) -> Picture:
    """Return a picture of a column over another one, with a line for each value of the first column of texts.

    Args:
        table: The table.
        x: The column across; None: the rows in their order, by their first text.
        y: The column upwards.
        title: The title.
    """
    texts = [str(name) for name in table.columns if table[name].map(lambda value: isinstance(value, str)).all()]
    by = next((name for name in texts if 1 < table[name].nunique() <= _MOST_LINES), None) if x is not None else None
    figure = new_figure(6.4, 4.8)
    axes = figure.add_subplot()
    groups = table.groupby(by, sort=False) if by is not None else [("", table)]
    for number, (name, rows) in enumerate(groups):
        color, marker, line = style_of(number)
        across = range(len(rows)) if x is None else rows[x]
        axes.plot(across, rows[y], label=str(name), color=color, marker=marker, linestyle="none" if x is None else line)
    if x is None and texts and len(table) <= _MOST_NAMES:
        axes.set_xticks(range(len(table)), list(table[texts[0]]), rotation=45, ha="right")
    legend = None if by is None else {"title": by}
    finish(axes, title, legend=legend, xlabel="" if x is None else x, ylabel=y)
    return Picture(figure)
