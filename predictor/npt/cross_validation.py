"""Cross-validation over sizes: how well models predict the measured runs of a size that they were not fitted to."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from platforms.errors import UserError
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
