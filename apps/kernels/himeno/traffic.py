"""The declared traffic of Himeno (kernel himeno): halos along the divided axes of a cube, and one sum per iteration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from apps.kernels.himeno.rules import longest_side
from apps.recording.events import Op
from apps.traffic.shares import Cuts, box_counts, starts
from apps.traffic.split import split_count
from apps.traffic.steps import Collective, Compute, Exchange, Step, Traffic
from platforms.wording import number_of

_AXES = 3
_GRIDS = ("slabs", "pencils", "boxes")
_FLOPS = 34  # per inner point and iteration
_BYTES = 4  # of a point and of the sum: single precision
_TAG_DOWN, _TAG_UP = 1, 2
_LEAST, _MOST = 3, 46340  # points along an axis


def shape_of(nranks: int, grid: str) -> tuple[int, int, int]:
    """Return the ranks along x >= y >= z: the smallest x, then the smallest y; slabs have y = z = 1, pencils z = 1.

    >>> [shape_of(12, grid) for grid in ("slabs", "pencils", "boxes")]
    [(12, 1, 1), (4, 3, 1), (3, 2, 2)]
    """
    x = longest_side(nranks, grid)
    face = nranks // x
    y = face if grid != "boxes" else next(y for y in range(1, face + 1) if face % y == 0 and y * y >= face)
    return x, y, face // y


def refusal(params: dict[str, Any], nranks: int) -> str | None:
    """Return the program's reason for refusing the problem on this number of ranks; None if it does not refuse."""
    n, niter, grid = int(params["n"]), int(params["niter"]), str(params["grid"])
    if grid not in _GRIDS:
        return f"grid={grid} is none of {', '.join(_GRIDS)}"
    if not _LEAST <= n <= _MOST:
        return f"n is {n}, not from {_LEAST} to {_MOST}"
    if longest_side(nranks, grid) > n - 2:
        ranks = number_of(nranks, "rank")
        return f"{ranks} cannot own a point each along every axis, {n - 2} points inside the boundary"
    return None if niter >= 1 else f"niter is {niter}, not positive"


def cuts(params: dict[str, Any], nranks: int, shares: Sequence[float]) -> Cuts:
    """Return the cuts of the inner points that give every rank its share of them, as near as may be."""
    of_grid = np.reshape(shares, shape_of(nranks, str(params["grid"])))  # ranks are numbered along z first
    counts = box_counts(of_grid, (int(params["n"]) - 2,) * _AXES, (1,) * _AXES)
    return {f"cuts_{axis}": starts(count) for axis, count in zip("xyz", counts, strict=True)}


def traffic(params: dict[str, Any], nranks: int, shares: Sequence[float] = ()) -> Traffic:
    """Return the traffic for a cube of n points along each axis, of which the outermost are its boundary."""
    inner, shape = int(params["n"]) - 2, shape_of(nranks, str(params["grid"]))
    given = cuts(params, nranks, shares) if shares else {}
    places = np.unravel_index(np.arange(nranks), shape)
    counts = [
        np.diff(given[f"cuts_{axis}"]) if given else split_count(inner, p, np.arange(p))
        for axis, p in zip("xyz", shape, strict=True)
    ]
    local_points = [count[place] for count, place in zip(counts, places, strict=True)]
    points = local_points[0] * local_points[1] * local_points[2]
    steps: list[Step] = [Compute((_FLOPS * points).astype(np.float64))]
    for axis in reversed(range(_AXES)):
        if shape[axis] > 1:
            # A whole plane of the block, with the points beside it along the other two axes.
            sides = [local_points[a] + 2 for a in range(_AXES) if a != axis]
            steps.append(
                _halo(places[axis], shape[axis], int(np.prod(shape[axis + 1 :])), _BYTES * sides[0] * sides[1])
            )
    iteration = (*steps, Collective(Op.ALLREDUCE, _BYTES))
    return Traffic(nranks, before=(), iteration=iteration, last=iteration, after=())


def _halo(place: np.ndarray, ranks: int, stride: int, size_bytes: np.ndarray) -> Exchange:
    """Return the exchange of planes along an axis: receives from above and below, sends down and up, all at once.

    Args:
        place: Place of every rank along the axis.
        ranks: Number of ranks along it.
        stride: Difference between the numbers of two neighbours.
        size_bytes: Size of the plane of every rank.
    """
    down, up = np.flatnonzero(place > 0), np.flatnonzero(place < ranks - 1)
    source = np.concatenate([down, up])
    destination = np.concatenate([down - stride, up + stride])
    tag = np.repeat(np.array([_TAG_DOWN, _TAG_UP], np.int32), (len(down), len(up)))
    return Exchange(
        source.astype(np.int32),
        destination.astype(np.int32),
        size_bytes[source].astype(np.int64),
        at_once=True,
        tag=tag,
    )
