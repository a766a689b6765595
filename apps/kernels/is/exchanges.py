"""Exchanges of nodes in IS: keys, and sums over buckets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def operations(params: Mapping[str, Any]) -> float:
    """Return #op: the ranked keys."""
    return float(params["total_keys"] * params["max_iterations"])


def exchanged_bytes(params: Mapping[str, Any], p: int) -> float:
    """Return #x: all keys except a share 1 / p, and p times the sums over buckets that cross the busiest node's link.

    All nodes send their sums to the first one at once, and a binomial tree sends the total back, as in SimGrid's MPI.
    """
    moved = 4 * params["total_keys"] * (1 - 1 / p)
    at_root = (p - 1 + _stages(p)) * 4 * (params["num_buckets"] + 5)
    return float(params["max_iterations"] * (moved + p * at_root))


def messages(params: Mapping[str, Any], p: int) -> float:
    """Return the messages of a node that wait for each other.

    In an iteration these are an all-to-all of counts, which takes stages on many nodes (Bruck's algorithm) and is all
    messages at once on few; that of the keys, at once; and the sum, at once and then in stages.
    """
    if p == 1:
        return 0.0
    counts = _stages(p) if p > _FEW else 1
    return float(params["max_iterations"] * (counts + 2 + _stages(p)))


_FEW = 12  # most nodes on which SimGrid's MPI sends the small messages of an all-to-all at once


def _stages(p: int) -> int:
    return math.ceil(math.log2(p))
