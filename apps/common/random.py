"""The benchmarks' random numbers, as random.h has them: x' = 5^13 x mod 2^46.

D. Bailey et al., The NAS Parallel Benchmarks, RNR-94-007, 2.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_MULTIPLIER, _SEED, _BITS = 5**13, 314159265, 46


def states(count: int) -> npt.NDArray[np.uint64]:
    """The first ``count`` states after the seed, uint64."""
    import numpy as np

    made = np.empty(count, np.uint64)
    made[:1] = _SEED * _MULTIPLIER % 2**_BITS
    known = 1
    while known < count:
        more = min(known, count - known)
        made[known : known + more] = advanced(made[:more], known)
        known += more
    return made


def advanced(now: npt.NDArray[np.uint64], numbers: int) -> npt.NDArray[np.uint64]:
    """The states so many numbers later."""
    import numpy as np

    mask = np.uint64(2**_BITS - 1)  # what overflows 64 bits changes none of the low 46
    return now * np.uint64(pow(_MULTIPLIER, numbers, 2**_BITS)) & mask


def centred(now: npt.NDArray[np.uint64]) -> npt.NDArray[np.floating[Any]]:
    """The numbers in (0, 1) that the states stand for, less 1/2."""
    return now * 2.0**-_BITS - 0.5
