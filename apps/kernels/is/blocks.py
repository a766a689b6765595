"""IS in blocks: which of its blocks MPI_Alltoallv sends (blocks.toml)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apps.traffic.layout import Layout

_MORE_THAN_COUNTS = 5.0  # bytes; IS sends numbers of keys (4 bytes) by MPI_Alltoall, and keys by MPI_Alltoallv


def layout(params: Mapping[str, Any], nranks: int) -> Layout:
    """Return the layout of any number of ranks."""
    return Layout(vectors_from_bytes=_MORE_THAN_COUNTS)
