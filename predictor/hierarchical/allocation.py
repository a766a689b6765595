"""The best q and p on a machine that has only so many, and the smallest allocation that is nearly as good."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from platforms.errors import UserError
from predictor.hierarchical.surface import Surface


@dataclass(frozen=True)
class Allocation:
    """q cores of each of p nodes."""

    cores_per_node: int
    nodes: int
    speedup: float
    efficiency: float

    @property
    def cores(self) -> int:
        return self.cores_per_node * self.nodes


def allocation(surface: Surface, cores_per_node: int, nodes: int) -> Allocation:
    """What is expected of one."""
    efficiency = float(surface.efficiency(cores_per_node, nodes))
    return Allocation(cores_per_node, nodes, cores_per_node * nodes * efficiency, efficiency)


def best(surface: Surface, cores: range, nodes: range) -> Allocation:
    """The largest speed-up of all whole q and p in these ranges; of equal ones that with the fewest cores."""
    p = np.arange(nodes.start, nodes.stop)
    found = []
    for q in cores:
        speedups = surface.speedup(q, p)
        at = int(np.argmax(speedups))
        found.append((-float(speedups[at]), q * int(p[at]), q, int(p[at])))
    _, _, q, p_best = min(found)
    return allocation(surface, q, p_best)


def smallest_within(
    surface: Surface, cores: range, nodes: range, *, of: Allocation, share: float, charged: int | None = None
) -> Allocation:
    """The fewest cores with a speed-up of at least (1 - share) that of ``of``; of equals the largest speed-up.

    ``charged``: cores that a node costs however many are used; None: those used.
    """
    if not 0 <= share < 1:
        raise UserError(f"--within {share:g}", "not a share", "Give 0 or more and less than 1, such as 0.05")
    p = np.arange(nodes.start, nodes.stop)
    found = []
    for q in cores:
        speedups = surface.speedup(q, p)
        enough = np.flatnonzero(speedups >= (1 - share) * of.speedup * (1 - 1e-12))
        if enough.size:
            at = int(enough[0])
            found.append(((charged or q) * int(p[at]), -float(speedups[at]), q, int(p[at])))
    _, _, q, p_best = min(found)
    return allocation(surface, q, p_best)
