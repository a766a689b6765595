"""Boxes, lines, arrows and texts on a plane whose unit the caller chooses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from platforms.plotting.charts import Axes, Figure
from platforms.plotting.styles import INK

Colour = str | tuple[float, float, float, float]
Dashes = str | tuple[float, tuple[float, float]]  # offset, and points on and off
Sample = tuple[float, Colour, Dashes]  # of a line: width in points, colour, dashes


class Sheet:
    """Draws on axes without scales; ``scale`` applies to letters and to widths of lines."""

    def __init__(self, axes: Axes, scale: float = 1.0):
        self.axes, self.scale = axes, scale
        axes.axis("off")

    def text(self, x: float, y: float, text: str, *, size: float = 8.0, colour: Colour = INK, **style: Any) -> None:
        """Write a text; a dollar sign in a user's name does not begin a formula."""
        style = {"va": "center", "zorder": 5, "parse_math": False, **style}
        self.axes.text(x, y, text, fontsize=size * self.scale, color=colour, **style)

    def line(self, x: Sequence[float], y: Sequence[float], sample: Sample, **style: Any) -> None:
        """Draw a line."""
        width_pt, colour, dashes = sample
        self.axes.plot(x, y, linewidth=width_pt * self.scale, color=colour, linestyle=dashes, **style)

    def joint(self, x: float, y: float) -> None:
        """Draw a point where lines meet."""
        self.axes.plot([x], [y], "o", color=INK, markersize=4.5 * self.scale, zorder=4)

    def box(
        self, centre: tuple[float, float], size: tuple[float, float], *, fill: Colour, edge: Colour = INK,
        z: float = 4, line_pt: float = 0.8, round_by: float = 0.06,
    ) -> None:  # fmt: skip
        """Draw a box with corners that are rounded by this length."""
        from matplotlib.patches import FancyBboxPatch  # imported here because it is slow to import

        (x, y), (width, height) = centre, size
        style = f"round,pad=0,rounding_size={min(round_by, width / 4, height / 4)}" if round_by else "square,pad=0"
        self.axes.add_patch(
            FancyBboxPatch(
                (x - width / 2, y - height / 2), width, height, boxstyle=style, facecolor=fill, edgecolor=edge,
                zorder=z, linewidth=line_pt * self.scale,
            )
        )  # fmt: skip

    def polygon(
        self, points: Sequence[tuple[float, float]], *, fill: Colour, edge: Colour, line_pt: float, z: float = 4
    ) -> None:
        """Draw a box with these corners."""
        from matplotlib.patches import Polygon  # imported here because it is slow to import

        self.axes.add_patch(Polygon(points, facecolor=fill, edgecolor=edge, linewidth=line_pt * self.scale, zorder=z))

    def arrow(self, start: tuple[float, float], end: tuple[float, float], colour: Colour, *, bend: float = 0.0) -> None:
        """Draw an arrow, bent by a share of its length."""
        from matplotlib.patches import FancyArrowPatch  # imported here because it is slow to import

        self.axes.add_patch(
            FancyArrowPatch(
                start, end, arrowstyle="-|>", mutation_scale=9, color=colour, linewidth=1, shrinkA=0, shrinkB=0,
                connectionstyle=f"arc3,rad={bend}", zorder=2,
            )
        )  # fmt: skip


def sheet(left: float, right: float, bottom: float, top: float, *, scale: float = 1.0) -> tuple[Figure, Sheet]:
    """Return an empty picture of a plane, and what draws on it; a unit is ``scale`` inches."""
    # Imported here because it is slow to import.
    from matplotlib.figure import Figure as Drawn

    figure = Drawn(figsize=((right - left) * scale, (top - bottom) * scale), facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(left, right), ylim=(bottom, top))
    return figure, Sheet(axes, scale)


def dark_shade(share: float) -> Colour:
    """Return a colour on a scale from pale (0) to dark (1), all of them readable on white."""
    # Imported here because it is slow to import.
    from matplotlib import colormaps

    return colormaps["viridis"](0.62 * (1 - min(max(share, 0.0), 1.0)))
