"""The declared traffic of BT (kernel bt): block tridiagonal systems along each axis."""

from __future__ import annotations

from typing import Any

from apps.kernels.flow import adi
from apps.traffic.steps import Traffic

METHOD = adi.Method(
    all=3478.8, eliminate=670, substitute=50, begin=0, turn=(0, 0, 0),
    official_flops=lambda n: ((3478.8 * n - 17655.7) * n + 28023.7) * n,
    up=30, down=5, whole=True,
)  # fmt: skip

refusal = adi.refusal


def traffic(params: dict[str, Any], nranks: int) -> Traffic:
    """Return the traffic for a cube of n points along each axis."""
    return adi.traffic(METHOD, params, nranks)
