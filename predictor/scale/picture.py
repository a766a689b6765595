"""The picture of a scaling curve: time and interval, speed-up, efficiency, longest part of the critical path."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from platforms.plotting.axes import say_empty
from platforms.plotting.charts import Axes, Figure, finish, panels
from platforms.plotting.styles import STYLES, label_decades
from predictor.scale.curve import Row, best_row, knee_row
from predictor.scale.text import time_name

_LINE, _IDEAL, _MARKED, _RECORDED = "#0072B2", "0.55", "#D55E00", "#009E73"
_MOST_TICKS = 8


def scale_figure(rows: Sequence[Row], grows: str | None, title: str, simulated_s: Mapping[int, float]) -> Figure:
    """Return the figure of a curve that has at least one point with a time.

    Args:
        rows: The rows.
        grows: Name of what grows in weak scaling; None: nothing.
        title: Title above the panels.
        simulated_s: Simulated times by the number of ranks; empty: none.
    """
    timed = [row for row in rows if row.speed_up is not None]
    figure, axes = panels(4, 2, 9.0, 6.6, title)
    _times(axes[0], timed, simulated_s)
    _speed_ups(axes[1], timed, "work per time, over the first" if grows else "speed-up over the first")
    _efficiencies(axes[2], timed)
    _critical_parts(axes[3], timed)
    for panel in axes[:3]:
        _along_ranks(panel, [row.ranks for row in timed])
    return figure


def _times(axes: Axes, rows: Sequence[Row], simulated_s: Mapping[int, float]) -> None:
    times = [(row.ranks, row.point) for row in rows if row.point is not None]
    axes.plot([ranks for ranks, _ in times], [point.time_s for _, point in times], "o-", color=_LINE)
    recorded = [(row.ranks, row.point.time_s) for row in rows if row.recorded and row.point is not None]
    if recorded:
        axes.plot(
            [ranks for ranks, _ in recorded], [time_s for _, time_s in recorded], "s", markersize=7, color=_RECORDED,
            zorder=3, label="recorded; the others are learned from these",
        )  # fmt: skip
    known = [
        (ranks, point.low_s, point.high_s)
        for ranks, point in times
        if point.low_s is not None and point.high_s is not None
    ]
    if known:
        ranks, low_s, high_s = zip(*known, strict=True)
        name = "range of what was learned" if recorded else "90 % interval"
        axes.fill_between(ranks, low_s, high_s, color=_LINE, alpha=0.2, linewidth=0, label=name)
        if recorded:  # single points have no area
            axes.vlines(ranks, low_s, high_s, color=_LINE, alpha=0.5)
    for row, marker, name in ((best_row(rows), "*", "fastest"), (knee_row(rows), "D", "knee")):
        if row is not None and row.point is not None:
            axes.plot(
                [row.ranks], [row.point.time_s], marker, markersize=14 if marker == "*" else 9, zorder=4,
                markerfacecolor="none", markeredgecolor=_MARKED, markeredgewidth=1.5,
                label=f"{name}: {row.ranks} ranks",
            )  # fmt: skip
    if simulated_s:
        axes.plot(
            list(simulated_s), list(simulated_s.values()), "s", markersize=9, markerfacecolor="none",
            markeredgecolor="0.3", label="simulated",
        )  # fmt: skip
    axes.set_yscale("log")
    label_decades(axes.yaxis)
    axes.set_ylabel(f"{time_name(rows)}, s")
    axes.legend(fontsize=8.5, frameon=False)


def _speed_ups(axes: Axes, rows: Sequence[Row], label: str) -> None:
    ranks = [row.ranks for row in rows]
    axes.plot(ranks, [count / ranks[0] for count in ranks], "--", color=_IDEAL, linewidth=1, label="ideal")
    speed_ups = [math.nan if row.speed_up is None else row.speed_up for row in rows]
    axes.plot(ranks, speed_ups, "o-", color=_LINE)
    axes.set_yscale("log")
    label_decades(axes.yaxis)
    axes.set_ylabel(label)
    axes.legend(fontsize=8.5, frameon=False)


def _efficiencies(axes: Axes, rows: Sequence[Row]) -> None:
    percents = [100 * (row.efficiency or 0.0) for row in rows]
    axes.axhline(100, color=_IDEAL, linewidth=1, linestyle="--")
    axes.plot([row.ranks for row in rows], percents, "o-", color=_LINE)
    axes.set_ylim(0, 1.08 * max(100.0, *percents))
    axes.set_ylabel("efficiency, %")


def _critical_parts(axes: Axes, rows: Sequence[Row]) -> None:
    """Draw a bar for each count, in the colour of its longest part."""
    named = [(row.ranks, row.point.critical_part) for row in rows if row.point is not None and row.point.critical_part]
    names = list(dict.fromkeys(held_by.name for _, held_by in named))
    places = {ranks: place for place, (ranks, _) in enumerate(named)}
    for number, name in enumerate(names):
        these = [(places[ranks], 100 * held_by.share) for ranks, held_by in named if held_by.name == name]
        axes.bar(
            [place for place, _ in these], [share for _, share in these], color=STYLES[number % len(STYLES)][0],
            hatch="//" * (number // len(STYLES)), label=name,
        )  # fmt: skip
    axes.set_xticks(list(places.values()), list(map(str, places)), rotation=45 if len(places) > _MOST_TICKS else 0)
    axes.set_xlabel("ranks")
    axes.set_ylim(0, 100)
    axes.set_ylabel("% of the critical path")
    if names:
        axes.legend(title="longest part", fontsize=8, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    else:
        say_empty(axes, "the predictor does not give it")


def _along_ranks(axes: Axes, ranks: Sequence[int]) -> None:
    axes.set_xscale("log")
    axes.minorticks_off()
    axes.set_xticks(ranks, list(map(str, ranks)), rotation=45 if len(ranks) > _MOST_TICKS else 0)
    finish(axes, xlabel="ranks")
