"""The best q and p on a machine of limited size, the smallest allocation nearly as good, and its batch lines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from apps.batch.headers import PBS, SLURM, limit_text, rounded_up_s
from platforms.errors import UserError
from predictor.hierarchical.surface import Surface

MOST_MARGIN = 1000.0  # a larger value is a mistake
MOST_WALL_S = 10 * 365 * 86_400  # ten years: no batch system lets a job run longer


@dataclass(frozen=True)
class Allocation:
    """An allocation of q cores on each of p nodes."""

    cores_per_node: int
    nodes: int
    speedup: float
    efficiency: float

    @property
    def cores(self) -> int:
        """Number of cores on all nodes."""
        return self.cores_per_node * self.nodes


def allocation(surface: Surface, cores_per_node: int, nodes: int) -> Allocation:
    """Return an allocation with its expected speed-up and efficiency."""
    efficiency = float(surface.efficiency(cores_per_node, nodes))
    return Allocation(cores_per_node, nodes, cores_per_node * nodes * efficiency, efficiency)


def best(surface: Surface, cores: range, nodes: range) -> Allocation:
    """Return the allocation with the largest speed-up in these ranges of q and p; of equals, with the fewest cores."""
    p = np.arange(nodes.start, nodes.stop)
    allocations = []
    for q in cores:
        speedups = surface.speedup(q, p)
        at = int(np.argmax(speedups))
        allocations.append((-float(speedups[at]), q * int(p[at]), q, int(p[at])))
    _, _, q, p_best = min(allocations)
    return allocation(surface, q, p_best)


def smallest_within(
    surface: Surface, cores: range, nodes: range, *, of: Allocation, share: float, charged: int | None = None
) -> Allocation:
    """Return the allocation with the fewest cores whose speed-up is at least (1 - share) times that of ``of``.

    Of equals, it is the one with the largest speed-up.

    Args:
        surface: The model.
        cores: Range of q.
        nodes: Range of p.
        of: The allocation to compare with.
        share: Share of the speed-up that may be lost, 0 <= share < 1.
        charged: Number of cores that a node costs, however many are used; None: the number used.

    Raises:
        UserError: ``share`` is out of its range.
    """
    if not 0 <= share < 1:
        raise UserError(f"--within {share:g}", "not a share", "Give 0 or more and less than 1, such as 0.05")
    p = np.arange(nodes.start, nodes.stop)
    allocations = []
    for q in cores:
        speedups = surface.speedup(q, p)
        enough = np.flatnonzero(speedups >= (1 - share) * of.speedup * (1 - 1e-12))
        if enough.size:
            at = int(enough[0])
            allocations.append(((charged or q) * int(p[at]), -float(speedups[at]), q, int(p[at])))
    _, _, q, p_best = min(allocations)
    return allocation(surface, q, p_best)


def wall_time_s(time_s: float, margin: float) -> int | None:
    """Return the wall time to request, s: (1 + margin) times the expected time, rounded up to a whole minute.

    None: the wall time exceeds MOST_WALL_S.
    """
    asked_s = time_s * (1 + margin)
    return rounded_up_s(asked_s) if asked_s <= MOST_WALL_S else None


def batch_lines(batch: str, allocation: Allocation, wall_s: int, *, exclusive: bool) -> list[str]:
    """Return the lines that request an allocation.

    Args:
        batch: "slurm" or "moab".
        allocation: The allocation.
        wall_s: Wall time.
        exclusive: True: no other job may use the nodes.
    """
    if batch == "slurm":
        lines = [
            f"--nodes={allocation.nodes}",
            f"--ntasks-per-node={allocation.cores_per_node}",
            f"--time={limit_text(SLURM, wall_s)}",
        ]
        return [f"#SBATCH {line}" for line in (*lines, *(["--exclusive"] if exclusive else []))]
    lines = [f"nodes={allocation.nodes}:ppn={allocation.cores_per_node}", f"walltime={limit_text(PBS, wall_s)}"]
    return [f"#MSUB -l {line}" for line in (*lines, *(["naccesspolicy=singlejob"] if exclusive else []))]
