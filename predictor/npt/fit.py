"""Coefficients from measurements: least squares and non-negative least squares.

Ichikawa, Takahashi, Kawai, sections 4.1 (LS) and 5.8 (NNLS, after Lawson and Hanson).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from platforms.errors import UserError

METHODS = ("ls", "nnls")
WEIGHTS = ("absolute", "relative", "local")  # the paper's weights, and the default weights of searches


@dataclass(frozen=True, eq=False)
class Fit:
    """Fitted coefficients and their residuals."""

    terms: tuple[str, ...]
    coefficients: np.ndarray  # k, one per term; s per unit of the term
    residuals_s: np.ndarray  # model minus measurement, one per measurement
    method: str
    weights: str

    def __str__(self) -> str:
        return " + ".join(f"{k:.4g} {term}" for k, term in zip(self.coefficients, self.terms, strict=True))


def fit(
    design: np.ndarray,
    times_s: np.ndarray,
    terms: Sequence[str],
    *,
    method: str = "ls",
    weights: str = "absolute",
    weigh_by_s: np.ndarray | None = None,
    where: str = "fit",
) -> Fit:
    """Find the coefficients k for which ``design`` times k is closest to the times.

    Columns are scaled to length 1 first, so that N^3 beside 1 loses no digits; a positive scale does not change k >= 0.

    Args:
        design: Values of the terms, measurements x terms.
        times_s: Measured times.
        terms: Names of the terms.
        method: "ls", or "nnls" for k >= 0.
        weights: "absolute" minimises the plain sum of squares, as in the paper, in which long times count most;
            "relative" and "local" divide every residual by ``weigh_by_s``.
        weigh_by_s: Divisors of the residuals; None: ``times_s``.
        where: Beginning of the error message.

    Raises:
        UserError: There are fewer measurements than terms, or the measurements cannot separate the terms (for example
            because there is one size too few): many coefficients would fit, and their extrapolation is meaningless.

    >>> found = fit(np.array([[1, 1], [2, 1], [4, 1]]), np.array([5.0, 7.0, 11.0]), ["N", "1"])
    >>> print(found)
    2 N + 3 1
    """
    check_method(method, weights)
    A, b = np.asarray(design, float), np.asarray(times_s, float)
    if not (np.isfinite(A).all() and np.isfinite(b).all()):
        raise UserError(where, "a time or term is not a number", "Give finite sizes and times")
    if A.shape[0] < A.shape[1]:
        problem = f"{A.shape[0]} measurements for the {A.shape[1]} terms {', '.join(terms)}"
        raise UserError(where, problem, "Measure more sizes or numbers of PEs, or drop terms")
    if weights != "absolute":
        weight = 1 / np.asarray(b if weigh_by_s is None else weigh_by_s, float)
        A_w, b_w = A * weight[:, None], b * weight
    else:
        A_w, b_w = A, b
    lengths = np.linalg.norm(A_w, axis=0)
    scaled = A_w / np.where(lengths > 0, lengths, 1)
    tolerance = max(A.shape) * np.finfo(float).eps
    solution, _, rank, _ = np.linalg.lstsq(scaled, b_w, rcond=tolerance)
    if rank < A.shape[1]:
        problem = f"these measurements cannot tell the terms {', '.join(_confused(scaled, terms))} apart"
        raise UserError(where, problem, "Measure more sizes or numbers of PEs, or drop terms")
    if method == "nnls":
        solution = _non_negative(scaled, b_w, where)
    k = solution / lengths
    return Fit(tuple(terms), k, A @ k - b, method, weights)


def check_method(method: str, weights: str) -> None:
    """Check the names of a method and of weights.

    Raises:
        UserError: A name is not known.
    """
    if method not in METHODS:
        raise UserError(f"fit {method!r}", "no such method", f"Known: {', '.join(METHODS)}")
    if weights not in WEIGHTS:
        raise UserError(f"weights {weights!r}", "no such weights", f"Known: {', '.join(WEIGHTS)}")


def _non_negative(A: np.ndarray, b: np.ndarray, where: str) -> np.ndarray:
    from scipy.optimize import nnls  # imported here because it takes 0.4 s

    try:
        k, _ = nnls(A, b, maxiter=100 * A.shape[1])
    except RuntimeError:
        remedy = "Drop terms that the times hardly depend on"
        raise UserError(where, "non-negative least squares does not come to an end", remedy) from None
    # Some versions of scipy use A^T A, which loses half of the digits; so solve again for the chosen terms.
    chosen = k > 0
    if chosen.any():
        again = np.linalg.lstsq(A[:, chosen], b, rcond=None)[0]
        if (again > 0).all():
            k[chosen] = again
    return k


def _confused(A: np.ndarray, terms: Sequence[str]) -> list[str]:
    """Return the terms of the combination that is zero at all measurements."""
    vanishing = abs(np.linalg.svd(A)[2][-1])
    return [term for term, part in zip(terms, vanishing, strict=True) if part > 0.01 * vanishing.max()]
