"""Amount of work between two checkpoints, by the formulas of Young and Daly.

delta is the time to write a checkpoint, M the mean time between failures of all nodes together, and R the time of a
restart; all in s, as numbers or arrays.  The intervals count work only, from the end of one checkpoint to the beginning
of the next, and are infinite if nothing fails (M infinite).

J. W. Young, "A first order approximation to the optimum checkpoint interval", Comm. ACM 17 (1974), 530-531.
J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", Future Generation Computer
Systems 22 (2006), 303-312.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from predictor.failures import names


def young(delta: ArrayLike, M: ArrayLike, R: ArrayLike = 0.0) -> np.ndarray:
    """Return sqrt(2 delta M), Young's balance of the time of checkpoints and half an interval lost per failure.

    >>> float(young(50, 40_000))
    2000.0
    """
    return np.sqrt(2 * np.asarray(delta, float) * M)


def daly_first_order(delta: ArrayLike, M: ArrayLike, R: ArrayLike = 0.0) -> np.ndarray:
    """Return sqrt(2 delta (M + R)), Daly's first model, which includes failures during restarts and their work.

    >>> float(daly_first_order(50, 39_000, 1_000))
    2000.0
    """
    return np.sqrt(2 * np.asarray(delta, float) * (np.asarray(M, float) + R))


def daly(delta: ArrayLike, M: ArrayLike, R: ArrayLike = 0.0) -> np.ndarray:
    """Return sqrt(2 delta M) (1 + sqrt(delta/2M)/3 + (delta/2M)/9) - delta for delta < 2M, else M.

    This is Daly's higher-order estimate: the minimum of his complete cost function, in powers of sqrt(delta/2M).  It
    does not depend on R.
    """
    delta, M = np.broadcast_arrays(np.asarray(delta, float), np.asarray(M, float))
    x = delta / (2 * M)
    return np.where(x < 1, np.sqrt(2 * delta * M) * (1 + np.sqrt(x) / 3 + x / 9) - delta, M)


def exact(delta: ArrayLike, M: ArrayLike, R: ArrayLike = 0.0) -> np.ndarray:
    """Return M (1 + W(-e^(-1 - delta/M))), the exact minimum of Daly's cost function, with Lambert's function W.

    The derivative of (e^((tau + delta)/M) - 1)/tau vanishes where (tau/M - 1) e^(tau/M - 1) = -e^(-1 - delta/M).
    """
    # Imported here because it is slow to import.
    from scipy.special import lambertw

    delta, M = np.broadcast_arrays(np.asarray(delta, float), np.asarray(M, float))
    x = delta / M
    # Near its branch point W loses half of the digits; its series there (Corless et al. 1996, eq. 4.22) keeps them.
    q = np.sqrt(-2 * np.expm1(-x))
    series = q - q**2 / 3 + 11 * q**3 / 72 - 43 * q**4 / 540
    with np.errstate(invalid="ignore"):
        interval_s = np.where(q < 1e-3, series, 1 + np.real(lambertw(-np.exp(-1 - x)))) * M
    return np.where(np.isfinite(M), interval_s, np.inf)


Interval = Callable[[ArrayLike, ArrayLike, ArrayLike], np.ndarray]
INTERVALS: Mapping[str, Interval] = dict(zip(names.INTERVALS, (young, daly_first_order, daly, exact), strict=True))
