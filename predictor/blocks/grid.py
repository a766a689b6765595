"""Cartesian grids of a label's processes, for the functions ``neighbour`` and ``coordinate`` of expressions.

The first coordinate runs fastest: on a grid of px times py processes, the process at (x, y) has the index x + px y.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from platforms.errors import UserError
from predictor.blocks.expressions import Expression
from predictor.blocks.parsing import NOBODY, Value, place_name
from predictor.blocks.processes.progression import Progression


def grid_functions(extents: Sequence[Expression], periodic: Sequence[bool]) -> dict[str, Expression]:
    """Return the definitions of the functions of a place in a grid, for ``Expression.defined``.

    Args:
        extents: Numbers of processes along the axes.
        periodic: For each axis, whether its last process is followed by its first one.
    """
    names = frozenset({"index"}).union(*(extent.names for extent in extents))
    text = " x ".join(extent.text for extent in extents) + f" periodic {[int(wraps) for wraps in periodic]}"

    def sizes(scope: Mapping[str, Any]) -> list[int]:
        return [extent.whole(scope, "grid", least=1) for extent in extents]

    def neighbour(scope: Mapping[str, Any]) -> Callable[..., Value]:
        index, extents = scope["index"], sizes(scope)
        return lambda *steps: _neighbour(index, extents, periodic, steps)

    def coordinate(scope: Mapping[str, Any]) -> Callable[..., Value]:
        index, extents = scope["index"], sizes(scope)
        return lambda axis: _coordinate(index, extents, axis)

    made = {place_name("neighbour", len(extents)): neighbour, place_name("coordinate", 1): coordinate}
    return {name: Expression.computed(f"{name} on {text}", names, function) for name, function in made.items()}


def processes(extents: Sequence[Expression]) -> Expression:
    """Return the number of processes of a grid."""
    return Expression.of(" * ".join(f"({extent.text})" for extent in extents))


def _coordinate(index: Value, extents: Sequence[int], axis: Value) -> Value:
    if isinstance(axis, Progression):
        raise axis.split_all()
    if axis not in range(len(extents)):
        raise UserError("coordinate", f"no axis {axis}", f"Count the {len(extents)} axes of the grid from 0")
    number, stride = int(axis), prod(extents[: int(axis)])
    return index // stride if number == len(extents) - 1 else index // stride % extents[number]


def _neighbour(index: Value, extents: Sequence[int], periodic: Sequence[bool], steps: Sequence[Value]) -> Value:
    """Return the index of the process so many steps away along each axis, or NOBODY beyond an end of the grid."""
    place, stride = index, 1
    for axis, (extent, turns, step) in enumerate(zip(extents, periodic, steps, strict=True)):
        if step != 0:
            here = _coordinate(index, extents, axis)
            there = here + step
            if turns:
                there = there % extent
            elif there < 0 or there >= extent:
                return NOBODY
            place = place + (there - here) * stride
        stride *= extent
    return place
