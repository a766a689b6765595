"""The lines of a batch script that ask for an allocation, in the words of Slurm or Moab."""

from __future__ import annotations

import math

from predictor.hierarchical.allocation import Allocation

MOST_MARGIN = 1000.0  # more is a slip
MOST_WALL_S = 10 * 365 * 86_400  # ten years: no batch system lets a job run for longer


def wall_time_s(time_s: float, margin: float) -> int | None:
    """What is asked for, s: the expected time and a share ``margin`` of it more, up to a whole minute.

    None: more than MOST_WALL_S, for which nobody can ask.
    """
    asked_s = time_s * (1 + margin)
    return 60 * max(1, math.ceil(asked_s / 60)) if asked_s <= MOST_WALL_S else None


def batch_lines(batch: str, one: Allocation, wall_s: int, *, exclusive: bool) -> list[str]:
    """``batch``: "slurm" or "moab".  ``exclusive``: no other job on the nodes."""
    hours, minutes, seconds = wall_s // 3600, wall_s // 60 % 60, wall_s % 60
    clock = f"{hours:02d}:{minutes:02d}:{seconds:02d}"
    if batch == "slurm":
        lines = [f"--nodes={one.nodes}", f"--ntasks-per-node={one.cores_per_node}", f"--time={clock}"]
        return [f"#SBATCH {line}" for line in (*lines, *(["--exclusive"] if exclusive else []))]
    lines = [f"nodes={one.nodes}:ppn={one.cores_per_node}", f"walltime={clock}"]
    return [f"#MSUB -l {line}" for line in (*lines, *(["naccesspolicy=singlejob"] if exclusive else []))]
