"""Block model made of the formulas of Table 1 and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from platforms.errors import UserError, nearest
from predictor.blocks.errors import OutOfModel
from predictor.blocks.model import check_block, checked
from predictor.blocks.names import COLLECTIVES, POWER_LAWS
from predictor.blocks.published.formulas import communication_time, computation_time, node_power
from predictor.blocks.published.parameters import Parameters, published_parameters


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
