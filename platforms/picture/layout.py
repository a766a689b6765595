"""Place the boxes of a graph near the boxes that they are joined to, without overlaps.  Lengths are in inches."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Points = npt.NDArray[np.float64]  # points of shape (n, 2), or values of shape (n, n) for all pairs of points
_ROUNDS, _STEPS = 3, 40
_STARTS, _MANY = 5, 16  # number of initial layouts for graphs of at most 16 boxes; larger graphs have one
_PUSHES, _SLACK = 300, 0.005
_FACTORS = (1.0, 0.85, 0.7, 0.55, 0.4)  # factors by which a layout is contracted
_GAP = 0.55  # desired gap between joined boxes
_SEEN = 0.4  # smallest gap between joined boxes
_MARGIN = 0.22  # smallest gap between any two boxes
_ASPECT = 1.5  # desired ratio of width to height


def place(sizes: Sequence[tuple[float, float]], joined: Sequence[tuple[int, int]]) -> Points:
    """Return the centres of boxes of these widths and heights, shape (n, 2).

    Distances follow the number of joints between boxes (stress majorization, Gansner, Koren and North, "Graph Drawing
    by Stress Majorization", 2004).  If nearly all pairs of boxes are joined, the boxes are placed on a ring.  The same
    input gives the same picture.
    """
    boxes = np.asarray(sizes, dtype=float).reshape(-1, 2)
    n = len(boxes)
    if n < 2:
        return np.zeros((n, 2))
    pairs = {(min(a, b), max(a, b)) for a, b in joined if a != b}
    if not pairs:
        return _rows(boxes)
    if n == 2:  # side by side
        x = boxes[:, 0] / 2 + _GAP / 2
        return np.array([[-x[0], 0.0], [x[1], 0.0]])
    hub = _hub(pairs, n)
    if hub is not None:
        return _around(hub, boxes)
    if n > 6 and len(pairs) > n * (n - 1) / 4:
        return _apart(_ring(boxes), boxes, pairs)
    hops = _hops(n, pairs)
    free = [_turned(_majorized(boxes, hops, start)) for start in range(_STARTS if n <= _MANY else 1)]
    drawn = [_apart(at * factor, boxes, pairs) for at in free for factor in _FACTORS]
    return min(drawn, key=lambda at: _badness(at, boxes, pairs))


def _rows(boxes: Points) -> Points:
    """Place boxes in rows of a length that makes the whole a little wider than high."""
    width, height = boxes.max(axis=0) + _MARGIN
    columns = min(len(boxes), max(1, math.ceil(math.sqrt(len(boxes) * _ASPECT * height / width))))
    number = np.arange(len(boxes))
    return np.stack([number % columns * width, -(number // columns) * height], axis=1)


def _ring(boxes: Points) -> Points:
    """Place boxes on an ellipse that is long enough for all, clockwise from the top."""
    n = len(boxes)
    angles = math.pi / 2 - 2 * math.pi * (np.arange(n) + (0.5 if n % 2 == 0 else 0)) / n
    unit = np.stack([np.cos(angles) * _ASPECT, np.sin(angles)], axis=1)
    steps = np.abs(np.roll(unit, -1, axis=0) - unit)
    wanted = (np.roll(boxes, -1, axis=0) + boxes) / 2 + _MARGIN
    # Neighbours do not overlap if there is room in one of the two directions.
    factors = (wanted / np.maximum(steps, 1e-9)).min(axis=1)
    return unit * max(float(factors.max()), 1.0)


def _hub(pairs: set[tuple[int, int]], n: int) -> int | None:
    """Return the box that is the only neighbour of all others; None without such a box or with fewer than four."""
    if n < 4 or len(pairs) != n - 1:
        return None
    common = set.intersection(*map(set, pairs))
    return common.pop() if common else None


def _around(hub: int, boxes: Points) -> Points:
    """Place the other boxes along a rectangle around the hub, clockwise from the upper left."""
    others = [i for i in range(len(boxes)) if i != hub]
    width, height = boxes[others].max(axis=0) + _MARGIN
    middle = boxes[hub] + 2 * _SEEN
    choices = []
    for beside in range((len(others) - 2) // 2 + 1):  # on the left, and on the right
        above = -(-(len(others) - 2 * beside) // 2)
        across = max(above * width, middle[0] + 2 * width * (beside > 0))
        down = max(beside * height, middle[1]) + 2 * height
        choices.append((max(across, down * _ASPECT), beside, across, down))
    _, beside, across, down = min(choices)
    above = -(-(len(others) - 2 * beside) // 2)
    below = len(others) - 2 * beside - above
    x, y = (across - width) / 2, (down - height) / 2
    places = [(step, y) for step in _steps(above, across / above)]
    places += [(x, -step) for step in _steps(beside, (down - 2 * height) / max(beside, 1))]
    places += [(-step, -y) for step in _steps(below, across / max(below, 1))]
    places += [(-x, step) for step in _steps(beside, (down - 2 * height) / max(beside, 1))]
    at = np.zeros((len(boxes), 2))
    at[others] = places
    return at


def _steps(count: int, apart: float) -> Points:
    return (np.arange(count, dtype=np.float64) - (count - 1) / 2) * apart


def _hops(n: int, pairs: set[tuple[int, int]]) -> Points:
    """Return the number of joints on the shortest path between each two boxes, shape (n, n).

    Unconnected boxes get one more than the longest of these paths.
    """
    hops = np.full((n, n), np.inf)
    np.fill_diagonal(hops, 0)
    for a, b in pairs:
        hops[a, b] = hops[b, a] = 1
    for k in range(n):
        np.minimum(hops, hops[:, k, None] + hops[None, k, :], out=hops)
    hops[np.isinf(hops)] = hops[np.isfinite(hops)].max() + 1
    return hops


def _majorized(boxes: Points, hops: Points, start: int) -> Points:
    n = len(boxes)
    angles = math.pi / 2 + math.pi / n - 2 * math.pi * np.arange(n) / n  # begins with a horizontal side at the top
    at: Points = np.stack([np.cos(angles), np.sin(angles)], axis=1) * np.abs(boxes).mean() * n
    if start:
        at = np.random.default_rng(start).permutation(at)
    for _ in range(_ROUNDS):
        at = _at_distances(at, _wanted(at, boxes, hops))
    return at


def _wanted(at: Points, boxes: Points, hops: Points) -> Points:
    """Return the desired distances of centres: the gaps plus the part of the line that lies inside each box."""
    offset = np.abs(at[:, None] - at[None, :]) + 1e-9
    length = np.linalg.norm(offset, axis=2)
    inside = (boxes[:, None, :] / 2 / (offset / length[..., None])).min(axis=2)
    inside = np.minimum(inside, np.hypot(boxes[:, 0], boxes[:, 1])[:, None] / 2)
    between = np.maximum(hops - 1, 0) * np.median(inside)
    wanted: Points = hops * _GAP + inside + inside.T + between
    return wanted


def _at_distances(at: Points, wanted: Points) -> Points:
    weight = np.zeros_like(wanted)
    np.divide(1.0, wanted**2, out=weight, where=~np.eye(len(at), dtype=bool))
    inverse = np.linalg.pinv(np.diag(weight.sum(axis=1)) - weight)
    for _ in range(_STEPS):
        apart = np.linalg.norm(at[:, None] - at[None, :], axis=2)
        ratio = weight * wanted / np.maximum(apart, 1e-9)
        np.fill_diagonal(ratio, 0)
        at = np.matmul(inverse, np.matmul(np.diag(ratio.sum(axis=1)) - ratio, at))
    return at


def _badness(at: Points, boxes: Points, pairs: set[tuple[int, int]]) -> float:
    """Return a penalty for the size of the drawing and for joints that pass over boxes.

    It is rounded, so that of nearly equal drawings the first is taken.
    """
    return round(_extent(at, boxes) * (1 + 3 * _crossed(at, boxes, pairs) / len(pairs)), 6)


def _extent(at: Points, boxes: Points) -> float:
    width, height = (at + boxes / 2).max(axis=0) - (at - boxes / 2).min(axis=0)
    return max(float(width), float(height) * _ASPECT)


def _crossed(at: Points, boxes: Points, pairs: set[tuple[int, int]]) -> int:
    """Return how many joints pass over a box that they do not join, examined at points along them."""
    shares = np.linspace(0, 1, 33)[:, None]
    first, second = np.array(sorted(pairs)).T
    points = at[first, None] + (at[second] - at[first])[:, None] * shares  # joints, points, 2
    over = (np.abs(points[:, :, None] - at) < boxes / 2).all(axis=3).any(axis=1)  # joints, boxes
    joint = np.arange(len(first))
    over[joint, first] = over[joint, second] = False
    return int(over.sum())


def _turned(at: Points) -> Points:
    """Turn the layout so that its longest extent, if any, is horizontal and the first box is on the left or above."""
    at = at - at.mean(axis=0)
    spread, axes = np.linalg.eigh(at.T @ at)
    if spread[1] > 1.3 * spread[0]:
        at = at @ axes[:, ::-1]
    if at[0, 0] > 1e-6:
        at[:, 0] *= -1
    if at[0, 1] < -1e-6:
        at[:, 1] *= -1
    return at


def _apart(at: Points, boxes: Points, pairs: set[tuple[int, int]]) -> Points:
    """Push overlapping boxes apart along the axis on which they overlap less."""
    at = at.copy()
    margin = np.full((len(at), len(at)), _MARGIN)
    for a, b in pairs:
        margin[a, b] = margin[b, a] = _SEEN
    least = (boxes[:, None] + boxes[None, :]) / 2 + margin[..., None] + _SLACK
    order = np.arange(len(at))
    sign = np.where(order[:, None] < order[None, :], -1.0, 1.0)  # of boxes in the same place, the later one moves right
    for _ in range(_PUSHES):
        offset = at[:, None] - at[None, :]
        lacking = least - np.abs(offset)
        over = (lacking > _SLACK).all(axis=2)
        np.fill_diagonal(over, False)
        if not over.any():
            break
        along_x = lacking[..., 0] <= lacking[..., 1]
        for axis, chosen in ((0, along_x), (1, ~along_x)):
            direction = np.where(np.abs(offset[..., axis]) > 1e-9, np.sign(offset[..., axis]), sign)
            push = np.where(over & chosen, lacking[..., axis] * direction * 0.6, 0.0)
            at[:, axis] += push.sum(axis=1) / np.maximum((push != 0).sum(axis=1), 1)
    return at
