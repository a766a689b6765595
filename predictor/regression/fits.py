"""The simplest baselines: one law in the number of ranks, fitted to the times of smaller runs.

The laws ignore the speeds of the nodes.  The kernels give every rank the same share of the work, so the slowest node
determines the time; all runs use nodes of every cluster that the target uses, including the slowest, so that its speed
affects all runs alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from apps.spec.target import Target
from predictor.base import AsksOnce, Cost, Evidence, EvidenceRequest, OutOfRange, Prediction
from predictor.evidence.targets import requests_in_range
from predictor.regression.smaller_runs import FEW, extrapolation_flags, smaller_runs, time_flags

TERMS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "constant": np.ones_like,
    "log P": np.log,
    "P": np.asarray,
    "sqrt P": np.sqrt,
    "1/P": np.reciprocal,
}
_NOTHING = 1e-12  # relative to the largest coefficient; smaller coefficients are rounding errors
AMDAHL = ("constant", "1/P")  # G. M. Amdahl, AFIPS 1967: the serial part and the parallel part


@dataclass(frozen=True)
class Combination:
    """A sum of terms c_j f_j(P) with c_j > 0; it may be empty."""

    coefficients: Mapping[str, float]  # s, by the term's name in TERMS

    def parts(self, ranks: float) -> dict[str, float]:
        """Return the value of each term, s; their sum is the value of the combination."""
        P = np.array([float(ranks)])
        return {name: c * float(TERMS[name](P)[0]) for name, c in self.coefficients.items()}

    def __str__(self) -> str:
        return " + ".join(_written(name, c) for name, c in self.coefficients.items()) or "0"


def _written(term: str, coefficient: float) -> str:
    return {"constant": f"{coefficient:.4g}", "1/P": f"{coefficient:.4g}/P"}.get(term, f"{coefficient:.4g} {term}")


def fit_combination(ranks: Sequence[int], times_s: Sequence[float], terms: Sequence[str] = tuple(TERMS)) -> Combination:
    """Fit a combination with non-negative coefficients (C. L. Lawson, R. J. Hanson, 1974, algorithm NNLS).

    The columns are scaled to length one, so that the choice of terms depends neither on the unit of time nor on the
    base of the logarithm.  With fewer times than terms many combinations may fit equally well.  The algorithm starts
    without terms and adds, one after another, the term that lowers the error fastest, until no term lowers it further.
    So the result has at most as many terms as there are times, and one term where one explains all times.
    """
    from scipy.optimize import nnls  # imported here because it takes 0.4 s

    P, b = np.array(ranks, float), np.array(times_s, float)
    design = np.stack([TERMS[name](P) for name in terms], axis=1)
    lengths = np.linalg.norm(design, axis=0)
    lengths[lengths == 0] = 1.0  # log P of runs on one rank is 0
    scaled = design / lengths
    k, _ = nnls(scaled, b, maxiter=100 * len(terms))
    k[k < _NOTHING * k.max(initial=0.0)] = 0.0
    chosen = k > 0
    again = np.linalg.lstsq(scaled[:, chosen], b, rcond=None)[0]  # some versions of scipy lose half of the digits
    if (again > 0).all():
        k[chosen] = again
    return Combination({name: float(c) for name, c in zip(terms, k / lengths, strict=True) if c > 0})


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


class Law(Protocol):
    """A fitted law; its text is the equation, in s."""

    def parts(self, ranks: int) -> dict[str, float]:
        """Return the values of the terms, s, by name; their sum is the time."""


@dataclass(frozen=True)
class LawModel:
    """The measured runs; each prediction fits a law to them."""

    predictor: LawPredictor
    answers: Mapping[EvidenceRequest, Evidence]

    def predict(self, target: Target) -> Prediction:
        """Predict by a law fitted to the smaller runs.

        Raises:
            OutOfRange: There are too few smaller sizes, or a run takes no time.
        """
        evidence = [self.answers[request] for request in self.predictor.runs(target)]
        ranks = [run.record.ranks for run in evidence]
        times_s = [run.record.time_s for run in evidence]
        if min(times_s) <= 0:
            where = f"{self.predictor.name}, {target.problem} on {target.platform.name}"
            raise OutOfRange(where, "a smaller run takes no time", "Let the program compute or communicate")
        law = self.predictor.fit_law(ranks, times_s)
        parts = law.parts(target.nranks)
        time_s = sum(parts.values())
        return Prediction(
            time_s=time_s,
            parts={f"{term}_s": value_s for term, value_s in parts.items()},
            flags=(*time_flags(time_s), *extrapolation_flags(target, ranks)),
            remarks=(f"T = {law} s",),
            fit_residual=_residual(law, ranks, times_s),
            evidence=tuple(run.id for run in evidence),
            cost=sum((run.cost for run in evidence), Cost()),
        )


def _residual(law: Law, ranks: Sequence[int], times_s: Sequence[float]) -> float | None:
    """Return the largest relative residual; None if there are no more runs than coefficients."""
    if len(ranks) < FEW.stop - 1:
        return None
    return max(abs(sum(law.parts(P).values()) / time_s - 1) for P, time_s in zip(ranks, times_s, strict=True))


@dataclass(frozen=True)
class LawPredictor(AsksOnce):
    """A fitted law as a predictor."""

    name: str
    fit_law: Callable[[Sequence[int], Sequence[float]], Law]  # from numbers of ranks and times, s

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        """Return requests for the runs of all targets in range."""
        return requests_in_range(self.runs, targets)

    def fit(self, evidence: Sequence[Evidence]) -> LawModel:
        """Return a model that holds the runs."""
        return LawModel(self, {run.request: run for run in evidence})

    def runs(self, target: Target) -> list[EvidenceRequest]:
        """Return the runs to measure.

        Raises:
            OutOfRange: There are too few smaller sizes.
        """
        return smaller_runs(target, FEW, predictor=self.name)


FIT_LOGLINEAR = LawPredictor("fit:loglinear", fit_power_law)
FIT_LOG = LawPredictor("fit:log", fit_log_line)
FIT_AMDAHL = LawPredictor("fit:amdahl", partial(fit_combination, terms=AMDAHL))
