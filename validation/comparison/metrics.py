"""Statistics of prediction errors over several targets.  All other modules take their statistics from here."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from platforms.grids.scenario import SCENARIOS, named_grid
from validation.comparison.rows import Row, column, records, rows_by

if TYPE_CHECKING:
    # Imported here because it is slow to import.
    import numpy as np
    import numpy.typing as npt
    import pandas as pd

    Numbers = npt.NDArray[np.float64]

ALL_APPS = "all"  # stands in column app of the summary rows over all apps
SEED = 2019  # seed of the resampling: equal errors give equal intervals
CONFIDENCE = 0.95
RESAMPLES = 9999
NUMBERS_AT_A_TIME = 4_000_000  # resampled errors that are in memory at once
_NORMAL = NormalDist()

SUMMARY_COLUMNS = (
    *("predictor", "app", "cases", "n", "mean_error_pct", "mean_abs_error_pct"),
    *("mean_abs_error_low_pct", "mean_abs_error_high_pct", "median_abs_error_pct", "max_abs_error_pct", "r2"),
    *("mean_abs_energy_error_pct", "max_abs_energy_error_pct"),
)
_FIRST_STATISTIC = SUMMARY_COLUMNS.index("mean_error_pct")


@dataclass(frozen=True)
class Statistics:
    """Statistics of errors relative to the truth, in %.  None: too few predictions."""

    n: int  # number of predictions, without the targets that have no answer
    mean_pct: float | None  # signed: errors of both signs cancel, so read it together with mean_abs_pct
    mean_abs_pct: float | None  # the mean percentage error of the HCF paper
    median_abs_pct: float | None
    low_pct: float | None  # ends of the interval of mean_abs_pct; None for a single prediction
    high_pct: float | None
    max_abs_pct: float | None
    r2: float | None  # R2 of the predicted times; None if all truths are equal


def statistics(
    errors_pct: npt.ArrayLike, predicted: npt.ArrayLike, simulated: npt.ArrayLike, *, seed: int = SEED
) -> Statistics:
    """Return the statistics of predictions.

    Predictions without an error (None or NaN) are left out.  The order of the predictions does not change the result,
    to the last bit.

    The interval is the 95 % BCa bootstrap interval of the mean absolute error (B. Efron, "Better bootstrap confidence
    intervals", J. Am. Stat. Assoc. 82, 1987), computed as scipy.stats.bootstrap does, with 9,999 resamples of the
    errors in ascending order.  Like every bootstrap interval it is too narrow for a few errors.  If all errors are
    equal, the interval is a point.

    R2 = 1 - sum (predicted - simulated)^2 / sum (simulated - mean simulated)^2 is the coefficient of determination of
    the predictions about the line predicted = simulated.  Nothing is fitted, so R2 is negative if the predictions are
    worse than the mean of the truths.  R2 uses the values, not their logarithms, so the longest runs dominate.

    Args:
        errors_pct: Relative errors, %.
        predicted: Predicted values, in the order of the errors.
        simulated: True values, in the order of the errors.
        seed: Seed of the resampling.

    >>> found = statistics([10, -20, 30], predicted=[110, 80, 130], simulated=[100, 100, 100])
    >>> found.mean_abs_pct, found.median_abs_pct, found.max_abs_pct
    (20.0, 20.0, 30.0)
    """
    # Imported here because it is slow to import.
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
        return mean, mean  # every resample has the same mean
    # Imported here because it is slow to import.
    import numpy as np

    rng, count = np.random.default_rng(seed), sizes.size
    batch = max(1, NUMBERS_AT_A_TIME // count)
    batches = [min(batch, RESAMPLES - done) for done in range(0, RESAMPLES, batch)]
    means = np.concatenate([sizes[rng.integers(0, count, (size, count))].mean(axis=1) for size in batches])
    bias = _quantile(float((means < mean).mean() + (means <= mean).mean()) / 2)
    influence = sizes - mean  # proportional to the jackknife's, which is sufficient for a mean
    acceleration = (influence**3).sum() / (6 * (influence**2).sum() ** 1.5)
    ends = (bias + _quantile(0.5 + side * CONFIDENCE / 2) for side in (-1, 1))
    low, high = np.quantile(means, [_NORMAL.cdf(bias + end / (1 - acceleration * end)) for end in ends])
    return float(low), float(high)


def _quantile(probability: float) -> float:
    """Return the quantile of the normal distribution; that of SciPy takes a quarter of a second to import."""
    if 0.0 < probability < 1.0:
        return _NORMAL.inv_cdf(probability)
    return math.copysign(math.inf, probability - 0.5)


def _determination(predicted: Numbers, simulated: Numbers) -> float | None:
    total = float(((simulated - simulated.mean()) ** 2).sum())
    return None if total == 0 else 1 - float(((predicted - simulated) ** 2).sum()) / total


def summarise(results: pd.DataFrame, *, seed: int = SEED) -> pd.DataFrame:
    """Return the rows of ``summary_rows`` as a table, with NaN for what is unknown."""
    # Imported here because it is slow to import.
    import pandas as pd

    table = pd.DataFrame(summary_rows(records(results), seed=seed), columns=list(SUMMARY_COLUMNS))
    return table.astype(dict.fromkeys(SUMMARY_COLUMNS[_FIRST_STATISTIC:], float))


def summary_rows(results: Sequence[Row], *, seed: int = SEED) -> list[dict[str, Any]]:
    """Return the error statistics per predictor and app, and per predictor over all apps (app ``all``).

    The statistics are those of the errors in time, and the mean and largest absolute error of the energy if it is
    known.  Column ``cases`` is the number of targets; ``n`` is the number of targets that the predictor answers, and
    only these enter the statistics.  In the rows over all apps every target has the same weight.  The rows have
    SUMMARY_COLUMNS; None: too few predictions.

    Args:
        results: The results, with the columns of validation.comparison.compare.Result.
        seed: Seed of the resampling.
    """
    by_app = rows_by(results, "predictor", "app")
    over_all = {(predictor, ALL_APPS): rows for (predictor,), rows in rows_by(results, "predictor").items()}
    return [
        _summary(predictor, app, rows, seed)
        for groups in (by_app, over_all)
        for (predictor, app), rows in groups.items()
    ]


def _summary(predictor: str, app: str, rows: Sequence[Row], seed: int) -> dict[str, Any]:
    times = statistics(*(column(rows, name) for name in ("error_pct", "predicted_s", "simulated_s")), seed=seed)
    energy_errors = [abs(row["energy_error_pct"]) for row in rows if row["energy_error_pct"] is not None]
    return {
        "predictor": predictor,
        "app": app,
        "cases": len(rows),
        "n": times.n,
        "mean_error_pct": times.mean_pct,
        "mean_abs_error_pct": times.mean_abs_pct,
        "mean_abs_error_low_pct": times.low_pct,
        "mean_abs_error_high_pct": times.high_pct,
        "median_abs_error_pct": times.median_abs_pct,
        "max_abs_error_pct": times.max_abs_pct,
        "r2": times.r2,
        "mean_abs_energy_error_pct": mean(energy_errors) if energy_errors else None,
        "max_abs_energy_error_pct": max(energy_errors, default=None),
    }


def mean(values: Iterable[float]) -> float:
    """Return the mean without None and NaN; NaN if nothing is left.  The order does not change the last bit."""
    known = [float(value) for value in values if value is not None and not math.isnan(value)]
    return math.fsum(known) / len(known) if known else math.nan


def published_errors(results: Sequence[Row]) -> dict[str, float]:
    """Return the mean percentage errors by app that the HCF paper published, if the results are of the paper's cases.

    These are class B on all nodes of each of the six scenarios.  For other results the dictionary is empty.
    """
    if set(column(results, "class")) != {"B"} or set(column(results, "scenario")) != set(SCENARIOS):
        return {}
    nodes = {name: sum(cluster.nodes for cluster in named_grid(name).clusters) for name in SCENARIOS}
    if any(nodes[row["scenario"]] != row["ranks"] for row in results):
        return {}
    with open(Path(__file__).with_name("published.csv"), newline="") as file:
        return {row["app"]: float(row["mean_abs_error_pct"]) for row in csv.DictReader(file)}
