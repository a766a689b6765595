"""Which numbers of ranks a benchmark's own rule allows for a size N: by name, as a kernel.toml gives it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

RankRule = Callable[[Mapping, int | None, int], bool]  # (parameters, N, ranks)


def _any(params: Mapping, size: int | None, nranks: int) -> bool:
    return True


def _divisor(params: Mapping, size: int, nranks: int) -> bool:
    """N must be a multiple of P: the FEM benchmark (Ichikawa, Takahashi, Kawai, section 5.2)."""
    return size % nranks == 0


def _power_of_two_whose_square_divides(params: Mapping, size: int, nranks: int) -> bool:
    """N must be a multiple of P^2, and both powers of two: FFTE (ibid., section 5.4)."""
    powers = size & (size - 1) == 0 and nranks & (nranks - 1) == 0
    return powers and size % nranks**2 == 0


def _multiple_of_grid_rows(params: Mapping, size: int, nranks: int) -> bool:
    """Ranks form a grid of so many rows, 0 or 1: a single one (HPL)."""
    return nranks % max(1, params["grid_rows"]) == 0


RANK_RULES: dict[str, RankRule] = {
    "any": _any,
    "divisor": _divisor,
    "grid-rows": _multiple_of_grid_rows,
    "power-of-two": _power_of_two_whose_square_divides,
}
