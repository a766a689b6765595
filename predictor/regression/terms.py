"""Non-negative combinations of terms in the number of ranks, fitted by least squares."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

TERMS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "constant": np.ones_like,
    "log P": np.log,
    "P": np.asarray,
    "sqrt P": np.sqrt,
    "1/P": np.reciprocal,
}
_NOTHING = 1e-12  # of the largest coefficient: rounding
AMDAHL = ("constant", "1/P")  # G. M. Amdahl, AFIPS 1967: what stays serial, and what is divided


@dataclass(frozen=True)
class Combination:
    """sum_j c_j f_j(P) with c_j >= 0; only terms that are there."""

    coefficients: Mapping[str, float]  # s, by the term's name in TERMS

    def parts(self, ranks: float) -> dict[str, float]:
        """The value of each term, s; their sum is that of the combination."""
        P = np.array([float(ranks)])
        return {name: c * float(TERMS[name](P)[0]) for name, c in self.coefficients.items()}

    def __str__(self) -> str:
        return " + ".join(_written(name, c) for name, c in self.coefficients.items()) or "0"


def _written(term: str, coefficient: float) -> str:
    return {"constant": f"{coefficient:.4g}", "1/P": f"{coefficient:.4g}/P"}.get(term, f"{coefficient:.4g} {term}")


def fit_combination(ranks: Sequence[int], times_s: Sequence[float], terms: Sequence[str] = tuple(TERMS)) -> Combination:
    """The least-squares combination with non-negative coefficients (C. L. Lawson, R. J. Hanson, 1974, algorithm NNLS).

    The columns are scaled to length one, so that which terms are taken depends neither on the unit of time nor on the
    base of the logarithm.  With fewer times than terms many combinations may be equally near; the algorithm starts from
    nothing and adds, one after the other, the term that lowers the error fastest, until none lowers it any more: so
    the answer has at most as many terms as there are times, and one where one explains them all.
    """
    from scipy.optimize import nnls  # late: it takes 0.4 s to import

    P, b = np.array(ranks, float), np.array(times_s, float)
    design = np.stack([TERMS[name](P) for name in terms], axis=1)
    lengths = np.linalg.norm(design, axis=0)
    lengths[lengths == 0] = 1.0  # log P of runs on one rank is 0
    scaled = design / lengths
    k, _ = nnls(scaled, b, maxiter=100 * len(terms))
    k[k < _NOTHING * k.max(initial=0.0)] = 0.0
    chosen = k > 0
    again = np.linalg.lstsq(scaled[:, chosen], b, rcond=None)[0]  # some versions of scipy keep half the digits
    if (again > 0).all():
        k[chosen] = again
    return Combination({name: float(c) for name, c in zip(terms, k / lengths, strict=True) if c > 0})
