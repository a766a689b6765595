"""The declared traffic of MG (kernel mg): a V-cycle over the levels of a periodic cube, with halos axis by axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from apps.recording.events import Op
from apps.traffic.shares import Cuts, box_counts, starts
from apps.traffic.steps import Collective, Compute, Exchange, Step, Traffic, Whole
from platforms.wording import number_of

_AXES = 3
_MOST_LEVELS = 12
_Messages = Sequence[tuple[Whole, Whole, Whole]]  # source, destination, bytes
# Operations per owned point, of the coarse grid where there are two (apps/kernels/mg/mg.c).
_RESIDUAL, _SMOOTH, _RESTRICT, _INTERPOLATE, _NORM = 15, 16, 24, 24, 3


def shape_of(nranks: int) -> tuple[int, int, int]:
    """Return the ranks along x <= y <= z: the first of the shapes with the smallest sum."""
    shapes = [
        (x, y, nranks // x // y)
        for x in range(1, math.isqrt(nranks) + 1)
        if x**3 <= nranks and nranks % x == 0
        for y in range(x, math.isqrt(nranks // x) + 1)
        if nranks % (x * y) == 0
    ]
    return min([(1, 1, nranks), *shapes], key=sum)


@dataclass(frozen=True, eq=False)
class _Span:
    """The part of a level that each rank owns along one axis; arrays by rank."""

    own: npt.NDArray[np.int64]  # points
    lower: npt.NDArray[np.int64]  # the next rank below that owns points of the level, periodically
    upper: npt.NDArray[np.int64]
    # bool: the lower one owns a point of the level but none of the next coarser one, where this rank owns points
    lower_newcomer: npt.NDArray[np.bool_]
    upper_newcomer: npt.NDArray[np.bool_]


def _span(n: int, cuts: npt.NDArray[np.int64], place: npt.NDArray[np.int64], stride: int) -> _Span:
    """Return the span of a level of n points over the places that ``cuts`` cuts the finest level into."""
    rank, finest = np.arange(len(place)), cuts[-1]
    points = np.diff(cuts * n // finest)
    owners = np.flatnonzero(points)
    newcomer = (points > 0) & (np.diff(cuts * (n // 2) // finest) == 0) & (n > 2)
    at = np.arange(len(points))
    upper = owners[np.searchsorted(owners, at, side="right") % len(owners)]
    lower = owners[np.searchsorted(owners, at, side="left") - 1]
    settled = (points > 0) & ~newcomer & (n > 2)
    return _Span(
        own=points[place],
        lower=rank + (lower - at)[place] * stride,
        upper=rank + (upper - at)[place] * stride,
        lower_newcomer=(settled & newcomer[lower])[place],
        upper_newcomer=(settled & newcomer[upper])[place],
    )


@dataclass(frozen=True, eq=False)
class _Level:
    """A level of the cube, and the steps that exchange its halos: one for each axis."""

    n: int
    spans: tuple[_Span, ...]

    @cached_property
    def points(self) -> npt.NDArray[np.int64]:
        """Number of points that each rank owns."""
        points: npt.NDArray[np.int64] = np.prod([span.own for span in self.spans], axis=0)
        return points

    def plane(self, axis: int, ghosts: range | tuple[int, ...]) -> npt.NDArray[np.int64]:
        """Return the bytes of a plane across an axis, with the ghost points along the axes ``ghosts``."""
        others = [self.spans[a].own + 2 * (a in ghosts) for a in range(_AXES) if a != axis]
        plane: npt.NDArray[np.int64] = 8 * others[0] * others[1]
        return plane

    @cached_property
    def halos(self) -> tuple[Exchange, ...]:
        """Exchange of planes with both neighbours, with the ghosts of the axes that have been exchanged before."""
        rank, steps = np.flatnonzero(self.points > 0), []
        for axis, span in enumerate(self.spans):
            size_bytes = self.plane(axis, range(axis))
            up, down = ([(r, to[r], size_bytes[r]) for r in rank] for to in (span.upper, span.lower))
            steps.append(_exchange(axis, up, down))
        return tuple(steps)

    @cached_property
    def newcomers(self) -> tuple[Exchange, ...]:
        """Two planes from below and one from above for the ranks that cannot interpolate."""
        steps = []
        for axis, span in enumerate(self.spans):
            size_bytes = self.plane(axis, range(_AXES))
            up = [(r, span.upper[r], 2 * size_bytes[r]) for r in np.flatnonzero(span.upper_newcomer)]
            down = [(r, span.lower[r], size_bytes[r]) for r in np.flatnonzero(span.lower_newcomer)]
            if up or down:
                steps.append(_exchange(axis, up, down))
        return tuple(steps)


def _exchange(axis: int, up: _Messages, down: _Messages) -> Exchange:
    """Messages along an axis: all ranks send up before they send down, but post the receive from above first."""
    tag = np.repeat(np.array([2 * axis, 2 * axis + 1], np.int32), (len(up), len(down)))
    posted = np.roll(np.arange(len(tag)), len(down))
    return Exchange.of([*up, *down], tag=tag, posted=posted)


def refusal(params: dict[str, Any], nranks: int) -> str | None:
    """Return the program's reason for refusing the problem on this number of ranks; None if it does not refuse."""
    n, nit = int(params["n"]), int(params["nit"])
    if not 4 <= n <= 1 << _MOST_LEVELS or n & (n - 1):
        return f"n is {n}, not a power of two from 4 to {1 << _MOST_LEVELS}"
    if shape_of(nranks)[-1] > n:
        return f"{number_of(nranks, 'rank')} cannot have a point each along every axis, n is {n}"
    return None if nit >= 1 else f"nit is {nit}, not positive"


def cuts(params: dict[str, Any], nranks: int, shares: Sequence[float]) -> Cuts:
    """Return the cuts of the finest level's points that give every rank its share of them, as near as may be.

    Coarser levels are cut at the same places of the cube, so that their shares are the nearer the finer they are.
    """
    n = int(params["n"])
    of_grid = np.reshape(shares, shape_of(nranks)[::-1]).T  # ranks are numbered along x first
    counts = box_counts(of_grid, (n,) * _AXES, (1,) * _AXES)
    return {f"cuts_{axis}": starts(count) for axis, count in zip("xyz", counts, strict=True)}


def traffic(params: dict[str, Any], nranks: int, shares: Sequence[float] = ()) -> Traffic:
    """Return the traffic for a cube of n points along each axis."""
    n = int(params["n"])
    shape, rank = shape_of(nranks), np.arange(nranks)
    given = cuts(params, nranks, shares) if shares else {}
    even = [np.arange(p + 1) * n // p for p in shape]  # place i owns points floor(i n / p) + 1 to floor((i + 1) n / p)
    along = [np.array(given.get(f"cuts_{axis}", even[a])) for a, axis in enumerate("xyz")]
    levels = []
    for points in (2**power for power in range(1, n.bit_length())):
        stride, spans = 1, []
        for p, cut in zip(shape, along, strict=True):
            spans.append(_span(points, cut, rank // stride % p, stride))
            stride *= p
        levels.append(_Level(points, tuple(spans)))
    share = 58 * int(params["nit"]) * n**3 / _counted_flops(n, int(params["nit"]))

    def applied(operations: int, level: _Level, halos: tuple[Step, ...]) -> tuple[Step, ...]:
        return (Compute(operations * level.points * share), *(halos if nranks > 1 else ()))

    residuals = [applied(_RESIDUAL, level, level.halos) for level in levels]
    smooths = [applied(_SMOOTH, level, level.halos) for level in levels]
    restricts = [applied(_RESTRICT, level, level.halos) for level in levels[:-1]]
    corrects = [applied(_INTERPOLATE, coarse, fine.newcomers) for coarse, fine in pairwise(levels)]
    cycle = [step for steps in reversed(restricts) for step in steps] + list(smooths[0])
    for correct, residual, smooth in zip(corrects, residuals[1:], smooths[1:], strict=True):
        cycle += [*correct, *residual, *smooth]
    norm: tuple[Step, ...] = (Compute(_NORM * levels[-1].points * share), *[Collective(Op.ALLREDUCE, 8)] * 2)
    iteration = (*cycle, *residuals[-1])
    return Traffic(nranks, before=residuals[-1] + norm, iteration=iteration, last=iteration, after=norm)


def _counted_flops(n: int, nit: int) -> float:
    """Return the operations of nit iterations, an initial residual and two norms, before scaling to the official."""
    coarse = [2**power for power in range(1, n.bit_length() - 1)]
    cycle = (_RESIDUAL + _SMOOTH) * n**3 + _SMOOTH * 2**3 + sum((_RESTRICT + _INTERPOLATE) * c**3 for c in coarse)
    cycle += sum((_RESIDUAL + _SMOOTH) * c**3 for c in coarse if c > 2)
    return nit * float(cycle + _RESIDUAL * n**3) + (_RESIDUAL + 2 * _NORM) * n**3
