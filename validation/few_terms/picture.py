"""Draw predictions by few terms: times against nodes, a panel per series."""

from __future__ import annotations

import math

from platforms.plotting.charts import Figure
from platforms.plotting.lines import Panel, Series, bar_at, lines_figure, through
from platforms.plotting.styles import RED, dots, line
from validation.few_terms.judge import Judged, Outcome, Table

_ACROSS = 3
_MOST = 24  # panels
_PREDICTED = RED
_NAIVE, _KNOWN = line("#7b8794", "--", 1), dots("black", size=4)
_JUDGED = dots("black") | {"markerfacecolor": "white"}


def series_figure(table: Table, outcome: Outcome) -> Figure:
    """Return the figure; of very many series the first ones."""
    names = list(dict.fromkeys(row.name for row in outcome.judged))[:_MOST]
    across = min(_ACROSS, len(names))
    height_in = 2.5 * math.ceil(len(names) / across) + 0.6
    charts = [_panel(table, [row for row in outcome.judged if row.name == name]) for name in names]
    keys = {
        "measured, evidence": _KNOWN, "measured, judged": _JUDGED,
        "predicted, 90 % interval": dots(_PREDICTED, "x") | line(_PREDICTED), "naive": _NAIVE,
    }  # fmt: skip
    return lines_figure(charts, across, 3.2 * across + 0.4, height_in, below=keys, letters=8)


def _panel(table: Table, rows: list[Judged]) -> Panel:
    name, evidence = rows[0].name, rows[0].evidence
    runs = table.series[name]
    small = [run for run in runs if run.nodes in evidence]
    measured = [row for row in rows if row.measured_s is not None]
    naive = [(small[-1].nodes, small[-1].time_s), *((row.nodes, row.naive_s) for row in rows)]
    drawn = [
        Series([run.nodes for run in small], [run.time_s for run in small], _KNOWN),
        Series([row.nodes for row in measured], [row.measured_s for row in measured], _JUDGED),
        through(naive, _NAIVE),
        *(bar_at(row.nodes * 1.06, row.low_s, row.high_s, _PREDICTED) for row in rows),
        *(Series([row.nodes * 1.06], [row.time_s], dots(_PREDICTED, "x", 6)) for row in rows),
    ]
    ticks = sorted({run.nodes for run in runs} | {row.nodes for row in rows})
    return Panel(
        title=", ".join(filter(None, name)), drawn=drawn, log="xy", x_ticks={tick: str(tick) for tick in ticks},
        x="nodes", y="time, s", letters=7,
    )  # fmt: skip
