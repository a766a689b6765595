"""Figures with the simulated times of the optimum and of the choices, and epsilon.

They correspond to Figures 2 to 5 (models), 11 to 14 (kinds of fit) and 15 to 19 (static allocations) of Ichikawa,
Takahashi, Kawai.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from platforms.plotting.charts import Axes, Figure, legend_below, panels
from validation.nodes.plots import rows as of
from validation.nodes.plots.axes import band, epsilon_axis, size_axis, styles, time_axis

if TYPE_CHECKING:
    import pandas as pd


def choice_figure(rows: pd.DataFrame) -> Figure | None:
    """Plot the choices of each model for one app, without noise, and the optimum.  None: there is no such model."""
    names = [name for name in of.models(rows) if not of.is_static(name) and of.largest(name) is None]
    shown = rows[rows["model"].isin(names) & (rows["noise"] == 0)]
    if shown.empty:
        return None
    return _figure([shown], [""], f"{_app(rows)}: configurations that were chosen, without noise")


def fits_figure(rows: pd.DataFrame) -> Figure | None:
    """Plot NP-T models of one app by least squares and non-negative least squares, with two panels per noise.

    None: no noise has both kinds of models.
    """
    shown, titles = [], []
    for noise in of.noises(rows):
        part = rows[rows["model"].isin([of.LS, of.NNLS]) & (rows["noise"] == noise)]
        if noise > 0 and part["model"].nunique() == 2:
            shown.append(part)
            titles.append(f"noise {100 * noise:g} %")
    if not shown:
        return None
    return _figure(shown, titles, f"{_app(rows)}: least squares (LS) and non-negative least squares (NNLS)")


def static_figure(rows: pd.DataFrame) -> Figure | None:
    """Plot static allocations of one app, the choices of NP-T/NNLS and the optimum.  None: there are no allocations.

    A line is interrupted at sizes that do not allow the number of ranks.
    """
    names = [name for name in of.models(rows) if of.is_static(name)]
    if not names:
        return None
    nnls = rows[rows["model"] == of.NNLS]
    noise = min(of.noises(nnls), default=0.0)  # 0 if there are models without noise
    shown = rows[rows["model"].isin(names) | ((rows["model"] == of.NNLS) & (rows["noise"] == noise))]
    return _figure(
        [shown],
        [f"{of.NNLS} with noise {100 * noise:g} %" if noise else ""],
        f"{_app(rows)}: static allocations, whatever the size",
    )


def _app(rows: pd.DataFrame) -> str:
    return str(rows["app"].iloc[0])


def _figure(parts: Sequence[pd.DataFrame], titles: Sequence[str], title: str) -> Figure:
    """Plot a row of panels for each part: times on the left, epsilon on the right."""
    figure, places = panels(2 * len(parts), 2, 10.5, 1.0 + 3.6 * len(parts), title)
    for left, right, part, subtitle in zip(places[::2], places[1::2], parts, titles, strict=True):
        x = of.sizes(part)
        draw(left, part, "simulated_s")
        optimum_s = of.over_seeds(part, "optimum_s", x)[0]
        left.plot(x, optimum_s, color="black", linewidth=4, alpha=0.35, label="optimum", zorder=1)
        time_axis(left)
        draw(right, part, "epsilon")
        epsilon_axis(right, part["epsilon"].to_numpy(float))
        for axes, said in ((left, subtitle), (right, of.mean_text(part))):
            size_axis(axes, x)
            axes.set_title(said, fontsize=10)
    legend_below(figure, fontsize=9)
    return figure


def draw(axes: Axes, rows: pd.DataFrame, column: str, names: Sequence[str] | None = None) -> None:
    """Draw one line per model, the mean over its seeds, and a band from the least to the most over the seeds.

    Args:
        axes: The panel.
        rows: The choices.
        column: The column to draw.
        names: The models that get styles; default: those of the rows.
    """
    x = of.sizes(rows)
    looks = styles(names or of.models(rows))
    for name in of.models(rows):
        model_rows = rows[rows["model"] == name]
        mean, least, most = of.over_seeds(model_rows, column, x)
        if np.isfinite(mean).any():
            axes.plot(x, mean, label=name + of.unanswered(model_rows), **looks[name])
            band(axes, x, least, most, looks[name]["color"])
