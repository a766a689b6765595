"""The rule of sendmodes for the number of ranks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

RANKS = "exactly 2, a sender and a receiver"


def allows(params: Mapping[str, Any], nranks: int) -> bool:
    """Return whether there are a sender and a receiver, and nobody else."""
    return nranks == 2
