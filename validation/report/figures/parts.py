"""Bars of computation and communication, predicted and simulated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from platforms.plotting.charts import Axes, Figure, legend_below, new_figure

COMPUTATION, COMMUNICATION, OTHERS = "computation", "communication and waiting", "not separated"
_COLORS = {COMPUTATION: "#0072B2", COMMUNICATION: "#E69F00", OTHERS: "#b0b0b0"}
_HATCHES = {COMPUTATION: "", COMMUNICATION: "//", OTHERS: ".."}
_LONGEST = 3.0  # length at which bars are cut, relative to the truth


@dataclass(frozen=True)
class Bar:
    """A time and its parts."""

    label: str
    time_s: float
    parts_s: Mapping[str, float]  # by the names above; the rest of time_s is OTHERS
    truth: bool = False


@dataclass(frozen=True)
class Group:
    """The bars of one target, the truth first."""

    label: str
    bars: Sequence[Bar]


def parts_of(time_s: float, parts: Mapping[str, float]) -> dict[str, float]:
    """Return a prediction's parts by the names above; empty if the model does not give its computation."""
    if "compute_s" not in parts:
        return {}
    compute_s = min(max(parts["compute_s"], 0.0), time_s)
    return {COMPUTATION: compute_s, COMMUNICATION: time_s - compute_s}


def parts_figure(groups: Sequence[Group]) -> Figure:
    """Plot horizontal bars relative to the truth of their target; long bars are cut and labelled with their length."""
    count = sum(len(group.bars) for group in groups) + 0.8 * len(groups)
    figure = new_figure(6.4, 1.1 + 0.235 * count)
    axes = figure.add_subplot()
    y, ticks, shown = 0.0, [], set()
    longest = max((bar.time_s / group.bars[0].time_s for group in groups for bar in group.bars), default=1.0)
    limit = min(_LONGEST, 1.05 * longest)
    for group in groups:
        truth_s = group.bars[0].time_s
        axes.annotate(
            group.label, (0.0, y), xytext=(4, 0), textcoords="offset points", fontsize=9, fontweight="bold",
            va="center", parse_math=False, bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
        )  # fmt: skip
        y += 0.9
        for bar in group.bars:
            shown |= _draw(axes, bar, y, truth_s, limit)
            ticks.append((y, bar.label))
            y += 1
        y += 0.1
    axes.axvline(1.0, color="black", linewidth=0.8, linestyle="--")
    axes.set_yticks([at for at, _ in ticks], [label for _, label in ticks], fontsize=9, parse_math=False)
    axes.set_ylim(y - 0.5, -0.6)
    axes.set_xlim(0, limit * 1.28)
    axes.set_xlabel("time, relative to the truth of the same target")
    axes.spines[["top", "right"]].set_visible(False)
    legend_below(figure, {name: _look(name) for name in _COLORS if name in shown})
    return figure


def _look(name: str) -> dict[str, Any]:
    return {"facecolor": _COLORS[name], "hatch": _HATCHES[name], "edgecolor": "#404040", "linewidth": 0.5}


def _draw(axes: Axes, bar: Bar, y: float, truth_s: float, limit: float) -> set[str]:
    left, length = 0.0, bar.time_s / truth_s
    by_name = dict(bar.parts_s)
    rest_s = bar.time_s - sum(by_name.values())
    if rest_s > 1e-9 * bar.time_s:
        by_name[OTHERS] = rest_s
    for name, part_s in by_name.items():
        width = min(left + part_s / truth_s, limit) - left
        if width > 0:
            axes.barh(y, width, left=left, height=0.78, **_look(name))
            left += width
    cut = length > limit
    if cut:
        axes.plot([limit - 0.03, limit, limit - 0.03], [y - 0.38, y, y + 0.38], color="black", linewidth=1)
    text = f"{bar.time_s:.4g} s" + ("" if bar.truth else f", {length:.3g}\N{MULTIPLICATION SIGN}")
    beside = (max(1.0, min(length, limit)), y)  # never overlaps the line of the truth
    axes.annotate(text, beside, xytext=(5, 0), textcoords="offset points", va="center", fontsize=8.5)
    return set(by_name)
