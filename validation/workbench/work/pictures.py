"""Requests to a worker that draw figures of results as files."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_INCHES, _PIXELS_PER_INCH = 7.6, 200
_PLOT, _FOOT = 4.2, 0.14  # heights in inches: of the plot, of a line below it
_POINTS = 72 / 100  # a pixel of the page in points
_LETTERS = 130  # of a line below the plot


def drawn(folder: Path, picture: Mapping[str, Any], kind: str) -> Iterator[dict[str, Any]]:
    """Yield a figure as a file, in base64.

    Args:
        folder: The project folder.
        picture: Its title, axes, curves, legend and facts, as ``web.plot.picture_of`` returns them.
        kind: svg, whose points lead to their results, or png.
    """
    # Imported here for a quick start of the worker: they import numpy.
    from platforms.plotting.charts import legend_below, panels, rendered
    from platforms.plotting.lines import Panel, draw, link_points

    x, y, facts = picture["x"], picture["y"], picture["facts"]
    lines = [_cut(f"{name}: {value}") for name, value in facts.items()]
    ratios = [_PLOT, _FOOT * len(lines)]
    figure, (axes, foot) = panels(2, 1, _INCHES, sum(ratios), height_ratios=ratios)
    curves = [_series(curve) for curve in picture["curves"]]
    turned = sum(len(text) for _, text in x["ticks"]) > 90
    chart = Panel(
        x=x["label"], y=y["label"], drawn=curves, log="x" * x["log"] + "y" * y["log"], x_ticks=dict(x["ticks"]),
        y_ticks=dict(y["ticks"]), x_ends=(x["low"], x["high"]), y_ends=(y["low"], y["high"]),
        across=[] if picture["line_at"] is None else [picture["line_at"]], slant=22 if turned else 0,
    )  # fmt: skip
    draw(axes, chart)
    foot.axis("off")
    foot.text(0, 1, "\n".join(lines), fontsize=6.5, va="top", color="#57606a", parse_math=False)
    legend_below(figure, {entry["name"]: _look(entry, joined=True) for entry in picture["legend"]})
    if kind == "svg":
        for curve, series in zip(picture["curves"], curves, strict=True):
            link_points(axes, series, [f"{picture['base']}/results/{result}" for *_, result in curve["points"]])
        told = {
            "Title": picture["title"],
            "Description": "\n".join(f"{name}: {value}" for name, value in facts.items()),
        }
    else:
        told = {"Title": picture["title"], **facts}
    content = rendered(figure, kind, texts=True, dpi=_PIXELS_PER_INCH, facecolor="white", metadata=told)
    content = content[content.index(b"<svg") :] if kind == "svg" else content  # other pages take it up
    yield {"file": base64.b64encode(content).decode()}


def _series(curve: Mapping[str, Any]) -> Any:
    # Imported here for a quick start of the worker: it imports numpy.
    from platforms.plotting.lines import Series

    look = _look(curve, joined=curve["joined"]) | {"clip_on": False}
    look["drawstyle"] = "steps-post" if curve["stairs"] else "default"
    return Series([x for x, *_ in curve["points"]], [y for _, y, _ in curve["points"]], look)


def _look(entry: Mapping[str, Any], *, joined: bool) -> dict[str, Any]:
    dash = (0, [length * _POINTS for length in entry["dash"]]) if entry["dash"] else "-"
    return {
        "color": entry["color"], "linestyle": dash if joined else "none", "linewidth": entry["width"] * _POINTS,
        "marker": entry["marker"], "markersize": 7.5 if entry["width"] > 2 else 6.0,
        "markerfacecolor": "white" if entry["hollow"] else entry["color"],
        "markeredgecolor": entry["color"] if entry["hollow"] else "white", "markeredgewidth": 0.7,
    }  # fmt: skip


def _cut(text: str) -> str:
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}\N{HORIZONTAL ELLIPSIS}"
