"""n things over k owners as evenly as possible, as the kernels split them (apps/common/split.h)."""

from __future__ import annotations

import numpy as np

from apps.errors import KernelError


def split_start(n: int, k: int, owner: int | np.ndarray) -> int | np.ndarray:
    """The first thing of an owner: the first n mod k owners have one more than the others."""
    return n // k * owner + np.minimum(owner, n % k)


def split_count(n: int, k: int, owner: int | np.ndarray) -> int | np.ndarray:
    """How many things an owner has."""
    return n // k + (np.asarray(owner) < n % k)


def check_ranks(app: str, nranks: int, fits: bool, need: str) -> None:
    """Raises KernelError where the kernel would refuse so many ranks; ``need``: what they need."""
    if not fits:
        ranks = f"{nranks} rank{'s' if nranks > 1 else ''}"
        raise KernelError(f"{app} on {ranks}", f"the program refuses them, for they need {need}", "Use fewer ranks")
