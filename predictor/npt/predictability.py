"""Predictability of a cluster and a program, judged by their measured runs before anything is chosen by them.

Ichikawa, Takahashi, Kawai, section 7: a model is accurate only where the system behaves in a simple way.  Section 7.1
(network interface), 7.2 (MTU), 7.4 (buffer size of the library) and 7.5 (power saving) show times that do not repeat,
glitches, and jumps between classes of sizes; section 7.3 shows contention between sub-clusters.  The paper gives no
thresholds; those here are ours.

Measures of trust in a choice: cross-validation over sizes, and repeated choices from resampled measurements.

Bootstrap: how often a choice would come out again if the measurements were repeated.

Each resampling draws the relative residuals of every model, with replacement, around the times that the model gives,
fits all models again, and looks which configurations are then the best (Efron and Tibshirani, "An Introduction to the
Bootstrap", section 9.4: resampling residuals).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from platforms.errors import UserError
from predictor.allocation.configuration import Configuration
from predictor.allocation.space import Space
from predictor.base import OutOfRange
from predictor.npt.measurements import Measurements
from predictor.npt.models import NptModels
from predictor.npt.outliers import is_far_slower

# Fits models to measurements, near the size N.
FitNear = Callable[[Measurements, float], NptModels]
ROUNDING = 1e-9  # times that differ less are equal
FINE, CAUTION, REFUSED, UNKNOWN = "fine", "caution", "refused", "unknown"


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
    model_s = np.array([_resampled_s(models, measurements, row) for row in range(len(measurements))])
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


def _resampled_s(models: NptModels, measurements: Measurements, row: int) -> float:
    try:
        return models.predict(measurements.configuration(row), float(measurements.size[row]))[0]
    except OutOfRange:
        return float("nan")


@dataclass(frozen=True)
class Check:
    """One check of measurements."""

    name: str
    value: float  # a share; NaN where the measurements do not tell
    caution_above: float
    refused_above: float
    text: str  # a sentence with the value

    @property
    def verdict(self) -> str:
        """One of FINE, CAUTION, REFUSED and UNKNOWN."""
        if np.isnan(self.value):
            return UNKNOWN
        return REFUSED if self.value > self.refused_above else CAUTION if self.value > self.caution_above else FINE

    def __str__(self) -> str:
        return f"{self.name}: {self.verdict}; {self.text}"


def checks(measurements: Measurements, models: NptModels) -> tuple[Check, ...]:
    """Return the checks of the measured runs, in the order in which they are shown.

    Args:
        measurements: The runs: on single sub-clusters, and, for the check of contention, on several at once.
        models: Models that were fitted to the runs on single sub-clusters, without outliers.
    """
    model_s = np.array([_model_s(models, measurements, row) for row in range(len(measurements))])
    excess = np.log(measurements.time_s / np.where(model_s > 0, model_s, np.nan))
    alone = (measurements.sub_cluster >= 0) & ~np.isnan(excess)
    return (
        _repeatability(measurements),
        _glitches(excess[alone]),
        _jumps(measurements.size[alone], excess[alone]),
        _contention(excess[(measurements.sub_cluster < 0) & ~np.isnan(excess)]),
    )


def _repeatability(measurements: Measurements) -> Check:
    """Return the median, over runs made several times, of the slowest time over the fastest, less one."""
    spreads = [
        times_s.max() / times_s.min() - 1
        for rows in measurements.series
        for times_s in _by_size(measurements.size[rows], measurements.time_s[rows])
        if len(times_s) > 1
    ]
    if not spreads:
        return _check("repeatability", float("nan"), 0.1, 0.5, "no run was made twice")
    value = float(np.median(spreads))
    return _check("repeatability", value, 0.1, 0.5, f"repeats of the same run differ by {_percent(value)} (median)")


def _glitches(excess: np.ndarray) -> Check:
    """Return the share of runs that are far slower than the model of the others."""
    if not len(excess):
        return _check("glitches", float("nan"), 0.1, 0.25, "no run has a model")
    value = float(is_far_slower(excess).mean())
    return _check("glitches", value, 0.1, 0.25, f"{_percent(value)} of the runs are far slower than the model")


def _jumps(sizes: np.ndarray, excess: np.ndarray) -> Check:
    """Return the largest deviation of a size from the models, as the median over its configurations."""
    medians = {size: float(np.median(excess[sizes == size])) for size in np.unique(sizes).tolist()}
    if len(medians) < 2:
        return _check("jumps between sizes", float("nan"), 0.15, 0.5, "fewer than two sizes")
    at = max(medians, key=lambda size: abs(medians[size]))
    value = float(np.exp(abs(medians[at])) - 1)
    text = f"N = {at:g} is off the curve through all sizes by {_percent(value)}, more than any other"
    return _check("jumps between sizes", value, 0.15, 0.5, text)


def _contention(excess: np.ndarray) -> Check:
    """Return how much longer runs on several sub-clusters take than the slowest sub-cluster alone would, by median."""
    if not len(excess):
        text = "no run used several sub-clusters"
        return _check("contention between sub-clusters", float("nan"), 0.25, 1.0, text)
    value = float(np.exp(np.median(excess)) - 1)
    how = f"{_percent(abs(value))} {'longer' if value >= 0 else 'less'}"
    text = f"runs on several sub-clusters take {how} than the models of single ones say (median)"
    return _check("contention between sub-clusters", value, 0.25, 1.0, text)


def _check(name: str, value: float, caution_above: float, refused_above: float, text: str) -> Check:
    return Check(name, value, caution_above, refused_above, text)


def _by_size(sizes: np.ndarray, times_s: np.ndarray) -> Iterator[np.ndarray]:
    for size in np.unique(sizes):
        yield times_s[sizes == size]


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _model_s(models: NptModels, measurements: Measurements, row: int) -> float:
    try:
        return models.predict(measurements.configuration(row), float(measurements.size[row]))[0]
    except OutOfRange:
        return float("nan")
