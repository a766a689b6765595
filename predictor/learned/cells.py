"""Multi-partitions: a cube is cut into q^3 cells, and each of q^2 ranks has one in each layer, along a diagonal.

Cell k of the rank at coordinates (b, a) is at x = a + k or a - k, y = b + k or b - k, z = k, modulo q; the two signs
are the map, such as ``+-``.  Names of features, where each cell has the share of n (``e``) or that without the ends of
the axis (``u``) along each axis:

``V+-0(i1)u:n``, ``A+-0(i1)u:n``
    Volume of the rank's cell in a layer across axis 0, and area of its faces across this axis.  The layer is ``i1`` or
    ``i1+1``, the index of a loop, ``j1`` or ``j1+1``, the turns that follow, ``0``, or ``-1``, the last one.
``T+-u:n``
    Volume of all cells of the rank.
``H+-0<e:n``
    Area of the faces across axis 0 of all cells (``1``), or without those in the last (``<``) or first layer (``>``).
"""

import itertools
import re
from collections.abc import Sequence

import numpy as np

from predictor.learned.rows import Rows

CELL = re.compile(r"([VATH])([+-])([+-])(\d?)(?:\(([^()]+)\)|([1<>]?))([eu]):(\d+)$")
_LAYER = re.compile(r"([ij])(\d+)(\+1)?$")
_AXES = range(3)


def share(kind: str, n: int, place: np.ndarray, sides: np.ndarray | int) -> np.ndarray:
    """Return the share of ``n`` at places of an axis: e, s as in ``Space``; u, v without the ends of the axis."""
    even = n // sides + (place < n % sides) if kind in "eu" else (place + 1) * n // sides - place * n // sides
    ends: np.ndarray = (place == 0) * 1 + (place == sides - 1) if kind in "uv" else np.zeros_like(place)
    length: np.ndarray = even - ends
    return length


def names(numbers: Sequence[int], loops: Sequence[int]) -> list[str]:
    """Return the names of all features for these numbers and the layers of these loops."""
    layers = ["0", "-1", *(f"{x}{k}{by}" for k in loops for x in "ij" for by in ("", "+1"))]
    made = []
    for n, kind, one, other in itertools.product(numbers, "eu", "+-", "+-"):
        made.append(f"T{one}{other}{kind}:{n}")
        made += [f"{what}{one}{other}{d}({at}){kind}:{n}" for what in "VA" for d in _AXES for at in layers]
        made += [f"H{one}{other}{d}{but}{kind}:{n}" for d in _AXES for but in "1<>"]
    return made


def value(name: str, rows: Rows, c: np.ndarray, side: int, n: int) -> np.ndarray:
    """Return a feature of rows of one number of ranks, whose coordinates are axes x rows in a square of this side.

    ``n``: the size that the feature's name has, as it is on this number of ranks.
    """
    match = CELL.match(name)
    assert match is not None
    what, one, other, axis, layer, but, kind, _ = match.groups()
    lengths = share(kind, n, np.arange(side), side)
    ways = tuple(1 if sign == "+" else -1 for sign in (one, other))
    if what in "VA":
        cells = _cells(ways, c, _number(ways, int(axis), _place(layer, rows, side), c, side)[:, None], side)
    else:
        cells = _cells(ways, c, np.arange(side)[None, :], side)
    across = [lengths[cells[d]] for d in _AXES if what in "VT" or d != int(axis)]
    product: np.ndarray = np.prod(across, axis=0)
    if but in ("<", ">"):
        product = product * (cells[int(axis)] != (side - 1 if but == "<" else 0))
    total: np.ndarray = product.sum(axis=1)
    return total


def _place(layer: str, rows: Rows, side: int) -> np.ndarray:
    match = _LAYER.match(layer)
    if match is None:
        return np.full(len(rows), int(layer) % side)
    number = int(match[2])
    after: np.ndarray = rows.turns[:, number] - 1 - rows.turn[:, number]
    index: np.ndarray = (rows.index[:, number] if match[1] == "i" else after) + (match[3] is not None)
    return index % side


def _number(ways: Sequence[int], axis: int, place: np.ndarray, c: np.ndarray, side: int) -> np.ndarray:
    """Return the number of the rank's cell in a layer."""
    number: np.ndarray = place if axis == 2 else ways[axis] * (place - c[1 - axis]) % side
    return number


def _cells(ways: Sequence[int], c: np.ndarray, k: np.ndarray, side: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the places of cells along each axis, rows x cells."""
    x, y = ((c[1 - axis][:, None] + ways[axis] * k) % side for axis in (0, 1))
    return x, y, np.broadcast_to(k, x.shape)
