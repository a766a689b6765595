"""Bars of computation and communication, predicted and simulated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from platforms.plotting.bars import draw_bar
from platforms.plotting.charts import Axes, Figure, legend_below, new_figure
from platforms.plotting.styles import BLUE, ORANGE

COMPUTATION, COMMUNICATION, OTHERS = "computation", "communication and waiting", "not separated"
_EDGE = {"edgecolor": "#404040", "linewidth": 0.5}
_LOOKS: Mapping[str, Mapping[str, Any]] = {
    COMPUTATION: {"facecolor": BLUE, **_EDGE},
    COMMUNICATION: {"facecolor": ORANGE, "hatch": "//", **_EDGE},
    OTHERS: {"facecolor": "#b0b0b0", "hatch": "..", **_EDGE},
}
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
    legend_below(figure, {name: look for name, look in _LOOKS.items() if name in shown})
    return figure


def _draw(axes: Axes, bar: Bar, y: float, truth_s: float, limit: float) -> set[str]:
    by_name = {name: part_s / truth_s for name, part_s in bar.parts_s.items()}
    length = bar.time_s / truth_s
    rest = length - sum(by_name.values())
    if rest > 1e-9 * length:
        by_name[OTHERS] = rest
    note = f"{bar.time_s:.4g} s" + ("" if bar.truth else f", {length:.3g}\N{MULTIPLICATION SIGN}")
    draw_bar(axes, y, by_name, _LOOKS, note, end=limit, beside=1.0, height=0.78)  # notes avoid the line of the truth
    return set(by_name)
