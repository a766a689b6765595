"""Measures of trust in a choice: cross-validation over sizes, and repeated choices from resampled measurements.

Bootstrap: how often a choice would come out again if the measurements were repeated.

Each resampling draws the relative residuals of every model, with replacement, around the times that the model gives,
fits all models again, and looks which configurations are then the best (Efron and Tibshirani, "An Introduction to the
Bootstrap", section 9.4: resampling residuals).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from platforms.errors import UserError
from predictor.allocation.configuration import Configuration
from predictor.allocation.space import Space
from predictor.base import OutOfRange
from predictor.npt.measurements import Measurements
from predictor.npt.models import NptModels

# Fits models to measurements, near the size N.
FitNear = Callable[[Measurements, float], NptModels]


def cross_validated_error(measurements: Measurements, fit_near: FitNear) -> float:
    """Return the mean of abs(log(predicted / measured)) over the runs, each predicted from the other sizes.

    Sizes without which there is no model, and runs for which a model gives no positive time, are left out; infinity
    where nothing is left.
    """
    errors = [error for size in np.unique(measurements.size) for error in _errors(measurements, fit_near, float(size))]
    return float(np.mean(errors)) if errors else np.inf


def _errors(measurements: Measurements, fit_near: FitNear, size: float) -> Iterator[float]:
    of_size = measurements.size == size
    if of_size.all():
        return
    try:
        models = fit_near(measurements.where(~of_size), size)
    except UserError:
        return
    for row in np.flatnonzero(of_size).tolist():
        try:
            time_s, _ = models.predict(measurements.configuration(row), size)
        except OutOfRange:
            continue
        if time_s > 0:
            yield float(abs(np.log(time_s / measurements.time_s[row])))


ROUNDING = 1e-9  # times that differ less are equal


def probability_best(
    measurements: Measurements,
    fit: Callable[[Measurements], NptModels],
    space: Space,
    size: float,
    chosen: Configuration,
    *,
    resamplings: int,
    seed: int = 0,
) -> float:
    """Return the share of resamplings in which no configuration is estimated to be faster than ``chosen``.

    It knows of the scatter of the measurements and of the misfit of the equations at the measured runs, not of what the
    equations lack beyond them.  NaN where no resampling gives models.

    Args:
        measurements: The measured runs.
        fit: Fits models to such runs.
        space: The configurations.
        size: N of the choice.
        chosen: The choice.
        resamplings: Number of resamplings.
        seed: Seed of the draws.
    """
    (row,) = space.rows([chosen])
    models = fit(measurements)
    best = []
    for drawn in _resampled(measurements, models, resamplings, np.random.default_rng(seed)):
        try:
            times_s, _ = fit(drawn).times(space, size)
        except UserError:  # models without the terms that the draw needs
            continue
        best.append(times_s[row] <= np.nanmin(times_s) * (1 + ROUNDING))
    return float(np.mean(best)) if best else float("nan")


def _resampled(
    measurements: Measurements, models: NptModels, count: int, random: np.random.Generator
) -> Iterator[Measurements]:
    """Yield measurements with residuals drawn among those of the same sub-cluster and number of processes per PE."""
    model_s = np.array([_model_s(models, measurements, row) for row in range(len(measurements))])
    used = ~(models.glitches | models.outliers) & (model_s > 0)  # NaN, without a model, is not
    residual = np.log(measurements.time_s / np.where(used, model_s, measurements.time_s))
    series: dict[tuple[int, int], list[int]] = {}
    for row in np.flatnonzero(used).tolist():
        i = int(measurements.sub_cluster[row])
        series.setdefault((i, int(measurements.processes[row, i])), []).append(row)
    for _ in range(count):
        times_s = measurements.time_s.copy()
        for rows in series.values():
            times_s[rows] = model_s[rows] * np.exp(random.choice(residual[rows], len(rows)))
        yield measurements.with_times(times_s)


def _model_s(models: NptModels, measurements: Measurements, row: int) -> float:
    try:
        return models.predict(measurements.configuration(row), float(measurements.size[row]))[0]
    except OutOfRange:
        return float("nan")
