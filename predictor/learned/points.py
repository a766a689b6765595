"""Points of the levels of a problem, each of which has half as many along an axis as the next finer one.

Along an axis with m points on a level, place c of p has those above c m // p up to (c + 1) m // p.  Places without
points drop out.  A level is ``i1+1``: the one of index i of loop 1, whose m is n / 2^(i + 1); ``j1+1``: by the turns
that follow; ``c+1``: that of 2^1 points; ``h+1``: that of n / 2^1.  Features:

``s0>i1+1:n``, ``s0+2>i1+1:n``
    Points along axis 0, and those with two ghost points.
``V>i1+1:n``, ``o>i1+1:n``
    Points along all axes together, and whether there are any: 0 or 1.
``n0>i1+1:n``
    1 if the place has points on the level, and none on the next coarser one.
``u0>i1+1:n``, ``d0>i1+1:n``
    1 if it has points on both, but the next place upwards or downwards that has points on the level has none on the
    coarser one.
"""

import re
from collections.abc import Sequence

import numpy as np

from predictor.learned.rows import Rows

LEVEL = re.compile(r"([sVonud])(\d?)(\+\d)?>([ijch]\d?\+\d):(\d+)$")
_FROM = (1, 0, 2)  # levels between the index and the level
_FIXED = ("h+0", "h+1", "c+1", "c+2")
_MOST_HALVES = 62
_LEAST = 8  # a smaller number has no levels


def levels(rows: Rows) -> list[str]:
    """Return the levels that calls may belong to in the loops around them."""
    return [f"{loop}+{by}" for loop in rows.levels for by in _FROM] or list(_FIXED)


def finest(numbers: Sequence[int]) -> list[int]:
    """Return the numbers that may be those of the finest level."""
    return [n for n in numbers if n >= _LEAST]


def names(axes: int, numbers: Sequence[int], some: Sequence[str]) -> list[str]:
    """Return the names of the features of these levels that numbers may depend on."""
    kinds = ["o", "V", *(f"s{axis}{ghosts}" for axis in range(axes) for ghosts in ("", "+2"))]
    return [f"{kind}>{level}:{n}" for n in finest(numbers) for level in some for kind in kinds]


def statements(axes: int, numbers: Sequence[int], some: Sequence[str]) -> list[str]:
    """Return statements about these levels: who has no points there."""
    kinds = [*(f"{kind}{axis}" for axis in range(axes) for kind in "nud"), "o", *(f"s{axis}" for axis in range(axes))]
    return [f"{kind}>{level}:{n}=0" for n in finest(numbers) for level in some for kind in kinds]


def size(level: str, rows: Rows, n: np.ndarray) -> np.ndarray:
    """Return the points along an axis of a level, by row; ``n``: those of the finest one."""
    by = int(level[-1])
    if level[0] == "c":
        return np.full(len(rows), 1 << by)
    halves = np.full(len(rows), by)
    if level[0] != "h":
        loop = int(level[1])
        halves = halves + (rows.turn[:, loop] if level[0] == "i" else rows.turns[:, loop] - 1 - rows.turn[:, loop])
    made: np.ndarray = n >> np.clip(halves, 0, _MOST_HALVES)
    return made


def points(place: np.ndarray, sides: np.ndarray, m: np.ndarray) -> np.ndarray:
    """Return the points that places along an axis have of m."""
    found: np.ndarray = (place + 1) * m // sides - place * m // sides
    return found


def following(place: np.ndarray, sides: np.ndarray, m: np.ndarray, step: int) -> np.ndarray:
    """Return the next places in a direction, around the end, that have points; -1 where there are none."""
    there, left = (place + step) % sides, m > 0
    while True:
        empty = left & (points(there, sides, m) == 0)
        if not empty.any():
            return np.where(left, there, -1)
        there = np.where(empty, (there + step) % sides, there)


def value(name: str, rows: Rows, c: np.ndarray, sides: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Return a feature, for coordinates and sides axes x rows; ``n``: the points of the finest level."""
    match = LEVEL.match(name)
    assert match is not None
    kind, m = match[1], size(match[4], rows, n)
    if kind in "Vo":
        volume: np.ndarray = np.prod([points(*line, m) for line in zip(c, sides, strict=True)], axis=0)
        return volume if kind == "V" else np.minimum(volume, 1)
    axis = int(match[2])
    if kind == "s":
        return points(c[axis], sides[axis], m) + int(match[3] or 0)
    coarser = points(c[axis], sides[axis], m // 2) > 0
    if kind == "n":
        new: np.ndarray = ~coarser & (points(c[axis], sides[axis], m) > 0)
        return new
    there = following(c[axis], sides[axis], m, 1 if kind == "u" else -1)
    beside: np.ndarray = coarser & (points(there, sides[axis], m // 2) == 0)
    return beside
