"""Surfaces over cores per node and nodes, like the paper's: model, simulation and error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from platforms.plotting.charts import Axes, Figure, new_figure, write_figures
from platforms.plotting.surface import Surface, draw_surfaces
from predictor.hierarchical.figures import AXES
from predictor.hierarchical.model import COUNTED, DERIVED
from validation.cores.communication import Point

if TYPE_CHECKING:
    import numpy.typing as npt

_MOST_ERROR = 100.0  # %, end of the colour scale


def surfaces_figure(points: Sequence[Point]) -> Figure:
    """Plot simulated, counted and derived speed-ups on one scale, and the error of the counted ones by q and p."""
    study = points[0].study
    speedups = {
        "simulated": _grid(points, lambda point: point.speedup),
        "model, counted": _grid(points, lambda point: point.model_speedup(COUNTED)),
        "model, the paper's table (derived)": _grid(points, lambda point: point.model_speedup(DERIVED)),
    }
    highest = 1.05 * max(float(values.max()) for values in speedups.values())
    figure = new_figure(11.5, 9.6, f"{study.app}, n = {study.n}, on {study.system.name}")
    x, y = np.meshgrid(np.log2(study.cores), np.log2(study.nodes))
    for place, (title, values) in enumerate(speedups.items(), 1):
        surface = Surface(x=x, y=y, z=values, top=highest)
        axes = draw_surfaces(figure, (2, 2, place), [surface], title=title, **AXES)
        axes.set_xticks(np.log2(study.cores), [str(q) for q in study.cores])
        axes.set_yticks(np.log2(study.nodes), [str(p) for p in study.nodes])
    _errors(figure, figure.add_subplot(2, 2, 4), points)
    return figure


def _grid(points: Sequence[Point], value: Callable[[Point], float]) -> npt.NDArray[np.float64]:
    """Return the values in an array with a row per p and a column per q."""
    study = points[0].study
    known = {(point.q, point.p): value(point) for point in points}
    return np.array([[known[q, p] for q in study.cores] for p in study.nodes])


def _errors(figure: Figure, axes: Axes, points: Sequence[Point]) -> None:
    study = points[0].study
    errors = 100 * _grid(points, lambda point: point.error(COUNTED))
    image = axes.imshow(errors, origin="lower", cmap="RdBu_r", vmin=-_MOST_ERROR, vmax=_MOST_ERROR, aspect="auto")
    for (row, column), error in np.ndenumerate(errors):
        dark = abs(error) > 0.65 * _MOST_ERROR
        axes.text(
            column, row, f"{error:+z.0f}", ha="center", va="center", fontsize=9, color="white" if dark else "black"
        )
    axes.set_xticks(range(len(study.cores)), [str(q) for q in study.cores])
    axes.set_yticks(range(len(study.nodes)), [str(p) for p in study.nodes])
    axes.set(xlabel="cores per node q", ylabel="nodes p")
    axes.set_title("error of the counted speed-up, %", fontsize=10)
    figure.colorbar(image, ax=axes, extend="both", shrink=0.85)


def write_figure(points: Sequence[Point], folder: Path, name: str) -> Path:
    """Write the surfaces to ``NAME.png`` in the folder and return its path."""
    (path,) = write_figures({name: surfaces_figure(points)}, folder, ("png",), dpi=120)
    return path
