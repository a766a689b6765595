"""Speed that one processor provides for all nodes of a grid, measured before a counted emulation."""

from __future__ import annotations

import math
import subprocess
from pathlib import Path

from apps.emulate.settings import MOST_SHARE
from apps.errors import SimulationError
from apps.programs.kernel import named_kernel
from platforms.grids.grid import Grid
from platforms.simgrid.compiling import compile_once

_SOURCE = Path(__file__).parent / "carry" / "carry.c"
_MOST_RANKS = 512  # as in carry.c
_LIMIT_S = 60.0
_LIKE = "cg"  # kernel whose sparse matrix products the program computes


def carried_flops(processor: int, ranks: int) -> float:
    """Return the nominal speed that a processor can provide, flop/s: operations per second over their usual efficiency.

    Ranks with separate matrices compute in turn for a tenth of a second.

    Raises:
        SimulationError: The program does not succeed.
    """
    program = compile_once("carry", [_SOURCE], compiler=["gcc"], flags=["-O2", "-std=gnu11", "-Wall", "-Wextra"])
    words = [str(program), str(processor), str(min(ranks, _MOST_RANKS))]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=_LIMIT_S, check=True)
        return MOST_SHARE * float(done.stdout) / named_kernel(_LIKE).reference_efficiency
    except (subprocess.SubprocessError, ValueError) as err:
        raise SimulationError(f"the speed that processor {processor} can provide was not measured: {err}") from err


def overload(grid: Grid, processor: int) -> str | None:
    """Return a sentence with the necessary slowdown if a grid computes faster than the processor; None if not."""
    cores = sum(cluster.nodes * cluster.cores for cluster in grid.clusters)
    needed_flops = sum(cluster.nodes * cluster.cores * cluster.speed_flops for cluster in grid.clusters)
    flops = carried_flops(processor, cores)
    return None if needed_flops <= flops else overload_text(cores, needed_flops, processor, flops)


def overload_text(cores: int, needed_flops: float, processor: int, flops: float) -> str:
    """Return the sentence; the slowdown is rounded up to two digits."""
    factor = needed_flops / flops
    unit = 10.0 ** (math.floor(math.log10(factor)) - 1)
    slowdown = math.ceil(factor / unit) * unit
    return (
        f"if all {cores} cores of the grid compute at once they need {needed_flops / 1e9:.3g} Gflop/s, but processor "
        f"{processor} provides {flops / 1e9:.3g}: they would fall behind. Take --slowdown {slowdown:.3g} or more"
    )
