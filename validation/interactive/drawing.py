"""Pictures of the tables of answers."""

from __future__ import annotations

import pandas as pd

from platforms.plotting.lines import Panel, Series, lines_figure
from platforms.plotting.styles import dots, line, style_of
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
    drawn = []
    for number, (name, rows) in enumerate(table.groupby(by, sort=False) if by is not None else [("", table)]):
        color, marker, dash = style_of(number)
        look = dots(color, marker) if x is None else dots(color, marker) | line(color, dash)
        drawn.append(Series(range(len(rows)) if x is None else rows[x], rows[y], look, str(name)))
    names = table[texts[0]] if x is None and texts and len(table) <= _MOST_NAMES else ()
    chart = Panel(
        title=title, x=x or "", y=y, drawn=drawn, x_ticks={float(place): str(name) for place, name in enumerate(names)},
        slant=45 if len(names) else 0, legend=None if by is None else {"title": by},
    )  # fmt: skip
    return Picture(lines_figure([chart], 1, 6.4, 4.8))
