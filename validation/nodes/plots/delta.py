"""Figure of delta, the error of the choice's estimated time: Ichikawa, Takahashi, Kawai, section 6.2, Figure 20."""

from __future__ import annotations

from typing import TYPE_CHECKING

from platforms.plotting.charts import Figure, legend_below, panels
from validation.nodes.plots import rows as of
from validation.nodes.plots.axes import WITHIN, band, percent_axis, size_axis, style

if TYPE_CHECKING:
    import pandas as pd

_COLUMNS = 4
_HUGE = 2.0  # |delta| above which the axis is linear only up to WITHIN


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
        app_rows = shown[shown["app"] == app]
        x = of.sizes(app_rows)
        axes.axhspan(-WITHIN, WITHIN, color="0.9", zorder=0)
        axes.axhline(0, color="0.5", linewidth=0.8, zorder=1)
        for noise in of.noises(app_rows):
            part = app_rows[app_rows["noise"] == noise]
            mean, least, most = of.over_seeds(part, "delta", x)
            axes.plot(x, mean, label=_label(noise, part), **looks[noise])
            band(axes, x, least, most, looks[noise]["color"])
        size_axis(axes, x)
        axes.grid(False)
        axes.set_title(app, fontsize=10)
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


def _label(noise: float, rows: pd.DataFrame) -> str:
    said = f"noise {100 * noise:g} %" if noise else "without noise"
    return ", ".join(filter(None, (said, of.mean_text(rows))))
