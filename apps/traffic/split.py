"""n things over k owners as evenly as possible, as the kernels split them (apps/common/split.h)."""

from __future__ import annotations

from typing import overload

import numpy as np
import numpy.typing as npt

from apps.errors import KernelError


@overload
def split_start(n: int, k: int, owner: int) -> int: ...
@overload
def split_start(n: int, k: int, owner: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]: ...
def split_start(n: int, k: int, owner: int | npt.NDArray[np.int64]) -> int | npt.NDArray[np.int64]:
    """The first thing of an owner: the first n mod k owners have one more than the others."""
    return n // k * owner + np.minimum(owner, n % k)


@overload
def split_count(n: int, k: int, owner: int) -> int: ...
@overload
def split_count(n: int, k: int, owner: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]: ...
def split_count(n: int, k: int, owner: int | npt.NDArray[np.int64]) -> int | npt.NDArray[np.int64]:
    """How many things an owner has."""
    return n // k + (np.asarray(owner) < n % k)


def check_ranks(app: str, nranks: int, fits: bool, need: str) -> None:
    """Raises KernelError where the kernel would refuse so many ranks; ``need``: what they need."""
    if not fits:
        ranks = f"{nranks} rank{'s' if nranks > 1 else ''}"
        raise KernelError(f"{app} on {ranks}", f"the program refuses them, for they need {need}", "Use fewer ranks")
