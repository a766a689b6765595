"""FT in blocks: slabs, and which of its blocks MPI_Alltoallv sends (blocks.toml)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apps.traffic.layout import Layout, NoLayout


def layout(params: Mapping[str, Any], nranks: int) -> Layout:
    """Return the layout of up to nz ranks.

    Raises:
        NoLayout: There are more ranks.
    """
    nx, ny, nz = (params[name] for name in ("nx", "ny", "nz"))
    if nranks > nz:
        raise NoLayout(f"more than nz = {nz} ranks form a grid of ranks, with two transpositions")
    even = nz % nranks == 0 and nx * ny % nranks == 0
    return Layout(vectors_from_bytes=None if even else 0.0)
