"""The benchmarks' random numbers, the same as in random.h: x' = 5^13 x mod 2^46.

D. Bailey et al., The NAS Parallel Benchmarks, RNR-94-007, 2.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

_MULTIPLIER, _SEED, _BITS = 5**13, 314159265, 46


def states(count: int) -> npt.NDArray[np.uint64]:
    """Return the first ``count`` states after the seed, uint64."""
    made = np.empty(count, np.uint64)
    made[:1] = _SEED * _MULTIPLIER % 2**_BITS
    known = 1
    while known < count:
        more = min(known, count - known)
        made[known : known + more] = advanced(made[:more], known)
        known += more
    return made


def advanced(now: npt.NDArray[np.uint64], numbers: int) -> npt.NDArray[np.uint64]:
    """Return the states ``numbers`` steps later."""
    mask = np.uint64(2**_BITS - 1)  # an overflow of 64 bits does not change the low 46 bits
    return now * np.uint64(pow(_MULTIPLIER, numbers, 2**_BITS)) & mask


def centred(now: npt.NDArray[np.uint64]) -> npt.NDArray[np.floating[Any]]:
    """Return the states' numbers in (0, 1), minus 1/2."""
    return now * 2.0**-_BITS - 0.5
