"""FFT's rule for the number of ranks, and its memory traffic."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

RANKS = "N and the number of ranks P must be powers of two, and N a multiple of P^2"


def allows(params: Mapping[str, Any], nranks: int) -> bool:
    """Return whether N and ranks are powers of two, and ranks squared divides N (FFTE: Ichikawa et al., 5.4)."""
    size = int(params["n"])
    if size & (size - 1) or nranks & (nranks - 1):
        return False
    return size % nranks**2 == 0


def bytes_per_flop(params: Mapping[str, Any]) -> float:
    """Return 320 bytes per point of the FFT (16 bytes) over its 5 log2 N operations.

    The 320 bytes: 64 in two sweeps of transforms, 16 for the roots, 48 in the transposition that orders the output and
    48 in each of the four transpositions that pack and unpack.  A single rank packs nothing.
    """
    return 320 / (5 * math.log2(int(params["n"])))
