"""Coverage of intervals: in which share of the cases they hold the true time, and how wide they are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from predictor.intervals.cases import GRID, SURROUNDINGS, CalibrationCase, Features, by_predictor
from predictor.intervals.interval import bounds, calibration_or_none, too_far
from validation.comparison.rows import grouped, records

if TYPE_CHECKING:
    from predictor.intervals.calibration import Calibration

COVERAGE_COLUMNS = (
    *("predictor", "answers", "intervals", "inside", "coverage", "coverage_low", "coverage_high"),
    *("below", "above", "median_width_pct"),
)
_CONFIDENCE = 0.95


def with_intervals(results: pd.DataFrame, cases: Iterable[CalibrationCase]) -> pd.DataFrame:
    """Return results whose intervals are made from these cases instead.

    A result does not say why a prediction had no interval, such as several ranks on a node: every prediction gets one
    whose predictor has enough cases.
    """
    known = {
        (name, surroundings): calibration_or_none(tuple(predictor_cases), surroundings)
        for name, predictor_cases in by_predictor(cases).items()
        for surroundings in SURROUNDINGS
    }
    made = [_again(row, known.get((str(row["predictor"]), surroundings_of_row(row)))) for row in records(results)]
    return results.assign(
        interval_low_s=[low_s for low_s, _ in made],
        interval_high_s=[high_s for _, high_s in made],
    )


def _again(row: Mapping[str, Any], calibration: Calibration | None) -> tuple[float, float]:
    """Return the interval of a row of results; NaN if there is none."""
    time_s, nothing = row["predicted_s"], (math.nan, math.nan)
    if calibration is None or time_s is None or not time_s > 0:
        return nothing
    features = features_of_row(row)
    if too_far(features, calibration):
        return nothing
    low, high = bounds(features, calibration)
    return time_s * math.exp(low), time_s * math.exp(high)


def features_of_row(row: Mapping[str, Any]) -> Features:
    """Return the features of a row of results, whose missing values are None."""
    features = (row["feature_compute_share"], row["feature_ratio"], row["feature_fit_residual"])
    return Features(row["app"], *features, surroundings_of_row(row))


def surroundings_of_row(row: Mapping[str, Any]) -> str:
    """Return the kind of surroundings of a row of results; earlier versions did not keep it, and knew one."""
    return str(row.get("feature_surroundings") or GRID)


def coverage(results: pd.DataFrame, by: Sequence[str] = ()) -> pd.DataFrame:
    """Return the coverage of each predictor's intervals, with COVERAGE_COLUMNS after those of ``by``.

    ``coverage_low`` and ``coverage_high`` are the ends of the 95 % interval of Clopper and Pearson (Biometrika 26,
    1934), which takes the cases as independent.  ``below`` and ``above`` count truths outside.  The width is that of
    the interval over the true time, in %.

    Args:
        results: Results with the columns of validation.comparison.compare.Result.
        by: More columns that distinguish the rows, such as ``network``.
    """
    rows = []
    for key, part in grouped(results, ["predictor", *by], dropna=False):
        row = dict(zip(("predictor", *by), key, strict=True))
        rows.append({**row, **_of_part(part)})
    first, *others = COVERAGE_COLUMNS
    return pd.DataFrame(rows, columns=[first, *by, *others])


def _of_part(part: pd.DataFrame) -> dict[str, Any]:
    # Imported here because it is slow to import.
    from scipy.stats import binomtest

    answered = part[part["interval_low_s"].notna()]
    below = int((answered["simulated_s"] < answered["interval_low_s"]).sum())
    above = int((answered["simulated_s"] > answered["interval_high_s"]).sum())
    n, inside = len(answered), len(answered) - below - above
    summary: dict[str, Any] = {
        "answers": int(part["predicted_s"].notna().sum()),
        "intervals": n,
        "inside": inside,
        "below": below,
        "above": above,
    }
    if n:
        interval = binomtest(inside, n).proportion_ci(_CONFIDENCE, method="exact")
        width = (answered["interval_high_s"] - answered["interval_low_s"]) / answered["simulated_s"]
        summary |= {"coverage": inside / n, "coverage_low": interval.low, "coverage_high": interval.high}
        summary["median_width_pct"] = 100 * float(width.median())
    return summary
