"""A formula's value against an estimate from runs, with the interval in which it must lie."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

CONFIDENCE = 0.99


@dataclass(frozen=True)
class Check:
    """Of one quantity, a probability or a time in s."""

    quantity: str
    runs: int
    formula: float
    estimate: float
    low: float  # of the interval of CONFIDENCE
    high: float

    @property
    def inside(self) -> bool:
        return self.low <= self.formula <= self.high


def probability_check(quantity: str, formula: float, *, successes: int, runs: int) -> Check:
    """C. J. Clopper, E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the
    binomial", Biometrika 26 (1934): the exact interval of a proportion.
    """
    from scipy.stats import binomtest

    interval = binomtest(successes, runs).proportion_ci(CONFIDENCE, method="exact")
    return Check(quantity, runs, formula, successes / runs, float(interval.low), float(interval.high))


def mean_check(quantity: str, formula_s: float, times_s: npt.NDArray[np.float64]) -> Check:
    """Student's interval of a mean; its normal law holds for the thousands of runs it is made for."""
    from scipy.stats import t

    runs = len(times_s)
    half = float(t.ppf((1 + CONFIDENCE) / 2, runs - 1)) * float(np.std(times_s, ddof=1)) / math.sqrt(runs)
    mean = float(np.mean(times_s))
    return Check(quantity, runs, formula_s, mean, mean - half, mean + half)
