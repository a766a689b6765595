"""Figure of the measurements of one sub-cluster and the models of both kinds of fit.

It corresponds to Figures 8 to 10 of Ichikawa, Takahashi, Kawai (sections 5.6 and 5.8).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from platforms.plotting.charts import Figure, legend_below, new_figure
from platforms.plotting.lines import Panel, Series, draw, prefixed
from platforms.plotting.styles import dots
from predictor.npt.outliers import K
from validation.nodes.plots import rows as of
from validation.nodes.plots.axes import logarithmic, signed_time_axis, size_axis, style
from validation.nodes.plots.worst import METHODS, WorstChoice, worst_case

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

_POINTS = 200  # points of a curve


def models_figure(rows: pd.DataFrame, measurements: pd.DataFrame) -> Figure | None:
    """Plot the performance of one app by N, and its times with the models by LS and by NNLS, up to the largest N.

    Crosses mark the runs that the glitch rule would leave out; a star marks the time that LS estimated for its worst
    choice.  Beyond the measured sizes the panels are grey.  If the work of the runs is unknown, there is no panel of
    the performance.

    Args:
        rows: The choices for one app.
        measurements: The runs of this app.

    Returns:
        The figure of the measurements that ``worst_case`` selects, or None if there is no such case.
    """
    case = worst_case(rows, measurements)
    if case is None:
        return None
    ends = np.array([case.runs.size.min(), max(case.runs.size.max(), of.sizes(rows)[-1])])
    begin, end = float(ends[0]), float(ends[1])
    grid = np.geomspace(begin, end, _POINTS) if logarithmic(ends) else np.linspace(begin, end, _POINTS)
    beyond = bool(ends[1] > case.runs.size.max())
    known = case.left_out is not None
    columns = len(METHODS) + known
    figure = new_figure(1 + 4.4 * columns, 5, _title(str(rows["app"].iloc[0]), case, beyond))
    places = [figure.add_subplot(1, columns, 1)] if known else []
    if known:
        draw(places[0], Panel(title="measured performance", drawn=_performance(case), y_ends=(0, None)))
        prefixed(places[0].yaxis, "flop/s")
    first, drawn_s = None, []
    for method in METHODS:
        drawn = _times(case, method, grid)
        if first is None:
            at = case.times_s("LS", np.array([float(case.size)]), case.chosen.total)
            look = dots("black", "*", 13) | {"markerfacecolor": "gold", "zorder": 5}
            drawn.append(Series([case.size], at, look, "time of its worst choice by LS"))
            drawn_s = [np.asarray(series.y, float) for series in drawn]
        axes = figure.add_subplot(1, columns, len(places) + 1, sharey=first)
        draw(axes, Panel(title=f"time: measured (markers), models by {method} (lines)", drawn=drawn, across=(0,)))
        first = axes if first is None else first
        places.append(axes)
    assert first is not None  # there are methods
    signed_time_axis(first, case.runs.time_s, np.concatenate([[0.0], *drawn_s]))
    for axes in places:
        size_axis(axes, grid)
        axes.set_xlim(*_margins(grid))
        if beyond:
            axes.axvspan(case.runs.size.max(), _margins(grid)[1], color="0.94", zorder=0)
    legend_below(figure, fontsize=9)
    return figure


def _title(app: str, case: WorstChoice, beyond: bool) -> str:
    grey = " (grey: N beyond the measured)" if beyond else ""
    return (
        f"{app} on sub-cluster {case.series.sub_cluster + 1} with M = {case.series.processes}, "
        f"noise {100 * case.noise:g} %, seed {case.seed}{grey}\n"
        f"NP-T/LS chose {case.chosen} at N = {case.size}: "
        f"\N{GREEK SMALL LETTER EPSILON} = {100 * case.epsilon:.0f} %"
    )


def _performance(case: WorstChoice) -> list[Series]:
    rate = case.runs.work_flops / case.runs.time_s
    drawn = []
    for number, ranks in enumerate(case.ranks):
        rows = _by_size(case, ranks)
        if len(rows):
            drawn.append(Series(case.runs.size[rows], rate[rows], style(number), _label(case, ranks)))
    return drawn + _crosses(case, rate)


def _times(case: WorstChoice, method: str, grid: npt.NDArray[np.float64]) -> list[Series]:
    drawn = []
    for number, ranks in enumerate(case.ranks):
        rows, look, label = _by_size(case, ranks), style(number), _label(case, ranks)
        curve = {name: look[name] for name in ("color", "linestyle", "linewidth")}
        if len(rows):
            marks = look | {"linestyle": "none"}
            drawn.append(Series(case.runs.size[rows], case.runs.time_s[rows], marks, label))
        missing = None if len(rows) else f"{label}, not measured"
        drawn.append(Series(grid, case.times_s(method, grid, ranks), curve, missing))
    return drawn + _crosses(case, case.runs.time_s)


def _label(case: WorstChoice, ranks: int) -> str:
    return f"P = {ranks}" + (", a single PE: N-T model" if ranks == case.series.processes else "")


def _crosses(case: WorstChoice, values: npt.NDArray[np.float64]) -> list[Series]:
    out = case.left_out
    if out is None or not out.any():
        return []
    look, label = dots("black", "x", 9) | {"zorder": 4}, f"glitch, which k = {K:g} would leave out"
    return [Series(case.runs.size[out], values[out], look, label)]


def _by_size(case: WorstChoice, ranks: int) -> npt.NDArray[np.intp]:
    """Return the rows of the runs on P processes, ordered by N."""
    rows = np.flatnonzero(case.runs.total == ranks)
    return rows[np.argsort(case.runs.size[rows], kind="stable")]


def _margins(grid: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Return the ends of the axis, a little beyond the sizes."""
    least, most = grid[0], grid[-1]
    if logarithmic(grid):
        by = (most / least) ** 0.03
        return least / by, most * by
    return least - 0.03 * (most - least), most + 0.03 * (most - least)
