"""Figure of a predicted graph over time: when each process computes and waits, and the critical path across."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from apps.timelines.timeline import Activity
from platforms.plotting.charts import legend_below, new_figure
from predictor.dpgraph.instructions import COMPUTE, SLEEP
from validation.report.timelines.gantt import BINS, COLORS, name_clusters, painted, rank_ticks

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.figure import Figure

    from predictor.graph.timed import TimedGraph

_PATH = "black"  # the page gives it the colour of its text
# Computation and messages have the colours of the timelines of simulated runs; the grey shows on dark and on white.
_COLORS = (COLORS[Activity.COMPUTATION], COLORS[Activity.MESSAGES], "#808080")
_ALPHA = (1.0, 1.0, 0.3)
_LABELS = ("computes", "message in flight", "waits for another process")


def graph_figure(timed: TimedGraph) -> Figure:
    """Plot time from left to right, processes from top to bottom, and the critical path as a line.

    The colour of a pixel is the mean over what its processes do in its time.

    Args:
        timed: The graph with its times; T_exec is not 0.
    """
    ranks, end_s = len(timed.placement), timed.time_s
    unit, scale = ("ms", 1e3) if end_s < 1 else ("s", 1.0)
    figure = new_figure(7.6, 1.35 + min(4.6, max(0.8, 0.115 * ranks)))
    axes = figure.add_subplot()
    image = painted(_shares(timed) * np.array(_ALPHA)[None, :, None], _COLORS)
    axes.imshow(image, aspect="auto", interpolation="nearest", extent=(0, scale * end_s, ranks, 0))
    at_s = (np.arange(BINS) + 0.5) * end_s / BINS
    axes.plot(scale * at_s, _path_rows(timed, at_s) + 0.5, color=_PATH, linewidth=1.6, solid_capstyle="round")
    axes.set_xlim(0, scale * end_s)
    axes.set_ylim(ranks, 0)
    axes.set_xlabel(f"predicted time, {unit}")
    axes.set_ylabel("rank")
    rank_ticks(axes, ranks)
    name_clusters(axes, timed.clusters)
    keys: dict[str, dict[str, Any]] = {
        label: {"facecolor": color, "alpha": alpha}
        for color, alpha, label in zip(_COLORS, _ALPHA, _LABELS, strict=True)
    }
    legend_below(figure, {**keys, "critical path": {"color": _PATH, "linewidth": 1.6}})
    return figure


def _shares(timed: TimedGraph) -> npt.NDArray[np.float64]:
    """Return the share of computing, of messages and of waiting in each bin: ranks x 3 x bins."""
    dates, ranks = timed.dates, len(timed.placement)
    first, edges_s = dates.program.first, np.linspace(0, timed.time_s, BINS + 1)
    computing = np.isin(dates.program.code, (COMPUTE, SLEEP))
    late_s = np.where(computing, 0.0, dates.late_s)
    spent_s = np.zeros((ranks, 3, BINS))
    for rank in range(ranks):
        steps = slice(first[rank], first[rank + 1])
        begin_s, end_s, turn_s = dates.begin_s[steps], dates.end_s[steps], (dates.begin_s + late_s)[steps]
        clock_s = np.stack([begin_s, turn_s], axis=1).ravel()  # a wait is late, and then for a message
        clock_s = np.append(clock_s, end_s[-1:])
        if len(clock_s) < 2:
            continue
        lasts_s = np.diff(clock_s)
        what = np.stack([np.full(len(begin_s), 2), np.where(computing[steps], 0, 1)], axis=1).ravel()
        for kind in range(3):
            until_s = np.append(0.0, np.cumsum(np.where(what == kind, lasts_s, 0.0)))
            spent_s[rank, kind] = np.diff(np.interp(edges_s, clock_s, until_s))
    shares: npt.NDArray[np.float64] = spent_s * BINS / timed.time_s
    return shares


def _path_rows(timed: TimedGraph, at_s: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the process of the critical path at each moment; of a message in flight, a place between its two ends."""
    program = timed.dates.program
    rank_of = np.repeat(np.arange(len(timed.placement)), np.diff(program.first))
    moments_s: list[float] = []
    rows: list[int] = []
    for step in timed.dates.critical:
        moments_s += [step.begin_s, step.end_s]
        rows += [int(rank_of[step.instruction if step.post is None else step.post]), int(rank_of[step.instruction])]
    at_rows: npt.NDArray[np.float64] = np.interp(at_s, np.array(moments_s, float), np.array(rows, float))
    return at_rows
