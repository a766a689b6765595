"""Straight lines in the logarithm of the number of ranks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class PowerLaw:
    """T = exp(a) P^b: log T is linear in log P."""

    a: float
    b: float

    def parts(self, ranks: int) -> dict[str, float]:
        """Return the time, s, by the name of its only term."""
        return {"a P^b": math.exp(self.a + self.b * math.log(ranks))}

    def __str__(self) -> str:
        return f"{math.exp(self.a):.4g} P^{self.b:.4g}"


@dataclass(frozen=True)
class LogLine:
    """T = a + b log P, which becomes negative for large P where b < 0."""

    a: float
    b: float

    def parts(self, ranks: int) -> dict[str, float]:
        """Return the values of the terms, s, by their names."""
        return {"constant": self.a, "log P": self.b * math.log(ranks)}

    def __str__(self) -> str:
        return f"{self.a:.4g} {'-' if self.b < 0 else '+'} {abs(self.b):.4g} log P"


def fit_power_law(ranks: Sequence[int], times_s: Sequence[float]) -> PowerLaw:
    """Fit a power law by least squares of log T, so that equal relative errors count equally; times must be positive.

    After B. J. Barnes et al., "A regression-based approach to scalability prediction", ICS 2008, with the number of
    ranks as the only variable.

    >>> print(fit_power_law([2, 4, 8], [8.0, 4.0, 2.0]))
    16 P^-1
    """
    return PowerLaw(*_line(ranks, np.log(times_s)))


def fit_log_line(ranks: Sequence[int], times_s: Sequence[float]) -> LogLine:
    """Fit a line in log P by least squares of T."""
    return LogLine(*_line(ranks, np.asarray(times_s, float)))


def _line(ranks: Sequence[int], y: np.ndarray) -> tuple[float, float]:
    """Return a and b of the least-squares line y = a + b log P."""
    design = np.stack([np.ones(len(ranks)), np.log(ranks)], axis=1)
    (a, b), *_ = np.linalg.lstsq(design, y, rcond=None)
    return float(a), float(b)
