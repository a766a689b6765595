"""The scalar product, SUMMA and the FFT (apps/kernels/dot, summa and fft)."""

from __future__ import annotations

import math

from apps.s4u.collectives import all_to_all_algorithm
from predictor.hierarchical.counts.lines import Lines, square_rows
from predictor.hierarchical.counts.path import LARGE_BYTES, Params, Path, Route

DOUBLE_BYTES, COMPLEX_BYTES = 8, 16
_ALL_TO_ALLS = 3  # of the six-step FFT


def _evenly(operations: float, q: int, p: int, bytes_per_flop: float) -> Path:
    """Return the path of operations that all ranks share evenly."""
    return Path(operations=operations / (q * p), memory_bytes=bytes_per_flop * operations / p)


def dot_operations(params: Params) -> float:
    """Return #op of the scalar product, 2 n - 1."""
    return 2.0 * int(params["n"]) - 1


def dot_path(params: Params, q: int, p: int, bytes_per_flop: float) -> Path:
    """Return the path of the scalar product: one sum, sent to the first rank and back by a binomial tree.

    The longest way down the tree leaves a node floor(log2 p) times.
    """
    crossing = p.bit_length() if p > 1 else 0
    staying = 1 + (q * p - 1).bit_length() - crossing if q * p > 1 else 0
    numbers = Route(crossing, crossing, staying, staying).path(DOUBLE_BYTES)
    return _evenly(dot_operations(params), q, p, bytes_per_flop) + numbers


def summa_operations(params: Params) -> float:
    """Return #op of the matrix product, 2 n^3."""
    return 2.0 * int(params["n"]) ** 3


def summa_path(params: Params, q: int, p: int, bytes_per_flop: float) -> Path:
    """Return the path of SUMMA: for every panel two broadcasts, as their roots send them, and a product."""
    n, ranks = int(params["n"]), q * p
    rows = int(params["grid_rows"]) or square_rows(ranks)
    columns = ranks // rows
    height, width = math.ceil(n / rows), math.ceil(n / columns)
    # A panel ends where the part of a column of ranks ends.
    panels = min(columns, n) * math.ceil(width / min(int(params["nb"]), n))
    across = _broadcasts(Lines(columns, 1, q, p), DOUBLE_BYTES * height * n / panels, panels)
    down = _broadcasts(Lines(rows, columns, q, p), DOUBLE_BYTES * width * n / panels, panels)
    operations = 2.0 * n * height * width
    return across + down + Path(operations=operations, memory_bytes=bytes_per_flop * q * operations)


def _broadcasts(lines: Lines, size_bytes: float, times: int) -> Path:
    route = lines.broadcast() if size_bytes >= LARGE_BYTES else lines.buffered_broadcast()
    return route.path(size_bytes, times)


def fft_operations(params: Params) -> float:
    """Return #op of the transform of N points, 5 N log2 N."""
    n = int(params["n"])
    return 5.0 * n * math.log2(n)


def fft_path(params: Params, q: int, p: int, bytes_per_flop: float) -> Path:
    """Return the path of the six-step FFT: three all-to-alls, with transforms of all points between them."""
    n, ranks = int(params["n"]), q * p
    exchange = all_to_all(COMPLEX_BYTES * n / ranks**2, q, p)
    return _evenly(fft_operations(params), q, p, bytes_per_flop) + exchange * _ALL_TO_ALLS


def all_to_all(block_bytes: float, q: int, p: int) -> Path:
    """Return the path of an all-to-all of blocks of this size, by the algorithm that SMPI chooses for them."""
    ranks = q * p
    if ranks == 1:
        return Path()
    chosen = all_to_all_algorithm(ranks, block_bytes)
    if chosen == "linear":  # all messages at once: those within a node are over before the others
        inside = q * (q - 1.0)
        return (Route(staying=1, beside=inside) if p == 1 else Route(1, q * (ranks - q), 0, inside)).path(block_bytes)
    if chosen == "pairwise":  # with the rank whose number differs in the bits of 1, 2 ...
        return Route(ranks - q, q * (ranks - q), q - 1, q * (q - 1)).path(block_bytes)
    found, reach = Path(), 1  # Bruck: half of the blocks to the rank 1, 2, 4 ... further on
    while reach < ranks:
        blocks = sum(1 for distance in range(1, ranks) if distance & reach)
        across = min(q, reach)
        route = Route(1, across, 0, q - across) if p > 1 else Route(staying=1, beside=q)
        found += route.path(block_bytes * blocks)
        reach *= 2
    return found
