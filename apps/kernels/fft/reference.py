"""Reference for the FFT: the transform of the kernel's input (fft1d.c) by numpy.fft."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from apps.errors import KernelError
from apps.kernels.harness.random import centred, states

MOST_POINTS = 2**27  # 2 GB; numpy and the kernel need about five times as much


def references(params: Mapping[str, Any], nranks: int) -> dict[str, float]:
    """Return the results that points_results in fft1d.c computes, by name.

    Raises:
        KernelError: The transform would need too much memory.
    """
    n = int(params["n"])
    if n > MOST_POINTS:
        raise KernelError(f"size {n}", "too large to be verified", f"Give at most {MOST_POINTS}, or use mode skeleton")
    numbers = centred(states(3 * n))
    outputs = np.fft.fft(numbers[: 2 * n].view(complex))
    results = {
        "sum": np.dot(numbers[2 * n :], outputs),
        "at_1": outputs[1 % n],
        "at_third": outputs[n // 3],
        "at_last": outputs[n - 1],
    }
    return {
        f"{name}_{part}": float(value)
        for name, result in results.items()
        for part, value in (("real", result.real), ("imaginary", result.imag))
    }
