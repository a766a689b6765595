"""Figures of a campaign of choices, like Figures 2 to 20 of Ichikawa, Takahashi, Kawai."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from platforms.plotting import charts
from platforms.plotting.charts import Figure
from validation.nodes.plots.choices import choice_figure, delta_figure, fewer_sizes_figure, fits_figure, static_figure
from validation.nodes.plots.models import models_figure

if TYPE_CHECKING:
    import pandas as pd


def write_figures(rows: pd.DataFrame, measurements: pd.DataFrame, folder: Path) -> list[Path]:
    """Write the figures that the rows have data for as PNG files, and return their paths.

    - choice-APP.png: the choices of each model, without noise
    - fits-APP.png: NP-T models by least squares and by non-negative least squares, with noise
    - fewer-sizes-APP.png: models fitted to fewer sizes
    - static-APP.png: static allocations
    - models-APP.png: measurements of one sub-cluster and the models of both kinds of fit
    - delta.png: errors of the estimated times of all apps

    Args:
        rows: Choices with the columns of ``validation.nodes.output.AllocationRow``.
        measurements: The runs that the models were fitted to, noise included, with columns app, noise, seed, size,
            configuration, time_s, work_flops; or an empty table.
        folder: Where to write the files.
    """
    figures = {name: figure for name, figure in _figures(rows, measurements) if figure is not None}
    return charts.write_figures(figures, folder, ("png",))


def _figures(rows: pd.DataFrame, measurements: pd.DataFrame) -> Iterator[tuple[str, Figure | None]]:
    for app in dict.fromkeys(rows["app"]):
        app_rows = rows[rows["app"] == app]
        runs = measurements[measurements["app"] == app] if len(measurements) else measurements
        yield f"choice-{app}", choice_figure(app_rows)
        yield f"fits-{app}", fits_figure(app_rows)
        yield f"fewer-sizes-{app}", fewer_sizes_figure(app_rows)
        yield f"static-{app}", static_figure(app_rows)
        yield f"models-{app}", models_figure(app_rows, runs)
    yield "delta", delta_figure(rows)
