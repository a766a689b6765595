"""The split of n things over k owners as evenly as possible, as in the kernels (apps/kernels/harness/split.h)."""

from __future__ import annotations

from typing import overload

import numpy as np
import numpy.typing as npt


@overload
def split_start(n: int, k: int, owner: int) -> int: ...
@overload
def split_start(n: int, k: int, owner: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]: ...
def split_start(n: int, k: int, owner: int | npt.NDArray[np.int64]) -> int | npt.NDArray[np.int64]:
    """Return the first thing of an owner; the first n mod k owners have one thing more than the others."""
    return n // k * owner + np.minimum(owner, n % k)


@overload
def split_count(n: int, k: int, owner: int) -> int: ...
@overload
def split_count(n: int, k: int, owner: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]: ...
def split_count(n: int, k: int, owner: int | npt.NDArray[np.int64]) -> int | npt.NDArray[np.int64]:
    """Return how many things an owner has."""
    return n // k + (np.asarray(owner) < n % k)
