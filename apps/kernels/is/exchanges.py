"""Exchanges of nodes in IS: keys, and sums over buckets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from apps.traffic.exchanges import summed_bytes


def operations(params: Mapping[str, Any]) -> float:
    """Return #op: the ranked keys."""
    return float(params["total_keys"] * params["max_iterations"])


def exchanged_bytes(params: Mapping[str, Any], p: int) -> float:
    """Return #x: all keys except a share 1 / p, and the sums over buckets."""
    moved = 4 * params["total_keys"] * (1 - 1 / p)
    return float(params["max_iterations"] * (moved + summed_bytes(4 * (params["num_buckets"] + 5), p)))


def messages(params: Mapping[str, Any], p: int) -> float:
    """Return the messages of a node that wait for each other: two all-to-alls and a sum in an iteration."""
    return float(params["max_iterations"] * (2 * (p - 1) + math.log2(p)))
