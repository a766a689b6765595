"""Figure of the measurements of one sub-cluster and the models of both kinds of fit.

It corresponds to Figures 8 to 10 of Ichikawa, Takahashi, Kawai (sections 5.6 and 5.8).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from platforms.plotting.charts import legend_below, new_figure
from predictor.npt.outliers import K
from validation.nodes.plots import rows as of
from validation.nodes.plots.axes import logarithmic, signed_time_axis, size_axis, style
from validation.nodes.plots.worst import METHODS, WorstChoice, worst_case

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
    panels = [figure.add_subplot(1, columns, 1)] if known else []
    if known:
        _performance(panels[0], case)
    times: list[Axes] = []  # panels that share the axis of times
    for method in METHODS:
        times.append(figure.add_subplot(1, columns, len(panels) + 1, sharey=times[0] if times else None))
        panels.append(times[-1])
        _times(times[-1], case, method, grid)
    first = times[0]
    _worst_choice(first, case)
    signed_time_axis(
        first, case.runs.time_s, np.concatenate([np.asarray(line.get_ydata(), float) for line in first.lines])
    )
    for axes in panels:
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


def _performance(axes: Axes, case: WorstChoice) -> None:
    # Imported here for a quick start: it is slow to import.
    from matplotlib.ticker import EngFormatter

    rate = case.runs.work_flops / case.runs.time_s
    for number, ranks in enumerate(case.ranks):
        rows = _by_size(case, ranks)
        if len(rows):
            axes.plot(case.runs.size[rows], rate[rows], label=_label(case, ranks), **style(number))
    _crosses(axes, case, rate)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(EngFormatter(unit="flop/s"))
    axes.set_title("measured performance", fontsize=10)


def _times(axes: Axes, case: WorstChoice, method: str, grid: npt.NDArray[np.float64]) -> None:
    for number, ranks in enumerate(case.ranks):
        rows, look = _by_size(case, ranks), style(number)
        plain = {name: look[name] for name in ("color", "linestyle", "linewidth")}
        if len(rows):
            axes.plot(
                case.runs.size[rows], case.runs.time_s[rows], label=_label(case, ranks), **look | {"linestyle": ""}
            )
        else:
            plain["label"] = f"{_label(case, ranks)}, not measured"
        axes.plot(grid, case.times_s(method, grid, ranks), **plain)
    _crosses(axes, case, case.runs.time_s)
    axes.axhline(0, color="0.5", linewidth=0.8, zorder=1)
    axes.set_title(f"time: measured (markers), models by {method} (lines)", fontsize=10)


def _label(case: WorstChoice, ranks: int) -> str:
    return f"P = {ranks}" + (", a single PE: N-T model" if ranks == case.series.processes else "")


def _worst_choice(axes: Axes, case: WorstChoice) -> None:
    axes.plot(
        [case.size], case.times_s("LS", np.array([float(case.size)]), case.chosen.total), color="black", marker="*",
        linestyle="", markersize=13, markerfacecolor="gold", zorder=5, label="time of its worst choice by LS",
    )  # fmt: skip


def _crosses(axes: Axes, case: WorstChoice, values: npt.NDArray[np.float64]) -> None:
    if case.left_out is not None and case.left_out.any():
        axes.plot(
            case.runs.size[case.left_out], values[case.left_out], color="black", marker="x", linestyle="",
            markersize=9, zorder=4, label=f"glitch, which k = {K:g} would leave out",
        )  # fmt: skip


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
