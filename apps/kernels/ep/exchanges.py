"""Exchanges of nodes in EP: three sums at the end."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from apps.traffic.exchanges import summed_bytes


def operations(params: Mapping[str, Any]) -> float:
    """Return #op: the random numbers."""
    return float(2.0 ** (params["m"] + 1))


def exchanged_bytes(params: Mapping[str, Any], p: int) -> float:
    """Return #x: sums of 96 bytes."""
    return summed_bytes(96, p)


def messages(params: Mapping[str, Any], p: int) -> float:
    """Return the messages of a node that wait for each other."""
    return 3 * math.log2(p)


def rank_messages(params: Mapping[str, Any], nranks: int) -> float:
    """Return the rough messages of a rank: three all-reduce sums over trees."""
    return 6 * math.log2(nranks)
