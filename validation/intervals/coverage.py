"""Coverage of intervals: in which share of the cases they hold the true time, and how wide they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from platforms.wording import number_of
from predictor.intervals.calibration import Calibration
from predictor.intervals.cases import Case, by_predictor
from predictor.intervals.features import Features
from predictor.intervals.interval import calibration_or_none, too_far
from validation.comparison.dataframes import grouped, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd

COVERAGE_COLUMNS = (
    *("predictor", "answers", "intervals", "inside", "coverage", "coverage_low", "coverage_high"),
    *("below", "above", "median_width_pct"),
)
_CONFIDENCE = 0.95


def with_intervals(results: pd.DataFrame, cases: Iterable[Case]) -> pd.DataFrame:
    """Return results whose intervals are made from these cases, for the rows that had an interval or lacked a cause.

    A row has features wherever there is a prediction; the rows that a calibration cannot speak of keep no interval.
    """
    known = {name: calibration_or_none(tuple(found)) for name, found in by_predictor(cases).items()}
    made = [_again(row, known.get(row.predictor)) for row in rows_of(results)]
    return results.assign(
        interval_low_s=[low_s for low_s, _ in made],
        interval_high_s=[high_s for _, high_s in made],
    )


def _again(row: object, calibration: Calibration | None) -> tuple[float, float]:
    """Return the interval of a row of results; NaN where there is none."""
    values = row._asdict()  # type: ignore[attr-defined]
    if calibration is None or not values["predicted_s"] > 0:
        return np.nan, np.nan
    features = features_of_row(values)
    if too_far(features, calibration):
        return np.nan, np.nan
    expected = calibration.expected(features)
    return values["predicted_s"] * np.exp(expected.low), values["predicted_s"] * np.exp(expected.high)


def features_of_row(values: dict[str, object]) -> Features:
    """Return the features of a row of results."""

    def known(name: str) -> float | None:
        value = float(values[name])  # type: ignore[arg-type]
        return None if np.isnan(value) else value

    numbers = (known(f"feature_{name}") for name in ("compute_share", "ratio", "fit_residual"))
    return Features(str(values["app"]), *numbers)


def coverage(results: pd.DataFrame, by: Sequence[str] = ()) -> pd.DataFrame:
    """Return the coverage of each predictor's intervals, with COVERAGE_COLUMNS after those of ``by``.

    ``coverage_low`` and ``coverage_high`` are the ends of the 95 % interval of Clopper and Pearson (Biometrika 26,
    1934), which takes the cases as independent.  ``below`` and ``above`` count truths outside.  The width is that of
    the interval over the true time, in %.

    Args:
        results: Results with the columns of validation.comparison.compare.Result.
        by: More columns to tell the rows apart, such as ``network``.
    """
    # Imported here for a quick start: it is slow to import.
    import pandas as pd

    rows = []
    for key, part in grouped(results, ["predictor", *by], dropna=False):
        row = dict(zip(("predictor", *by), key, strict=True))
        rows.append({**row, **_of_part(part)})
    first, *others = COVERAGE_COLUMNS
    return pd.DataFrame(rows, columns=[first, *by, *others])


def _of_part(part: pd.DataFrame) -> dict[str, float]:
    # Imported here for a quick start: it is slow to import.
    from scipy.stats import binomtest

    told = part[part["interval_low_s"].notna()]
    below = int((told["simulated_s"] < told["interval_low_s"]).sum())
    above = int((told["simulated_s"] > told["interval_high_s"]).sum())
    n, inside = len(told), len(told) - below - above
    found: dict[str, float] = {
        "answers": int(part["predicted_s"].notna().sum()),
        "intervals": n,
        "inside": inside,
        "below": below,
        "above": above,
    }
    if n:
        interval = binomtest(inside, n).proportion_ci(_CONFIDENCE, method="exact")
        width = (told["interval_high_s"] - told["interval_low_s"]) / told["simulated_s"]
        found |= {"coverage": inside / n, "coverage_low": interval.low, "coverage_high": interval.high}
        found["median_width_pct"] = 100 * float(width.median())
    return found


def interval_sentence(results: pd.DataFrame) -> str | None:
    """Return a sentence on how many true times lie in their 90 % interval, by predictor; None: no intervals."""
    told = results[results["interval_low_s"].notna()]
    if told.empty:
        return None
    found = coverage(told)
    each = [f"{row.predictor} {row.inside} of {row.intervals}" for row in rows_of(found)]
    without = len(results[results["predicted_s"].notna()]) - len(told)
    rest = f"; {number_of(without, 'prediction')} had none" if without else ""
    return f"True times inside the 90 % intervals: {', '.join(each)}{rest}."
