"""Requests to a worker that draw figures of results as PNG."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INCHES, _PIXELS_PER_INCH = 7.6, 200
_PLOT, _ROW, _FOOT = 4.0, 0.2, 0.15  # heights in inches: of the plot, of a row of the legend, of a line below it
_POINTS = 72 / 100  # a pixel of the page in points


def png(folder: Path, picture: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a figure as PNG, in base64.

    Args:
        folder: The project folder.
        picture: Its title, axes, curves, legend and facts, as ``web.plot.picture_of`` returns them.
    """
    # Imported here for a quick start of the worker: it is slow to import.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows, facts = -(-len(picture["legend"]) // 2), picture["facts"]
    height = _PLOT + rows * _ROW + (len(facts) + 1) * _FOOT
    figure = Figure(figsize=(_INCHES, height), dpi=_PIXELS_PER_INCH, facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.12, 1 - (_PLOT - 0.6) / height - 0.02, 0.86, (_PLOT - 0.62) / height))
    _draw(axes, picture)
    _write_below(figure, picture, rows, height)
    made = io.BytesIO()
    figure.savefig(made, format="png", metadata={"Title": picture["title"], **facts})
    yield {"png": base64.b64encode(made.getvalue()).decode()}


def _draw(axes: Axes, picture: Mapping[str, Any]) -> None:
    axes.set_xscale("log" if picture["x"]["log"] else "linear")
    axes.set_yscale("log" if picture["y"]["log"] else "linear")
    axes.set_xlabel(_plain(picture["x"]["label"]))
    axes.set_ylabel(_plain(picture["y"]["label"]))
    axes.set_xlim(picture["x"]["low"], picture["x"]["high"])
    axes.set_ylim(picture["y"]["low"], picture["y"]["high"])
    turned = sum(len(text) for _, text in picture["x"]["ticks"]) > 90
    for axis, shown in ((axes.xaxis, picture["x"]), (axes.yaxis, picture["y"])):
        axis.set_ticks([value for value, _ in shown["ticks"]], [_plain(text) for _, text in shown["ticks"]])
        axis.set_ticks([], minor=True)
    if turned:
        axes.tick_params(axis="x", labelrotation=22)
    axes.grid(axis="y", color="#d9dee4")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    if picture["line_at"] is not None:
        axes.axhline(picture["line_at"], color="#1b1f24", linewidth=1.0)
    for curve in picture["curves"]:
        xs, ys = [x for x, _ in curve["points"]], [y for _, y in curve["points"]]
        axes.plot(xs, ys, drawstyle="steps-post" if curve["stairs"] else "default", clip_on=False,
                  **_look(curve, joined=curve["joined"]))  # fmt: skip


def _look(entry: Mapping[str, Any], *, joined: bool) -> dict[str, Any]:
    dash = (0, [length * _POINTS for length in entry["dash"]]) if entry["dash"] else "-"
    return {
        "color": entry["color"], "linestyle": dash if joined else "none", "linewidth": entry["width"] * _POINTS,
        "marker": entry["marker"], "markersize": 7.5 if entry["width"] > 2 else 6.0,
        "markerfacecolor": "white" if entry["hollow"] else entry["color"],
        "markeredgecolor": entry["color"] if entry["hollow"] else "white", "markeredgewidth": 0.7,
    }  # fmt: skip


def _write_below(figure: Figure, picture: Mapping[str, Any], rows: int, height: float) -> None:
    """Write the legend in two columns, and the facts below it."""
    # Imported here for a quick start of the worker: it is slow to import.
    from matplotlib.lines import Line2D

    for at, entry in enumerate(picture["legend"]):
        x, y = 0.03 + 0.49 * (at // rows), 1 - (_PLOT + 0.1 + at % rows * _ROW) / height
        ends = [x, x + 0.016, x + 0.032]
        figure.add_artist(Line2D(ends, [y] * 3, markevery=[1], **_look(entry, joined=True)))
        figure.text(x + 0.042, y, _plain(_cut(entry["name"], 52)), fontsize=8, va="center")
    for at, (name, value) in enumerate(picture["facts"].items()):
        y = 1 - (_PLOT + rows * _ROW + (at + 0.8) * _FOOT) / height
        figure.text(0.03, y, _plain(_cut(f"{name}: {value}", 130)), fontsize=6.5, va="center", color="#57606a")


def _plain(text: str) -> str:
    """Return a text in which matplotlib finds no formulae."""
    return text.replace("$", r"\$")


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}\N{HORIZONTAL ELLIPSIS}"
