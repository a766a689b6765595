"""Draw the boxes, lines and texts of a platform's picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from platforms.picture.arrangement import ZoneBox
from platforms.picture.link_graph import Span
from platforms.picture.parts import Part
from platforms.picture.scales import GREY, Colour, Sample, Scales

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FONT_PT = 8.0
LINE_IN = 0.155  # from one line of text to the next
_INK, _PART, _ZONES = "#1a1a1a", "#ffffff", ("#f1f1f1", "#e4e4e4", "#d8d8d8")


class Pen:
    """Draws on axes whose unit is an inch at full scale."""

    def __init__(self, axes: Axes, scale: float):
        self.axes, self.scale = axes, scale

    def text(self, x: float, y: float, text: str, *, size: float = FONT_PT, colour: str = _INK, **style: Any) -> None:
        """Write a line of text; a dollar sign in a user's name does not begin a formula."""
        shown = text.replace("$", r"\$")
        self.axes.text(x, y, shown, fontsize=size * self.scale, color=colour, va="center", zorder=5, **style)

    def zone(self, box: ZoneBox) -> None:
        """Draw the box of a zone with its name."""
        width, height = box.right - box.left, box.top - box.bottom
        fill = _ZONES[min(box.depth, len(_ZONES) - 1)]
        self._box(box.left, box.bottom, width, height, fill=fill, edge="#a8a8a8", z=0.1 + 0.01 * box.depth)
        behind = {"facecolor": fill, "edgecolor": "none", "pad": 1.0}  # lines pass below it
        self.text(box.left + 0.1, box.top - 0.14, box.name, colour="#4d4d4d", ha="left", bbox=behind)

    def part(self, part: Part, x: float, y: float, size: tuple[float, float]) -> None:
        """Draw the box of a part with its text."""
        width, height = size
        self._box(x - width / 2, y - height / 2, width, height, fill=_PART if part.name else "#c9c9c9", edge=_INK, z=4)
        if part.name:
            lines = (part.name, *part.lines)
            for i, line in enumerate(lines):
                offset = ((len(lines) - 1) / 2 - i) * LINE_IN
                weight = "bold" if i == 0 else "normal"
                self.text(x, y + offset, line, weight=weight, ha="center", clip_on=True)

    def bus(
        self, lines: Sequence[str], x: float, y: float, size: tuple[float, float], edge: Colour, border_pt: float
    ) -> None:
        """Draw a bus, a link that is a vertex, with its text."""
        width, height = size
        self._box(x - width / 2, y - height / 2, width, height, fill="white", edge=edge, z=4, line_pt=border_pt)
        for i, text in enumerate(lines):
            self.text(x, y + (0.5 - i) * LINE_IN, text, ha="center")

    def joint(self, x: float, y: float) -> None:
        """Draw a point where links meet."""
        self.axes.plot([x], [y], "o", color=_INK, markersize=4.5 * self.scale, zorder=4)

    def span(self, span: Span, centres: Mapping[int, tuple[float, float]], scales: Scales) -> None:
        """Draw a line between two vertices."""
        (x1, y1), (x2, y2) = centres[span.first], centres[span.second]
        if span.links:
            sample: Sample = scales.width_pt(span.bandwidth_Bps), scales.colour(span.latency_s), "-"
        elif span.latency_s > 0:
            sample = 1.2, scales.colour(span.latency_s), (0, (4, 2))
        else:
            sample = 0.9, GREY, (0, (1, 1.5))
        self._line([x1, x2], [y1, y2], sample, solid_capstyle="round", zorder=2)

    def legend_row(self, x: float, y: float, sample: Sample | None, text: str) -> None:
        """Draw a row of the legend: a sample of a line, if any, and a text."""
        if sample:
            self._line([x, x + 0.4], [y, y], sample)
        self.text(x + (0.5 if sample else 0), y, text, ha="left", colour=_INK if sample else GREY)

    def _line(self, x: Sequence[float], y: Sequence[float], sample: Sample, **style: Any) -> None:
        width_pt, colour, dashes = sample
        self.axes.plot(x, y, linewidth=width_pt * self.scale, color=colour, linestyle=dashes, **style)

    def _box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        fill: str,
        edge: Colour,
        z: float,
        line_pt: float = 0.8,
    ) -> None:
        # Imported here because it is slow to import.
        from matplotlib.patches import FancyBboxPatch

        round_in = min(0.06, width / 4, height / 4)
        style = f"round,pad=0,rounding_size={round_in}"
        self.axes.add_patch(
            FancyBboxPatch(
                (x, y), width, height, boxstyle=style, facecolor=fill, edgecolor=edge, zorder=z,
                linewidth=line_pt * self.scale,
            )
        )  # fmt: skip
