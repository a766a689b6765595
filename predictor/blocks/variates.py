"""Random variates of application descriptions, which are functions of a seed and of keys.

The same seed and keys give the same value in every evaluation, in whatever order the processes are evaluated, and in a
simulation.  So a description says by its keys which values differ: ``normal(index, k)`` differs for each process and
each turn k.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from statistics import NormalDist

_BITS = 53  # of a float's mantissa
_STANDARD = NormalDist()


def _uniform(seed: float, keys: tuple[float, ...]) -> float:
    """Return a value between 0 and 1, both excluded, from a hash of the seed and the keys."""
    exact = [int(value) if value == int(value) else float(value) for value in (seed, *keys)]  # 1, 1.0 and True agree
    digest = hashlib.blake2b(repr(exact).encode(), digest_size=8).digest()
    return ((int.from_bytes(digest, "little") >> (64 - _BITS)) + 0.5) / 2.0**_BITS


def _normal(seed: float, keys: tuple[float, ...]) -> float:
    return _STANDARD.inv_cdf(_uniform(seed, keys))


def _exponential(seed: float, keys: tuple[float, ...]) -> float:
    return -math.log(_uniform(seed, keys))


VARIATES: Mapping[str, Callable[[float, tuple[float, ...]], float]] = {
    "random": _uniform,  # uniform between 0 and 1
    "normal": _normal,  # mean 0, standard deviation 1
    "exponential": _exponential,  # mean 1
}
