"""The transform of the kernel's input (points.h) by numpy.fft."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from apps.errors import KernelError

if TYPE_CHECKING:
    import numpy as np

MOST_POINTS = 2**27  # 2 GB; numpy and the kernel need some five times that
_MULTIPLIER, _SEED, _BITS = 5**13, 314159265, 46  # of the generator, apps/common/random.h


def references(params: Mapping, nranks: int) -> dict[str, float]:
    """What points_results in points.h computes, by name.  Raises KernelError where there is no memory for it."""
    import numpy as np

    n = int(params["n"])
    if n > MOST_POINTS:
        raise KernelError(f"size {n}", "too large to be verified", f"Give at most {MOST_POINTS}, or use mode skeleton")
    numbers = centred_numbers(3 * n)
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


def centred_numbers(count: int) -> np.ndarray:
    """The first ``count`` random numbers, less 1/2."""
    import numpy as np

    states = np.empty(count, np.uint64)
    mask = np.uint64(2**_BITS - 1)  # what overflows 64 bits changes none of the low 46
    states[:1] = _SEED * _MULTIPLIER % 2**_BITS
    known = 1
    while known < count:
        more = min(known, count - known)
        states[known : known + more] = states[:more] * np.uint64(pow(_MULTIPLIER, known, 2**_BITS)) & mask
        known += more
    return states * 2.0**-_BITS - 0.5
