"""Dot plots of a single target: each prediction against the truth, the closest first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from platforms.plotting.charts import Axes
from platforms.plotting.styles import dots, label_decades, line, style_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_LOGARITHMIC = 3.0  # largest value over smallest from which the axis is logarithmic
_FOR_LABELS = 0.6  # space for labels at the right, as a share of that between smallest and largest value
_LEAST_SPAN = 0.2  # smallest difference of the ends of the axis without that space, as a share of the truth


def draw_dots(
    axes: Axes, predicted: Sequence[tuple[str, float]], truth: float, *, truth_name: str, unit: str,
    numbers: Mapping[str, int],
) -> None:  # fmt: skip
    """Draw a row for each prediction, with its value and error at its dot, and a line at the truth.

    Args:
        axes: Where to draw.
        predicted: Names and values of the predictions, finite.
        truth: The true value.
        truth_name: What the truth is called.
        unit: Unit of the values.
        numbers: The number of each name, which gives its style.
    """
    rows = sorted(predicted, key=lambda dot: abs(dot[1] - truth))
    axes.axvline(truth, color="black", linewidth=2.2, zorder=1)
    axes.annotate(
        f"{truth_name} {truth:.4g} {unit}", (truth, 1), xycoords=("data", "axes fraction"), xytext=(0, 3),
        textcoords="offset points", ha="center", va="bottom", fontsize=9, parse_math=False,
    )  # fmt: skip
    for row, (name, value) in enumerate(rows):
        color, marker, _ = style_of(numbers[name])
        axes.plot([truth, value], [row, row], zorder=2, **line(color, width=1.2))
        axes.plot([value], [row], zorder=3, label=name, **dots(color, marker, 8, edge=True))
        text = f"{value:.4g} {unit}, {error_text(value, truth)}".replace("-", "\N{MINUS SIGN}")
        beside = max(value, truth)  # never overlaps the line of the truth, nor the names
        axes.annotate(
            text, (beside, row), xytext=(8, 0), textcoords="offset points", va="center", fontsize=9, parse_math=False,
        )  # fmt: skip
    _scale(axes, [value for _, value in rows], truth)
    axes.set_yticks(range(len(rows)), [name for name, _ in rows], fontsize=9.5, parse_math=False)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x", which="major", color="0.9")
    axes.set_axisbelow(True)
    if not rows:
        axes.annotate("no prediction", (0.5, 0.5), xycoords="axes fraction", ha="center", fontsize=9)


def error_text(value: float, truth: float) -> str:
    """Return the relative error in %, with fewer decimals the larger it is."""
    error_pct = 100 * (value - truth) / truth if truth else math.nan
    size = abs(error_pct)
    if size < 0.01:
        return "<0.01 %"
    decimals = 2 if size < 1 else 1 if size < 100 else 0
    return f"{error_pct:+,.{decimals}f} %"


def _scale(axes: Axes, values: list[float], truth: float) -> None:
    """Set a linear or logarithmic axis with space for the labels of the dots."""
    low, high = min([*values, truth]), max([*values, truth])
    logarithmic = low > 0 and high > _LOGARITHMIC * low
    if logarithmic:
        axes.set_xscale("log")
        low, high = math.log(low), math.log(high)
    span = max(high - low, 0.0 if logarithmic else _LEAST_SPAN * abs(truth) or 1.0)
    ends = low - 0.15 * span, high + _FOR_LABELS * span
    axes.set_xlim(*(map(math.exp, ends) if logarithmic else ends))
    if logarithmic:
        label_decades(axes.xaxis)
    else:
        axes.locator_params(axis="x", nbins=5)
