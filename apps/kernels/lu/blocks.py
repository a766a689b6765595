"""LU in blocks: its grid of ranks (blocks.toml)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apps.kernels.lu.traffic import grid_of
from apps.traffic.layout import Layout, NoLayout


def layout(params: Mapping[str, Any], nranks: int) -> Layout:
    """Return the layout of ranks in a grid.

    Raises:
        NoLayout: Some ranks would have too few points.
    """
    xdim, ydim = grid_of(nranks)
    if params["n"] // xdim < 2:
        raise NoLayout(f"some ranks would have less than two of the {params['n']} points along an axis")
    return Layout({"xdim": xdim, "ydim": ydim})
