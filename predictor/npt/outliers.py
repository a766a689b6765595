"""Outliers: runs that are far slower than the model of all other runs lets one expect.

The rule of glitches (section 5.6, glitches.py) compares a run with that of the next smaller size.  Here a run is
compared with the model itself, so that all runs take part, and the threshold follows from their spread.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from platforms.errors import UserError
from predictor.npt.fit import Fit

DEVIATIONS = 3.5  # robust standard deviations (1.4826 times the median absolute deviation) beyond which a run is one
LEAST_EXCESS = 0.05  # no run within 5 % of the model is an outlier, however close the others are
MOST_SHARE = 0.2  # of the runs of a model may be left out


def outliers(fit_where: Callable[[np.ndarray], Fit], times_s: np.ndarray) -> np.ndarray:
    """Return a mask of the outliers: of the runs, again and again, the one that exceeds the model of the rest most.

    Only runs that are too slow are left out: disturbances do not speed a program up.  The last outlier is kept where
    the other runs do not suffice for a fit.

    Args:
        fit_where: Fits the runs that a mask selects.
        times_s: Times of the runs, s.
    """
    kept = np.ones(len(times_s), bool)
    fitted = fit_where(kept)
    while (~kept).sum() < int(MOST_SHARE * len(times_s)):
        model_s = times_s[kept] + fitted.residuals_s
        if not (model_s > 0).all():  # a wrecked model judges no run
            break
        excess = np.log(times_s[kept] / model_s)
        worst = int(excess.argmax())
        if not is_far_slower(excess)[worst]:
            break
        fewer = kept.copy()
        fewer[np.flatnonzero(kept)[worst]] = False
        try:
            fitted = fit_where(fewer)
        except UserError:
            break
        kept = fewer
    return ~kept


def is_far_slower(excess: np.ndarray) -> np.ndarray:
    """Return a mask of the runs whose excess, log(time / model), is far above that of the others."""
    above = excess - np.median(excess)
    deviation = 1.4826 * np.median(np.abs(above))
    mask: np.ndarray = above > max(DEVIATIONS * deviation, LEAST_EXCESS)
    return mask
