"""Rules of the benchmarks for the number of ranks at a size N, by their names in a kernel.toml."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any


@dataclass(frozen=True)
class RankRule:
    """A rule for the number of ranks.

    ``allows`` takes (parameters, N, ranks).  N is None for a kernel with classes, which no rule on N allows.  ``text``
    states the rule in error messages.
    """

    text: str
    allows: Callable[[Mapping[str, Any], int | None, int], bool]


def _any(params: Mapping[str, Any], size: int | None, nranks: int) -> bool:
    return True


def _divisor(params: Mapping[str, Any], size: int | None, nranks: int) -> bool:
    """Return whether the number of ranks divides N: FEM (Ichikawa, Takahashi, Kawai, section 5.2)."""
    return size is not None and size % nranks == 0


def _power_of_two_whose_square_divides(params: Mapping[str, Any], size: int | None, nranks: int) -> bool:
    """Return whether N and ranks are powers of two, and ranks squared divides N: FFTE (ibid., section 5.4)."""
    if size is None or size & (size - 1) or nranks & (nranks - 1):
        return False
    return size % nranks**2 == 0


def _multiple_of_grid_rows(params: Mapping[str, Any], size: int | None, nranks: int) -> bool:
    """Return whether ranks fill a grid of ``grid_rows`` rows; 0 and 1 mean a single row (HPL)."""
    rows = int(params["grid_rows"])
    return rows >= 0 and nranks % max(1, rows) == 0


def _inner_points_along_every_axis(params: Mapping[str, Any], size: int | None, nranks: int) -> bool:
    """Return whether the longest side of the grid of ranks has at most N - 2 ranks, one inner point each (Himeno)."""
    return size is not None and longest_side(nranks, str(params["grid"])) <= size - 2


@cache
def longest_side(nranks: int, grid: str) -> int:
    """Return the smallest px of all px >= py >= pz with px py pz = nranks, as apps/kernels/himeno/grid.c finds it.

    Slabs have py = pz = 1, pencils pz = 1.  Another word counts as boxes here; the kernel itself refuses it.
    """
    if grid == "slabs":
        return nranks
    if grid == "pencils":
        return next(px for px in range(1, nranks + 1) if nranks % px == 0 and px * px >= nranks)
    return next(
        px
        for px in range(1, nranks + 1)
        if nranks % px == 0 and any(nranks // px % py == 0 and nranks // px // py <= px for py in range(1, px + 1))
    )


RANK_RULES: dict[str, RankRule] = {
    "any": RankRule("any number of ranks will do", _any),
    "divisor": RankRule("N must be a multiple of the number of ranks", _divisor),
    "grid-rows": RankRule("the number of ranks must be a multiple of grid_rows", _multiple_of_grid_rows),
    "inner-points": RankRule(
        "every rank must get one of the N - 2 inner points along every axis", _inner_points_along_every_axis
    ),
    "power-of-two": RankRule(
        "N and the number of ranks P must be powers of two, and N a multiple of P^2",
        _power_of_two_whose_square_divides,
    ),
}
