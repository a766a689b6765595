"""The one-dimensional FFT on q ranks of each of p nodes, as one path."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from apps.traffic.path import Path, all_to_all_path, even_path

_COMPLEX_BYTES = 16
_ALL_TO_ALLS = 3  # of the six-step FFT


def operations(params: Mapping[str, Any]) -> float:
    """Return #op of the transform of N points, 5 N log2 N."""
    n = int(params["n"])
    return 5.0 * n * math.log2(n)


def longest_path(params: Mapping[str, Any], q: int, p: int, bytes_per_flop: float) -> Path:
    """Return the path of the six-step FFT: three all-to-alls, with transforms of all points between them."""
    n, ranks = int(params["n"]), q * p
    exchange = all_to_all_path(_COMPLEX_BYTES * n / ranks**2, q, p)
    return even_path(operations(params), q, p, bytes_per_flop) + exchange * _ALL_TO_ALLS
