"""Regression of formulas that are linear in their coefficients, and how good it is.

J. Proficz, P. Czarnul, "Performance and Power-Aware Modeling of MPI Applications for Cluster Computing", section 4,
uses two measures of error: the mean percentage error where small values matter, such as times of short messages, and
the mean squared error elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

ERRORS = ("mpe", "mse")
# The paper does not say which measure served which block.  Here: relative, where measurements span decades.
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
    """100 x the mean of ``|fitted - measured| / measured``, %.  Values that are measured as 0 do not count."""
    fitted, measured = np.asarray(fitted, dtype=float), np.asarray(measured, dtype=float)
    counted = measured > 0
    if not counted.any():
        return 0.0
    return float(100 * np.mean(np.abs(fitted[counted] - measured[counted]) / measured[counted]))


def r_squared(fitted: ArrayLike, measured: ArrayLike) -> float | None:
    """The squared Pearson coefficient, as in the paper's Table 2; None where either does not vary."""
    fitted, measured = np.asarray(fitted, dtype=float), np.asarray(measured, dtype=float)
    if len(fitted) < 2 or not _varies(fitted) or not _varies(measured):
        return None
    return float(np.corrcoef(fitted, measured)[0, 1] ** 2)


def _varies(values: np.ndarray) -> bool:
    return bool(np.ptp(values) > 1e-9 * np.abs(values).max())


def linear_fit(features: ArrayLike, measured: ArrayLike, *, error: str, nonnegative: bool = False) -> np.ndarray:
    """The coefficients c that minimise the error of ``features @ c`` against ``measured``.

    ``features``: observations x coefficients.  ``error``: "mpe", the mean of ``|error| / value``, an L1 problem that is
    solved exactly as a linear program (of values above 0; those of 0 do not count); "mse", least squares.
    ``nonnegative``: no coefficient below 0.  Columns may differ in scale by many decades.
    """
    X, y = np.asarray(features, dtype=float), np.asarray(measured, dtype=float)
    if error == "mpe":  # values that are measured as 0 have no percentage
        X, y = X[y != 0], y[y != 0]
    if not y.any():
        return np.zeros(X.shape[1])
    scale = np.abs(X).max(axis=0)
    scale[scale == 0] = 1.0
    unit = float(np.mean(y))  # of the coefficients of scaled columns
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
    from scipy.optimize import lsq_linear

    return lsq_linear(features, measured, bounds=(least, np.inf)).x


def _least_percentage(features: np.ndarray, measured: np.ndarray, least: float) -> np.ndarray:
    """min sum e with -e <= features @ c / measured - 1 <= e."""
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
    if done.x is None:  # a bounded problem that always has a solution
        raise RuntimeError(f"linear program: {done.message}")
    coefficients: np.ndarray = done.x[:count] / columns
    return coefficients


@dataclass(frozen=True)
class Quality:
    """How well a formula meets measurements."""

    points: int
    r2: float | None  # squared Pearson coefficient
    mpe_pct: float  # mean |error| / value, %
    worst_pct: float  # largest |error| / value, %


def quality(fitted: ArrayLike, measured: ArrayLike) -> Quality:
    """The measures of one fit."""
    fitted, measured = np.asarray(fitted, dtype=float), np.asarray(measured, dtype=float)
    errors = np.abs(fitted - measured)[measured > 0] / measured[measured > 0]
    worst = float(100 * errors.max()) if len(errors) else 0.0
    return Quality(len(measured), r_squared(fitted, measured), mean_percentage_error(fitted, measured), worst)
