"""SUMMA on q ranks of each of p nodes, as one path."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from apps.traffic.lines import Lines, square_rows
from apps.traffic.path import LARGE_BYTES, Path

_DOUBLE_BYTES = 8
_COUNTED = "binomial"  # the broadcast that is counted


def operations(params: Mapping[str, Any]) -> float:
    """Return #op of the matrix product, 2 n^3."""
    return 2.0 * int(params["n"]) ** 3


def longest_path(params: Mapping[str, Any], q: int, p: int, bytes_per_flop: float) -> Path:
    """Return the path of SUMMA: for every panel two broadcasts, as their roots send them, and a product."""
    n, ranks = int(params["n"]), q * p
    rows = int(params["grid_rows"]) or square_rows(ranks)
    columns = ranks // rows
    height, width = math.ceil(n / rows), math.ceil(n / columns)
    # A panel ends where the part of a column of ranks ends.
    panels = min(columns, n) * math.ceil(width / min(int(params["nb"]), n))
    across = _broadcasts(Lines(columns, 1, q, p), _DOUBLE_BYTES * height * n / panels, panels)
    down = _broadcasts(Lines(rows, columns, q, p), _DOUBLE_BYTES * width * n / panels, panels)
    operations = 2.0 * n * height * width
    return across + down + Path(operations=operations, memory_bytes=bytes_per_flop * q * operations)


def _broadcasts(lines: Lines, size_bytes: float, times: int) -> Path:
    route = lines.broadcast() if size_bytes >= LARGE_BYTES else lines.buffered_broadcast()
    return route.path(size_bytes, times)


def cautions(params: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the path leaves out with these parameters."""
    if params["broadcast"] != _COUNTED:
        yield f"the broadcast is counted as {_COUNTED}"
