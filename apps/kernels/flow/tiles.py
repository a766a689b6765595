"""Multipartitioning, as in apps/kernels/flow/tiles.c: more tiles than ranks, equally many of each rank in every layer.

On a square number q^2 of ranks the cube is cut into q^3 tiles (Bruno and Cappello; NAS-95-020); on other numbers as in
Darte, Chavarria-Miranda, Fowler and Mellor-Crummey, "Generalized multipartitioning for multi-dimensional arrays", 2002.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod

import numpy as np
import numpy.typing as npt

from apps.traffic.split import split_count, split_start

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Cut:
    """The tiles of a cube for a number of ranks: tile (x, y, z) belongs to the rank r0 + modulus[0] r1.

    ``ri`` is the product of the place and ``weight[i]`` modulo ``modulus[i]``.
    """

    cuts: tuple[int, int, int]  # tiles along each axis
    modulus: tuple[int, int]
    weight: tuple[tuple[int, ...], tuple[int, ...]]

    @property
    def nranks(self) -> int:
        """The number of ranks."""
        return self.modulus[0] * self.modulus[1]

    @cached_property
    def place(self) -> Ints:
        """The places of all tiles: 3 x tiles."""
        return np.indices(self.cuts).reshape(3, -1)

    @cached_property
    def rank(self) -> Ints:
        """The rank of every tile."""
        return self._joined([np.array(weight) @ self.place for weight in self.weight])

    def neighbour(self, axis: int, ahead: bool) -> Ints:
        """Return for every rank the rank of the next tiles along an axis, or of those before."""
        ranks, way = np.arange(self.nranks), 1 if ahead else -1
        parts = (ranks % self.modulus[0], ranks // self.modulus[0])
        return self._joined([part + way * weight[axis] for part, weight in zip(parts, self.weight, strict=True)])

    def _joined(self, parts: list[Ints]) -> Ints:
        first, second = (part % modulus for part, modulus in zip(parts, self.modulus, strict=True))
        joined: Ints = first + self.modulus[0] * second
        return joined

    def points(self, n: int) -> Ints:
        """Return the points of every tile along each axis: 3 x tiles."""
        return np.array([split_count(n, cuts, self.place[axis]) for axis, cuts in enumerate(self.cuts)])

    def unknowns(self, n: int) -> Ints:
        """Return the points of every tile that are not on the boundary of the cube, along each axis: 3 x tiles."""
        points = self.points(n)
        starts = np.array([split_start(n, cuts, self.place[axis]) for axis, cuts in enumerate(self.cuts)])
        inner: Ints = points - (starts == 0) - (starts + points == n)
        return inner


def cut_for(nranks: int) -> Cut:
    """Return the cut with the fewest tiles along the axes, in sum, of those below.

    Each prime factor of the number of ranks cuts the three axes as evenly as it can.

    Four ranks have eight tiles, two each, on opposite corners; six need 36, six each:

    >>> cut_for(4).cuts, cut_for(6).cuts
    ((2, 2, 2), (6, 3, 2))
    """
    square, odd = _factors(nranks)
    # A prime with an odd exponent cuts two axes once more than the third, which it spares.
    choices = product((2, 1, 0), repeat=len(odd))  # of the axes that are spared, the last prime's fastest
    ordered = (choice[::-1] for choice in choices)
    spared = min(ordered, key=lambda choice: sum(_cuts(square, odd, choice)))
    modulus = (nranks // square, square)
    weight = tuple(tuple(_weight(part, axis, modulus[part], odd, spared) for axis in range(3)) for part in range(2))
    return Cut(_cuts(square, odd, spared), modulus, (weight[0], weight[1]))


def _factors(nranks: int) -> tuple[int, list[int]]:
    """Return s and different primes, ascending, whose product times s^2 is the number of ranks."""
    square, odd, divisor = 1, [], 2
    while nranks > 1:
        if divisor * divisor > nranks:
            divisor = nranks
        power = 0
        while nranks % divisor == 0:
            nranks, power = nranks // divisor, power + 1
        square *= divisor ** (power // 2)
        odd += [divisor] * (power % 2)
        divisor += 1
    return square, odd


def _cuts(square: int, odd: list[int], spared: tuple[int, ...]) -> tuple[int, int, int]:
    x, y, z = (
        square * prod(prime for prime, axis in zip(odd, spared, strict=True) if axis != own_axis)
        for own_axis in range(3)
    )
    return x, y, z


_SQUARE_WEIGHTS = ((1, 0, -1), (0, 1, 1))  # of a square number of ranks


def _weight(part: int, axis: int, modulus: int, odd: list[int], spared: tuple[int, ...]) -> int:
    """Return the weight of an axis modulo ``modulus``, from its remainders modulo prime powers."""
    powers = [_power(modulus, prime) for prime in odd]
    rest = modulus // int(np.prod(powers, dtype=np.int64))
    weight = _SQUARE_WEIGHTS[part][axis] % rest
    for power, left in zip(powers, spared, strict=True):
        wanted = int(axis != left) if part == 0 else int(axis != (1 if left == 0 else 0))
        while weight % power != wanted % power:
            weight += rest
        rest *= power
    return weight


def _power(number: int, prime: int) -> int:
    """Return the largest power of a prime that divides a number."""
    power = 1
    while number % prime == 0:
        number, power = number // prime, power * prime
    return power
