"""BT and SP in blocks: tiles on a square number of ranks (blocks.toml)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from math import isqrt
from pathlib import Path
from typing import Any

from apps.kernels.flow.adi import Method
from apps.traffic.layout import Layout, NoLayout


def layout(method: Method, params: Mapping[str, Any], nranks: int) -> Layout:
    """Return the layout of q^2 ranks.

    Raises:
        NoLayout: The number of ranks is another one, or some tiles would have too few points.
    """
    side, n = isqrt(nranks), params["n"]
    if side * side != nranks:
        raise NoLayout("it is not a square, so a rank may have several tiles in a layer")
    if n // side < 2:
        raise NoLayout(f"some tiles would have less than two of the {n} points along an axis")
    numbers = {key: value for key, value in asdict(method).items() if key != "official_flops"}
    unit = method.official_flops(n) / (n - 2) ** 3 / method.all
    description = Path(__file__).with_name("blocks.toml")
    return Layout({"q": side, "unit": unit, **numbers}, posts_ahead=True, description=description)
