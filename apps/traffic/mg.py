"""What MG computes and sends (apps/mg): a V-cycle over levels of a periodic cube, halos axis by axis on each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from apps.recording import Op
from apps.traffic.split import check_ranks
from apps.traffic.steps import Collective, Compute, Exchange, Step, Traffic

_AXES = 3
# Operations per owned point, of the coarse grid where there are two (apps/mg/operators.h).
_RESIDUAL, _SMOOTH, _RESTRICT, _INTERPOLATE, _NORM = 15, 16, 24, 24, 3


def shape_of(nranks: int) -> tuple[int, int, int]:
    """Ranks along x <= y <= z with the smallest sum, the first such shape."""
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
    """What ranks own of a level along one axis; arrays by rank."""

    own: npt.NDArray[np.int64]  # points
    lower: npt.NDArray[np.int64]  # rank of the next one that owns points here, periodically
    upper: npt.NDArray[np.int64]
    lower_newcomer: npt.NDArray[
        np.bool_
    ]  # bool: that one owns a point here and none on the next coarser level, but this one does
    upper_newcomer: npt.NDArray[np.bool_]


def _span(n: int, p: int, place: npt.NDArray[np.int64], stride: int) -> _Span:
    """Place i of p owns the points above floor(i n / p) up to floor((i + 1) n / p)."""
    rank = np.arange(len(place))
    own = np.diff(np.arange(p + 1) * n // p)
    owners = np.flatnonzero(own)
    newcomer = (own > 0) & (np.diff(np.arange(p + 1) * (n // 2) // p) == 0) & (n > 2)
    at = np.arange(p)
    upper = owners[np.searchsorted(owners, at, side="right") % len(owners)]
    lower = owners[np.searchsorted(owners, at, side="left") - 1]
    settled = (own > 0) & ~newcomer & (n > 2)
    return _Span(
        own=own[place],
        lower=rank + (lower - at)[place] * stride,
        upper=rank + (upper - at)[place] * stride,
        lower_newcomer=(settled & newcomer[lower])[place],
        upper_newcomer=(settled & newcomer[upper])[place],
    )


@dataclass(frozen=True, eq=False)
class _Level:
    """A level, with the steps that exchange its halos: one for each axis."""

    n: int
    spans: tuple[_Span, ...]

    @cached_property
    def points(self) -> npt.NDArray[np.int64]:
        """That each rank owns."""
        points: npt.NDArray[np.int64] = np.prod([span.own for span in self.spans], axis=0)
        return points

    def plane(self, axis: int, ghosts: range | tuple[int, ...]) -> npt.NDArray[np.int64]:
        """Bytes of a plane across an axis, with the ghost points along the axes named."""
        others = [self.spans[a].own + 2 * (a in ghosts) for a in range(_AXES) if a != axis]
        plane: npt.NDArray[np.int64] = 8 * others[0] * others[1]
        return plane

    @cached_property
    def halos(self) -> tuple[Exchange, ...]:
        """Up, then down; with the ghosts of the axes that have been exchanged before."""
        rank, steps = np.flatnonzero(self.points > 0), []
        for axis, span in enumerate(self.spans):
            size_bytes = self.plane(axis, range(axis))
            messages = [(r, to[r], size_bytes[r]) for to in (span.upper, span.lower) for r in rank]
            steps.append(Exchange.of(messages))
        return tuple(steps)

    @cached_property
    def newcomers(self) -> tuple[Exchange, ...]:
        """Who cannot interpolate gets two planes from below and one from above."""
        steps = []
        for axis, span in enumerate(self.spans):
            size_bytes = self.plane(axis, range(_AXES))
            up = [(r, span.upper[r], 2 * size_bytes[r]) for r in np.flatnonzero(span.upper_newcomer)]
            down = [(r, span.lower[r], size_bytes[r]) for r in np.flatnonzero(span.lower_newcomer)]
            if up or down:
                steps.append(Exchange.of(up + down))
        return tuple(steps)


def check(params: dict[str, Any], nranks: int) -> None:
    """Raises KernelError where the program refuses so many ranks."""
    n, longest = int(params["n"]), shape_of(nranks)[-1]
    check_ranks("mg", nranks, longest <= n, f"a point each along every axis, and there are {n} for {longest}")


def traffic(params: dict[str, Any], nranks: int) -> Traffic:
    """Of a cube of n points along each axis, n a power of two."""
    check(params, nranks)
    n = int(params["n"])
    shape, rank = shape_of(nranks), np.arange(nranks)
    levels = []
    for points in (2**power for power in range(1, n.bit_length())):
        stride, spans = 1, []
        for p in shape:
            spans.append(_span(points, p, rank // stride % p, stride))
            stride *= p
        levels.append(_Level(points, tuple(spans)))
    share = 58 * int(params["nit"]) * n**3 / _counted_flops(n, int(params["nit"]))

    def applied(operations: int, level: _Level, halos: tuple[Step, ...]) -> tuple[Step, ...]:
        return (Compute(share * operations * level.points), *(halos if nranks > 1 else ()))

    residuals = [applied(_RESIDUAL, level, level.halos) for level in levels]
    smooths = [applied(_SMOOTH, level, level.halos) for level in levels]
    restricts = [applied(_RESTRICT, level, level.halos) for level in levels[:-1]]
    corrects = [applied(_INTERPOLATE, coarse, fine.newcomers) for coarse, fine in pairwise(levels)]
    cycle = [step for steps in reversed(restricts) for step in steps] + list(smooths[0])
    for correct, residual, smooth in zip(corrects, residuals[1:], smooths[1:], strict=True):
        cycle += [*correct, *residual, *smooth]
    norm: tuple[Step, ...] = (Compute(share * _NORM * levels[-1].points), *[Collective(Op.ALLREDUCE, 8)] * 2)
    iteration = (*cycle, *residuals[-1])
    return Traffic(nranks, before=residuals[-1] + norm, iteration=iteration, last=iteration, after=norm)


def _counted_flops(n: int, nit: int) -> float:
    """All operations of nit iterations, an initial residual and two norms, before they are scaled to the official."""
    coarse = [2**power for power in range(1, n.bit_length() - 1)]
    cycle = (_RESIDUAL + _SMOOTH) * n**3 + _SMOOTH * 2**3 + sum((_RESTRICT + _INTERPOLATE) * c**3 for c in coarse)
    cycle += sum((_RESIDUAL + _SMOOTH) * c**3 for c in coarse if c > 2)
    return nit * float(cycle + _RESIDUAL * n**3) + (_RESIDUAL + 2 * _NORM) * n**3
