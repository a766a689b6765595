"""Pareto fronts: points that no other point dominates in two quantities, of which less is better."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def dominators(first: Sequence[float], second: Sequence[float]) -> list[list[int]]:
    """Return for each point the numbers of the points that dominate it; none do so on the front.

    A point dominates another one if it is worse in neither quantity and better in at least one of them.

    >>> dominators([1.0, 2.0, 2.0], [5.0, 3.0, 4.0])
    [[], [], [1]]
    """
    # Imported here for a quick start: it is slow to import.
    import numpy as np

    a, b = np.asarray(first, float), np.asarray(second, float)
    return [
        np.flatnonzero((a <= x) & (b <= y) & ((a < x) | (b < y))).tolist() for x, y in zip(a, b, strict=True)
    ]  # fmt: skip
