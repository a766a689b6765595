"""Figure of epsilon of models fitted to fewer sizes, as Figures 6 and 7 of Ichikawa, Takahashi, Kawai (section 5.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from platforms.plotting.charts import Axes, Figure, legend_below, panels
from validation.nodes.plots import rows as of
from validation.nodes.plots.axes import band, epsilon_axis, size_axis, style

if TYPE_CHECKING:
    import pandas as pd

_ORDER = ("N-T", "P-T", "NP-T")  # from left to right; the paper has the latter two in this order


def fewer_sizes_figure(rows: pd.DataFrame) -> Figure | None:
    """Plot epsilon of one app by N, with a panel per kind of model and a row of panels per noise.

    None: all models are fitted to all sizes.
    """
    fewer = [name for name in of.models(rows) if of.largest(name) is not None]
    if not fewer:
        return None
    kinds = sorted({of.all_sizes(name) for name in fewer}, key=_place)
    noises = of.noises(rows[rows["model"].isin(fewer)])
    size_in, columns = (max(6.0, 5.2 * len(kinds)), 1.0 + 3.6 * len(noises)), len(kinds)
    title = f"{rows['app'].iloc[0]}: models made of fewer sizes"
    figure, places = panels(columns * len(noises), columns, *size_in, title, sharey="row")
    measured = {largest for name in fewer if (largest := of.largest(name)) is not None}
    limits: list[int | None] = [*sorted(measured), None]
    for number, noise in enumerate(noises):
        row = places[number * columns : (number + 1) * columns]
        shown = rows[rows["model"].isin([*kinds, *fewer]) & (rows["noise"] == noise)]
        for axes, kind in zip(row, kinds, strict=True):
            kind_rows = shown[shown["model"].map(of.all_sizes) == kind]
            _draw(axes, kind_rows, limits)
            size_axis(axes, of.sizes(shown))
            said = f"noise {100 * noise:g} %" if noise else ""
            axes.set_title(", ".join(filter(None, (kind, said, of.mean_text(kind_rows)))), fontsize=10)
        epsilon_axis(row[0], shown["epsilon"].to_numpy(float))
    legend_below(figure, fontsize=9)
    return figure


def _draw(axes: Axes, rows: pd.DataFrame, limits: list[int | None]) -> None:
    """Draw one line for each largest N, with the same styles in all panels."""
    x = of.sizes(rows)
    largest = rows["model"].map(of.largest)
    for number, limit in enumerate(reversed(limits)):
        limit_rows = rows[largest.isna() if limit is None else largest == limit]
        mean, least, most = of.over_seeds(limit_rows, "epsilon", x)
        if np.isfinite(mean).any():
            label = "models of all sizes" if limit is None else f"of N to {limit}"
            axes.plot(x, mean, label=label, **style(number))
            band(axes, x, least, most, style(number)["color"])


def _place(kind: str) -> tuple[int, str]:
    form = kind.split("/")[0].split()[0]
    return (_ORDER.index(form) if form in _ORDER else len(_ORDER), kind)
