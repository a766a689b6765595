"""Figure of the errors of an app against the compute share, on a logit axis that spreads both ends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from platforms.plotting.charts import Axes, Figure, new_figure
from platforms.plotting.lines import Panel, Series, draw
from platforms.plotting.styles import dots, label_decades, line, style_of
from validation.map.thresholds import LIMITS_PCT, mean_curve

if TYPE_CHECKING:
    import pandas as pd

_TICKS = (1e-4, 1e-3, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97, 0.99, 0.999, 0.9999, 0.99999)
_SHARES = (1e-4, 1 - 1e-5)  # shares beyond are drawn at the edge
_LEAST_PCT = 0.01  # smaller errors are drawn at the edge


def regimes_figure(results: pd.DataFrame, app: str, published_pct: float | None = None) -> Figure:
    """Plot the absolute errors of all cases of ``app`` against the compute shares of the simulated runs.

    The share has a logit axis, the error a logarithmic one.  Horizontal lines are drawn at LIMITS_PCT and, if known,
    at the published mean error.  For each network a line joins the means over the scenarios of a step.
    """
    rows = results[(results["app"] == app) & results["error_pct"].notna()]
    means = mean_curve(rows)
    drawn = []
    for number, name in enumerate(dict.fromkeys(rows["predictor"])):
        color, marker, dash = style_of(number)
        cases, curves = rows[rows["predictor"] == name], means[means["predictor"] == name]
        points = dots(color, marker, 4) | {"alpha": 0.45, "markeredgewidth": 0}
        drawn.append(Series(*_drawn(cases["compute_share"], cases["error_pct"]), points))
        joined = dots(color, marker, 6, edge=True) | line(color, dash, 1.8)
        for place, (_, curve) in enumerate(curves.groupby("base_network", sort=False)):
            shown = _drawn(curve["compute_share"], curve["abs_error_pct"])
            drawn.append(Series(*shown, joined, None if place else name))
        if curves.empty:
            drawn.append(Series([], [], dots(color, marker), name))
    of = "" if means.empty else "\n(lines: mean over\nthe scenarios)"
    chart = Panel(
        title=f"{_program(rows, app)}: error against the share of computation", drawn=drawn,
        x="computation of the busiest rank, share of the simulated run",
        y=f"|error|, % ({_LEAST_PCT:g} % and less at the bottom)",
        legend={"loc": "center left", "bbox_to_anchor": (1.01, 0.5), "title": f"predictor{of}", "title_fontsize": 9},
    )  # fmt: skip
    figure = new_figure(9, 5.2)
    axes = figure.add_subplot()
    draw(axes, chart)
    _axes(axes, rows["compute_share"])
    _limits(axes, published_pct)
    return figure


def _program(rows: pd.DataFrame, app: str) -> str:
    classes = [str(preset) for preset in dict.fromkeys(rows["class"]) if preset is not None]
    return f"{app.upper()} class {', '.join(classes)}" if classes else app.upper()


def _drawn(shares: Iterable[float], errors_pct: Iterable[float]) -> tuple[list[float], list[float]]:
    low, high = _SHARES
    return [min(max(share, low), high) for share in shares], [max(abs(error), _LEAST_PCT) for error in errors_pct]


def _axes(axes: Axes, shares: pd.Series[float]) -> None:
    axes.set_xscale("logit")
    drawn, _ = _drawn(shares, [])
    low, high = min(drawn, default=_SHARES[0]), max(drawn, default=_SHARES[1])
    axes.set_xlim(0.8 * low, 1 - 0.8 * (1 - high))
    ticks = [tick for tick in _TICKS if 0.8 * low <= tick <= 1 - 0.8 * (1 - high)]
    axes.set_xticks(ticks, [f"{100 * tick:g} %" for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set_yscale("log")
    low_pct, high_pct = axes.get_ylim()
    axes.set_ylim(max(low_pct, 0.8 * _LEAST_PCT), max(high_pct, 2 * max(LIMITS_PCT)))
    label_decades(axes.yaxis)


def _limits(axes: Axes, published_pct: float | None) -> None:
    for limit_pct in LIMITS_PCT:
        axes.axhline(limit_pct, color="0.45", linewidth=0.8, zorder=0.9)
    if published_pct is not None:
        axes.axhline(published_pct, color="black", linewidth=1.2, linestyle=(0, (6, 2, 1, 2)), zorder=0.9)
        axes.annotate(
            f"published mean {published_pct:g} %", (0.01, published_pct), xycoords=("axes fraction", "data"),
            xytext=(0, -3), textcoords="offset points", ha="left", va="top", fontsize=9,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.8},
        )  # fmt: skip
