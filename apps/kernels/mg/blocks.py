"""MG in blocks: its grid of ranks (blocks.toml)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apps.kernels.mg.traffic import shape_of
from apps.traffic.layout import Layout, NoLayout


def layout(params: Mapping[str, Any], nranks: int) -> Layout:
    """Return the layout of ranks in a grid.

    Raises:
        NoLayout: Some ranks would have no points.
    """
    px, py, pz = shape_of(nranks)
    if pz > params["n"]:
        raise NoLayout(f"some ranks would have none of the {params['n']} points along an axis")
    return Layout({"official_iterations": params["nit"], "px": px, "py": py, "pz": pz}, posts_ahead=True)
