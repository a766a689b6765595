"""Efficiency and speed-up of one problem on one machine as functions of q and p."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from platforms.errors import UserError
from predictor.hierarchical.polynomial import Polynomial

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Term:
    """The term factor q^cores p^nodes log2(p)^logs, with ``logs`` 0 or 1."""

    factor: float
    cores: float = 0.0
    nodes: float = 0.0
    logs: int = 0

    def __call__(self, q: npt.ArrayLike, p: npt.ArrayLike) -> Floats:
        """Return the value for q and p, numbers or arrays."""
        value = self.factor * np.asarray(q, float) ** self.cores * np.asarray(p, float) ** self.nodes
        return value * np.log2(np.asarray(p, float)) if self.logs else value


@dataclass(frozen=True)
class Terms:
    """A sum of terms."""

    terms: tuple[Term, ...]

    def __call__(self, q: npt.ArrayLike, p: npt.ArrayLike) -> Floats:
        """Return the value for q and p, numbers or arrays."""
        return sum((term(q, p) for term in self.terms), 0.0 * np.asarray(q, float) * np.asarray(p, float))


def terms_of(polynomial: Polynomial, n: float | None = None) -> Terms:
    """Convert a polynomial in q, p, log2(p) and n to numbers; terms that differ only in powers of n are added."""
    total: dict[tuple[float, float, int], float] = {}
    known = {} if n is None else {"n": n}
    for powers, coefficient in sorted(polynomial.terms):  # a sum of floats depends on its order
        exponents = dict(powers)
        place = (float(exponents.pop("q", 0)), float(exponents.pop("p", 0)), int(exponents.pop("log2(p)", 0)))
        rest = Polynomial.of({tuple(exponents.items()): coefficient})
        total[place] = total.get(place, 0.0) + float(rest.evaluate(**known))
    return Terms(tuple(Term(factor, *place) for place, factor in sorted(total.items())))


@dataclass(frozen=True)
class Surface:
    """Efficiency eta and speed-up as functions of q and p.

    1 / eta is the time of a run divided by the time that its operations take on the q p cores.  It is
    1 + memory + network, or max(1, memory) + network where memory is used while cores compute.
    """

    memory: Terms | Callable[[npt.ArrayLike, npt.ArrayLike], Floats]  # q / x, or the printed term
    network: Terms | Callable[[npt.ArrayLike, npt.ArrayLike], Floats]  # F / (v r x) of eq. (5)
    overlap: bool = False  # True: s(z) = min(1, z) instead of z / (1 + z)
    source: str = field(default="", compare=False)  # description of the equation

    def efficiency(self, q: npt.ArrayLike, p: npt.ArrayLike) -> Floats:
        """Return eta(q, p) for numbers or arrays, which are broadcast."""
        memory = self.memory(q, p)
        node: Floats = np.maximum(1.0, memory) if self.overlap else 1.0 + memory
        eta: Floats = 1.0 / (node + self.network(q, p))
        return eta

    def speedup(self, q: npt.ArrayLike, p: npt.ArrayLike) -> Floats:
        """Return S(q, p) = q p eta(q, p)."""
        cores: Floats = np.asarray(q, float) * np.asarray(p, float)
        return cores * self.efficiency(q, p)


def general(x: float, v: float, *, c: float, d: str, beta: Polynomial, printed: bool, overlap: bool = False) -> Surface:
    """Return the surface of eq. (5) for r(x, p) = c(x) / d(p).

    Args:
        x: Operational intensity relative to the machine's.
        v: b_cl / b_m.
        c: The value c(x).
        d: Name of d(p), of DISTANCES.
        beta: beta(q, p).
        printed: True: use the printed factor q^2 p / beta(q, p).
        overlap: True: s(z) = min(1, z).

    Raises:
        UserError: ``d`` is not known.
    """
    factor = Polynomial.symbol("q", 2 if printed else 1) * Polynomial.symbol("p") / beta
    scaled = (replace(term, factor=term.factor / (v * c * x)) for term in terms_of(factor * distance(d)).terms)
    return Surface(Terms((Term(1 / x, cores=1),)), Terms(tuple(scaled)), overlap)


# The paper's cases of d(p) in r(x, p) = c(x) / d(p); constant factors of d(p) belong to c(x) here.
DISTANCES: dict[str, Polynomial] = {
    "p": Polynomial.symbol("p"),
    "sqrt(p)": Polynomial.symbol("p", Fraction(1, 2)),
    "log2(p)": Polynomial.symbol("log2(p)"),
}


def distance(d: str) -> Polynomial:
    """Return d(p) by its name.

    Raises:
        UserError: The name is not known.
    """
    if d not in DISTANCES:
        raise UserError(f"d(p) = {d}", "no such choice", f"Known: {', '.join(DISTANCES)}")
    return DISTANCES[d]
