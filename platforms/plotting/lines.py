"""Charts of lines, dots and bands over numbers: a caller says what is drawn, and this module how."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from platforms.plotting.charts import Axes, Figure, finish, legend_below, panels
from platforms.plotting.styles import SOFT, label_decades, line

_LOGARITHMIC_FROM = 6.0  # ratio of the largest to the smallest value of an axis
Look = dict[str, Any]  # as styles.line, styles.dots and their union return it


@dataclass(frozen=True, eq=False)
class Series:
    """Values over others, of equal lengths."""

    x: Any
    y: Any
    look: Look
    label: str | None = None  # in the legend


@dataclass(frozen=True, eq=False)
class Band:
    """Ranges over values."""

    x: Any
    low: Any
    high: Any
    color: str
    label: str | None = None
    alpha: float = 0.2  # opacity


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of these heights at places."""

    x: Any
    y: Any
    color: str
    label: str | None = None
    hatch: str = ""


@dataclass(frozen=True, kw_only=True, eq=False)
class Panel:
    """A chart with its own axes.

    ``log`` names the logarithmic axes, "x", "y" or "xy"; the labels ``x`` and ``y`` have their units; ``across`` and
    ``upright`` are values with a line through the chart; ``legend`` are options of a legend inside the chart.
    """

    x: str = ""
    y: str = ""
    title: str = ""
    drawn: Sequence[Series | Band | Columns] = ()
    log: str = ""
    x_ends: tuple[float | None, float | None] = (None, None)
    y_ends: tuple[float | None, float | None] = (None, None)
    x_ticks: Mapping[float, str] = field(default_factory=dict)
    y_ticks: Mapping[float, str] = field(default_factory=dict)
    slant: float = 0.0  # of the labels along x, degrees
    across: Sequence[float] = ()
    upright: Sequence[float] = ()
    legend: Mapping[str, Any] | None = None
    letters: float | None = None  # size of all letters of a small chart, points
    empty: str = ""  # why there is nothing to draw


def lines_figure(
    charts: Sequence[Panel], across: int, width_in: float, height_in: float, title: str = "", *,
    below: Mapping[str, Look] | bool = False, letters: float = 8.5, **options: Any,
) -> Figure:  # fmt: skip
    """Return a figure of charts, ``across`` of them side by side.

    Args:
        charts: The charts.
        across: Number of charts of a row.
        width_in: Width of the figure, inches.
        height_in: Its height, without more than one line of the legend below it.
        title: Title above all charts.
        below: The legend below all charts: looks by their texts, or True: the labels of all that is drawn.
        letters: Size of the letters of that legend, points.
        options: Options of ``Figure.subplots``, such as sharex.
    """
    figure, places = panels(len(charts), across, width_in, height_in, title, **options)
    for axes, chart in zip(places, charts, strict=True):
        draw(axes, chart)
    if below:
        legend_below(figure, None if below is True else below, fontsize=letters)
    return figure


def draw(axes: Axes, chart: Panel) -> None:
    """Draw a chart on axes."""
    for part in chart.drawn:
        if isinstance(part, Band):
            axes.fill_between(
                part.x, part.low, part.high, color=part.color, alpha=part.alpha, linewidth=0, label=part.label
            )
        elif isinstance(part, Columns):
            axes.bar(part.x, part.y, facecolor=part.color, hatch=part.hatch, label=part.label)
        else:
            axes.plot(part.x, part.y, label=part.label, **part.look)
    if chart.slant:
        axes.tick_params(axis="x", labelrotation=chart.slant)
    for value in chart.across:
        axes.axhline(value, **line(SOFT, width=0.8))
    for value in chart.upright:
        axes.axvline(value, **line(SOFT, width=0.8))
    axes.set(**{f"{name}scale": "log" for name in chart.log})
    for name, (low, high) in (("x", chart.x_ends), ("y", chart.y_ends)):
        if (low, high) != (None, None):
            axes.set(**{f"{name}lim": (low, high)})
    for axis, ticks in ((axes.xaxis, chart.x_ticks), (axes.yaxis, chart.y_ticks)):
        if ticks:
            axis.set_ticks(list(ticks), list(ticks.values()), parse_math=False)
            axis.set_ticks([], minor=True)
    for name, axis, ticks in (("x", axes.xaxis, chart.x_ticks), ("y", axes.yaxis, chart.y_ticks)):
        if name in chart.log and not ticks:
            label_decades(axis)
    if chart.empty and not chart.drawn:
        axes.text(0.5, 0.5, chart.empty, ha="center", transform=axes.transAxes, color="0.4")
    finish(axes, chart.title, legend=chart.legend, xlabel=chart.x, ylabel=chart.y)
    if chart.letters is not None:
        axes.tick_params(labelsize=chart.letters)
        for text in (axes.title, axes.xaxis.label, axes.yaxis.label):
            text.set_fontsize(chart.letters)


def through(points: Iterable[tuple[float, float]], look: Look, label: str | None = None) -> Series:
    """Return what goes through points."""
    x, y = zip(*points, strict=True)
    return Series(x, y, look, label)


def link_points(axes: Axes, series: Series, addresses: Sequence[str]) -> None:
    """Make the points of what is drawn on axes links to these addresses, in SVG files."""
    axes.scatter(series.x, series.y, s=49, alpha=0.0, zorder=6, clip_on=False).set_urls(addresses)


def bar_at(place: float, low: float, high: float, color: str) -> Series:
    """Return an interval that stands at a place."""
    return Series([place, place], [low, high], line(color, width=1.5))


def in_order(x: Any, y: Any, look: Look, label: str | None = None) -> Series:
    """Return a line through values in the order of their x."""
    order = np.argsort(x, kind="stable")
    return Series(np.asarray(x)[order], np.asarray(y)[order], look, label)


def scale(axes: Axes, name: str, values: Sequence[float]) -> None:
    """Make axis x or y logarithmic if its values are above 0 and differ much, with plain numbers."""
    least, most = min(values, default=0.0), max(values, default=0.0)
    if least <= 0 or most < _LOGARITHMIC_FROM * least:
        return
    axes.set(**{f"{name}scale": "log"})
    label_decades(axes.xaxis if name == "x" else axes.yaxis)


def prefixed(axis: Any, unit: str) -> None:
    """Label an axis with prefixes such as k and M before the unit."""
    # Imported here because it is slow to import.
    from matplotlib.ticker import EngFormatter

    axis.set_major_formatter(EngFormatter(unit=unit))
