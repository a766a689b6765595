"""The declared traffic of LU (kernel lu): a grid of columns of points, two sweeps and a residual in each iteration."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from apps.recording.events import Op
from apps.traffic.shares import Cuts, box_counts, starts
from apps.traffic.split import split_start
from apps.traffic.steps import Collective, Compute, Exchange, Step, Sweep, Traffic
from platforms.wording import number_of

_COMPONENTS = 5  # numbers at each point
_HALO = 2  # layers of points
_BYTES = 8 * _COMPONENTS  # of a point
_TAG_HALO, _TAG_SWEEP = range(2)
_LEAST, _MOST = 6, 10000  # points along an axis
# Operations per unknown (apps/kernels/lu/lu.c): leading term of the official count of an iteration, and its parts.
_LEADING, _SCALE, _RESIDUAL, _UPDATE = 1984.77, 5, 134, 10


def grid_of(nranks: int) -> tuple[int, int]:
    """Return the ranks along x and y: a grid as square as possible, its longer side along x."""
    height = max(d for d in range(1, math.isqrt(nranks) + 1) if nranks % d == 0)
    return nranks // height, height


def refusal(params: dict[str, Any], nranks: int) -> str | None:
    """Return the program's reason for refusing the problem on this number of ranks; None if it does not refuse."""
    n, (width, height) = int(params["n"]), grid_of(nranks)
    if not _LEAST <= n <= _MOST:
        return f"n is {n}, not between {_LEAST} and {_MOST}"
    if n // width < _HALO:
        grid = f"{number_of(nranks, 'rank')} would form a grid of {width} x {height}"
        return f"{grid}, which needs at least {_HALO * width} points per direction, n is {n}"
    if not (params["dt"] > 0 and 0 < params["omega"] < 2):
        return "dt is not positive, or omega is not between 0 and 2"
    return None


def cuts(params: dict[str, Any], nranks: int, shares: Sequence[float]) -> Cuts:
    """Return the cuts of the points along x and y that give every rank its share of the unknowns, as near as may be.

    Unknowns are the points off the boundary of the cube.
    """
    n, shape = int(params["n"]), grid_of(nranks)
    edges = [_edges(owners) for owners in shape]
    of_grid = np.reshape(shares, shape[::-1]).T  # ranks are numbered along x first
    counts = box_counts(of_grid, (n - 2, n - 2), [np.maximum(_HALO - edge, 1) for edge in edges])
    return {f"cuts_{axis}": starts(count + edge) for axis, count, edge in zip("xy", counts, edges, strict=True)}


def _edges(owners: int) -> npt.NDArray[np.int64]:
    """Return how many sides of the cube's boundary each place along an axis has."""
    place = np.arange(owners)
    edges: npt.NDArray[np.int64] = (place == 0).astype(np.int64) + (place == owners - 1)
    return edges


def traffic(params: dict[str, Any], nranks: int, shares: Sequence[float] = ()) -> Traffic:
    """Return the traffic for a cube of n points along each axis."""
    n = int(params["n"])
    shape = grid_of(nranks)
    rank = np.arange(nranks)
    place = (rank % shape[0], rank // shape[0])
    given = cuts(params, nranks, shares) if shares else {}
    even = [split_start(n, owners, np.arange(owners + 1)) for owners in shape]
    counts = [np.diff(given.get(f"cuts_{axis}", even[a])) for a, axis in enumerate("xy")]
    points = [counts[axis][place[axis]] for axis in range(2)]
    unknowns: list[npt.NDArray[np.int64]] = [(counts[axis] - _edges(shape[axis]))[place[axis]] for axis in range(2)]
    plane: npt.NDArray[np.int64] = unknowns[0] * unknowns[1]
    planes = n - 2
    unit = _official_flops(n) / planes**3 / _LEADING
    sweep_flops = (unit * (_LEADING - _SCALE - 3 * _RESIDUAL - _UPDATE) / 2 * plane).astype(np.float64)

    def compute(flops_per_unknown: float) -> Compute:
        return Compute(planes * plane * (unit * flops_per_unknown))

    def sweep(forward: bool) -> Sweep:
        x_bytes, y_bytes = _BYTES * unknowns[1], _BYTES * unknowns[0]
        return Sweep(*shape, forward, planes, sweep_flops, x_bytes, y_bytes, _TAG_SWEEP)

    def residual() -> Iterator[Step]:
        for axis in range(2):
            size_bytes = _BYTES * _HALO * n * points[1 - axis]
            for up in (True, False):
                yield _shift(shape, place, axis, up, size_bytes)
            yield compute(_RESIDUAL)
        yield compute(_RESIDUAL)

    sweeps = (compute(_SCALE), sweep(True), sweep(False), compute(_UPDATE))
    rest, norm = tuple(residual()), Collective(Op.ALLREDUCE, 8 * _COMPONENTS)
    last = (*sweeps, norm, *rest, norm)
    return Traffic(nranks, before=(), iteration=sweeps + rest, last=last, after=(), setup=rest)


def _official_flops(n: int) -> float:
    return ((1984.77 * n - 10923.3) * n + 27770.9) * n - 144010


def _shift(
    shape: tuple[int, int],
    place: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]],
    axis: int,
    up: bool,
    size_bytes: npt.NDArray[np.int64],
) -> Exchange:
    """Every rank sends to the next one in one direction along an axis."""
    sends = np.flatnonzero(place[axis] < shape[axis] - 1 if up else place[axis] > 0)
    step = (1 if axis == 0 else shape[0]) * (1 if up else -1)
    receives = (sends + step).astype(np.int32)
    return Exchange(sends.astype(np.int32), receives, size_bytes[sends].astype(np.int64), tag=_TAG_HALO)
