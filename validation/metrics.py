"""Errors over several targets: the one place where they become statistics."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from platforms.scenario import SCENARIOS, named_grid
from validation.frames import grouped

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    Numbers = npt.NDArray[np.float64]

ALL_APPS = "all"  # the app of a summary's rows over all apps
SEED = 2019  # of the resampling: equal errors give equal intervals
CONFIDENCE = 0.95
RESAMPLES = 9999
_NUMBERS_AT_A_TIME = 4_000_000  # of the resampled errors, in memory

SUMMARY_COLUMNS = (
    *("predictor", "app", "cases", "n", "mean_error_pct", "mean_abs_error_pct"),
    *("mean_abs_error_low_pct", "mean_abs_error_high_pct", "median_abs_error_pct", "max_abs_error_pct", "r2"),
    *("mean_abs_energy_error_pct", "max_abs_energy_error_pct"),
)


@dataclass(frozen=True)
class Statistics:
    """What errors have in common.  Errors are relative to the truth, in %; None: too few predictions to say."""

    n: int  # predictions, those without an answer left out
    mean_pct: float | None  # signed: errors of both signs cancel, so it is nothing without the next
    mean_abs_pct: float | None  # the mean percentage error of the HCF paper
    median_abs_pct: float | None
    low_pct: float | None  # interval of the mean absolute error; None for a single prediction
    high_pct: float | None
    max_abs_pct: float | None
    r2: float | None  # of the predicted times; None where the truths are all the same


def statistics(
    errors_pct: npt.ArrayLike, predicted: npt.ArrayLike, simulated: npt.ArrayLike, *, seed: int = SEED
) -> Statistics:
    """Statistics of predictions whose relative errors, values and truths are given in one order.

    What has no error (None or NaN) is left out; the order does not matter, to the last bit.  The interval is the 95 %
    BCa bootstrap interval of the mean absolute error (B. Efron, "Better bootstrap confidence intervals", J. Am. Stat.
    Assoc. 82, 1987; as scipy.stats.bootstrap, 9,999 resamples, of the errors in ascending order); of a few errors it
    is too narrow, as every bootstrap.  Errors that are all the same give a point.

    R2 = 1 - sum (predicted - simulated)^2 / sum (simulated - mean simulated)^2, the coefficient of determination of
    the predictions as they are, about the line predicted = simulated; nothing is fitted, so that it is negative where
    predictions are worse than the mean of the truths.  It is of values, not of their logarithms: the longest runs
    decide.

    >>> found = statistics([10, -20, 30], predicted=[110, 80, 130], simulated=[100, 100, 100])
    >>> found.mean_abs_pct, found.median_abs_pct, found.max_abs_pct
    (20.0, 20.0, 30.0)
    """
    import numpy as np

    errors, answers, truths = (np.asarray(values, float) for values in (errors_pct, predicted, simulated))
    ascending = np.lexsort((truths, answers, errors))
    kept = ascending[~np.isnan(errors[ascending])]
    errors, answers, truths = errors[kept], answers[kept], truths[kept]
    if not errors.size:
        return Statistics(0, *(None,) * 7)
    sizes = np.sort(np.abs(errors))
    low_pct, high_pct = _interval(sizes, seed)
    return Statistics(
        n=int(sizes.size),
        mean_pct=float(errors.mean()),
        mean_abs_pct=float(sizes.mean()),
        median_abs_pct=float(np.median(sizes)),
        low_pct=low_pct,
        high_pct=high_pct,
        max_abs_pct=float(sizes.max()),
        r2=_determination(answers, truths),
    )


def _interval(sizes: Numbers, seed: int) -> tuple[float | None, float | None]:
    if sizes.size < 2:
        return None, None
    mean = float(sizes.mean())
    if float(sizes.max() - sizes.min()) <= 1e-12 * mean:
        return mean, mean  # resampling cannot tell them apart
    import numpy as np
    from scipy.special import (
        ndtr,
        ndtri,
    )  # not scipy.stats.bootstrap, to which a test compares: it takes 0.7 s to import

    rng, count = np.random.default_rng(seed), sizes.size
    batch = max(1, _NUMBERS_AT_A_TIME // count)
    batches = [min(batch, RESAMPLES - done) for done in range(0, RESAMPLES, batch)]
    means = np.concatenate([sizes[rng.integers(0, count, (size, count))].mean(axis=1) for size in batches])
    bias = ndtri(((means < mean).mean() + (means <= mean).mean()) / 2)
    influence = sizes - mean  # in proportion to that of the jackknife: of a mean, all that is needed
    acceleration = (influence**3).sum() / (6 * (influence**2).sum() ** 1.5)
    ends = bias + ndtri(np.array([0.5 - CONFIDENCE / 2, 0.5 + CONFIDENCE / 2]))
    low, high = np.quantile(means, ndtr(bias + ends / (1 - acceleration * ends)))
    return float(low), float(high)


def _determination(predicted: Numbers, simulated: Numbers) -> float | None:
    total = float(((simulated - simulated.mean()) ** 2).sum())
    return None if total == 0 else 1 - float(((predicted - simulated) ** 2).sum()) / total


def summarise(results: pd.DataFrame, *, seed: int = SEED) -> pd.DataFrame:
    """Per predictor and app, and per predictor over all apps (app ``all``), the statistics of its errors in time, and
    mean and largest absolute error of the energy where that is known.

    ``cases`` counts the targets, ``n`` those of them that the predictor has an answer for; the others are in no
    statistic.  Over all apps every target counts the same.
    """
    import pandas as pd

    over_all = results.assign(app=ALL_APPS)
    rows = [
        _summary(predictor, app, group, seed)
        for table in (results, over_all)
        for (predictor, app), group in grouped(table, ["predictor", "app"])
    ]
    return pd.DataFrame(rows, columns=list(SUMMARY_COLUMNS))


def _summary(predictor: str, app: str, group: pd.DataFrame, seed: int) -> dict[str, Any]:
    times = statistics(group["error_pct"], group["predicted_s"], group["simulated_s"], seed=seed)
    energy_errors = group["energy_error_pct"].astype(float).abs()
    return {
        "predictor": predictor,
        "app": app,
        "cases": len(group),
        "n": times.n,
        "mean_error_pct": _number(times.mean_pct),
        "mean_abs_error_pct": _number(times.mean_abs_pct),
        "mean_abs_error_low_pct": _number(times.low_pct),
        "mean_abs_error_high_pct": _number(times.high_pct),
        "median_abs_error_pct": _number(times.median_abs_pct),
        "max_abs_error_pct": _number(times.max_abs_pct),
        "r2": _number(times.r2),
        "mean_abs_energy_error_pct": mean(energy_errors),
        "max_abs_energy_error_pct": energy_errors.max(),
    }


def mean(values: Iterable[float]) -> float:
    """Of those that are there, whatever their order, to the last bit; NaN of none."""
    known = [float(value) for value in values if value is not None and not math.isnan(value)]
    return math.fsum(known) / len(known) if known else math.nan


def _number(value: float | None) -> float:
    return math.nan if value is None else value  # a column of numbers stays one


def published_errors(results: pd.DataFrame) -> dict[str, float]:
    """The HCF paper's mean percentage error by app, where the results are of its cases: class B on all nodes of each of
    the six scenarios."""
    if set(results["class"]) != {"B"} or set(results["scenario"]) != set(SCENARIOS):
        return {}
    nodes = {name: sum(cluster.nodes for cluster in named_grid(name).clusters) for name in SCENARIOS}
    if any(nodes[name] != ranks for name, ranks in zip(results["scenario"], results["ranks"], strict=True)):
        return {}
    with open(Path(__file__).with_name("published.csv"), newline="") as file:
        return {row["app"]: float(row["mean_abs_error_pct"]) for row in csv.DictReader(file)}
