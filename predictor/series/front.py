"""Pareto fronts: the points that no other point dominates in two quantities, of which less is better."""

import math
from collections.abc import Sequence
from typing import TypeAlias

Point: TypeAlias = "tuple[float | None, float | None]"  # two quantities of which less is better; None or NaN: unknown


def pareto_front(points: Sequence[Point], *, equals: bool = True) -> list[int]:
    """Return the positions of the points that no other point dominates, sorted by the first quantity.

    Points with an unknown quantity are never on the front.  Points that are equal in both quantities do not dominate
    each other; they keep their order.  The time grows with n log(n).

    >>> pareto_front([(3, 1), (1, 9), (2, 9), (2, 4), (2, 4), (None, 0)])
    [1, 3, 4, 0]
    >>> pareto_front([(3, 1), (1, 9), (2, 9), (2, 4), (2, 4), (None, 0)], equals=False)
    [1, 3, 0]

    Args:
        points: The points; a quantity that should be large is given with the opposite sign.
        equals: Whether all of several equal points are on the front, instead of only the first of them.
    """
    known = [
        (first, second, at)
        for at, (first, second) in enumerate(points)
        if first is not None and second is not None and _is_known(first, second)
    ]
    front: list[tuple[float, float, int]] = []
    for point in sorted(known):
        if not front or point[1] < front[-1][1] or (equals and point[:2] == front[-1][:2]):
            front.append(point)
    return [at for _, _, at in front]


def dominates(point: Point, other: Point) -> bool:
    """Return whether a point is worse than another in neither quantity, and better in at least one of them.

    A point with an unknown quantity neither dominates nor is dominated.

    >>> dominates((1, 2), (1, 3)), dominates((1, 2), (1, 2)), dominates((1, 3), (2, 2)), dominates((1, None), (2, 2))
    (True, False, False, False)
    """
    (a, b), (x, y) = point, other
    if a is None or b is None or x is None or y is None:
        return False
    return a <= x and b <= y and (a < x or b < y)  # false for NaN


def _is_known(*values: float | None) -> bool:
    return not any(value is None or math.isnan(value) for value in values)
