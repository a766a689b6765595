"""Draw predictions by few terms: times against nodes, a panel per series."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from platforms.plotting.charts import legend_below, panels
from platforms.plotting.styles import label_decades
from validation.few_terms.judge import Judged, Outcome, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ACROSS = 3
_MOST = 24  # panels
_PREDICTED, _NAIVE = "#D55E00", "#7b8794"


def series_figure(table: Table, outcome: Outcome) -> Figure:
    """Return the figure; of very many series the first ones."""
    names = list(dict.fromkeys(row.name for row in outcome.judged))[:_MOST]
    across = min(_ACROSS, len(names))
    height_in = 2.5 * math.ceil(len(names) / across) + 0.6
    figure, axes = panels(len(names), across, 3.2 * across + 0.4, height_in)
    for name, axis in zip(names, axes, strict=True):
        _panel(axis, table, [row for row in outcome.judged if row.name == name])
    measured = {"color": "black", "marker": "o", "ls": "none"}
    keys: dict[str, dict[str, Any]] = {
        "measured, evidence": measured,
        "measured, judged": {**measured, "mfc": "white"},
        "predicted, 90 % interval": {"color": _PREDICTED, "marker": "x"},
        "naive": {"color": _NAIVE, "ls": "--"},
    }
    legend_below(figure, keys, fontsize=8)
    return figure


def _panel(axis: Any, table: Table, rows: list[Judged]) -> None:
    name, evidence = rows[0].name, rows[0].evidence
    runs = table.series[name]
    small = [run for run in runs if run.nodes in evidence]
    axis.plot([run.nodes for run in small], [run.time_s for run in small], "o", color="black", ms=4)
    measured = [row for row in rows if row.measured_s is not None]
    axis.plot(
        [row.nodes for row in measured], [row.measured_s for row in measured], "o", color="black", mfc="white", ms=5
    )
    naive = [(small[-1].nodes, small[-1].time_s), *((row.nodes, row.naive_s) for row in rows)]
    axis.plot(*zip(*naive, strict=True), "--", color=_NAIVE, lw=1)
    for row in rows:
        axis.plot([row.nodes * 1.06] * 2, [row.low_s, row.high_s], "-", color=_PREDICTED, lw=1.5)
        axis.plot([row.nodes * 1.06], [row.time_s], "x", color=_PREDICTED, ms=6, mew=1.5)
    axis.set_title(", ".join(filter(None, name)), fontsize=8)
    axis.set_xscale("log", base=2)
    ticks = sorted({run.nodes for run in runs} | {row.nodes for row in rows})
    axis.set_xticks(ticks, [str(tick) for tick in ticks], fontsize=7)
    axis.set_xticks([], minor=True)
    axis.set_yscale("log")
    label_decades(axis.yaxis)
    axis.tick_params(labelsize=7)
    axis.set_xlabel("nodes", fontsize=7)
    axis.set_ylabel("time, s", fontsize=7)
