"""Figures of the league: errors against costs with the Pareto front, and the regret of choices."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from platforms.files.writing import save_figure
from platforms.plotting.styles import STYLES
from predictor.series.labels import place_labels
from validation.comparison.metrics import ALL_APPS
from validation.ranking.deciding import ALL_HOSTS, CHANCE
from validation.ranking.standing import SIMULATE

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEAST_ERROR_PCT = 1e-4  # smaller errors are drawn here, because the extrapolation is hardly more accurate
_FRONT, _REST, _LINE = "#0072B2", "#D55E00", "0.35"  # colours of Okabe and Ito for colour-blind readers
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
    # Imported here because it is slow to import.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 5.6), layout="constrained")
    for axes, (cost, scale, label) in zip(figure.subplots(1, 2, sharey=True), _PANELS, strict=True):
        of_cost = table[table["cost"] == cost]
        _panel(axes, of_cost, scale)
        axes.set_xlabel(label)
    figure.axes[0].set_ylabel("mean absolute error, %")
    handles, names = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(names), frameon=False)
    figure.draw_without_rendering()  # place_labels needs the positions of the points
    for axes in figure.axes:
        place_labels(axes)
    return figure


def _panel(axes: Axes, table: pd.DataFrame, scale: float) -> None:
    # Imported here because it is slow to import.
    from matplotlib.ticker import LogLocator, NullFormatter

    errors = np.maximum(table["mean_abs_error_pct"].to_numpy(float), LEAST_ERROR_PCT)
    costs = scale * table["value"].to_numpy(float)
    least = costs[costs > 0].min(initial=np.inf)
    costs = np.maximum(costs, least / 10 if np.isfinite(least) else 1.0)
    front = table["on_front"].to_numpy(bool)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.plot(
        *_steps(costs[front], errors[front]), color=_FRONT, linewidth=1, linestyle=":", zorder=1,
        label="no predictor is below and left of this line",
    )  # fmt: skip
    axes.plot(
        costs[front], errors[front], "o", color=_FRONT, markersize=8, linestyle="none", label="on the Pareto front"
    )
    axes.plot(
        costs[~front], errors[~front], "s", markerfacecolor="none", markeredgecolor=_REST, markeredgewidth=1.5,
        markersize=7, linestyle="none", label="dominated",
    )  # fmt: skip
    for name, x, y in zip(table["predictor"], costs, errors, strict=True):
        style = "italic" if name == SIMULATE else "normal"
        label = axes.annotate(
            name, (x, y), xytext=(6, 6), textcoords="offset points", fontsize=9, style=style,
            arrowprops={"arrowstyle": "-", "color": _LINE, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 4},
        )  # fmt: skip
        label.set_in_layout(False)
    axes.margins(0.16, 0.1)
    axes.grid(color="0.92")
    axes.set_axisbelow(True)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}" if value > LEAST_ERROR_PCT else f"≤ {value:g}")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if costs.max() < 1e3 * costs.min() else (1,)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())


def _steps(
    costs: npt.NDArray[np.float64], errors: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the corner points of the front; all points to the right of it and above it are dominated."""
    order = np.lexsort((errors, costs))
    return np.repeat(costs[order], 2)[1:], np.repeat(errors[order], 2)[:-1]


def regret_figure(table: pd.DataFrame) -> Figure:
    """Plot the mean regret of the predictors, the best on top: a panel per kind of choice, a marker per app.

    Args:
        table: The choices, as ``decisions`` returns them.
    """
    # Imported here because they are slow to import.
    from matplotlib.figure import Figure
    from matplotlib.ticker import FixedLocator, NullLocator

    kinds = list(dict.fromkeys(table["decision"]))
    names = _by_regret(table)
    apps = [app for app in dict.fromkeys(table["app"]) if app != ALL_APPS]
    figure = Figure(figsize=(3.2 + 3.2 * len(kinds), 1.6 + 0.32 * len(names)), layout="constrained")
    top = max(float(table["mean_regret_pct"].max()), _LINEAR_PCT)
    for axes, kind in zip(figure.subplots(1, len(kinds), sharey=True, squeeze=False)[0], kinds, strict=True):
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
        axes.xaxis.set_major_locator(FixedLocator([0, *(10.0 ** np.arange(0, np.floor(np.log10(top)) + 1))]))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter("{x:g}")
        axes.set_title(f"choosing {kind}", fontsize=11)
        axes.set_xlabel(f"mean regret, % (linear to {_LINEAR_PCT:g} %)")
        axes.grid(color="0.92")
        axes.set_axisbelow(True)
    figure.axes[0].set_yticks(range(len(names)), names)
    figure.axes[0].set_ylim(len(names) - 0.5, -0.5)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
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
    written = []
    for name, figure in figures.items():
        for suffix in ("png", "svg"):
            path = folder / f"{name}.{suffix}"
            save_figure(figure, path, dpi=150)
            written.append(path)
    return written
