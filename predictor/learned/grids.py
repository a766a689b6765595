"""Grids of ranks: their sides by the number of ranks, and the coordinates of a rank in row-major order."""

import math
from collections.abc import Callable, Collection, Iterator
from functools import cache
from itertools import product

import numpy as np

Sides = tuple[int, ...]


def _divisions(nranks: int, axes: int, most: int) -> Iterator[Sides]:
    """Yield the descending sides whose product is ``nranks``."""
    if axes == 1:
        if nranks <= most:
            yield (nranks,)
        return
    for side in range(min(nranks, most), 0, -1):
        if nranks % side == 0:
            for rest in _divisions(nranks // side, axes - 1, side):
                yield (side, *rest)


@cache
def most_cubic(nranks: int, axes: int) -> Sides:
    """Return the sides of the most cubic grid, descending, as MPI_Dims_create gives them.

    >>> most_cubic(12, 2), most_cubic(24, 3), most_cubic(7, 2)
    ((4, 3), (4, 3, 2), (7, 1))
    """
    return min(_divisions(nranks, axes, nranks), key=lambda sides: (sides[0] - sides[-1], sides))


@cache
def as_in_smpi(nranks: int, axes: int) -> Sides:
    """Return the sides, descending, of MPI_Dims_create in SMPI, which takes the square of an odd prime for a prime.

    The factors, the largest first, go to the smallest side.

    >>> as_in_smpi(18, 2), as_in_smpi(36, 3), as_in_smpi(27, 3), as_in_smpi(75, 2)
    ((9, 2), (9, 2, 2), (3, 3, 3), (25, 3))
    """
    sides = [1] * axes
    for factor in reversed(_factors(nranks)):
        sides[sides.index(min(sides))] *= factor
    return tuple(sorted(sides, reverse=True))


@cache
def of_least_surface(nranks: int) -> Sides:
    """Return the sides along z, y and x that HPCG 3.1 chooses: those of the least surface, tried by prime factors.

    Up to three prime factors are the sides along x, y and z, those that are repeated last.

    >>> of_least_surface(12), of_least_surface(32), of_least_surface(18), of_least_surface(108), of_least_surface(24)
    ((2, 3, 2), (2, 4, 4), (3, 3, 2), (6, 6, 3), (3, 4, 2))
    """
    factors = _factors(nranks, of_squares=True)
    primes = list(dict.fromkeys(factors))
    if len(primes) == 1:
        each, more = divmod(len(factors), 3)
        return tuple(primes[0] ** (each + (axis < more)) for axis in (2, 1, 0))
    if len(factors) <= 3:
        repeated = list(factors)
        for prime in primes:
            repeated.remove(prime)
        x, y, z = (*primes, *repeated, 1)[:3]
        return z, y, x
    choices = [(x, y, nranks // (x * y)) for x in _parts(nranks, primes) for y in _parts(nranks // x, primes)]
    x, y, z = min(choices, key=lambda sides: sides[0] * sides[1] + sides[1] * sides[2] + sides[0] * sides[2])
    return z, y, x


def _parts(number: int, primes: Collection[int]) -> Iterator[int]:
    """Yield the divisors from 2 on, counted by how often they have each prime, the smallest prime the fastest."""
    powers = [[p**k for k in range(number.bit_length()) if number % p**k == 0] for p in primes]
    yield from (math.prod(some) for some in product(*reversed(powers)) if math.prod(some) > 1)


def _factors(number: int, *, of_squares: bool = False) -> list[int]:
    """Return the prime factors, ascending; the square of an odd prime is one but with ``of_squares``."""
    factors = []
    while number % 2 == 0:
        factors.append(2)
        number //= 2
    divisor = 3
    while divisor * divisor < number + of_squares:  # not at the square itself
        while number % divisor == 0:
            factors.append(divisor)
            number //= divisor
        divisor += 2
    return [*factors, number] if number > 1 else factors


# Sides by rule, the slowest axis first.
GRIDS: dict[str, Callable[[int], Sides]] = {
    "line": lambda nranks: (nranks,),
    "2-D, long side slow": lambda nranks: most_cubic(nranks, 2),
    "2-D, long side fast": lambda nranks: most_cubic(nranks, 2)[::-1],
    "3-D, long side slow": lambda nranks: most_cubic(nranks, 3),
    "3-D, long side fast": lambda nranks: most_cubic(nranks, 3)[::-1],
    "2-D, as MPI_Dims_create of SMPI": lambda nranks: as_in_smpi(nranks, 2),
    "3-D, as MPI_Dims_create of SMPI": lambda nranks: as_in_smpi(nranks, 3),
    "3-D, of least surface": of_least_surface,
}


def rivals(grid: str, seen: Collection[int]) -> list[str]:
    """Return the other rules that give the same sides on these numbers of ranks."""
    rule = GRIDS[grid]
    return [name for name, other in GRIDS.items() if name != grid and all(other(n) == rule(n) for n in seen)]


def coordinates(sides: Sides, ranks: np.ndarray) -> np.ndarray:
    """Return the coordinates of ranks, axes x ranks."""
    return np.array(np.unravel_index(ranks, sides))
