"""Exchanges of nodes in LU: planes in two sweeps, and halos."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any


def operations(params: Mapping[str, Any]) -> float:
    """Return #op."""
    n = params["n"]
    return float(params["itmax"] * (1984.77 * n**3 - 10923.3 * n**2 + 27770.9 * n - 144010.0))


@lru_cache(maxsize=100_000)
def _rectangle(p: int) -> tuple[int, int]:
    """Return xdim >= ydim with p = xdim ydim, as square as p allows."""
    ydim = next(side for side in range(math.isqrt(p), 0, -1) if p % side == 0)
    return p // ydim, ydim


def exchanged_bytes(params: Mapping[str, Any], p: int) -> float:
    """Return #x: per cut 5 numbers per point of n - 2 planes in both sweeps, then two layers in each direction."""
    n, cuts = params["n"], sum(side - 1 for side in _rectangle(p))
    return float(params["itmax"] * cuts * (2 * 40 * (n - 2) ** 2 + 4 * 40 * n**2))


def messages(params: Mapping[str, Any], p: int) -> float:
    """Return the messages of a node: one per plane in both sweeps, plus the steps of the wave from corner to corner."""
    cuts = sum(side - 1 for side in _rectangle(p))
    return float(params["itmax"] * 2 * (params["n"] - 2 + cuts)) if cuts else 0.0


def rank_messages(params: Mapping[str, Any], nranks: int) -> float:
    """Return the rough messages of a rank: two neighbours for every plane of both sweeps."""
    return 4 * float(params["n"])
