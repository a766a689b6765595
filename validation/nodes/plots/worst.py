"""The worst choice of models by least squares, with its measurements and models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from predictor.allocation.configuration import Configuration
from predictor.npt.curves import Point, Series
from predictor.npt.fitting import fit_models
from predictor.npt.measurements import Measurement, Measurements
from predictor.npt.models import NptModels
from predictor.npt.outliers import K, glitches
from predictor.npt.tables import equations
from validation.comparison.rows import rows_of
from validation.nodes.plots import rows as of

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

METHODS = {"LS": "ls", "NNLS": "nnls"}


@dataclass(frozen=True, eq=False)
class WorstChoice:
    """A choice by NP-T/LS, with the noisy measurements of one sub-cluster and M_i that it used."""

    chosen: Configuration
    size: int
    epsilon: float
    noise: float
    seed: int
    series: Series
    runs: Measurements  # runs on this sub-cluster alone, with M_i processes on a PE
    left_out: npt.NDArray[np.bool_] | None  # runs that the glitch rule would leave out; None: their work is unknown
    models: dict[str, NptModels]  # by the names of METHODS, for all sub-clusters

    @property
    def ranks(self) -> list[int]:
        """The measured P and the P of the choice."""
        return sorted({*self.runs.total.tolist(), self.chosen.total})

    def times_s(self, method: str, sizes: npt.NDArray[np.float64], ranks: int) -> npt.NDArray[np.float64]:
        """Return T_i by N on P processes, by the models of a method."""
        return _times_s(self.models[method], self.series, sizes, ranks)


def worst_case(rows: pd.DataFrame, measurements: pd.DataFrame) -> WorstChoice | None:
    """Return the worst choice by NP-T/LS for one app.

    The choice is that with the largest epsilon for the noise and seed whose mean epsilon is largest.  Of the
    sub-clusters in use, the case shows the one for which the times by LS and NNLS differ most, relative to NNLS.

    Args:
        rows: The choices for one app.
        measurements: The runs of this app.

    Returns:
        The case, or None if there are no noisy measurements or no choices by LS based on them.
    """
    noisy = rows[(rows["model"] == of.LS) & (rows["noise"] > 0) & rows["epsilon"].notna()]
    if noisy.empty or measurements.empty:
        return None
    noisy = noisy.assign(epsilon=noisy["epsilon"].astype(float)).reset_index(drop=True)
    means = noisy.groupby(["noise", "seed"])["epsilon"].mean()
    noise, seed = means.index[int(means.argmax())]
    same = noisy[(noisy["noise"] == noise) & (noisy["seed"] == seed)]
    worst = same.iloc[int(same["epsilon"].argmax())]
    shown = measurements[(measurements["noise"] == noise) & (measurements["seed"] == seed)]
    if shown.empty:
        return None
    runs = _runs(shown)
    form = equations(worst["app"])
    models = {name: fit_models(runs, form, method=method) for name, method in METHODS.items()}
    chosen = Configuration.parse(worst["chosen"])
    size = np.array([float(worst["size"])])

    def difference(series: Series) -> float:
        ls, nnls = (_times_s(models[name], series, size, chosen.total)[0] for name in METHODS)
        return float(abs(ls / nnls - 1))

    series = max((Series(i, chosen.shares[i][1]) for i in chosen.used), key=difference)
    in_series = (runs.sub_cluster == series.sub_cluster) & (runs.processes[:, series.sub_cluster] == series.processes)
    return WorstChoice(
        chosen=chosen,
        size=int(worst["size"]),
        epsilon=float(worst["epsilon"]),
        noise=float(noise),
        seed=int(seed),
        series=series,
        runs=runs.where(in_series),
        left_out=None if np.isnan(runs.work_flops).any() else glitches(runs, K)[in_series],
        models=models,
    )


def _runs(measurements: pd.DataFrame) -> Measurements:
    return Measurements.of(
        Measurement(
            Configuration.parse(run.configuration),
            float(run.size),
            run.time_s,
            None if np.isnan(run.work_flops) else run.work_flops,
        )
        for run in rows_of(measurements)
    )


def _times_s(models: NptModels, series: Series, sizes: npt.NDArray[np.float64], ranks: int) -> npt.NDArray[np.float64]:
    """Return T_i by the N-T model if P = M_i, a single PE, and otherwise by the NP-T model (section 4.2)."""
    i, processes = series
    if ranks == processes:
        return models.points.times_s(Point(i, ranks, processes), sizes)
    assert models.curves is not None  # other P than M_i were measured
    which = list(models.curves.fits).index(series)
    return np.array([models.curves.times_s(size, np.array([ranks]))[which, 0] for size in sizes])
