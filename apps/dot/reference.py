"""The scalar product of the kernel's vectors by numpy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apps.common.random import centred, states
from apps.errors import KernelError

MOST_ELEMENTS = 2**27  # 2 GB


def references(params: Mapping[str, Any], nranks: int) -> dict[str, float]:
    """Raises KernelError where there is no memory for it."""
    import numpy as np

    n = int(params["n"])
    if n > MOST_ELEMENTS:
        raise KernelError(f"size {n}", "too large to be verified", f"Give at most {MOST_ELEMENTS}, or mode skeleton")
    numbers = centred(states(2 * n))
    return {"product": float(np.dot(numbers[:n], numbers[n:]))}
