"""Picture of a program's times on a platform: a row per process over time, and the critical path across the rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from platforms.errors import UserError
from platforms.files.writing import write_picture
from platforms.plotting.charts import legend_below, new_figure
from predictor.dpgraph.instructions import COMPUTE, SLEEP
from predictor.graph.timed import TimedGraph

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_ROWS = 256
_HALF = 0.38  # half the height of a row's bars
_COMPUTES, _MESSAGE, _LATE, _PATH = "#F0E442", "#56B4E9", "0.75", "#D00000"  # Okabe and Ito's colours


def timeline_figure(timed: TimedGraph, *, title: str = "") -> Figure:
    """Return the picture: what each process does when, and the critical path.

    Args:
        timed: The graph with its times.
        title: Title above the picture.

    Raises:
        UserError: There are more than MOST_ROWS processes.
    """
    # Imported here because it is slow to import.
    from matplotlib.collections import LineCollection

    dates, ranks = timed.dates, len(timed.placement)
    if ranks > MOST_ROWS:
        problem = f"{ranks} processes, and the picture has at most {MOST_ROWS} rows"
        raise UserError("--timeline", problem, "Take fewer processes")
    figure = new_figure(10, 1.6 + 0.24 * max(ranks, 4))
    axes = figure.add_subplot()
    rank_of = np.repeat(np.arange(ranks), np.diff(dates.program.first))
    computing = np.isin(dates.program.code, (COMPUTE, SLEEP))
    late_s = np.where(computing, 0.0, dates.late_s)
    unit, name = _unit(timed.time_s)
    for begin_s, end_s, color in (
        (np.where(computing, dates.begin_s, np.nan), dates.end_s, _COMPUTES),
        (np.where(computing, np.nan, dates.begin_s), dates.begin_s + late_s, _LATE),
        (np.where(computing, np.nan, dates.begin_s + late_s), dates.end_s, _MESSAGE),
    ):
        shown = np.flatnonzero(end_s > begin_s)
        for rank in range(ranks):
            of_rank = shown[rank_of[shown] == rank]
            bars = list(zip(begin_s[of_rank] / unit, (end_s[of_rank] - begin_s[of_rank]) / unit, strict=True))
            axes.broken_barh(bars, (rank - _HALF, 2 * _HALF), facecolors=color, linewidth=0)
    path = [
        [(step.begin_s / unit, rank_of[step.instruction if step.post is None else step.post]),
         (step.end_s / unit, rank_of[step.instruction])]
        for step in dates.critical
    ]  # fmt: skip
    axes.add_collection(LineCollection(path, colors=_PATH, linewidths=1.6, capstyle="round", zorder=3))
    axes.set_xlim(0, max(timed.time_s / unit, 1e-12))
    axes.set_ylim(ranks - 0.5, -0.5)
    axes.set_xlabel(f"time, {name}")
    step = max(1, -(-ranks // 40))
    axes.set_yticks(range(0, ranks, step))
    axes.set_yticklabels([f"{rank} on {timed.placement[rank]}" for rank in range(0, ranks, step)], fontsize=7)
    axes.set_ylabel("process")
    if title:
        axes.set_title(title, fontsize=10)
    kinds = (("computes", _COMPUTES), ("message in flight", _MESSAGE), ("waits for another process", _LATE))
    keys = {text: {"facecolor": color} for text, color in kinds}
    legend_below(figure, {**keys, "critical path": {"color": _PATH, "linewidth": 1.6}}, fontsize=8)
    return figure


def draw_timeline(timed: TimedGraph, path: str | Path, *, title: str = "") -> None:
    """Write the picture of ``timeline_figure`` in the format given by the extension of the file's name.

    Args:
        timed: The graph with its times.
        path: The file, .png, .svg or .pdf.
        title: Title above the picture.

    Raises:
        UserError: There are too many processes, the ending names no known format, or the file cannot be written.
    """
    write_picture("picture", path, timeline_figure(timed, title=title), dpi=110)


def _unit(time_s: float) -> tuple[float, str]:
    """Return the unit in which a time has at most three digits before its point, in s, and its name."""
    return next(((unit, name) for unit, name in ((1.0, "s"), (1e-3, "ms")) if time_s >= unit), (1e-6, "µs"))
