"""EP in blocks (blocks.toml)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apps.traffic.layout import Layout, NoLayout


def layout(params: Mapping[str, Any], nranks: int) -> Layout:
    """Return the layout of ranks that all have a batch of pairs.

    Raises:
        NoLayout: There are fewer batches.
    """
    batches = 2 ** (params["m"] - 16)
    if nranks > batches:
        raise NoLayout(f"there are only {batches} batches of pairs")
    return Layout()
