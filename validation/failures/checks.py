"""Comparison of a formula's value with an estimate from runs and its confidence interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

CONFIDENCE = 0.99


@dataclass(frozen=True)
class Check:
    """Comparison for one quantity, a probability or a time in s."""

    quantity: str
    runs: int
    formula: float
    estimate: float
    low: float  # ends of the interval with confidence CONFIDENCE
    high: float

    @property
    def inside(self) -> bool:
        """True if the formula's value lies in the interval."""
        return self.low <= self.formula <= self.high


def probability_check(quantity: str, formula: float, *, successes: int, runs: int) -> Check:
    """Compare a probability with the share of successes and its exact interval.

    The interval is that of C. J. Clopper, E. S. Pearson, "The use of confidence or fiducial limits illustrated in the
    case of the binomial", Biometrika 26 (1934).
    """
    # Imported here because it is slow to import.
    from scipy.stats import binomtest

    interval = binomtest(successes, runs).proportion_ci(CONFIDENCE, method="exact")
    return Check(quantity, runs, formula, successes / runs, float(interval.low), float(interval.high))


def mean_check(quantity: str, formula_s: float, times_s: npt.NDArray[np.float64]) -> Check:
    """Compare an expected time with the mean of the runs and Student's interval.

    The interval assumes a normally distributed mean, which holds for the thousands of runs that are drawn.
    """
    # Imported here because it is slow to import.
    from scipy.stats import t

    runs = len(times_s)
    half = float(t.ppf((1 + CONFIDENCE) / 2, runs - 1)) * float(np.std(times_s, ddof=1)) / math.sqrt(runs)
    mean = float(np.mean(times_s))
    return Check(quantity, runs, formula_s, mean, mean - half, mean + half)
