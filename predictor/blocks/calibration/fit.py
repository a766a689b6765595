"""Regression of formulas that are linear in their coefficients, and measures of its quality.

J. Proficz, P. Czarnul, "Performance and Power-Aware Modeling of MPI Applications for Cluster Computing", section 4,
uses two measures of error: the mean percentage error where small values matter, such as times of short messages, and
the mean squared error elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from predictor.blocks.names import ERRORS

# The paper does not say which measure it used for which block.  Here the relative one is used for blocks whose
# measurements span decades.
CHOICE = {
    "compute": "mse",
    "p2p": "mpe",
    "bcast": "mpe",
    "scatter": "mpe",
    "gather": "mpe",
    "alltoall": "mpe",
    "barrier": "mse",
    "disk_read": "mpe",
    "disk_write": "mpe",
    "power": "mse",
}


def mean_percentage_error(fitted: ArrayLike, measured: ArrayLike) -> float:
    """Return 100 x the mean of ``|fitted - measured| / measured``, %; values measured as 0 are ignored."""
    fitted, measured = np.asarray(fitted, dtype=float), np.asarray(measured, dtype=float)
    counted = measured > 0
    if not counted.any():
        return 0.0
    return float(100 * np.mean(np.abs(fitted[counted] - measured[counted]) / measured[counted]))


def r_squared(fitted: ArrayLike, measured: ArrayLike) -> float | None:
    """Return the squared Pearson coefficient, as in the paper's Table 2; None if one of the two does not vary."""
    fitted, measured = np.asarray(fitted, dtype=float), np.asarray(measured, dtype=float)
    if len(fitted) < 2 or not _varies(fitted) or not _varies(measured):
        return None
    return float(np.corrcoef(fitted, measured)[0, 1] ** 2)


def _varies(values: np.ndarray) -> bool:
    return bool(np.ptp(values) > 1e-9 * np.abs(values).max())


def linear_fit(features: ArrayLike, measured: ArrayLike, *, error: str, nonnegative: bool = False) -> np.ndarray:
    """Return the coefficients c that minimise the error of ``features @ c`` against ``measured``.

    Args:
        features: Matrix of observations x coefficients; the columns may differ in scale by many decades.
        measured: Measured values, >= 0.
        error: "mpe" minimises the mean of ``|error| / value``, an L1 problem that is solved exactly as a linear program
            (values of 0 are ignored); "mse" minimises the squares.
        nonnegative: Whether all coefficients must be >= 0.
    """
    X, y = np.asarray(features, dtype=float), np.asarray(measured, dtype=float)
    if error == "mpe":  # values measured as 0 have no percentage error
        X, y = X[y != 0], y[y != 0]
    if not y.any():
        return np.zeros(X.shape[1])
    scale = np.abs(X).max(axis=0)
    scale[scale == 0] = 1.0
    unit = float(np.mean(y))  # scale of the coefficients of the scaled columns
    scaled = X / scale
    if error == "mpe":
        solve = _least_percentage
    elif error == "mse":
        solve = _least_squares
    else:
        raise ValueError(f"error {error!r} is not of {', '.join(ERRORS)}")
    coefficients: np.ndarray = solve(scaled, y / unit, 0.0 if nonnegative else -np.inf) * unit / scale
    return coefficients


def _least_squares(features: np.ndarray, measured: np.ndarray, least: float) -> np.ndarray:
    if least == -np.inf:
        coefficients: np.ndarray = np.linalg.lstsq(features, measured, rcond=None)[0]
        return coefficients
    # Imported here for a quick start: it is slow to import.
    from scipy.optimize import lsq_linear

    return lsq_linear(features, measured, bounds=(least, np.inf)).x


def _least_percentage(features: np.ndarray, measured: np.ndarray, least: float) -> np.ndarray:
    """Minimise sum e subject to -e <= features @ c / measured - 1 <= e."""
    # Imported here for a quick start: it is slow to import.
    from scipy.optimize import linprog

    relative = features / measured[:, None]
    columns = np.abs(relative).max(axis=0)
    columns[columns == 0] = 1.0
    relative = relative / columns
    rows, count = relative.shape
    slack = -np.eye(rows)
    done = linprog(
        np.concatenate([np.zeros(count), np.ones(rows)]),
        A_ub=np.block([[relative, slack], [-relative, slack]]),
        b_ub=np.concatenate([np.ones(rows), -np.ones(rows)]),
        bounds=[(least, None)] * count + [(0, None)] * rows,
        method="highs",
    )
    if done.x is None:  # impossible: the problem is bounded and always has a solution
        raise RuntimeError(f"linear program: {done.message}")
    coefficients: np.ndarray = done.x[:count] / columns
    return coefficients


@dataclass(frozen=True)
class Quality:
    """Agreement of a formula with measurements."""

    points: int
    r2: float | None  # squared Pearson coefficient
    mpe_pct: float  # mean |error| / value, %
    worst_pct: float  # largest |error| / value, %


def quality(fitted: ArrayLike, measured: ArrayLike) -> Quality:
    """Return the quality of one fit."""
    fitted, measured = np.asarray(fitted, dtype=float), np.asarray(measured, dtype=float)
    errors = np.abs(fitted - measured)[measured > 0] / measured[measured > 0]
    worst = float(100 * errors.max()) if len(errors) else 0.0
    return Quality(len(measured), r_squared(fitted, measured), mean_percentage_error(fitted, measured), worst)
