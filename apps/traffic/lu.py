"""What LU computes and sends (apps/lu): a grid of columns of points, two sweeps and a residual in each iteration."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from apps.recording import Op
from apps.traffic.split import check_ranks, split_count, split_start
from apps.traffic.steps import Collective, Compute, Exchange, Step, Sweep, Traffic

_COMPONENTS = 5  # numbers at each point
_HALO = 2  # layers of points
_BYTES = 8 * _COMPONENTS  # of a point
# Operations per unknown (apps/lu/lu.c): leading term of the official count of an iteration, and its parts.
_LEADING, _SCALE, _RESIDUAL, _UPDATE = 1984.77, 5, 134, 10


def grid_of(nranks: int) -> tuple[int, int]:
    """Ranks along x and y: as square as possible, the longer side along x."""
    height = max(d for d in range(1, math.isqrt(nranks) + 1) if nranks % d == 0)
    return nranks // height, height


def check(params: dict[str, Any], nranks: int) -> None:
    """Raises KernelError where the program refuses so many ranks."""
    n, width = int(params["n"]), grid_of(nranks)[0]
    check_ranks("lu", nranks, n // width >= _HALO, f"{_HALO * width} points along x, and there are {n}")


def traffic(params: dict[str, Any], nranks: int) -> Traffic:
    """Of a cube of n points along each axis."""
    check(params, nranks)
    n = int(params["n"])
    shape = grid_of(nranks)
    rank = np.arange(nranks)
    place = (rank % shape[0], rank // shape[0])
    points = [split_count(n, shape[axis], place[axis]) for axis in range(2)]
    # Unknowns are the points off the boundary of the cube.
    edges = [
        (split_start(n, shape[a], place[a]) == 0).astype(int) + (place[a] == shape[a] - 1).astype(int) for a in range(2)
    ]
    unknowns = [count - edge for count, edge in zip(points, edges, strict=True)]
    plane, planes = unknowns[0] * unknowns[1], n - 2
    unit = _official_flops(n) / planes**3 / _LEADING
    sweep_flops = unit * (_LEADING - _SCALE - 3 * _RESIDUAL - _UPDATE) / 2

    def compute(flops_per_unknown: float) -> Compute:
        return Compute(unit * flops_per_unknown * planes * plane)

    def sweep(forward: bool) -> Sweep:
        return Sweep(*shape, forward, planes, sweep_flops * plane, _BYTES * unknowns[1], _BYTES * unknowns[0])

    def residual() -> Iterator[Step]:
        for axis in range(2):
            size_bytes = _BYTES * _HALO * n * points[1 - axis]
            for up in (True, False):
                yield _shift(shape, place, axis, up, size_bytes)
            yield compute(_RESIDUAL)
        yield compute(_RESIDUAL)

    sweeps = (compute(_SCALE), sweep(True), sweep(False), compute(_UPDATE))
    rest, norm = tuple(residual()), Collective(Op.ALLREDUCE, 8 * _COMPONENTS)
    return Traffic(nranks, before=(), iteration=sweeps + rest, last=(*sweeps, norm, *rest, norm), after=())


def _official_flops(n: int) -> float:
    return ((1984.77 * n - 10923.3) * n + 27770.9) * n - 144010


def _shift(
    shape: tuple[int, int],
    place: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]],
    axis: int,
    up: bool,
    size_bytes: npt.NDArray[np.int64],
) -> Exchange:
    """All send one way along an axis."""
    sends = np.flatnonzero(place[axis] < shape[axis] - 1 if up else place[axis] > 0)
    step = (1 if axis == 0 else shape[0]) * (1 if up else -1)
    return Exchange.of(zip(sends, sends + step, size_bytes[sends], strict=True))
