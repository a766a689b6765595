"""Table 1 of J. Proficz, P. Czarnul, "Performance and Power-Aware Modeling of MPI Applications for Cluster Computing".

The symbols are the paper's: h operations of a thread, p_th active threads of a node, d data size in bytes, P nodes,
D_tu data transfer unit in bytes.  Times are in s, T in s, K in s or s/byte.  All arguments may be arrays.

Table 1 leaves three questions open, which are answered as follows (docs/predictors/blocks.md has the reasons):
p_th = P_hi is in no branch of the table; here it is in the middle branch, where each logical core has one thread;
log is to the base 2, the number of rounds of a tree of P processes;
a time below 0, which follows from negative intercepts for small d or P, becomes 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from platforms.errors import UserError, nearest
from predictor.blocks.model import check_block, checked
from predictor.blocks.names import COLLECTIVES, POWER_LAWS, OutOfModel
from predictor.blocks.published.parameters import Parameters, published_parameters

Regressor = Callable[[ArrayLike, ArrayLike, float], np.ndarray]
# The factor of K as text, for the axes of figures.
VARIABLES = {
    "scatter": "ceil(d / D_tu) D_tu log2(P) / P",
    "gather": "ceil(d / D_tu) D_tu log2(P) / P",
    "alltoall": "ceil(d / D_tu) D_tu P",
}


def computation_time(
    h: ArrayLike, p_th: ArrayLike, *, P_low: float, P_hi: float, T_min: float, T_low: float, T_hi: float, K_hi: float
) -> np.ndarray:
    """Return the time of a computation block O_x, s.

    T_min h for p_th <= P_low, T_low h for P_low < p_th <= P_hi, (T_hi + K_hi p_th) h above.  Without HyperThreading
    P_hi = P_low, so that the middle branch is empty.
    """
    p_th = np.asarray(p_th, dtype=float)
    of_one = np.where(p_th <= P_low, T_min, np.where(p_th <= P_hi, T_low, T_hi + K_hi * p_th))
    return of_one * h


def whole_units(d: ArrayLike, D_tu: float) -> np.ndarray:
    """Return the moved bytes in whole data transfer units, ceil(d / D_tu) D_tu.

    >>> float(whole_units(3000, 2048))
    4096.0
    """
    return np.ceil(np.asarray(d, dtype=float) / D_tu) * D_tu


def p2p(d: ArrayLike, P: ArrayLike, D_tu: float) -> np.ndarray:
    """Return the factor of K in C_p2p, t = T + K ceil(d/D_tu) D_tu, bytes."""
    return whole_units(d, D_tu)


def bcast(d: ArrayLike, P: ArrayLike, D_tu: float) -> np.ndarray:
    """Return the factor of K in C_bcast, t = T + K ceil(d/D_tu) D_tu log(P), bytes.

    >>> float(bcast(3000, 8, 2048))
    12288.0
    """
    return whole_units(d, D_tu) * np.log2(P)


def scatter(d: ArrayLike, P: ArrayLike, D_tu: float) -> np.ndarray:
    """Return the factor of K in C_scat, t = T + K ceil(d/D_tu) D_tu log(P) / P, bytes; d: the root's whole buffer."""
    return whole_units(d, D_tu) * np.log2(P) / P


def gather(d: ArrayLike, P: ArrayLike, D_tu: float) -> np.ndarray:
    """Return the factor of K in C_gath, t = T + K ceil(d/D_tu) D_tu log(P) / P, bytes; d: the root's whole buffer."""
    return whole_units(d, D_tu) * np.log2(P) / P


def alltoall(d: ArrayLike, P: ArrayLike, D_tu: float) -> np.ndarray:
    """Return the factor of K in C_a2a, t = T + K ceil(d/D_tu) D_tu P, bytes; d: the part from each process to each."""
    return whole_units(d, D_tu) * P


def barrier(d: ArrayLike, P: ArrayLike, D_tu: float) -> np.ndarray:
    """Return the factor of K in C_bar, t = T + K log(P), a number of rounds; only the shape of d matters."""
    return np.log2(P) + np.zeros(np.shape(d))


def disk_read(d: ArrayLike, P: ArrayLike, D_tu: float) -> np.ndarray:
    """Return the factor of K in R_disk, t = T + K ceil(d/D_tu) D_tu, bytes."""
    return whole_units(d, D_tu)


def disk_write(d: ArrayLike, P: ArrayLike, D_tu: float) -> np.ndarray:
    """Return the factor of K in W_disk, t = T + K ceil(d/D_tu) D_tu, bytes."""
    return whole_units(d, D_tu)


# Every communication block is linear in its T and K: t = T + K x(d, P).
REGRESSORS: Mapping[str, Regressor] = {
    row.__name__: row for row in (p2p, bcast, scatter, gather, alltoall, barrier, disk_read, disk_write)
}


def communication_time(block: str, d: ArrayLike, P: ArrayLike, *, T: float, K: float, D_tu: float) -> np.ndarray:
    """Return the time of a communication block, max(0, T + K x(d, P)), s, where x is the block's factor of K."""
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
    """Return pw, the power of a node with p_th active threads, W.

    PW_low + KW_low p_th for p_th <= P_low, PW_hi + KW_hi p_th for P_low < p_th <= P_hi, PW_max above.

    With the ``law`` "printed" these formulas are used as they are.  With Galera+'s parameters, the power then falls
    from 136.1 W at 12 threads to 133.7 W at 13 threads and exceeds PW_max at 23 and 24 threads (152.7 and 154.6 W),
    because the branches are separate regressions that do not meet.  The law "monotone" keeps the middle branch between
    the power at P_low and PW_max, so that one more thread never takes less power, and no power exceeds PW_max.
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
    """Return s(dt, P) = exp(-lambda dt P), the probability that none of P nodes fails within dt; lambda: 1/(s node)."""
    survives: np.ndarray = np.exp(-rate * np.asarray(duration, dtype=float) * np.asarray(P, dtype=float))
    return survives


@dataclass(frozen=True)
class TableModel:
    """BlockModel by Table 1; ``power_law`` is one of formulas.POWER_LAWS (see formulas.node_power)."""

    parameters: Parameters
    power_law: str = POWER_LAWS[0]

    def __post_init__(self) -> None:
        if self.power_law not in POWER_LAWS:
            raise UserError(f"power law {self.power_law!r}", "not known", nearest(self.power_law, POWER_LAWS))

    @property
    def measured_operations(self) -> bool:
        """Return True, because T_min is a measured time, to which no efficiency applies."""
        return True

    @property
    def name(self) -> str:
        """Name of the machine."""
        return self.parameters.name

    @property
    def failure_rate_per_s(self) -> float | None:
        """Failure rate lambda of a node, 1/(s node), or None if it is unknown."""
        return self.parameters.failure_rate_per_s

    @property
    def cautions(self) -> Mapping[str, str]:
        """Reasons to doubt the parameters, by block."""
        return self.parameters.cautions

    def compute_s(self, operations: ArrayLike, threads: ArrayLike = 1) -> np.ndarray | float:
        """Return the time of a computation block, s (see BlockModel)."""
        operations, threads = checked("operations", operations, least=0), checked("threads", threads, least=1)
        of = self.parameters.compute
        if of is None:
            raise self._unknown("computation blocks", "Measure it")
        times = computation_time(
            operations, threads,
            P_low=of.P_low, P_hi=of.P_hi, T_min=of.T_min_s, T_low=of.T_low_s, T_hi=of.T_hi_s, K_hi=of.K_hi_s,
        )  # fmt: skip
        return _plain(times)

    def communication_s(
        self, block: str, size_bytes: ArrayLike, processes: ArrayLike = 2, *, nodes: ArrayLike | None = None
    ) -> np.ndarray | float:
        """Return the time of a communication block, s (see BlockModel)."""
        check_block(block)
        sizes, processes = checked("size", size_bytes, least=0), checked("processes", processes, least=1)
        P = processes if nodes is None else checked("nodes", nodes, least=1)
        line = self.parameters.lines.get(block)
        if line is None:
            known = ", ".join(self.parameters.lines) or "no communication block"
            raise self._unknown(f"block {block}", f"It has {known}")
        times = communication_time(block, sizes, P, T=line.T_s, K=line.K, D_tu=self.parameters.D_tu_bytes)
        alone = (processes == 1) & (block in COLLECTIVES)  # there is no communication
        return _plain(np.where(alone, 0.0, times))

    def power_w(self, threads: ArrayLike) -> np.ndarray | float:
        """Return the power of one node, W (see BlockModel)."""
        threads = checked("threads", threads, least=0)
        power, cores = self.parameters.power, self.parameters.compute
        if power is None or cores is None:
            raise self._unknown("power", "Ask for time alone, or use a model with power, such as galera+")
        watts = node_power(
            threads,
            P_low=cores.P_low, P_hi=cores.P_hi, PW_low=power.PW_low_w, KW_low=power.KW_low_w,
            PW_hi=power.PW_hi_w, KW_hi=power.KW_hi_w, PW_max=power.PW_max_w, law=self.power_law,
        )  # fmt: skip
        return _plain(watts)

    def _unknown(self, what: str, remedy: str) -> OutOfModel:
        return OutOfModel(f"model {self.name}", f"it has no parameters for {what}", remedy)


def published(name: str, *, power_law: str = POWER_LAWS[0]) -> TableModel:
    """Return the model with Table 3's parameters for galera+, galera or kask.

    Raises:
        UserError: If the name is another.
    """
    return TableModel(published_parameters(name), power_law)


def _plain(values: np.ndarray) -> np.ndarray | float:
    """Return a single value as a plain number."""
    return values if np.ndim(values) else float(values)
