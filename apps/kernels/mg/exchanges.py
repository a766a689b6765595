"""Exchanges of nodes in MG: the faces of boxes on every level."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any


def operations(params: Mapping[str, Any]) -> float:
    """Return #op."""
    return float(58.0 * params["n"] ** 3 * params["nit"])


@lru_cache(maxsize=100_000)
def _box(p: int) -> tuple[int, int, int]:
    """Return px <= py <= pz with p = px py pz and the smallest sum, as MG arranges its ranks."""
    boxes = [
        (px + py + p // (px * py), px, py)
        for px in range(1, round(p ** (1 / 3)) + 2)
        if p % px == 0
        for py in range(px, math.isqrt(p // px) + 1)
        if p // px % py == 0
    ]
    _, px, py = min(boxes)
    return px, py, p // (px * py)


def _levels(params: Mapping[str, Any]) -> int:
    return int(math.log2(params["n"]))


def exchanged_bytes(params: Mapping[str, Any], p: int) -> float:
    """Return #x: the faces of the boxes, in both directions, on every level three times, on the coarsest twice.

    The faces of a later axis include the two layers that were received along earlier axes.  A level with fewer points
    than nodes is assumed to be spread over all nodes.
    """
    px, py, pz = _box(p)
    levels, n, points = _levels(params), int(params["n"]), 0.0
    for size in (n >> level for level in range(levels)):
        along_x, along_y, along_z = size / px, size / py, size / pz
        faces = (
            (px > 1) * along_y * along_z + (py > 1) * (along_x + 2) * along_z + (pz > 1) * (along_x + 2) * (along_y + 2)
        )
        points += (3 if size > 2 else 2) * faces
    return float(params["nit"] * p * points * 2 * 8)


def messages(params: Mapping[str, Any], p: int) -> float:
    """Return the messages of a node that wait for each other."""
    axes = sum(side > 1 for side in _box(p))
    return float(params["nit"] * 2 * axes * (3 * _levels(params) - 1))


def rank_messages(params: Mapping[str, Any], nranks: int) -> float:
    """Return the rough messages of a rank: four halos of six faces on every level."""
    return 24 * math.log2(float(params["n"]))
