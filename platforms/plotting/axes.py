"""Axes of add-ons: in space, without data, and logarithmic where their values call for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from platforms.plotting.styles import label_decades

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LOGARITHMIC_FROM = 6.0  # ratio of the largest to the smallest value of an axis


def space(figure: Figure, place: tuple[int, int, int], *, elev: float = 28, azim: float = -125, **labels: Any) -> Any:
    """Return three-dimensional axes at a place of the figure: number of lines, number of columns, number from 1."""
    axes: Any = figure.add_subplot(*place, projection="3d")
    axes.set(**labels)
    axes.view_init(elev=elev, azim=azim)
    axes.set_box_aspect(None, zoom=0.9)  # leaves space for the labels of the vertical axis
    return axes


def say_empty(axes: Axes, text: str) -> None:
    """Write into axes without data why there are none."""
    axes.text(0.5, 0.5, text, ha="center", transform=axes.transAxes, color="0.4")


def scale(axes: Axes, name: str, values: Sequence[float]) -> None:
    """Make axis x or y logarithmic if its values are above 0 and differ much, with plain numbers."""
    least, most = min(values, default=0.0), max(values, default=0.0)
    if least <= 0 or most < _LOGARITHMIC_FROM * least:
        return
    axes.set(**{f"{name}scale": "log"})
    label_decades(axes.xaxis if name == "x" else axes.yaxis)
