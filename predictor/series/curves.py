"""Figures of series: quantities over a parameter, a line for each combination of the others, and a Pareto front."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from predictor.series.labels import place_labels
from predictor.series.styles import label_decades, style_of

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Row = Mapping[str, Any]
MOST_BARS = 40
_BARS = ("#0072B2", "#E69F00", "0.75", "#009E73", "0.92")
_PANEL_IN = (3.7, 2.9)
_MOST_NAMED = 24  # points of a front figure that get their names; of more, only those on the front do
_LOGARITHMIC_FROM = 6.0  # ratio of the largest to the smallest value of an axis
_MOST_TICKS = 9  # on the horizontal axis, where they are at the values
_FRONT, _REST, _LINE = "#0072B2", "#D55E00", "0.35"  # colours of Okabe and Ito


@dataclass(frozen=True)
class Quantity:
    """A quantity of the rows of a series."""

    column: str
    label: str  # of the axis, with the unit
    simulated: str = ""  # column of the same quantity in a simulation, if there is one
    logarithmic: bool = True  # where its values differ much
    whole: float | None = None  # a value that the axis has to show, such as 0


def lines_of(rows: Sequence[Row], over: str, names: Sequence[str]) -> dict[str, list[int]]:
    """Return the places of the rows that agree in all of these names except ``over``, by what they agree in."""
    found: dict[str, list[int]] = {}
    for at, row in enumerate(rows):
        text = ", ".join(f"{name} = {row[name]}" for name in names if name != over)
        found.setdefault(text, []).append(at)
    return found


def curves_figure(
    rows: Sequence[Row], quantities: Sequence[Quantity], over: str, names: Sequence[str], *, title: str = ""
) -> Figure:
    """Return a figure with a panel for each quantity that any row knows.

    Args:
        rows: The rows.
        quantities: The quantities.
        over: The varied name along the axis.
        names: All varied names.
        title: Title above the panels.
    """
    # Imported here for a quick start: it is slow to import.
    from matplotlib.figure import Figure

    known = [one for one in quantities if any(row[one.column] is not None for row in rows)]
    lines = {text: [rows[at] for at in places] for text, places in lines_of(rows, over, names).items()}
    columns = 2 if len(known) in (2, 4) else min(3, len(known))
    deep = -(-len(known) // columns)
    simulated = any(one.simulated for one in known)
    entries = len(lines) + simulated
    legend_in = 0.25 * -(-entries // columns) if entries > 1 else 0.0
    size = (_PANEL_IN[0] * columns + 0.2, _PANEL_IN[1] * deep + legend_in + 0.4)
    figure = Figure(figsize=size, layout="constrained")
    categories = _places(rows, over)
    for number, quantity in enumerate(known, 1):
        axes = figure.add_subplot(deep, columns, number)
        _draw(axes, lines, quantity, over, categories)
    if title:
        figure.suptitle(title, fontsize=11, parse_math=False)
    if entries > 1:
        _add_legend(figure, columns, simulated=simulated)
    return figure


def front_figure(rows: Sequence[Row], x: Quantity, y: Quantity, names: Sequence[str], *, title: str = "") -> Figure:
    """Return a figure of two quantities, with the rows whose ``on_front`` is true joined by the front's steps.

    Args:
        rows: The rows that know both quantities.
        x: The quantity along the axis.
        y: The other quantity.
        names: All varied names; they name the points.
        title: Title above the figure.
    """
    # Imported here for a quick start: it is slow to import.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.6), layout="constrained")
    axes = figure.add_subplot()
    front = sorted((row for row in rows if row["on_front"]), key=lambda row: (row[x.column], -row[y.column]))
    rest = [row for row in rows if not row["on_front"]]
    steps = [(row[x.column], row[y.column]) for row in front]
    corners = [steps[0], *(p for a, b in pairwise(steps) for p in ((b[0], a[1]), b))]
    axes.plot(
        *zip(*corners, strict=True), color=_FRONT, linewidth=1, linestyle=":", zorder=1,
        label="nothing is below and left of this line",
    )  # fmt: skip
    axes.plot(*zip(*steps, strict=True), "o", color=_FRONT, markersize=7, label="on the Pareto front")
    if rest:
        axes.plot(
            [row[x.column] for row in rest], [row[y.column] for row in rest], "s", markerfacecolor="none",
            markeredgecolor=_REST, markeredgewidth=1.3, markersize=6, label="dominated",
        )  # fmt: skip
    for row in rows if len(rows) <= _MOST_NAMED else front:
        text = ", ".join(str(row[name]) for name in names)
        label = axes.annotate(
            text, (row[x.column], row[y.column]), xytext=(6, 6), textcoords="offset points", fontsize=8,
            parse_math=False, arrowprops={"arrowstyle": "-", "color": _LINE, "linewidth": 0.5, "shrinkB": 4},
        )  # fmt: skip
        label.set_in_layout(False)
    axes.margins(0.14, 0.12)
    for axis, values in ((axes.xaxis, [row[x.column] for row in rows]), (axes.yaxis, [row[y.column] for row in rows])):
        _scale(axes, axis.axis_name, values)
    axes.set_xlabel(x.label)
    axes.set_ylabel(y.label)
    axes.grid(color="0.92")
    axes.set_axisbelow(True)
    said = f"points: {', '.join(names)}"
    axes.set_title(f"{title}\n{said}" if title else said, fontsize=10, parse_math=False)
    figure.legend(fontsize=8.5, loc="outside lower center", ncols=3, frameon=False)
    figure.draw_without_rendering()  # place_labels needs the positions of the points
    place_labels(axes)
    return figure


def bars_figure(
    rows: Sequence[Row],
    columns: Sequence[str],
    names: Sequence[str],
    *,
    title: str = "",
    labels: Mapping[str, str] | None = None,
) -> Figure:
    """Return a figure with a bar for each row, on which the times of these columns are stacked.

    Args:
        rows: The rows, at most MOST_BARS.
        columns: Columns of times, s, whose names end with ``_s``.
        names: All varied names; they name the bars.
        title: Title above the figure.
        labels: Names of the columns in the legend; None: those of the columns.
    """
    # Imported here for a quick start: it is slow to import.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 1.7 + 0.3 * len(rows)), layout="constrained")
    axes = figure.add_subplot()
    whole_s = [math.fsum(row[column] for column in columns) for row in rows]
    places, done = range(len(rows)), [0.0] * len(rows)
    said = labels or {column: column.removesuffix("_s") for column in columns}
    for number, column in enumerate(columns):
        shares = [100 * row[column] / time_s if time_s else 0.0 for row, time_s in zip(rows, whole_s, strict=True)]
        axes.barh(places, shares, left=done, color=_BARS[number % len(_BARS)], label=said[column])
        done = [a + b for a, b in zip(done, shares, strict=True)]
    for place, time_s in zip(places, whole_s, strict=True):
        axes.text(101, place, f"{time_s:.3g} s", va="center", fontsize=8)
    axes.set_yticks(list(places), [", ".join(str(row[name]) for name in names) for row in rows], parse_math=False)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, 112)
    axes.set_xticks(range(0, 101, 20))
    axes.set_xlabel("share of the time, %, mean over the processes")
    axes.set_ylabel(", ".join(names), parse_math=False)
    if title:
        axes.set_title(title, fontsize=10, parse_math=False)
    figure.legend(fontsize=8.5, loc="outside lower center", ncols=len(columns), frameon=False)
    return figure


def _places(rows: Sequence[Row], over: str) -> dict[Any, float] | None:
    """Return the place of each value along the axis if they are not all numbers."""
    values = list(dict.fromkeys(row[over] for row in rows))
    return None if all(isinstance(one, int | float) for one in values) else {v: i for i, v in enumerate(values)}


def _draw(
    axes: Axes, lines: Mapping[str, Sequence[Row]], quantity: Quantity, over: str, places: dict[Any, float] | None
) -> None:
    values: list[float] = []
    for number, (text, rows) in enumerate(lines.items()):
        color, marker, style = style_of(number)
        style = "-" if len(lines) == 1 else style
        for column, hollow in ((quantity.column, False), (quantity.simulated, True)):
            face = "none" if hollow else color
            known = [row for row in rows if column and row.get(column) is not None]
            if places is None:
                known.sort(key=lambda row: row[over])
            x = [row[over] if places is None else places[row[over]] for row in known]
            y = [row[column] for row in known]
            values += y
            axes.plot(
                x, y, marker, color=color, markerfacecolor=face, markersize=7 - 3 * number / len(lines) + 4 * hollow,
                linestyle=style if places is None and not hollow else "none", linewidth=1.2,
                label=None if hollow else text,
            )  # fmt: skip
    if places is not None:
        axes.set_xticks(list(places.values()), [str(one) for one in places], fontsize=8, parse_math=False)
        axes.set_xlim(-0.5, len(places) - 0.5)
    else:
        _scale_numbers(axes, sorted({row[over] for rows in lines.values() for row in rows}))
    if quantity.logarithmic:
        _scale(axes, "y", values)
    else:
        axes.ticklabel_format(axis="y", useOffset=False)
    if quantity.whole is not None and axes.get_yscale() == "linear":
        axes.set_ylim(min(quantity.whole, axes.get_ylim()[0]), None)
    axes.set_xlabel(over, parse_math=False)
    axes.set_ylabel(quantity.label)
    axes.grid(color="0.92")
    axes.set_axisbelow(True)


def _scale_numbers(axes: Axes, values: Sequence[float]) -> None:
    """Scale the horizontal axis; a few values far enough apart are its ticks."""
    _scale(axes, "x", values)
    scaled = [math.log(one) for one in values] if axes.get_xscale() == "log" else values
    apart = min((b - a for a, b in pairwise(scaled)), default=0.0)
    if len(values) > 1 and apart * _MOST_TICKS >= scaled[-1] - scaled[0]:
        axes.set_xticks(values, [f"{one:g}" for one in values])
        axes.minorticks_off()


def _scale(axes: Axes, name: str, values: Sequence[float]) -> None:
    """Make an axis logarithmic if its values are above 0 and differ much."""
    least, most = min(values, default=0.0), max(values, default=0.0)
    if least <= 0 or most < _LOGARITHMIC_FROM * least:
        return
    if name == "x":
        axes.set_xscale("log")
        label_decades(axes.xaxis)
    else:
        axes.set_yscale("log")
        label_decades(axes.yaxis)


def _add_legend(figure: Figure, columns: int, *, simulated: bool) -> None:
    from matplotlib.lines import Line2D  # imported here for a quick start: it is slow to import

    entries: dict[str, Artist] = {}
    for axes in figure.axes:
        handles, labels = axes.get_legend_handles_labels()
        entries |= {str(label): handle for label, handle in zip(labels, handles, strict=True) if label}
    if simulated:
        hollow = Line2D([], [], color="0.3", marker="o", markerfacecolor="none", markersize=9, linestyle="none")
        entries["simulated (hollow)"] = hollow
    figure.legend(
        list(entries.values()), list(entries), fontsize=8.5, loc="outside lower center", ncols=columns, frameon=False
    )
