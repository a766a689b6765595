"""The programs of the paper's table with the counts of this project's kernels, on the machines of the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from apps.errors import KernelError
from apps.programs.problem import Problem, sized_problem
from apps.traffic.lines import square_rows
from apps.traffic.path import Path
from platforms.errors import UserError, nearest
from predictor.hierarchical.counts.declared import Counted, Speeds, counted
from predictor.hierarchical.kernels import kernel_for, notes
from predictor.hierarchical.multicore_cluster import MulticoreCluster
from predictor.hierarchical.surface import Surface

SOURCE = "eq. (3) with the kernel's own counts, and a link for every node"
_KEPT = 100_000  # paths of allocations


def kernel_problem(app: str, n: int, ranks: int = 1) -> Problem:
    """Return the kernel that corresponds to a program of the paper's table.

    A kernel whose grid of ranks is a parameter gets one that is as square as possible.

    Raises:
        UserError: No kernel corresponds to ``app``, or the kernel does not take this size.
    """
    known = kernel_for()
    if app not in known:
        raise UserError(f"--app {app}", "no such program of the paper's table", nearest(app, known, limit=9))
    kernel, power = known[app]
    rows = notes(kernel).grid_rows
    try:
        if rows is not None:
            return sized_problem(kernel, n**power, **{rows: square_rows(ranks)})
        asked = sized_problem(kernel, n**power)
    except KernelError as err:
        raise UserError(f"--n {n}", f"{kernel} has no such size, {err.problem}", err.remedy) from err
    if not asked.allows(1):
        raise UserError(f"--n {n}", f"the kernel {kernel} transforms powers of two", "Give one, such as 1024")
    return asked


def speeds(system: MulticoreCluster, *, inside_is_network: bool = False) -> Speeds:
    """Return the speeds of a machine, in whose nodes messages pass through memory, or else over their links."""
    memory_Bps = float("inf") if system.memory_Bps is None else float(system.memory_Bps)
    return Speeds(
        core_flops=float(system.core_flops),
        memory_Bps=memory_Bps,
        network_Bps=float(system.network_Bps),
        latency_s=system.latency_s,
        inside_Bps=memory_Bps,
        inside_is_network=inside_is_network,
    )


@dataclass(frozen=True)
class Plan:
    """A program of the paper's table, as the kernel that this project runs for it, on a machine."""

    app: str
    n: int
    system: MulticoreCluster
    inside_is_network: bool = False  # True: messages within a node go over its link

    @cached_property
    def problem(self) -> Problem:
        """The kernel on one rank; UserError if there is none, or if it does not take the size."""
        return kernel_problem(self.app, self.n)

    @property
    def counted(self) -> Counted:
        """The counts of the kernel."""
        return counted(self.problem.name)

    @cached_property
    def operations(self) -> float:
        """#op of the kernel."""
        return self.counted.operations(dict(self.problem.params))

    def path(self, q: int, p: int, *, bytes_per_operation: float | None = None) -> Path | None:
        """Return the path on q cores of each of p nodes; None where the kernel does not run on so many ranks."""
        if not self.problem.allows(q * p):
            return None
        params, rows = dict(self.problem.params), notes(self.problem.name).grid_rows
        if rows is not None:
            params[rows] = square_rows(q * p)
        return self.counted.path(params, q, p, bytes_per_operation=bytes_per_operation)

    def surface(self, *, overlap: bool = False, bytes_per_operation: float | None = None) -> Surface:
        """Return the surface of efficiency; it is 0 where the kernel does not run on so many ranks."""
        on, operations = speeds(self.system, inside_is_network=self.inside_is_network), self.operations

        @lru_cache(_KEPT)
        def terms(q: int, p: int) -> tuple[float, float]:
            path = self.path(q, p, bytes_per_operation=bytes_per_operation)
            if path is None:
                return 0.0, float("inf")
            ideal_s = operations / (q * p * on.core_flops)
            memory_s = on.memory_s(path)
            return memory_s / ideal_s, (on.time_s(path) - memory_s) / ideal_s - 1

        return Surface(of_whole(lambda q, p: terms(q, p)[0]), of_whole(lambda q, p: terms(q, p)[1]), overlap, SOURCE)


def of_whole(function: Callable[[int, int], float]) -> Callable[[npt.ArrayLike, npt.ArrayLike], np.ndarray]:
    """Return a function of whole numbers as one of arrays."""
    each = np.vectorize(lambda q, p: function(round(q), round(p)), otypes=[float])
    return lambda q, p: each(q, p)
