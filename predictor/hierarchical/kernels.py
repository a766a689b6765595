"""#op, #b and #x of the NAS kernels, declared as functions of the parameters of a class.

#op is the official count (docs/kernels/index.md).  #x counts the bytes that cross the borders of p nodes, each with a
compact part of the problem; the ranks of a node count as one.  Some functions give leading terms only, as they state.
#b / #op is in each kernel's kernel.toml.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from apps.programs.kernel import named_kernel
from apps.traffic import bt, sp
from apps.traffic.adi import Method
from apps.traffic.tiles import cut_for
from platforms.errors import UserError
from predictor.hierarchical.beta import Beta
from predictor.hierarchical.model import DERIVED
from predictor.hierarchical.multicore_cluster import MulticoreCluster
from predictor.hierarchical.surface import Surface, Term, Terms

Params = Mapping[str, Any]  # parameters of a problem; this module reads only numbers

# #x is summed over the nodes; every node has its own link, which its cores share.
BETA = Beta(Fraction(1), per_core=False)


@dataclass(frozen=True)
class Kernel:
    """The declared quantities of a NAS kernel."""

    name: str
    operations: Callable[[Params], float]  # #op
    exchanged_bytes: Callable[[Params, int], float]  # #x on p nodes; 0 on one node
    messages: Callable[[Params, int], float]  # number of messages of one node, each of which waits for the previous one

    @property
    def bytes_per_operation(self) -> float:
        """Bytes of memory traffic per operation, #b / #op."""
        value = named_kernel(self.name).bytes_per_flop
        if isinstance(value, str):
            raise TypeError(f"kernel {self.name} moves a number of bytes that depends on its size")
        return value

    def surface(
        self,
        params: Params,
        system: MulticoreCluster,
        *,
        variant: str = DERIVED,
        beta: Beta | None = None,
        overlap: bool = False,
    ) -> Surface:
        """Return the surface of efficiency on a machine, as for a program of the paper's table.

        Raises:
            UserError: The variant is not "derived"; the paper prints nothing of NAS kernels.
        """
        if variant != DERIVED:
            raise UserError(f"variant {variant!r}, app {self.name!r}", "the paper prints nothing of it", "Ask derived")
        op, shared = self.operations(params), beta or BETA
        balance = float(system.network_balance) / op

        @cache  # a search uses the same p with every q
        def moved_by(nodes: float) -> float:
            return self.exchanged_bytes(params, int(nodes))

        def network(q: npt.ArrayLike, p: npt.ArrayLike) -> np.ndarray:
            moved = np.vectorize(moved_by, otypes=[float])(p)
            over_time: np.ndarray = balance * np.asarray(q, float) * np.asarray(p, float) / shared(q, p) * moved
            return over_time

        memory = Terms((Term(float(system.a_star) * self.bytes_per_operation, cores=1),))
        return Surface(memory, network, overlap, f"eq. (5) derived, beta(q, p) = {shared}")


def _sum_bytes(vector_bytes: float, p: int) -> float:
    """Return the bytes of an allreduce by pairwise exchanges: p log2 p vectors."""
    return vector_bytes * p * math.log2(p)


def _cg_operations(a: Params) -> float:
    row = a["nonzer"] * (a["nonzer"] + 1)
    return float(2 * a["niter"] * a["na"] * (3 + row + 25 * (5 + row) + 3))


def _cg_grid(p: int) -> tuple[int, float]:
    """Return the number R of row groups and the nodes in each: k R^2 nodes with k = 1, 2, 3, else R near sqrt(p)."""
    for k in (1, 2, 3):
        R = math.isqrt(p // k)
        if k * R * R == p:
            return R, k * R
    R = max(1, round(math.sqrt(p)))
    return R, p / R


def _cg_bytes(a: Params, p: int) -> float:
    """Return CG's #x: 26 matrix-vector products and 53 sums in an iteration.

    In a product the parts of the result are summed within a row group and then transposed.  With R groups of C nodes
    every node sends n / C numbers log2 C times; then all but C nodes send n / C numbers.
    """
    R, C = _cg_grid(p)
    vectors = 26 * 8 * a["na"] * (R * math.log2(C) + R - 1)
    return float(a["niter"] * (vectors + 53 * 8 * p * math.log2(C)))


def _cg_messages(a: Params, p: int) -> float:
    logs = math.log2(_cg_grid(p)[1])
    return float(a["niter"] * (26 * (logs + (p > 1)) + 53 * logs))


@lru_cache(maxsize=100_000)
def _box(p: int) -> tuple[int, int, int]:
    """Return px <= py <= pz with p = px py pz and the smallest sum, as MG arranges its ranks."""
    found = [
        (px + py + p // (px * py), px, py)
        for px in range(1, round(p ** (1 / 3)) + 2)
        if p % px == 0
        for py in range(px, math.isqrt(p // px) + 1)
        if p // px % py == 0
    ]
    _, px, py = min(found)
    return px, py, p // (px * py)


def _mg_levels(a: Params) -> int:
    return int(math.log2(a["n"]))


def _mg_bytes(a: Params, p: int) -> float:
    """Return MG's #x: the faces of the boxes, in both directions, on every level three times, on the coarsest twice.

    The faces of a later axis include the two layers that were received along earlier axes.  A level with fewer points
    than nodes is assumed to be spread over all nodes.
    """
    px, py, pz = _box(p)
    levels, n, points = _mg_levels(a), int(a["n"]), 0.0
    for size in (n >> level for level in range(levels)):
        along_x, along_y, along_z = size / px, size / py, size / pz
        faces = (
            (px > 1) * along_y * along_z + (py > 1) * (along_x + 2) * along_z + (pz > 1) * (along_x + 2) * (along_y + 2)
        )
        points += (3 if size > 2 else 2) * faces
    return float(a["nit"] * p * points * 2 * 8)


def _mg_messages(a: Params, p: int) -> float:
    axes = sum(side > 1 for side in _box(p))
    return float(a["nit"] * 2 * axes * (3 * _mg_levels(a) - 1))


def _lu_operations(a: Params) -> float:
    n = a["n"]
    return float(a["itmax"] * (1984.77 * n**3 - 10923.3 * n**2 + 27770.9 * n - 144010.0))


@lru_cache(maxsize=100_000)
def _rectangle(p: int) -> tuple[int, int]:
    """Return xdim >= ydim with p = xdim ydim, as square as p allows."""
    ydim = next(side for side in range(math.isqrt(p), 0, -1) if p % side == 0)
    return p // ydim, ydim


def _lu_bytes(a: Params, p: int) -> float:
    """Return LU's #x: per cut 5 numbers per point of n - 2 planes in both sweeps, then two layers in each direction."""
    n, cuts = a["n"], sum(side - 1 for side in _rectangle(p))
    return float(a["itmax"] * cuts * (2 * 40 * (n - 2) ** 2 + 4 * 40 * n**2))


def _lu_messages(a: Params, p: int) -> float:
    """Return LU's messages: one per plane in both sweeps, plus the steps of the wave from corner to corner."""
    cuts = sum(side - 1 for side in _rectangle(p))
    return float(a["itmax"] * 2 * (a["n"] - 2 + cuts)) if cuts else 0.0


def _adi_operations(method: Method) -> Callable[[Params], float]:
    return lambda a: float(a["niter"] * method.official_flops(float(a["n"])))


def _adi_bytes(method: Method) -> Callable[[Params, int], float]:
    """Return #x of BT or SP: per cut two layers of 5 numbers in each direction, and the lines of both passes.

    BT's messages have room for a point more along each axis of a tile, SP's have the unknowns alone.
    """

    def exchanged_bytes(a: Params, p: int) -> float:
        n, cuts = int(a["n"]), cut_for(p).cuts
        passed = 0
        for axis in range(3):
            one, other = (cuts[across] for across in range(3) if across != axis)
            lines = one * other * (n // one + 1) * (n // other + 1) if method.whole else (n - 2) ** 2
            passed += (cuts[axis] - 1) * 8 * (method.up + method.down) * lines
        return float(a["niter"] * (sum(side - 1 for side in cuts) * 2 * 2 * 40 * n**2 + passed))

    return exchanged_bytes


def _adi_messages(a: Params, p: int) -> float:
    """Return the messages that wait for each other: the halo, all at once, and one per cut in each of six passes."""
    cuts = sum(side - 1 for side in cut_for(p).cuts)
    return float(a["niter"] * (1 + 2 * cuts)) if cuts else 0.0


def _ft_points(a: Params) -> int:
    return int(a["nx"] * a["ny"] * a["nz"])


def _ft_operations(a: Params) -> float:
    log = math.log(_ft_points(a))
    return float(_ft_points(a) * (14.8157 + 7.19641 * log + (5.23518 + 7.21113 * log) * a["niter"]))


def _ft_bytes(a: Params, p: int) -> float:
    """Return FT's #x: all points except a share 1 / p, at the start and in every iteration."""
    return float(16 * _ft_points(a) * (a["niter"] + 1) * (1 - 1 / p))


def _is_bytes(a: Params, p: int) -> float:
    """Return IS's #x: all keys except a share 1 / p, and the sums over buckets."""
    moved = 4 * a["total_keys"] * (1 - 1 / p)
    return float(a["max_iterations"] * (moved + _sum_bytes(4 * (a["num_buckets"] + 5), p)))


KERNELS: Mapping[str, Kernel] = {
    kernel.name: kernel
    for kernel in (
        Kernel("cg", _cg_operations, _cg_bytes, _cg_messages),
        Kernel("mg", lambda a: 58.0 * a["n"] ** 3 * a["nit"], _mg_bytes, _mg_messages),
        Kernel("lu", _lu_operations, _lu_bytes, _lu_messages),
        Kernel("bt", _adi_operations(bt.METHOD), _adi_bytes(bt.METHOD), _adi_messages),
        Kernel("sp", _adi_operations(sp.METHOD), _adi_bytes(sp.METHOD), _adi_messages),
        Kernel("ft", _ft_operations, _ft_bytes, lambda a, p: (a["niter"] + 1) * (p - 1)),
        Kernel(
            "is",
            lambda a: float(a["total_keys"] * a["max_iterations"]),
            _is_bytes,
            lambda a, p: a["max_iterations"] * (2 * (p - 1) + math.log2(p)),
        ),
        Kernel("ep", lambda a: 2.0 ** (a["m"] + 1), lambda a, p: _sum_bytes(96, p), lambda a, p: 3 * math.log2(p)),
    )
}
