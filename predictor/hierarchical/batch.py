"""Lines of a batch script that request an allocation from Slurm or Moab."""

from __future__ import annotations

from apps.batch.headers import PBS, SLURM, limit_text, rounded_up_s
from predictor.hierarchical.allocation import Allocation

MOST_MARGIN = 1000.0  # a larger value is a mistake
MOST_WALL_S = 10 * 365 * 86_400  # ten years: no batch system lets a job run longer


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
