"""The declared traffic of SP (kernel sp): scalar pentadiagonal systems along each axis."""

from __future__ import annotations

from typing import Any

from apps.kernels.flow import adi
from apps.traffic.steps import Traffic

METHOD = adi.Method(
    all=881.174, eliminate=58, substitute=20, begin=41, turn=(8, 8, 40),
    official_flops=lambda n: ((881.174 * n - 4683.91) * n + 11484.5) * n - 19272.4,
    up=22, down=10, whole=False,
)  # fmt: skip

refusal = adi.refusal


def traffic(params: dict[str, Any], nranks: int) -> Traffic:
    """Return the traffic for a cube of n points along each axis."""
    return adi.traffic(METHOD, params, nranks)
