"""Figures of the league: errors against costs with the Pareto front, and the regret of choices."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from platforms.plotting import charts
from platforms.plotting.charts import Axes, Figure, finish, legend_below, panels
from platforms.plotting.front import draw_front, place_labels
from platforms.plotting.styles import STYLES, label_decades
from validation.comparison.metrics import ALL_APPS
from validation.ranking.deciding import ALL_HOSTS, CHANCE
from validation.ranking.standing import SIMULATE

if TYPE_CHECKING:
    import pandas as pd

LEAST_ERROR_PCT = 1e-4  # smaller errors are drawn here, because the extrapolation is hardly more accurate
_PANELS = (
    ("evidence_share", 100.0, "evidence, % of the full run's node-seconds"),
    ("wall_s", 1.0, "seconds of this computer for evidence and answer"),
)
_LINEAR_PCT = 1.0  # the axis is linear up to this regret


def pareto_figure(table: pd.DataFrame) -> Figure:
    """Plot the mean absolute error against each cost, both on logarithmic axes.

    Filled circles are on the front, hollow squares are not.  Errors below LEAST_ERROR_PCT and costs of 0 are drawn at
    the edge.

    Args:
        table: The fronts, as ``pareto`` returns them.
    """
    figure, places = panels(2, 2, 12, 5.6, sharey=True)
    for axes, (cost, factor, label) in zip(places, _PANELS, strict=True):
        _panel(axes, table[table["cost"] == cost], factor)
        finish(axes, xlabel=label)
    places[0].set_ylabel("mean absolute error, %")
    legend_below(figure, fontsize=9.5)
    figure.draw_without_rendering()  # place_labels needs the positions of the points
    for axes in places:
        place_labels(axes)
    return figure


def _panel(axes: Axes, table: pd.DataFrame, factor: float) -> None:
    errors = np.maximum(table["mean_abs_error_pct"].to_numpy(float), LEAST_ERROR_PCT)
    costs = factor * table["value"].to_numpy(float)
    least = costs[costs > 0].min(initial=np.inf)
    costs = np.maximum(costs, least / 10 if np.isfinite(least) else 1.0)
    axes.set(xscale="log", yscale="log")
    points = zip(costs.tolist(), errors.tolist(), table["on_front"].tolist(), table["predictor"], strict=True)
    draw_front(axes, list(points), "no predictor")
    for label in axes.texts:
        label.set_fontstyle("italic" if label.get_text() == SIMULATE else "normal")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}" if value > LEAST_ERROR_PCT else f"≤ {value:g}")
    label_decades(axes.xaxis)


def regret_figure(table: pd.DataFrame) -> Figure:
    """Plot the mean regret of the predictors, the best on top: a panel per kind of choice, a marker per app.

    Args:
        table: The choices, as ``decisions`` returns them.
    """
    kinds = list(dict.fromkeys(table["decision"]))
    names = _by_regret(table)
    apps = [app for app in dict.fromkeys(table["app"]) if app != ALL_APPS]
    figure, places = panels(len(kinds), len(kinds), 3.2 + 3.2 * len(kinds), 1.6 + 0.32 * len(names), sharey=True)
    top = max(float(table["mean_regret_pct"].max()), _LINEAR_PCT)
    for axes, kind in zip(places, kinds, strict=True):
        for number, app in enumerate(apps):
            rows = table[(table["decision"] == kind) & (table["app"] == app) & table["predictor"].isin(names)]
            color, marker, _ = STYLES[number % len(STYLES)]
            offset = 0.5 * ((number + 0.5) / len(apps) - 0.5)
            axes.plot(
                rows["mean_regret_pct"].to_numpy(float), [names.index(name) + offset for name in rows["predictor"]],
                linestyle="none", marker=marker, color=color, markeredgecolor="black", markeredgewidth=0.5,
                markersize=6, label=app, clip_on=False, zorder=3,
            )  # fmt: skip
        axes.set_xscale("symlog", linthresh=_LINEAR_PCT, linscale=0.5)
        axes.set_xlim(0, 1.3 * top)
        axes.set_xticks([0, *(10.0 ** np.arange(0, np.floor(np.log10(top)) + 1))])
        axes.set_xticks([], minor=True)
        axes.xaxis.set_major_formatter("{x:g}")
        finish(axes, f"choosing {kind}", xlabel=f"mean regret, % (linear to {_LINEAR_PCT:g} %)")
    figure.axes[0].set_yticks(range(len(names)), names)
    figure.axes[0].set_ylim(len(names) - 0.5, -0.5)
    legend_below(figure, fontsize=9.5)
    return figure


def _by_regret(table: pd.DataFrame) -> list[str]:
    """Return the predictors by ascending mean regret over kinds and apps; (chance) and (all hosts) last."""
    over_all = table[table["app"] == ALL_APPS]
    means = over_all.groupby("predictor", sort=False)["mean_regret_pct"].mean().dropna()
    plain = [name for name in (CHANCE, ALL_HOSTS) if name in means.index]
    return [*means.drop(plain).sort_values(kind="stable").index, *plain]


def write_figures(front: pd.DataFrame, choices: pd.DataFrame, folder: Path) -> list[Path]:
    """Write the figures pareto, if predictors are ranked, and regret, if there are choices, as .png and .svg."""
    figures = {}
    if not front.empty:
        figures["pareto"] = pareto_figure(front)
    if not choices.empty:
        figures["regret"] = regret_figure(choices)
    return charts.write_figures(figures, folder)
