"""Binomial trees and rings along a line of ranks, from a root that may move with the index of a loop.

A root is ``0``, ``m1``: the index of loop 1 modulo the line's length p, as with block-cyclic columns, or ``o1``: the
owner of the part of that index, if all turns are divided evenly among the places.  Places count from the root, around
the end.  In a tree of kind ``l`` the sender to a place lacks its lowest bit, in one of kind ``h`` its highest.
Features:

``kl0@m1``, ``kh0@m1``
    Number of places along axis 0 to which the rank sends in the tree.
``rf0@m1``, ``rl0@m1``
    The place along axis 0, and the places that follow it.
``rn0@m1``
    In how many turns behind this one the rank is the root: the block-cyclic columns that it has right of the panel.
"""

import re
from collections.abc import Sequence

import numpy as np

from predictor.learned.rows import Rows

TREE = re.compile(r"(kl|kh|rf|rl|rn)(\d)@(0|[mo]\d+)$")
KINDS = "lh"


def roots(rows: Rows) -> list[str]:
    """Return the roots that are looked at: of loops that go round often enough to show how they move."""
    moving = [k for k in range(rows.loops) if len(rows) and rows.index[:, k].max() >= 2]
    return ["0", *(f"{kind}{k}" for k in moving for kind in "mo")]


def names(axes: int, some: Sequence[str]) -> list[str]:
    """Return the names of the numbers of receivers, for these roots."""
    return [f"k{kind}{axis}@{root}" for axis in range(axes) for root in some for kind in KINDS]


def from_root(root: str, rows: Rows, c: np.ndarray, sides: np.ndarray) -> np.ndarray:
    """Return the places counted from the root, for coordinates along a line of this length."""
    if root == "0":
        return c
    loop = int(root[1:])
    index, turns = rows.index[:, loop], np.maximum(rows.turns[:, loop], 1)
    at: np.ndarray = index if root[0] == "m" else index * sides // turns
    place: np.ndarray = (c - at) % sides
    return place


def value(name: str, rows: Rows, c: np.ndarray, sides: np.ndarray) -> np.ndarray:
    """Return a feature, for coordinates and sides axes x rows."""
    match = TREE.match(name)
    assert match is not None
    axis = int(match[2])
    if match[1] == "rn":
        loop = int(match[3][1:])
        last, now = rows.turns[:, loop] - 1, rows.index[:, loop]
        times: np.ndarray = (last - c[axis]) // sides[axis] - (now - c[axis]) // sides[axis]
        return times
    place = from_root(match[3], rows, c[axis], sides[axis])
    if match[1] in ("rf", "rl"):
        counted: np.ndarray = place if match[1] == "rf" else sides[axis] - 1 - place
        return counted
    first, last = _bits(match[1][1], place, sides[axis])
    receivers: np.ndarray = np.maximum(last - first, 0)
    return receivers


def receiver(kind: str, place: np.ndarray, sides: np.ndarray, turn: np.ndarray, *, far_first: bool) -> np.ndarray:
    """Return the place to which a place sends in a turn."""
    first, last = _bits(kind, place, sides)
    bit = np.clip(last - 1 - turn if far_first else first + turn, 0, 62)
    there: np.ndarray = place + (1 << bit)
    return there


def sender(kind: str, place: np.ndarray) -> np.ndarray:
    """Return the place that sends to a place; of the root, the root."""
    lowest = place & -place
    highest = np.where(place > 0, 1 << np.maximum(length(place) - 1, 0), 0)
    there: np.ndarray = place - (lowest if kind == "l" else highest)
    return there


def _bits(kind: str, place: np.ndarray, sides: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first of the bits that are added to a place to get a receiver, and the one after the last."""
    last = length(np.maximum(sides - place - 1, 0))  # beyond, the line ends
    if kind == "h":
        return length(place), last
    lowest = np.where(place > 0, length(place & -place) - 1, last)
    return np.zeros_like(place), np.minimum(last, lowest)


def length(number: np.ndarray) -> np.ndarray:
    """Return the number of bits."""
    bits: np.ndarray = np.frexp(number.astype(float))[1].astype(np.int64)
    return bits
