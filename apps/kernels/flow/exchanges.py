"""Exchanges of nodes in BT and SP: the faces of tiles, and the lines that pass through them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from apps.kernels.flow.adi import Method
from apps.kernels.flow.tiles import cut_for


def operations(method: Method, params: Mapping[str, Any]) -> float:
    """Return #op."""
    return float(params["niter"] * method.official_flops(float(params["n"])))


def exchanged_bytes(method: Method, params: Mapping[str, Any], p: int) -> float:
    """Return #x: per cut two layers of 5 numbers in each direction, and the lines of both passes.

    BT's messages have room for a point more along each axis of a tile, SP's have the unknowns alone.
    """
    n, cuts = int(params["n"]), cut_for(p).cuts
    passed = 0
    for axis in range(3):
        first, other = (cuts[across] for across in range(3) if across != axis)
        lines = first * other * (n // first + 1) * (n // other + 1) if method.whole else (n - 2) ** 2
        passed += (cuts[axis] - 1) * 8 * (method.up + method.down) * lines
    return float(params["niter"] * (sum(side - 1 for side in cuts) * 2 * 2 * 40 * n**2 + passed))


def messages(params: Mapping[str, Any], p: int) -> float:
    """Return the messages that wait for each other: the halo, all at once, and one per cut in each of six passes."""
    cuts = sum(side - 1 for side in cut_for(p).cuts)
    return float(params["niter"] * (1 + 2 * cuts)) if cuts else 0.0


def rank_messages(params: Mapping[str, Any], nranks: int) -> float:
    """Return the rough messages of a rank, on a square number of ranks."""
    return 6 * math.sqrt(nranks)
