"""Draw predictions by few terms: times against nodes, a panel per series."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from validation.few_terms.judge import Judged, Outcome
from validation.few_terms.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ACROSS = 3
_MOST = 24  # panels
_PREDICTED, _NAIVE = "#D55E00", "#7b8794"


def series_figure(table: Table, outcome: Outcome) -> Figure:
    """Return the figure; of very many series the first ones."""
    # Imported here because it is slow to import.
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    names = list(dict.fromkeys(row.name for row in outcome.judged))[:_MOST]
    across = min(_ACROSS, len(names))
    down = math.ceil(len(names) / across)
    figure = Figure(figsize=(3.2 * across + 0.4, 2.5 * down + 0.6), layout="constrained")
    axes: Any = list(figure.subplots(down, across, squeeze=False).flat)
    for axis in axes[len(names) :]:
        axis.set_visible(False)
    for name, axis in zip(names, axes, strict=False):
        _panel(axis, table, [row for row in outcome.judged if row.name == name])
    handles: list[Any] = [
        Line2D([], [], color="black", marker="o", ls="none", label="measured, evidence"),
        Line2D([], [], color="black", marker="o", mfc="white", ls="none", label="measured, judged"),
        Line2D([], [], color=_PREDICTED, marker="x", ls="-", label="predicted, 90 % interval"),
        Line2D([], [], color=_NAIVE, ls="--", label="naive"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncol=4 if across > 2 else 2, fontsize=8)
    return figure


def _panel(axis: Any, table: Table, rows: list[Judged]) -> None:
    # Imported here because it is slow to import.
    from matplotlib.ticker import FuncFormatter, LogLocator

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
    axis.set_yscale("log")
    ticks = sorted({run.nodes for run in runs} | {row.nodes for row in rows})
    axis.set_xticks(ticks, [str(tick) for tick in ticks], fontsize=7)
    axis.set_xticks([], minor=True)
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.yaxis.set_minor_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.tick_params(which="minor", labelsize=6)
    axis.yaxis.set_minor_locator(LogLocator(subs=(2.0, 5.0)))
    axis.tick_params(labelsize=7)
    axis.set_xlabel("nodes", fontsize=7)
    axis.set_ylabel("time in s", fontsize=7)
