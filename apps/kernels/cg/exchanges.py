"""Exchanges of nodes in CG: parts of vectors in products with the matrix, and sums of scalars."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def operations(params: Mapping[str, Any]) -> float:
    """Return #op."""
    row = params["nonzer"] * (params["nonzer"] + 1)
    return float(2 * params["niter"] * params["na"] * (3 + row + 25 * (5 + row) + 3))


def _grid(p: int) -> tuple[int, float]:
    """Return the number R of row groups and the nodes in each: k R^2 nodes with k = 1, 2, 3, else R near sqrt(p)."""
    for k in (1, 2, 3):
        R = math.isqrt(p // k)
        if k * R * R == p:
            return R, k * R
    R = max(1, round(math.sqrt(p)))
    return R, p / R


def exchanged_bytes(params: Mapping[str, Any], p: int) -> float:
    """Return #x: 26 matrix-vector products and 53 sums in an iteration.

    In a product the parts of the result are summed within a row group and then transposed.  With R groups of C nodes
    every node sends n / C numbers log2 C times; then all but C nodes send n / C numbers.
    """
    R, C = _grid(p)
    vectors = 26 * 8 * params["na"] * (R * math.log2(C) + R - 1)
    return float(params["niter"] * (vectors + 53 * 8 * p * math.log2(C)))


def messages(params: Mapping[str, Any], p: int) -> float:
    """Return the messages of a node that wait for each other."""
    logs = math.log2(_grid(p)[1])
    return float(params["niter"] * (26 * (logs + (p > 1)) + 53 * logs))


def rank_messages(params: Mapping[str, Any], nranks: int) -> float:
    """Return the rough messages of a rank: 26 products and 52 scalar sums, each with log P partners."""
    return 53 * max(1.0, math.log2(nranks))
