"""Unequal shares of a kernel's data: cuts of its points and rows in proportion to the shares that its ranks are given.

A kernel gets its cuts as arguments, as increasing numbers that begin with 0 and end with the number of items, and its
declared traffic follows the same ones.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Cuts = dict[str, tuple[int, ...]]  # by name of the kernel's argument
_Ints = npt.NDArray[np.int64]
_Floats = npt.NDArray[np.float64]


def starts(counts: npt.ArrayLike) -> tuple[int, ...]:
    """Return the first item of each part, and the number of all items, from the counts of the parts.

    >>> starts([3, 1, 4])
    (0, 3, 4, 8)
    """
    return (0, *np.cumsum(counts).tolist())


def counts_for(items: int, cost: npt.ArrayLike, least: npt.ArrayLike = 1, *, extra: float = 0.0) -> _Ints:
    """Return how many of the items each part gets, so that the largest cost of a part is the smallest.

    Args:
        items: Number of items, at least the sum of ``least``.
        cost: Cost of an item in each part, positive.
        least: Fewest items of each part.
        extra: Every part costs as if it had this many more items.

    Two parts of ten items, the second twice as costly:

    >>> counts_for(10, [1.0, 2.0])
    array([7, 3])
    """
    costs = np.asarray(cost, float)
    fewest = np.broadcast_to(np.asarray(least, np.int64), costs.shape)
    # No cut is better than the one into fractions, so no part of the best needs fewer whole items than that has.
    even = (items + extra * len(costs)) / np.sum(1 / costs)
    counts = np.maximum(np.floor(even / costs * (1 - 1e-12) - extra).astype(np.int64), fewest)
    surplus = int(counts.sum()) - items
    if surplus > 0:  # the least items have lifted some parts
        largest = [(-(count + extra) * cost, i) for i, (count, cost) in enumerate(zip(counts, costs, strict=True))]
        heapq.heapify(largest)
        while surplus > 0:
            less, i = heapq.heappop(largest)
            if counts[i] > fewest[i]:
                counts[i] -= 1
                surplus -= 1
                heapq.heappush(largest, (less + costs[i], i))
    nexts = [((count + 1 + extra) * cost, i) for i, (count, cost) in enumerate(zip(counts, costs, strict=True))]
    heapq.heapify(nexts)
    for _ in range(-surplus):
        more, i = heapq.heappop(nexts)
        counts[i] += 1
        heapq.heappush(nexts, (more + costs[i], i))
    return counts


def box_counts(shares: _Floats, items: Sequence[int], least: Sequence[npt.ArrayLike]) -> list[_Ints]:
    """Return the items of each place along every axis of a grid of ranks, whose blocks are products of them.

    The largest quotient of block and share is made small: by the sums of the shares first, then axis by axis, exactly
    while the other axes are held, until nothing improves.

    Args:
        shares: Share of every rank, positive; one axis for each axis of the grid.
        items: Number of items along each axis.
        least: Fewest items of each place along each axis.
    """
    axes = range(shares.ndim)
    others = [tuple(b for b in axes if b != a) for a in axes]
    counts = [counts_for(items[a], 1 / shares.sum(axis=others[a]), least[a]) for a in axes]
    worst = _largest(shares, counts)
    while True:
        for a in axes:
            rest = [counts[b] if b != a else np.ones_like(counts[a]) for b in axes]
            counts[a] = counts_for(items[a], (_blocks(rest) / shares).max(axis=others[a]), least[a])
        reached = _largest(shares, counts)
        if reached >= worst * (1 - 1e-9):
            return counts
        worst = reached


def _blocks(counts: Sequence[_Ints]) -> _Floats:
    """Return the product of the items along the axes, for every rank of the grid."""
    blocks: _Floats = np.ones(())
    for count in counts:
        blocks = np.multiply.outer(blocks, count.astype(float))
    return blocks


def _largest(shares: _Floats, counts: Sequence[_Ints]) -> float:
    return float((_blocks(counts) / shares).max())
