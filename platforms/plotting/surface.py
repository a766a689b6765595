"""Surfaces over two quantities: coloured by their height, or as a net of wires."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from platforms.plotting.charts import Figure
from platforms.plotting.lines import Look

_COLOURS, _EDGE = "viridis", "0.35"
_MOST_LINES = 40  # of a surface, along each side


@dataclass(frozen=True, kw_only=True, eq=False)
class Surface:
    """A height ``z`` over a grid of ``x`` and ``y``, all of equal shapes."""

    x: Any
    y: Any
    z: Any
    wires: str = ""  # colour of a net; empty: a surface coloured by its height
    top: float | None = None  # end of the axis of heights and of its colours


@dataclass(frozen=True, eq=False)
class Curve:
    """Points in space, which ``look`` joins or marks."""

    x: Any
    y: Any
    z: Any
    look: Look
    label: str | None = None


def draw_surfaces(
    figure: Figure, place: tuple[int, int, int], drawn: Sequence[Surface | Curve], *, title: str = "",
    x: str, y: str, z: str, from_deg: tuple[float, float] = (28, -125),
) -> Any:  # fmt: skip
    """Draw surfaces and curves at a place of a figure, and return their axes.

    Args:
        figure: The figure.
        place: Number of lines of charts, number of columns, number of this one from 1.
        drawn: What is drawn.
        title: Title above it.
        x: Label of the first axis, with its unit.
        y: Label of the second axis.
        z: Label of the axis of heights.
        from_deg: Where the reader stands: elevation and azimuth, degrees.
    """
    axes: Any = figure.add_subplot(*place, projection="3d")
    axes.set(xlabel=x, ylabel=y, zlabel=z)
    axes.view_init(*from_deg)
    axes.set_box_aspect(None, zoom=0.9)  # leaves space for the labels of the vertical axis
    axes.set_title(title, fontsize=9, parse_math=False)
    for part in drawn:
        if isinstance(part, Curve):
            axes.plot(part.x, part.y, part.z, label=part.label, zorder=10, **part.look)
        elif part.wires:
            axes.plot_wireframe(part.x, part.y, part.z, linewidth=0.5, rstride=1, cstride=2, color=part.wires)
        else:
            _draw_surface(axes, part)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(-0.08, 1.0))
    return axes


def _draw_surface(axes: Any, surface: Surface) -> None:
    """Draw a surface, or a line if it has a single row or column."""
    rows, columns = np.shape(surface.z)
    if min(rows, columns) > 1:
        axes.plot_surface(
            surface.x, surface.y, surface.z, cmap=_COLOURS, alpha=0.78, linewidth=0.2, edgecolor=_EDGE,
            vmin=None if surface.top is None else 0, vmax=surface.top,
            rcount=min(_MOST_LINES, rows), ccount=min(_MOST_LINES, columns),
        )  # fmt: skip
    else:
        axes.plot(*(np.ravel(values) for values in (surface.x, surface.y, surface.z)), marker="o", color="#0072B2")
    if surface.top is not None:
        axes.set_zlim(0, surface.top)
