"""HPL's rule for the number of ranks, and its memory traffic; SUMMA has the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

RANKS = "the number of ranks must be a multiple of grid_rows"


def allows(params: Mapping[str, Any], nranks: int) -> bool:
    """Return whether ranks fill a grid of ``grid_rows`` rows; 0 and 1 mean a single row."""
    rows = int(params["grid_rows"])
    return rows >= 0 and nranks % max(1, rows) == 0


def bytes_per_flop(params: Mapping[str, Any]) -> float:
    """Return 16 bytes per matrix element, read and written once, over its 2 nb operations in a product of panels."""
    return 8 / int(params["nb"])
