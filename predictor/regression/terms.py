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
