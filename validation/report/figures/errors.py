"""Figures of errors: predicted over true times, errors over the share of computation, and their distribution."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from platforms.plotting.charts import Axes, Figure, finish, new_figure
from platforms.plotting.styles import dots, label_decades, line, style_of
from validation.presentation.numbering import predictor_numbers
from validation.presentation.tables import truth_name

if TYPE_CHECKING:
    import pandas as pd

BANDS_PCT = (5.0, 10.0)
LIMITS_PCT = (5.0, 10.0, 20.0)
_LEAST_PCT = 1e-3  # smaller errors are drawn here
_MOST_MARKERS = 1500  # markers drawn as vector shapes; more become one image


def scatter_figure(results: pd.DataFrame, app: str | None) -> Figure:
    """Plot predicted over true times on logarithmic axes, with bands of BANDS_PCT around equality.

    Args:
        results: The results.
        app: The app to plot; None: all apps, whose names are written below their points.
    """
    figure, axes = _axes(square=True)
    rows = _rows_of_app(results, app)
    rows = rows[rows["predicted_s"].notna()]
    times_s = rows[["predicted_s", "simulated_s"]].astype(float).to_numpy()
    times_s = times_s[times_s > 0]
    low, high = (times_s.min() / 1.5, times_s.max() * 1.5) if times_s.size else (0.1, 10.0)
    line = np.array([low, high])
    for band_pct, alpha in zip(sorted(BANDS_PCT, reverse=True), (0.45, 0.8), strict=True):
        axes.fill_between(
            line, line * (1 - band_pct / 100), line * (1 + band_pct / 100), color="#cfcfcf", alpha=alpha, linewidth=0,
            label=f"within {band_pct:g} %",
        )  # fmt: skip
    axes.plot(line, line, color="black", linewidth=0.8)
    _points(axes, results, rows, x="simulated_s", y="predicted_s")
    axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high))
    if app is None:
        _name_apps(axes, rows, x="simulated_s")
    return _finished(figure, axes, f"{truth_name(results['truth'])} time, s", "predicted time, s", log="xy")


def share_figure(results: pd.DataFrame, app: str | None) -> Figure:
    """Plot absolute errors over the share of computation in the simulated run.

    Filled markers are predictions without a caution, hollow markers predictions with a caution.

    Args:
        results: The results.
        app: The app to plot; None: all apps, whose names are written below their points.
    """
    figure, axes = _axes()
    rows = _rows_of_app(results, app)
    rows = rows[rows["error_pct"].notna() & rows["compute_share"].notna()]
    rows = rows.assign(
        share_pct=100 * rows["compute_share"].astype(float),
        size_pct=rows["abs_error_pct"].astype(float).clip(lower=_LEAST_PCT),
    )
    for limit_pct in LIMITS_PCT:
        axes.axhline(limit_pct, color="#8a8a8a", linewidth=0.8, linestyle=":")
        axes.annotate(
            f"{limit_pct:g} %", (1, limit_pct), xycoords=("axes fraction", "data"), xytext=(-2, 1),
            textcoords="offset points", ha="right", va="bottom", fontsize=8,
        )  # fmt: skip
    _points(axes, results, rows, x="share_pct", y="size_pct", hollow=rows["flags"] != "")
    axes.set(yscale="log", xlim=(-2, 102))
    if app is None:
        axes.set_ylim(bottom=axes.get_ylim()[0] / 3)  # leaves space for the names
        _name_apps(axes, rows, x="share_pct")
    _finished(figure, axes, "computation, % of the simulated run", "|error|, %", log="y")
    _tell_floor(axes.yaxis)
    return figure


def distribution_figure(results: pd.DataFrame, app: str) -> Figure:
    """Plot the share of each predictor's cases up to an error; cases without an answer are never included."""
    figure, axes = _axes()
    rows = results[results["app"] == app]
    for name, number in predictor_numbers(results).items():
        errors_pct = rows.loc[rows["predictor"] == name, "abs_error_pct"].astype(float)
        reached = np.sort(errors_pct.dropna().clip(lower=_LEAST_PCT))
        if not reached.size:
            continue
        color, marker, _ = style_of(number)
        shares_pct = 100 * np.arange(1, len(reached) + 1) / len(errors_pct)
        look = dots(color, marker) | line(color)
        axes.step(reached, shares_pct, where="post", markevery=0.2, label=name, **look)
    for limit_pct in LIMITS_PCT:
        axes.axvline(limit_pct, color="#8a8a8a", linewidth=0.8, linestyle=":")
    axes.set(xscale="log", ylim=(0, 103))
    _finished(figure, axes, "|error|, %, at most", "cases, %", log="x")
    _tell_floor(axes.xaxis)
    return figure


def _axes(*, square: bool = False) -> tuple[Figure, Axes]:
    figure = new_figure(5.4, 4.3)
    axes = figure.add_subplot()
    if square:
        # w_pad is in inches; with less, the label of the vertical axis is cut off.
        figure.set_layout_engine("constrained", compress=True, w_pad=0.1)
        axes.set_box_aspect(1)
    return figure, axes


def _rows_of_app(results: pd.DataFrame, app: str | None) -> pd.DataFrame:
    return results if app is None else results[results["app"] == app]


def _name_apps(axes: Axes, rows: pd.DataFrame, *, x: str) -> None:
    for app in dict.fromkeys(rows["app"]):
        for at in sorted(set(rows.loc[rows["app"] == app, x].astype(float))):
            axes.annotate(
                app, (at, 0), xycoords=("data", "axes fraction"), xytext=(0, 3), textcoords="offset points",
                ha="center", va="bottom", rotation=90, fontsize=8, parse_math=False,
            )  # fmt: skip


def _points(
    axes: Axes, results: pd.DataFrame, rows: pd.DataFrame, *, x: str, y: str, hollow: pd.Series[bool] | None = None
) -> None:
    """Plot the points of every predictor in its style, which is the same in all figures of these results."""
    many = len(rows) > _MOST_MARKERS
    for name, number in predictor_numbers(results).items():
        of_predictor = rows["predictor"] == name
        if not of_predictor.any():
            continue
        color, marker, _ = style_of(number)
        groups = [(of_predictor, False)]
        if hollow is not None:
            groups = [(of_predictor & ~hollow, False), (of_predictor & hollow, True)]
        label = name
        for chosen, empty in groups:
            if not chosen.any():
                continue
            look = dots(color, marker, 6, hollow=empty, edge=not empty)
            values = rows.loc[chosen, [x, y]].astype(float)
            axes.plot(values[x], values[y], label=label, rasterized=many, **look)
            label = "_"  # keeps a single entry in the legend


def _tell_floor(axis: Any) -> None:
    """Label the least error that is drawn as one that smaller errors share."""
    plain = axis.get_major_formatter()

    def floor_told(value: float, position: float) -> str:
        text = plain(value, int(position))
        return f"≤ {text}" if math.isclose(value, _LEAST_PCT) else text

    axis.set_major_formatter(floor_told)


def _finished(figure: Figure, axes: Axes, xlabel: str, ylabel: str, *, log: str) -> Figure:
    for name in log:
        label_decades(axes.xaxis if name == "x" else axes.yaxis)
    finish(axes, xlabel=xlabel, ylabel=ylabel)
    if axes.get_legend_handles_labels()[0]:
        figure.legend(loc="outside right upper", fontsize=8, frameon=False)
    return figure
