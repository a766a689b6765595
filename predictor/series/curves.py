"""Figures of series: quantities over a parameter, a line for each combination of the others, and a Pareto front."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from platforms.plotting.charts import Axes, Figure, finish, legend_below, new_figure, panels
from platforms.plotting.front import draw_front, place_labels
from platforms.plotting.lines import scale
from platforms.plotting.styles import plain, style_of
from platforms.plotting.words import Row, shortened, texts_of

_PANEL_IN = (3.7, 2.9)
_MOST_NAMED = 24  # points of a front figure that get their names; of more, only those on the front do
_MOST_ENTRIES = 24  # of the legend, for lines
_LETTER_IN = 0.068  # width of a letter
_ROUNDING = 1e-9  # relative difference of values that count as equal
_MOST_TICKS = 9  # on the horizontal axis, where they are at the values
_LINE = "0.35"


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
    texts = texts_of(rows, names)
    lines: dict[str, list[int]] = {}
    for at, row in enumerate(rows):
        text = ", ".join(f"{name} = {texts[name][row[name]]}" for name in names if name != over)
        lines.setdefault(text, []).append(at)
    return lines


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
    known = [
        quantity
        for quantity in quantities
        if any(
            row[quantity.column] is not None or (quantity.simulated and row.get(quantity.simulated) is not None)
            for row in rows
        )
    ]
    lines = {text: [rows[at] for at in places] for text, places in lines_of(rows, over, names).items()}
    columns = 2 if len(known) in (2, 4) else min(3, len(known))
    values = shortened([row[over] for row in rows])
    numbers = all(isinstance(value, int | float) for value in values)
    axis = _Axis(over, list(values), None if numbers else list(values.values()))
    entries = _entries(lines, axis, simulated=any(quantity.simulated for quantity in known))
    height_in = (_PANEL_IN[1] + axis.deeper_in) * -(-len(known) // columns) + 0.6
    figure, places = panels(len(known), columns, _PANEL_IN[0] * columns + 0.2, height_in, title)
    for axes, quantity in zip(places, known, strict=True):
        _draw(axes, lines, quantity, axis)
    legend_below(figure, entries)
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
    said = f"points: {', '.join(names)}"
    figure = new_figure(6.4, 4.6)
    axes = figure.add_subplot()
    texts = texts_of(rows, names)
    named = rows if len(rows) <= _MOST_NAMED else [row for row in rows if row["on_front"]]
    points = [
        (row[x.column], row[y.column], row["on_front"],
         ", ".join(texts[name][row[name]] for name in names) if row in named else "")
        for row in rows
    ]  # fmt: skip
    draw_front(axes, points, "nothing")
    for name, quantity in (("x", x), ("y", y)):
        scale(axes, name, [row[quantity.column] for row in rows])
    finish(axes, f"{title}\n{said}" if title else said, xlabel=x.label, ylabel=y.label)
    legend_below(figure)
    figure.draw_without_rendering()  # place_labels needs the positions of the points
    place_labels(axes, [(row[x.column], row[y.column]) for row in rows])
    return figure


@dataclass(frozen=True)
class _Axis:
    """The horizontal axis: the values of a varied name."""

    name: str
    values: list[Any]
    words: list[str] | None  # names of the values, which lie side by side; None: they are numbers

    def place(self, value: Any) -> float:
        """Return the place of a value along the axis."""
        return float(value) if self.words is None else float(self.values.index(value))

    @property
    def slanted(self) -> bool:
        """True if the words would overlap side by side."""
        if self.words is None:
            return False
        return len(self.words) * (max(map(len, self.words)) + 1) * _LETTER_IN > _PANEL_IN[0] * 0.8

    @property
    def deeper_in(self) -> float:
        """Height that slanted words take."""
        return 0.6 * _LETTER_IN * max(map(len, self.words)) if self.slanted and self.words else 0.0

    def set(self, axes: Axes) -> None:
        """Set limits, ticks and the label."""
        axes.set_xlabel(self.name, parse_math=False)
        if self.words is None:
            _scale_numbers(axes, sorted(self.values))
            return
        slanted: dict[str, Any] = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if self.slanted else {}
        axes.set_xticks(range(len(self.words)), self.words, fontsize=8, parse_math=False, **slanted)
        axes.set_xlim(-0.5, len(self.words) - 0.5)


def _draw(axes: Axes, lines: Mapping[str, Sequence[Row]], quantity: Quantity, axis: _Axis) -> None:
    values: list[float] = []
    for number, rows in enumerate(lines.values()):
        color, marker, style = style_of(number)
        style = "-" if len(lines) == 1 else style
        for column, hollow in ((quantity.column, False), (quantity.simulated, True)):
            known = [row for row in rows if column and row.get(column) is not None]
            if axis.words is None:
                known.sort(key=lambda row: row[axis.name])
            values += [row[column] for row in known]
            axes.plot(
                [axis.place(row[axis.name]) for row in known], [row[column] for row in known], marker,
                color=color, markerfacecolor="none" if hollow else color,
                markersize=7 - 3 * number / len(lines) + 4 * hollow,
                linestyle=style if axis.words is None and not hollow else "none", linewidth=1.2,
            )  # fmt: skip
    axis.set(axes)
    refused = [axis.place(value) for value in _refused(lines, axis.name)]
    if refused:  # on the axis itself, where no value is
        (crosses,) = axes.plot(
            refused, [0.0] * len(refused), "x", color=_LINE, markersize=7, markeredgewidth=1.8, clip_on=False,
            zorder=5, transform=axes.get_xaxis_transform(),
        )  # fmt: skip
        crosses.set_in_layout(False)
    if quantity.logarithmic:
        scale(axes, "y", values)
    if axes.get_yscale() == "linear":
        axes.ticklabel_format(axis="y", useOffset=False)
        _limit(axes, values, quantity.whole)
    finish(axes, ylabel=quantity.label)


def _limit(axes: Axes, values: Sequence[float], whole: float | None) -> None:
    """Set the limits of a linear vertical axis, so that values that differ by rounding errors lie on one height."""
    least, most = min(values), max(values)
    if whole is not None and whole < most:
        axes.set_ylim(min(whole, least), most + 0.05 * (most - whole))
    elif most - least <= _ROUNDING * abs(most):
        axes.set_ylim(most - 0.05 * (abs(most) or 1), most + 0.05 * (abs(most) or 1))


def _scale_numbers(axes: Axes, values: Sequence[float]) -> None:
    """Scale the horizontal axis; a few values far enough apart are its ticks."""
    scale(axes, "x", values)
    scaled = [math.log(value) for value in values] if axes.get_xscale() == "log" else values
    apart = min((b - a for a, b in pairwise(scaled)), default=0.0)
    if apart * _MOST_TICKS >= scaled[-1] - scaled[0]:  # one value has no distances
        axes.set_xticks(values, [plain(value) for value in values])
        axes.minorticks_off()


def _has_result(rows: Sequence[Row]) -> bool:
    return any(row["time_s"] is not None or row.get("simulated_time_s") is not None for row in rows)


def _refused(lines: Mapping[str, Sequence[Row]], over: str) -> list[Any]:
    """Return the values at which a line that has results elsewhere was not evaluated."""
    refused = (row[over] for rows in lines.values() if _has_result(rows) for row in rows if row["time_s"] is None)
    return list(dict.fromkeys(refused))


def _entries(lines: Mapping[str, Sequence[Row]], axis: _Axis, *, simulated: bool) -> dict[str, dict[str, Any]]:
    """Return the legend: an entry for each of several lines, up to _MOST_ENTRIES, and the meanings of markers."""
    entries: dict[str, dict[str, Any]] = {}
    shown = lines if 1 < len(lines) <= _MOST_ENTRIES else list(lines)[: _MOST_ENTRIES - 1] if len(lines) > 1 else ()
    for number, text in enumerate(shown):
        color, marker, line = style_of(number)
        style: Any = line if axis.words is None else "none"
        if _has_result(lines[text]):
            entries[text] = {"color": color, "marker": marker, "linestyle": style, "linewidth": 1.2, "markersize": 5}
        else:
            entries[f"{text}: not evaluated"] = {"linestyle": "none"}
    if len(lines) > _MOST_ENTRIES:
        entries[f"and {len(lines) - len(shown)} more"] = {"linestyle": "none"}
    marked = {"marker": "o", "markerfacecolor": "none", "markersize": 9, "linestyle": "none"}
    if simulated:
        entries["simulated (hollow)"] = {"color": "0.3", **marked}
    if _refused(lines, axis.name):
        entries["not evaluated"] = {"color": _LINE, "marker": "x", "markeredgewidth": 1.8, "linestyle": "none"}
    return entries
