"""Figures of choices over sizes: simulated times, epsilon and delta of Ichikawa, Takahashi, Kawai.

They correspond to the paper's Figures 2 to 5 (models), 6 and 7 (fewer sizes), 11 to 14 (kinds of fit), 15 to 19 (static
allocations) and 20 (error of the estimated time).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from platforms.plotting.charts import Figure, legend_below, panels
from platforms.plotting.lines import Band, Look, Panel, Series, draw
from validation.nodes.plots import rows as of
from validation.nodes.plots.axes import WITHIN, epsilon_axis, percent_axis, size_axis, style, styles, time_axis

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

_ORDER = ("N-T", "P-T", "NP-T")  # of kinds from left to right; the paper has the latter two in this order
_COLUMNS = 4
_HUGE = 2.0  # |delta| above which the axis is linear only up to WITHIN


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
    title = f"{of.NNLS} with noise {100 * noise:g} %" if noise else ""
    return _figure([shown], [title], f"{_app(rows)}: static allocations, whatever the size")


def _app(rows: pd.DataFrame) -> str:
    return str(rows["app"].iloc[0])


def _figure(parts: Sequence[pd.DataFrame], titles: Sequence[str], title: str) -> Figure:
    """Plot a row of panels for each part: times on the left, epsilon on the right."""
    figure, places = panels(2 * len(parts), 2, 10.5, 1.0 + 3.6 * len(parts), title)
    for left, right, part, subtitle in zip(places[::2], places[1::2], parts, titles, strict=True):
        x = of.sizes(part)
        look = {"color": "black", "linewidth": 4, "alpha": 0.35, "zorder": 1}
        optimum = Series(x, of.over_seeds(part, "optimum_s", x)[0], look, "optimum")
        draw(left, Panel(title=subtitle, drawn=[*_models(part, "simulated_s"), optimum]))
        time_axis(left)
        draw(right, Panel(title=of.mean_text(part), drawn=_models(part, "epsilon")))
        epsilon_axis(right, part["epsilon"].to_numpy(float))
        for axes in (left, right):
            size_axis(axes, x)
    legend_below(figure, fontsize=9)
    return figure


def _models(rows: pd.DataFrame, column: str) -> list[Series | Band]:
    """Return a line for each model."""
    drawn: list[Series | Band] = []
    looks, x = styles(of.models(rows)), of.sizes(rows)
    for name in of.models(rows):
        part = rows[rows["model"] == name]
        drawn += _curve(part, column, x, looks[name], name + of.unanswered(part))
    return drawn


def _curve(rows: pd.DataFrame, column: str, x: npt.NDArray[np.float64], look: Look, label: str) -> list[Series | Band]:
    """Return the mean over the seeds at each size, and a band from the least to the most."""
    mean, least, most = of.over_seeds(rows, column, x)
    if not np.isfinite(mean).any():
        return []
    drawn: list[Series | Band] = [Series(x, mean, look, label)]
    if np.nanmax(most - least, initial=0.0) > 0:
        drawn.append(Band(x, least, most, look["color"], alpha=0.18))
    return drawn


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
    title = f"{_app(rows)}: models made of fewer sizes"
    figure, places = panels(columns * len(noises), columns, *size_in, title, sharey="row")
    measured = sorted({largest for name in fewer if (largest := of.largest(name)) is not None})
    for number, noise in enumerate(noises):
        row = places[number * columns : (number + 1) * columns]
        shown = rows[rows["model"].isin([*kinds, *fewer]) & (rows["noise"] == noise)]
        for axes, kind in zip(row, kinds, strict=True):
            part = shown[shown["model"].map(of.all_sizes) == kind]
            said = f"noise {100 * noise:g} %" if noise else ""
            title = ", ".join(filter(None, (kind, said, of.mean_text(part))))
            draw(axes, Panel(title=title, drawn=_limits(part, [None, *reversed(measured)])))
            size_axis(axes, of.sizes(shown))
        epsilon_axis(row[0], shown["epsilon"].to_numpy(float))
    legend_below(figure, fontsize=9)
    return figure


def _limits(rows: pd.DataFrame, limits: Sequence[int | None]) -> list[Series | Band]:
    """Return a line for each largest N, with the same styles in all panels."""
    drawn: list[Series | Band] = []
    largest = rows["model"].map(of.largest)
    for number, limit in enumerate(limits):
        part = rows[largest.isna() if limit is None else largest == limit]
        label = "models of all sizes" if limit is None else f"of N to {limit}"
        drawn += _curve(part, "epsilon", of.sizes(rows), style(number), label)
    return drawn


def _place(kind: str) -> tuple[int, str]:
    form = kind.split("/")[0].split()[0]
    return (_ORDER.index(form) if form in _ORDER else len(_ORDER), kind)


def delta_figure(rows: pd.DataFrame) -> Figure | None:
    """Plot delta of NP-T/NNLS by N, with a panel per app, because their N differ, and a line per noise.

    None: there are no such models.
    """
    shown = rows[(rows["model"] == of.NNLS) & rows["delta"].notna()]
    if shown.empty:
        return None
    apps = list(dict.fromkeys(shown["app"]))
    columns = min(len(apps), _COLUMNS)
    size_in = max(7.0, 3.4 * columns + 0.6), 1.1 + 3.0 * -(-len(apps) // columns)
    within = f"\N{PLUS-MINUS SIGN}{100 * WITHIN:g} %"
    title = f"{of.NNLS}: error of the estimated time of the choice (grey: {within})"
    figure, places = panels(len(apps), columns, *size_in, title, sharey=True)
    looks = {noise: style(number) for number, noise in enumerate(of.noises(shown))}
    for axes, app in zip(places, apps, strict=True):
        of_app = shown[shown["app"] == app]
        x, drawn = of.sizes(of_app), []
        for noise in of.noises(of_app):
            part = of_app[of_app["noise"] == noise]
            said = f"noise {100 * noise:g} %" if noise else "without noise"
            label = ", ".join(filter(None, (said, of.mean_text(part))))
            drawn += _curve(part, "delta", x, looks[noise], label)
        draw(axes, Panel(title=app, drawn=drawn, across=(0,)))
        axes.axhspan(-WITHIN, WITHIN, color="0.9", zorder=0)
        size_axis(axes, x)
        axes.grid(False)
    deltas, note = shown["delta"].astype(float), ""
    if deltas.abs().max() > _HUGE:
        places[0].set_yscale("symlog", linthresh=WITHIN)
        note = f"\n(linear to {100 * WITHIN:g} %)"
    places[0].set_ylim(min(1.1 * deltas.min(), -1.5 * WITHIN), max(1.1 * deltas.max(), 1.5 * WITHIN))
    percent_axis(places[0])
    for axes in places[::columns]:
        axes.set_ylabel("\N{GREEK SMALL LETTER DELTA}: estimated time too long by" + note)
    figure.align_xlabels()
    legend_below(figure, fontsize=9)
    return figure
