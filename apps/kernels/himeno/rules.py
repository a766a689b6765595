"""Himeno's rule for the number of ranks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

RANKS = "every rank must get one of the N - 2 inner points along every axis"


def allows(params: Mapping[str, Any], nranks: int) -> bool:
    """Return whether the longest side of the grid of ranks has at most N - 2 ranks, one inner point each."""
    return longest_side(nranks, str(params["grid"])) <= int(params["n"]) - 2


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
