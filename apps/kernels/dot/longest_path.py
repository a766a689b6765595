"""The scalar product on q ranks of each of p nodes, as one path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apps.traffic.path import Path, Route, even_path

_DOUBLE_BYTES = 8


def operations(params: Mapping[str, Any]) -> float:
    """Return #op of the scalar product, 2 n - 1."""
    return 2.0 * int(params["n"]) - 1


def longest_path(params: Mapping[str, Any], q: int, p: int, bytes_per_flop: float) -> Path:
    """Return the path of the scalar product: one sum, sent to the first rank and back by a binomial tree.

    The longest way down the tree leaves a node floor(log2 p) times.
    """
    crossing = p.bit_length() if p > 1 else 0
    staying = 1 + (q * p - 1).bit_length() - crossing if q * p > 1 else 0
    numbers = Route(crossing, crossing, staying, staying).path(_DOUBLE_BYTES)
    return even_path(operations(params), q, p, bytes_per_flop) + numbers
