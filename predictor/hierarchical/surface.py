"""Efficiency and speed-up of one problem on one machine as functions of q and p, and their optima.

The best q for given p and the best p for given q: closed forms where they exist, otherwise the reason why not.

Derived (docs/predictors/hierarchical.md): 1 / eta = 1 + q / x + N(q, p).  With N = g q^2, as for
beta(q, p) = beta_1(p) / q, q_E^2 = 1 / g = beta_1(p) v r x / p.  With N = G(p), p_E solves p G' - G = 1 + q / x.  For
s(z) = min(1, z), q_E is at most x, and the right-hand side is max(1, q / x).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from platforms.errors import UserError
from predictor.hierarchical.polynomial import Polynomial

Floats = npt.NDArray[np.float64]
# The paper's cases of d(p) in r(x, p) = c(x) / d(p); constant factors of d(p) belong to c(x) here.
DISTANCES: dict[str, Polynomial] = {
    "p": Polynomial.symbol("p"),
    "sqrt(p)": Polynomial.symbol("p", Fraction(1, 2)),
    "log2(p)": Polynomial.symbol("log2(p)"),
}
_LN2 = math.log(2)
_MOST = 1e15  # cores or nodes; a larger optimum counts as none
GROWS = "no interior optimum: the speed-up grows without bound"
SATURATES = "no interior optimum: the speed-up grows towards a limit"
FLAT = "no interior optimum: the speed-up grows up to q = x and stays there"
FIRST_OF = {"q": "no interior optimum: one core per node is best", "p": "no interior optimum: one node is best"}
NO_FORM = "no closed form: the exchange is not a sum of powers of p"
# The printed formulas of the optima: q_E for every beta_1(p); p_E for every beta_1(p), for a constant beta_1, and in
# the table for three d(p).  The formula for a constant beta_1 and the table have x where the general formula for p_E
# has x + q (docs/predictors/hierarchical.md).
PRINTED_CORES = "q_E^3 = beta_1 v r x / (2 p)"
PRINTED_NODES = "p_E^2 (1 / (beta_1 r))' = v (x + q) / q^3"
PRINTED_NODES_CONSTANT = "p_E^2 d' = (beta_0 / q^2) w(x)"
PRINTED_TABLE = {
    "p": "p_E = W^(1/2), W = (beta_0 / q^2) w(x)",
    "sqrt(p)": "p_E = (2 W)^(3/2), W = (beta_0 / q^2) w(x)",
    "log2(p)": "p_E = W ln 2, W = (beta_0 / q^2) w(x)",
}


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


def distance(d: str) -> Polynomial:
    """Return d(p) by its name.

    Raises:
        UserError: The name is not known.
    """
    if d not in DISTANCES:
        raise UserError(f"d(p) = {d}", "no such choice", f"Known: {', '.join(DISTANCES)}")
    return DISTANCES[d]


@dataclass(frozen=True)
class Optimum:
    """The number of cores or nodes with the largest speed-up, or the reason why there is none above one."""

    value: float | None  # > 1; None: there is no optimum
    why: str = ""  # why there is no optimum
    formula: str = ""  # the paper's formula that was used; empty: the maximum of the surface itself

    @property
    def interior(self) -> bool:
        """True if there is an optimum."""
        return self.value is not None


def cores_optimum(surface: Surface, p: float) -> Optimum:
    """Return q_E for p nodes."""
    if not (isinstance(surface.network, Terms) and isinstance(surface.memory, Terms)):
        return Optimum(None, NO_FORM)
    (memory,) = surface.memory.terms or (Term(0.0, cores=1),)  # c q; c = 1 / x in the derived variant
    per_core = float(Term(memory.factor, 0, memory.nodes)(1, p))
    exponents = {term.cores for term in surface.network.terms}
    if len(exponents) > 1:
        return Optimum(None, NO_FORM)
    exponent = exponents.pop() if exponents else 1.0
    factor = float(sum(float(term(1, p)) for term in surface.network.terms))
    if factor <= 0 or exponent <= 1:
        if not surface.overlap:
            return Optimum(None, SATURATES if per_core > 0 or factor > 0 else GROWS)
        return Optimum(None, FLAT if per_core > 0 else SATURATES if factor > 0 else GROWS)
    # q / (1 + c q + g q^e) is largest where 1 = (e - 1) g q^e; with max(1, c q) it always falls beyond c q = 1.
    q = (1 / (factor * (exponent - 1))) ** (1 / exponent)
    if surface.overlap and per_core > 0:
        q = min(q, 1 / per_core)
    return within(q, "q")


def nodes_optimum(surface: Surface, q: float) -> Optimum:
    """Return p_E for q cores per node."""
    if not (isinstance(surface.network, Terms) and isinstance(surface.memory, Terms)):
        return Optimum(None, NO_FORM)
    if any(term.nodes for term in surface.memory.terms):
        return Optimum(None, NO_FORM)
    memory = float(surface.memory(q, 1))
    node = max(1.0, memory) if surface.overlap else 1.0 + memory
    terms = [Term(float(term.factor) * q**term.cores, 0, term.nodes, term.logs) for term in surface.network.terms]
    return nodes_of(terms, node)


def nodes_of(terms: Sequence[Term], right: float) -> Optimum:
    """Return the p > 1 at which p / (right + G) is largest, where G is the sum of the terms: p G' - G = right.

    The solution has a closed form where p G' - G is a single power of p: G is a power of p, or p log2(p), to which a
    term in p alone adds nothing.  Otherwise it is found by bisection, where p G' - G grows with p.
    """
    slopes = _slopes(terms)
    if not slopes:
        return Optimum(None, SATURATES if any(term.nodes == 1 for term in terms) else GROWS)
    if not all(factor > 0 and (power > 0 or (power == 0 and logs)) for factor, power, logs in slopes):
        return Optimum(None, GROWS if all(term.nodes < 1 for term in terms) else NO_FORM)
    if len(slopes) == 1 and not slopes[0][2]:
        factor, power, _ = slopes[0]
        return within((right / factor) ** (1 / power), "p")
    return within(_crossing(lambda p: sum(f * p**k * math.log2(p) ** j for f, k, j in slopes), right), "p")


def _slopes(terms: Sequence[Term]) -> list[tuple[float, float, int]]:
    """Return p G' - G as (factor, power, logs).

    For c p^k it is c (k - 1) p^k; for c p^k log2(p) it is c (k - 1) p^k log2(p) + c p^k / ln 2.
    """
    total: dict[tuple[float, int], float] = {}
    for term in terms:
        parts = [((term.nodes, term.logs), term.factor * (term.nodes - 1))]
        if term.logs:
            parts.append(((term.nodes, 0), term.factor / _LN2))
        for place, factor in parts:
            total[place] = total.get(place, 0.0) + factor
    return [(factor, *place) for place, factor in total.items() if factor]


def _crossing(rising: Callable[[float], float], value: float) -> float:
    low, high = 1.0, 2.0
    if rising(low) >= value:
        return 1.0
    while rising(high) < value and high < _MOST:
        low, high = high, 2 * high
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if rising(middle) < value else (low, middle)
    return high


def within(value: float, symbol: str) -> Optimum:
    """Return the optimum at a stationary point before which the speed-up rises and after which it falls."""
    if value <= 1:
        return Optimum(None, FIRST_OF[symbol])
    return Optimum(value) if value < _MOST else Optimum(None, GROWS)


def printed_cores(beta_1: float, v: float, r: float, x: float, p: float) -> float:
    """Return q_E as printed: (beta_1(p) v r x / (2 p))^(1/3)."""
    q_E: float = (beta_1 * v * r * x / (2 * p)) ** (1 / 3)
    return q_E


def printed_nodes(d: str, *, beta_0: float, v: float, x: float, c: float, q: float) -> float:
    """Return p_E of the table for d(p) = p, sqrt(p) or log2(p), with W = beta_0 / q^2 w(x), w(x) = v (x / q) c(x)."""
    W: float = beta_0 / q**2 * (v * x / q * c)
    p_E: dict[str, float] = {"p": math.sqrt(W), "sqrt(p)": (2 * W) ** 1.5, "log2(p)": W * _LN2}
    return p_E[d]
