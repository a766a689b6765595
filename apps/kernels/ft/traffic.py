"""The declared traffic of FT (apps/kernels/ft): transforms of a box in slabs or columns, and its transpositions."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from apps.recording.events import Op
from apps.traffic.split import split_count
from apps.traffic.steps import AllToAll, Collective, Compute, Split, Step, Traffic

_POINT_BYTES = 16
_MOST_POINTS, _MOST_ITERATIONS = 1 << 14, 25  # along an axis; of a run
_MOST_OWN = (1 << 31) - 1  # of a rank: MPI's counts are C's integers
# Operations of N points: N (per_point + per_log ln N), before the iterations and in each (apps/kernels/ft/ft.c).
_BEFORE, _EACH = (14.8157, 7.19641), (5.23518, 7.21113)


@dataclass(frozen=True, eq=False)
class _Layout:
    """A grid of px x pz ranks, rank = iz + pz ix, and each rank's share of every axis where the axis is divided."""

    size: tuple[int, int, int]
    px: int
    pz: int
    x: npt.NDArray[np.int64] = field(init=False)  # by rank
    y: npt.NDArray[np.int64] = field(init=False)
    z: npt.NDArray[np.int64] = field(init=False)
    columns: npt.NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        rank = np.arange(self.px * self.pz)
        nx, ny, nz = self.size
        ix, iz = rank // self.pz, rank % self.pz
        x = split_count(nx, self.px, ix)
        columns = np.array([split_count(int(points) * ny, self.pz, int(z)) for points, z in zip(x, iz, strict=True)])
        local = {"x": x, "y": split_count(ny, self.px, ix), "z": split_count(nz, self.pz, iz), "columns": columns}
        for name, value in local.items():
            object.__setattr__(self, name, value)

    @property
    def points(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Number of points that each rank owns while lines run along x, y and z."""
        nx, ny, nz = self.size
        return nx * self.y * self.z, ny * self.x * self.z, nz * self.columns

    def groups(self, along_x: bool) -> npt.NDArray[np.int64]:
        """Return the ranks of each iz (``along_x``), or those of each ix; groups x members."""
        ranks = np.arange(self.px * self.pz).reshape(self.px, self.pz)
        return ranks.T if along_x else ranks

    def swap(self, along_x: bool, there: bool) -> AllToAll:
        """Return the transposition between lines along x and y (``along_x``), or between lines along y and z.

        ``there``: towards lines along z; else back towards lines along x.
        """
        nx, ny, nz = self.size
        groups, blocks, even = self.groups(along_x), [], []
        for group in groups:
            members = np.arange(len(group))
            if along_x:
                ways = ((nx, self.y * self.z), (ny, self.x * self.z))
            else:
                ways = ((int(self.x[group[0]]) * ny, self.z), (nz, self.columns))
            n, unit = ways[0] if there else ways[1]
            blocks.append(_POINT_BYTES * np.outer(unit[group], split_count(n, len(group), members)))
            even.append(all(of % len(group) == 0 for of, _ in ways))
        return AllToAll(groups, np.array(blocks), np.array(even))


def _layout(size: tuple[int, int, int], nranks: int) -> _Layout:
    """Return slabs for up to nz ranks; else the grid with the smallest largest share, ties by px nearest to nz."""
    if nranks <= size[2]:
        return _Layout(size, 1, nranks)
    grids = [_Layout(size, px, pz) for px, pz in _grids(size, nranks)]
    return min(grids, key=lambda at: (max(int(points.max()) for points in at.points), abs(at.px - size[2])))


def _grids(size: tuple[int, int, int], nranks: int) -> list[tuple[int, int]]:
    """Return (px, pz) of all grids in which every rank owns lines along every axis."""
    nx, ny, nz = size
    sides = range(1, min(nx, ny, nranks) + 1)
    return [(px, nranks // px) for px in sides if nranks % px == 0 and nranks // px <= nz]


def _size(params: dict[str, Any]) -> tuple[int, int, int]:
    return int(params["nx"]), int(params["ny"]), int(params["nz"])


def refusal(params: dict[str, Any], nranks: int) -> str | None:
    """Return the program's reason for refusing the problem on this number of ranks; None if it does not refuse."""
    (nx, ny, nz), niter = _size(params), int(params["niter"])
    if not 1 <= niter <= _MOST_ITERATIONS:
        return f"niter is {niter}, not between 1 and {_MOST_ITERATIONS}"
    if any(not 2 <= n <= _MOST_POINTS or n & (n - 1) for n in (nx, ny, nz)):
        return f"{nx} x {ny} x {nz} points, not powers of two from 2 to {_MOST_POINTS}"
    if not _grids((nx, ny, nz), nranks):
        need = f"more than {nz} must be a product of a number up to {min(nx, ny)} and one up to {nz}"
        return f"{nranks} ranks cannot share {nx} x {ny} x {nz} points: {need}"
    largest = max(int(points[0]) for points in _layout((nx, ny, nz), nranks).points)  # rank 0 owns the most
    if nranks > 1 and largest > _MOST_OWN:
        return f"{nranks} ranks would own {largest} points each, but MPI counts at most {_MOST_OWN} of them"
    return None


def traffic(params: dict[str, Any], nranks: int) -> Traffic:
    """Return the traffic for nx x ny x nz points."""
    size = _size(params)
    at = _layout(size, nranks)
    points = at.points

    def work(flops: tuple[float, float], axis: int) -> Compute:
        return Compute(flops[1] * math.log(size[axis]) * points[axis])

    def swap(*, along_x: bool, there: bool) -> list[Step]:
        needless = (at.px if along_x else at.pz) == 1
        return [] if needless else [at.swap(along_x, there)]

    before = [Compute(_BEFORE[0] * points[0]), work(_BEFORE, 0), *swap(along_x=True, there=True), work(_BEFORE, 1)]
    before += [*swap(along_x=False, there=True), work(_BEFORE, 2)]
    each = [Compute(_EACH[0] * points[2]), work(_EACH, 2), *swap(along_x=False, there=False), work(_EACH, 1)]
    each += [*swap(along_x=True, there=False), work(_EACH, 0), Collective(Op.REDUCE, _POINT_BYTES)]
    setup = tuple(Split(at.groups(along_x)) for along_x in (True, False))
    return Traffic(nranks, before=tuple(before), iteration=tuple(each), last=tuple(each), after=(), setup=setup)
