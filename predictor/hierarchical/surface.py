"""Efficiency and speed-up of one problem on one machine as functions of q and p: the model with its numbers put in."""

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
    """factor q^cores p^nodes log2(p)^logs, with ``logs`` 0 or 1."""

    factor: float
    cores: float = 0.0
    nodes: float = 0.0
    logs: int = 0

    def __call__(self, q: npt.ArrayLike, p: npt.ArrayLike) -> Floats:
        value = self.factor * np.asarray(q, float) ** self.cores * np.asarray(p, float) ** self.nodes
        return value * np.log2(np.asarray(p, float)) if self.logs else value


@dataclass(frozen=True)
class Terms:
    """A sum of terms."""

    terms: tuple[Term, ...]

    def __call__(self, q: npt.ArrayLike, p: npt.ArrayLike) -> Floats:
        return sum((term(q, p) for term in self.terms), 0.0 * np.asarray(q, float) * np.asarray(p, float))


def terms_of(polynomial: Polynomial, n: float | None = None) -> Terms:
    """A polynomial in q, p, log2(p) and n as numbers; terms that differ in their dependence on n are added up."""
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
    """Over the time that its operations take on the q p cores, a run takes 1 + memory + network, or, where memory is
    used while cores compute, max(1, memory) + network: that is 1 / eta."""

    memory: Terms  # q / x, or what the paper prints
    network: Terms | Callable[[npt.ArrayLike, npt.ArrayLike], Floats]  # F / (v r x) of eq. (5)
    overlap: bool = False  # s(z) = min(1, z) instead of z / (1 + z)
    source: str = field(default="", compare=False)  # of the equation, for a reader

    def efficiency(self, q: npt.ArrayLike, p: npt.ArrayLike) -> Floats:
        """eta(q, p), of numbers or arrays, which are broadcast."""
        memory = self.memory(q, p)
        node: Floats = np.maximum(1.0, memory) if self.overlap else 1.0 + memory
        eta: Floats = 1.0 / (node + self.network(q, p))
        return eta

    def speedup(self, q: npt.ArrayLike, p: npt.ArrayLike) -> Floats:
        """S(q, p) = q p eta(q, p)."""
        cores: Floats = np.asarray(q, float) * np.asarray(p, float)
        return cores * self.efficiency(q, p)


def general(x: float, v: float, *, c: float, d: str, beta: Polynomial, printed: bool, overlap: bool = False) -> Surface:
    """The surface of eq. (5) for r(x, p) = c(x) / d(p), with the value c(x) and d a name of DISTANCES.

    ``beta``: beta(q, p).  ``printed``: with the factor q^2 p / beta(q, p).  Raises UserError for another d.
    """
    factor = Polynomial.symbol("q", 2 if printed else 1) * Polynomial.symbol("p") / beta
    scaled = (replace(term, factor=term.factor / (v * c * x)) for term in terms_of(factor * distance(d)).terms)
    return Surface(Terms((Term(1 / x, cores=1),)), Terms(tuple(scaled)), overlap)


# d(p) of r(x, p) = c(x) / d(p): the paper's cases of interest, each times a constant that c(x) holds here.
DISTANCES: dict[str, Polynomial] = {
    "p": Polynomial.symbol("p"),
    "sqrt(p)": Polynomial.symbol("p", Fraction(1, 2)),
    "log2(p)": Polynomial.symbol("log2(p)"),
}


def distance(d: str) -> Polynomial:
    """d(p) by its name; raises UserError with the known ones."""
    if d not in DISTANCES:
        raise UserError(f"d(p) = {d}", "no such choice", f"Known: {', '.join(DISTANCES)}")
    return DISTANCES[d]
