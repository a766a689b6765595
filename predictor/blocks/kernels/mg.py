"""Description of MG in blocks (apps/kernels/mg, docs/kernels/index.md).

The description is in Python because the exchange of ghost layers on a level occurs several times in a cycle, and a TOML
file has no names for groups of steps.  On a level of n points, place i of p along an axis owns the points from
floor(i n / p) up to, but not including, floor((i + 1) n / p).  Sizes and operations are those of each rank's own block.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from predictor.blocks.application import Application, Broadcast, Compute, Gather, If, Label, Receive, Repeat, Send, Step

# Flops per point that the rank owns on a level; between two levels, on the coarser one (apps/kernels/mg/operators.h).
_RESIDUAL, _SMOOTH, _RESTRICT, _INTERPOLATE, _NORM = 15, 16, 24, 24, 3
_DIMS = ("px", "py", "pz")
_STRIDES = ("1", "px", "px * py")
_AT_ONCE_BYTES = 65536  # messages of this size or larger are sent one after the other


def application(n: int, iterations: int, official_iterations: int, grid: Sequence[int]) -> Application:
    """Return the application of MG.

    Args:
        n: Points along each axis, a power of two.
        iterations: Number of iterations.
        official_iterations: Iterations of a full run, for the ratio of official flops to counted flops.
        grid: Numbers of ranks along the axes: px, py, pz.
    """
    levels = [2**level for level in range(1, n.bit_length())]
    norm = (_compute(_NORM, n), *_all_reduce(8), *_all_reduce(8))
    residual = (_compute(_RESIDUAL, n), *_ghosts(n))
    cycle: list[Step] = []
    for points in levels[-2::-1]:
        cycle += [_compute(_RESTRICT, points), *_ghosts(points)]
    cycle += [_compute(_SMOOTH, levels[0]), *_ghosts(levels[0])]
    for coarse, points in pairwise(levels):
        cycle += [_compute(_INTERPOLATE, coarse), *_newcomers(points, grid)]
        cycle += [_compute(_RESIDUAL, points), *_ghosts(points), _compute(_SMOOTH, points), *_ghosts(points)]
    label = Label("rank", "px * py * pz", (*residual, *norm, Repeat("iterations", (*cycle, *residual)), *norm))
    variables = {"iterations": iterations, **dict(zip(_DIMS, grid, strict=True))}
    return Application("mg", (label,), {**variables, "share": _share(levels, official_iterations)})


def _share(levels: Sequence[int], iterations: int) -> float:
    """Return the official flops (58 per finest point and iteration) per flop counted here."""
    finest = levels[-1] ** 3
    cycle = (_RESIDUAL + _SMOOTH) * finest + _SMOOTH * 2**3
    cycle += sum((_RESTRICT + _INTERPOLATE) * n**3 for n in levels[:-1])
    cycle += sum((_RESIDUAL + _SMOOTH) * n**3 for n in levels[1:-1])
    counted = iterations * (cycle + _RESIDUAL * finest) + (_RESIDUAL + 2 * _NORM) * finest
    return 58 * iterations * finest / counted


def _all_reduce(size_bytes: int) -> tuple[Step, Step]:
    return Gather(bytes=f"{size_bytes} * rank"), Broadcast(bytes=size_bytes)


# --- expressions of a rank's place, for axis 0 to 2 and a level of n points ---


def _place(axis: int) -> str:
    return f"(index // ({_STRIDES[axis]}) % {_DIMS[axis]})"


def _own(axis: int, n: int) -> str:
    return f"(({_place(axis)} + 1) * {n} // {_DIMS[axis]} - {_place(axis)} * {n} // {_DIMS[axis]})"


def _points(n: int) -> str:
    return " * ".join(_own(axis, n) for axis in range(3))


def _compute(flops: int, n: int) -> Compute:
    return Compute(f"{flops} * share * {_points(n)}")


def _owner(axis: int, n: int, point: str) -> str:
    """Return the place that owns a point."""
    return f"((({point}) % {n} + 1) * {_DIMS[axis]} + {n - 1}) // {n} - 1"


def _neighbour(axis: int, n: int, up: bool) -> str:
    """Return the next rank along the axis that owns points."""
    point = f"({_place(axis)} + 1) * {n} // {_DIMS[axis]}" if up else f"{_place(axis)} * {n} // {_DIMS[axis]} - 1"
    return f"index + ({_owner(axis, n, point)} - {_place(axis)}) * {_STRIDES[axis]}"


def _face_bytes(axis: int, n: int) -> str:
    """Return the bytes of a plane across the axis, with the ghost points along the axes exchanged before."""
    return " * ".join(["8", *(f"({_own(a, n)} + {2 if a < axis else 0})" for a in range(3) if a != axis)])


# --- steps ---


def _ghosts(n: int) -> tuple[Step, ...]:
    """Return the exchange of the layers around the block, axis by axis.

    Small messages go in both directions at once, large ones one after the other.  A rank that is its own neighbour
    sends nothing.
    """
    return (If(f"min({', '.join(_own(axis, n) for axis in range(3))}) > 0", _axes(n)),)


def _axes(n: int) -> tuple[Step, ...]:
    return tuple(_both_ways(axis, n) for axis in range(3))


def _both_ways(axis: int, n: int) -> Step:
    lower, upper, size = _neighbour(axis, n, False), _neighbour(axis, n, True), _face_bytes(axis, n)
    up, down = Send("rank", size, upper, buffered=True), Send("rank", size, lower, buffered=True)
    together = (up, down, Receive("rank", upper), Receive("rank", lower))
    in_turn = (up, Receive("rank", lower), down, Receive("rank", upper))
    return If(f"{upper} != index", (If(f"{size} < {_AT_ONCE_BYTES}", together, in_turn),))


def _newcomers(n: int, grid: Sequence[int]) -> tuple[Step, ...]:
    """Return the messages to newcomers: ranks with points on this level and none on the next coarser level."""
    return tuple(step for axis in range(3) if grid[axis] > n // 2 for step in _newcomer(axis, n))


def _newcomer(axis: int, n: int) -> tuple[Step, ...]:
    lower, upper = _neighbour(axis, n, False), _neighbour(axis, n, True)
    coarse = _own(axis, n // 2)
    area = " * ".join(f"({_own(a, n)} + 2)" for a in range(3) if a != axis)
    arriving = If(f"{_own(axis, n)} > 0 and {coarse} == 0", (Receive("rank", upper), Receive("rank", lower)))
    sends = [
        If(
            f"{coarse} > 0 and {_is_newcomer(axis, n, up)}",
            (Send("rank", f"{8 * layers} * {area}", to, buffered=True),),
        )
        for up, layers, to in ((True, 2, upper), (False, 1, lower))
    ]
    return (arriving, *sends)


def _is_newcomer(axis: int, n: int, up: bool) -> str:
    """Return the condition that the neighbour's point lies between two points of the coarser level."""
    point = f"({_place(axis)} + 1) * {n} // {_DIMS[axis]}" if up else f"{_place(axis)} * {n} // {_DIMS[axis]} - 1"
    place, p = f"({_owner(axis, n, point)})", _DIMS[axis]
    return f"({place} + 1) * {n // 2} // {p} == {place} * {n // 2} // {p}"
