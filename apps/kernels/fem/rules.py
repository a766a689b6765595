"""FEM's rule for the number of ranks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

RANKS = "N must be a multiple of the number of ranks"


def allows(params: Mapping[str, Any], nranks: int) -> bool:
    """Return whether the number of ranks divides N (Ichikawa, Takahashi, Kawai, section 5.2)."""
    return int(params["n"]) % nranks == 0
