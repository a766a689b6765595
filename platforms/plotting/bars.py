"""Horizontal bars that are stacked from parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from platforms.plotting.charts import Axes


def draw_bar(
    axes: Axes, place: float, parts: Mapping[str, float], looks: Mapping[str, Mapping[str, Any]], note: str,
    *, end: float, beside: float = 0.0, height: float = 0.8,
) -> None:  # fmt: skip
    """Draw a bar of parts one after the other, with a note beside it; a bar beyond ``end`` is cut, and shows it.

    Args:
        axes: Where to draw.
        place: Where the bar lies on the vertical axis.
        parts: Lengths by name.
        looks: The look of each part by name.
        note: What stands beside the bar.
        end: The longest length that is drawn.
        beside: The note stands at or beyond this length.
        height: Height of the bar.
    """
    left = 0.0
    for name, length in parts.items():
        width = min(left + length, end) - left
        if width > 0:
            axes.barh(place, width, left=left, height=height, **looks[name])
            left += width
    if sum(parts.values()) > end:
        axes.plot([0.98 * end, end, 0.98 * end], [place - 0.38, place, place + 0.38], color="black", linewidth=1)
    axes.annotate(
        note, (max(beside, left), place), xytext=(5, 0), textcoords="offset points", va="center", fontsize=8.5,
        parse_math=False,
    )  # fmt: skip
