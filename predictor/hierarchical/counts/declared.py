"""Paths of programs that declare their messages, as a whole or step by step, and their times on the model's machines.

Paths of programs whose messages are declared step by step (apps/traffic).

All ranks are assumed to exchange messages together, so that an exchange takes as long as on the busiest node.  There is
no common clock otherwise: of computation, that of the rank counts which computes most in all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from apps.errors import KernelError
from apps.programs.kernel import bytes_per_flop, kernels_with, named_kernel
from apps.programs.problem import Problem, sized_problem
from apps.traffic.lines import square_rows
from apps.traffic.path import LARGE_BYTES, Path
from apps.traffic.steps import AllToAll, Collective, Compute, Exchange, Sweep, Traffic
from platforms.errors import UserError, nearest
from predictor.hierarchical.kernels import kernel_for, notes
from predictor.hierarchical.multicore_cluster import MulticoreCluster
from predictor.hierarchical.surface import Surface
from predictor.structural.collectives import exchanges

_MODULE = "longest_path"
Params = Mapping[str, Any]  # parameters of a problem
SOURCE = "eq. (3) with the kernel's own counts, and a link for every node"
_KEPT = 100_000  # paths of allocations


@dataclass(frozen=True)
class Counted:
    """A kernel whose operations, bytes and messages are declared for every number of cores and nodes."""

    name: str
    operations: Callable[[Params], float]  # #op
    _path: Callable[[Params, int, int, float], Path]

    def path(self, params: Params, q: int, p: int, *, bytes_per_operation: float | None = None) -> Path:
        """Return the path on q ranks of each of p nodes.

        Args:
            params: Parameters of the kernel.
            q: Ranks per node.
            p: Nodes.
            bytes_per_operation: #b / #op; None: that which the kernel declares.
        """
        if bytes_per_operation is None:
            bytes_per_operation = bytes_per_flop(named_kernel(self.name), params)
        return self._path(params, q, p, bytes_per_operation)

    def cautions(self, params: Params) -> tuple[str, ...]:
        """Return what the path leaves out with these parameters."""
        said = named_kernel(self.name).optional(_MODULE, "cautions")
        return () if said is None else tuple(said(params))


def counted_names() -> tuple[str, ...]:
    """Return the names of the kernels that declare their longest path."""
    return kernels_with(f"{_MODULE}.py")


@cache
def counted(name: str) -> Counted:
    """Return what the kernel of this name, one of ``counted_names``, declares.

    Raises:
        KernelError: Its module lacks a function.
    """
    kernel = named_kernel(name)
    return Counted(name, kernel.needed(_MODULE, "operations"), kernel.needed(_MODULE, "longest_path"))


@dataclass(frozen=True)
class Speeds:
    """A machine: what one core computes, and what one node moves."""

    core_flops: float  # l_c
    memory_Bps: float  # b_m, of a node; inf: memory never limits
    network_Bps: float  # b_cl, of the link of a node, in each direction
    latency_s: float  # of a small message between two nodes
    inside_Bps: float = float("inf")  # of every single message within a node
    inside_is_network: bool = False  # True: messages within a node cross its link, with its latency and bandwidth

    def compute_s(self, path: Path) -> float:
        """Return the time of a path's operations, s."""
        return path.operations / self.core_flops

    def memory_s(self, path: Path) -> float:
        """Return the time for which cores wait for their node's memory, s."""
        return path.memory_bytes / self.memory_Bps

    def exchange_s(self, path: Path) -> float:
        """Return the time of a path's messages, s, with their latency."""
        inside_s = (
            path.inside_bytes / self.network_Bps if self.inside_is_network else path.copied_bytes / self.inside_Bps
        )
        return path.link_bytes / self.network_Bps + inside_s + self._waiting_s(path)

    def _waiting_s(self, path: Path) -> float:
        """Return the part of the messages' time that is latency, s."""
        inside = path.inside_latencies if self.inside_is_network else 0.0
        return (path.latencies + inside) * self.latency_s

    def time_s(self, path: Path) -> float:
        """Return the time of a whole path, s.

        Two nodes that compute 1e9 operations on each of their cores and then send 1 Mbyte each way:

        >>> one = Path(operations=1e9, link_bytes=1e6, large_messages=1)
        >>> round(Speeds(1e9, float("inf"), 1e9, latency_s=1e-6).time_s(one), 9)
        1.001003
        """
        return self.compute_s(path) + self.memory_s(path) + self.exchange_s(path)


def traffic_path(traffic: Traffic, iterations: int, node: Sequence[int], bytes_per_operation: float) -> Path:
    """Return the path of a program.

    Args:
        traffic: Its steps.
        iterations: How often it iterates.
        node: The number of the node of every rank, from 0.
        bytes_per_operation: Bytes between cores and memory per operation.
    """
    at = np.asarray(node, np.int64)
    counted = Counter(traffic.iteration)
    steps = Counter((*traffic.before, *traffic.last, *traffic.after))
    for step, times in counted.items():
        steps[step] += times * (iterations - 1)
    path, flops = Path(), np.zeros(len(at))
    for step, times in steps.items():
        if isinstance(step, Compute):
            flops += times * step.flops
        else:
            path += _of_step(step, at, bytes_per_operation) * times
    return path + _computed(flops, at, bytes_per_operation)


def _of_step(step: Exchange | Sweep | AllToAll | Collective, node: np.ndarray, per_operation: float) -> Path:
    if isinstance(step, Exchange):
        computed = Path() if step.meanwhile is None else _computed(step.meanwhile, node, per_operation)
        return computed + _exchanged(step, node)
    if isinstance(step, Sweep):
        return _swept(step, node, per_operation)
    return sum((_exchanged(exchange, node) for exchange in exchanges(step, len(node))), Path())


def _computed(flops: np.ndarray, node: np.ndarray, per_operation: float) -> Path:
    return Path(float(flops.max()), per_operation * float(np.bincount(node, flops).max()))


def _exchanged(step: Exchange, node: np.ndarray) -> Path:
    """Return the path of messages that begin together; of one rank, large ones wait for each other.

    Those that are sent ``at_once`` do not wait.
    """
    if not len(step.source):
        return Path()
    size, ranks = step.size_bytes.astype(float), len(node)
    far = node[step.source] != node[step.destination]
    to_itself = step.source == step.destination
    large = size >= LARGE_BYTES

    def busiest(which: np.ndarray) -> float:
        ways = (step.source, step.destination)
        return max(float(np.bincount(node[way[which]], size[which], 1).max()) for way in ways)

    def chain(which: np.ndarray) -> float:
        """Return how many of these messages wait for one another."""
        if not which.any():
            return 0.0
        return 1.0 if step.at_once else float(np.bincount(step.source[which], minlength=ranks).max())

    near = ~far & ~to_itself
    return Path(
        link_bytes=busiest(far),
        inside_bytes=busiest(near),
        copied_bytes=float(np.bincount(step.source[near], size[near], 1).max()),
        messages=float((far & ~large).any()),  # small ones are buffered
        large_messages=chain(far & large),
        inside_messages=float((near & ~large).any()),
        inside_large_messages=chain(near & large),
    )


def _swept(step: Sweep, node: np.ndarray, per_operation: float) -> Path:
    """Return the path of a sweep: as many planes as the grid has diagonals before the last rank can begin, and its own.

    A message is waited for on the way to the last corner; later ones have come when a rank needs them.
    """
    stages = step.planes + step.width + step.height - 2
    computed = _computed(step.flops, node, per_operation) * stages
    ranks, moved = np.arange(len(node)), Path()
    for axis, size in ((0, step.x_bytes), (1, step.y_bytes)):
        sends = ranks[step.has_next(axis)]
        if not len(sends):
            continue
        exchanged = _exchanged(
            Exchange(
                sends.astype(np.int32), (sends + step.stride(axis)).astype(np.int32), size[sends].astype(np.int64)
            ),
            node,
        )
        cuts = (step.width, step.height)[axis] - 1
        far = float((node[sends] != node[sends + step.stride(axis)]).mean())  # share of the cuts between nodes
        waits = Path(messages=far * cuts, inside_messages=(1 - far) * cuts)
        moved += (
            Path(
                link_bytes=exchanged.link_bytes,
                inside_bytes=exchanged.inside_bytes,
                copied_bytes=exchanged.copied_bytes,
            )
            * stages
        )
        moved += waits
    return computed + moved


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
        """Return the path on q cores of each of p nodes; None where the kernel does not run on that many ranks."""
        if not self.problem.allows(q * p):
            return None
        params, rows = dict(self.problem.params), notes(self.problem.name).grid_rows
        if rows is not None:
            params[rows] = square_rows(q * p)
        return self.counted.path(params, q, p, bytes_per_operation=bytes_per_operation)

    def surface(self, *, overlap: bool = False, bytes_per_operation: float | None = None) -> Surface:
        """Return the surface of efficiency; it is 0 where the kernel does not run on that many ranks."""
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
