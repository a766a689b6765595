"""Table 1 of J. Proficz, P. Czarnul, "Performance and Power-Aware Modeling of MPI Applications for Cluster Computing".

In the paper's symbols: h operations of a thread, p_th active threads of a node, d data size in bytes, P nodes, D_tu the
data transfer unit in bytes.  Times in s, T in s, K in s or s/byte.  All arguments may be arrays.

What Table 1 leaves open, and what is done here (docs/blocks/formulas.md has the reasons):
p_th = P_hi stands in no branch: it is in the middle one, where each logical core has its one thread;
log is to the base 2, the rounds of a tree of P processes;
a time below 0, which negative intercepts give for small d or P, is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike

Regressor = Callable[[ArrayLike, ArrayLike, float], np.ndarray]

POWER_LAWS = ("monotone", "printed")


def computation_time(
    h: ArrayLike, p_th: ArrayLike, *, P_low: float, P_hi: float, T_min: float, T_low: float, T_hi: float, K_hi: float
) -> np.ndarray:
    """Computation block O_x, s.

    T_min h for p_th <= P_low, T_low h for P_low < p_th <= P_hi, (T_hi + K_hi p_th) h above.  Without HyperThreading
    P_hi = P_low, so that the middle branch is empty.
    """
    p_th = np.asarray(p_th, dtype=float)
    of_one = np.where(p_th <= P_low, T_min, np.where(p_th <= P_hi, T_low, T_hi + K_hi * p_th))
    return of_one * h


def whole_units(d: ArrayLike, D_tu: float) -> np.ndarray:
    """ceil(d / D_tu) D_tu, bytes: what is moved, in whole data transfer units.

    >>> float(whole_units(3000, 2048))
    4096.0
    """
    return np.ceil(np.asarray(d, dtype=float) / D_tu) * D_tu


def p2p(d: ArrayLike, P: ArrayLike, D_tu: float) -> np.ndarray:
    """C_p2p, t = T + K ceil(d/D_tu) D_tu: what K multiplies, bytes."""
    return whole_units(d, D_tu)


def bcast(d: ArrayLike, P: ArrayLike, D_tu: float) -> np.ndarray:
    """C_bcast, t = T + K ceil(d/D_tu) D_tu log(P): what K multiplies, bytes.

    >>> float(bcast(3000, 8, 2048))
    12288.0
    """
    return whole_units(d, D_tu) * np.log2(P)


def scatter(d: ArrayLike, P: ArrayLike, D_tu: float) -> np.ndarray:
    """C_scat, t = T + K ceil(d/D_tu) D_tu log(P) / P, d the root's whole buffer: what K multiplies, bytes."""
    return whole_units(d, D_tu) * np.log2(P) / P


def gather(d: ArrayLike, P: ArrayLike, D_tu: float) -> np.ndarray:
    """C_gath, t = T + K ceil(d/D_tu) D_tu log(P) / P, d the root's whole buffer: what K multiplies, bytes."""
    return whole_units(d, D_tu) * np.log2(P) / P


def alltoall(d: ArrayLike, P: ArrayLike, D_tu: float) -> np.ndarray:
    """C_a2a, t = T + K ceil(d/D_tu) D_tu P, d what each sends to each: what K multiplies, bytes."""
    return whole_units(d, D_tu) * P


def barrier(d: ArrayLike, P: ArrayLike, D_tu: float) -> np.ndarray:
    """C_bar, t = T + K log(P): what K multiplies, a number of rounds.  d only gives its shape."""
    return np.log2(P) + np.zeros(np.shape(d))


def disk_read(d: ArrayLike, P: ArrayLike, D_tu: float) -> np.ndarray:
    """R_disk, t = T + K ceil(d/D_tu) D_tu: what K multiplies, bytes."""
    return whole_units(d, D_tu)


def disk_write(d: ArrayLike, P: ArrayLike, D_tu: float) -> np.ndarray:
    """W_disk, t = T + K ceil(d/D_tu) D_tu: what K multiplies, bytes."""
    return whole_units(d, D_tu)


# Every communication block is linear in its T and K: t = T + K x(d, P).
REGRESSORS: Mapping[str, Regressor] = {
    row.__name__: row for row in (p2p, bcast, scatter, gather, alltoall, barrier, disk_read, disk_write)
}


def communication_time(block: str, d: ArrayLike, P: ArrayLike, *, T: float, K: float, D_tu: float) -> np.ndarray:
    """max(0, T + K x(d, P)), s, with the x of the block's row."""
    return np.maximum(0.0, T + K * REGRESSORS[block](d, P, D_tu))


def node_power(
    p_th: ArrayLike,
    *,
    P_low: float,
    P_hi: float,
    PW_low: float,
    KW_low: float,
    PW_hi: float,
    KW_hi: float,
    PW_max: float,
    law: str = "monotone",
) -> np.ndarray:
    """pw, the power of a node with p_th active threads, W.

    PW_low + KW_low p_th for p_th <= P_low, PW_hi + KW_hi p_th for P_low < p_th <= P_hi, PW_max above.

    ``law``: "printed" is just that.  With Galera+'s parameters it falls from 136.1 W at 12 threads to 133.7 W at 13 and
    exceeds PW_max at 23 and 24 (152.7 and 154.6 W), two separate regressions that do not meet.  "monotone" keeps the
    middle branch between the power at P_low and PW_max: one thread more never takes less, and the maximum is one.
    """
    p = np.asarray(p_th, dtype=float)
    low: np.ndarray = PW_low + KW_low * p
    middle: np.ndarray = PW_hi + KW_hi * p
    if law == "monotone":
        low = np.minimum(low, PW_max)
        middle = np.clip(middle, min(PW_low + KW_low * P_low, PW_max), PW_max)
    elif law != "printed":
        raise ValueError(f"power law {law!r} is not of {', '.join(POWER_LAWS)}")
    return np.where(p <= P_low, low, np.where(p <= P_hi, middle, PW_max))


def success(duration: ArrayLike, P: ArrayLike, rate: float) -> np.ndarray:
    """s(dt, P) = exp(-lambda dt P): the probability that none of P nodes fails for so long; lambda in 1/(s node)."""
    survives: np.ndarray = np.exp(-rate * np.asarray(duration, dtype=float) * np.asarray(P, dtype=float))
    return survives
