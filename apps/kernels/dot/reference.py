"""Reference for the scalar product, computed by numpy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from apps.errors import KernelError
from apps.kernels.harness.random import centred, states

MOST_ELEMENTS = 2**27  # 2 GB


def references(params: Mapping[str, Any], nranks: int) -> dict[str, float]:
    """Return the scalar product of the kernel's vectors.

    Raises:
        KernelError: The vectors would need too much memory.
    """
    n = int(params["n"])
    if n > MOST_ELEMENTS:
        raise KernelError(f"size {n}", "too large to be verified", f"Give at most {MOST_ELEMENTS}, or mode skeleton")
    numbers = centred(states(2 * n))
    return {"product": float(np.dot(numbers[:n], numbers[n:]))}
