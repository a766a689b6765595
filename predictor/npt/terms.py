"""Terms of the estimation equations: a function of the size N times a function of the number of processes P.

Ichikawa, Takahashi, Kawai, Table V.  Logarithms are natural; their base affects the coefficients, but not the times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from platforms.errors import UserError

Function = Callable[[np.ndarray], np.ndarray]

REFERENCE = "T"  # in a P-T model: T_i(N)|P,M_i, the time by an N-T model

SIZES: Mapping[str, Function] = {
    "1": np.ones_like,
    "N": lambda N: N,
    "N^2": lambda N: N**2,
    "N^3": lambda N: N**3,
    "N log N": lambda N: N * np.log(N),
    "N^(1/3)": np.cbrt,
    "N^(4/3)": lambda N: N * np.cbrt(N),
}
RANKS: Mapping[str, Function] = {
    "1": np.ones_like,
    "P": lambda P: P,
    "1/P": lambda P: 1 / P,
    "P^(-1/2)": lambda P: P ** (-1 / 2),
    "P^(-2/3)": lambda P: P ** (-2 / 3),
    "sqrt P": np.sqrt,
    "log P": np.log,
}


@dataclass(frozen=True)
class Term:
    """One column of a fit."""

    size: str  # a name of SIZES, or REFERENCE
    ranks: str  # a name of RANKS

    @property
    def name(self) -> str:
        """Name as in Table V, such as "N^3/P", "P N^2", "log P", "T/P"."""
        if self.ranks == "1":
            return self.size
        if self.ranks == "1/P":
            return f"{self.size}/P"
        if self.ranks.startswith("P^(-"):
            return f"{self.size}/P^({self.ranks.removeprefix('P^(-')}"
        return self.ranks if self.size == "1" else f"{self.ranks} {self.size}"

    def __str__(self) -> str:
        return self.name


TERMS: Mapping[str, Term] = {
    term.name: term for term in (Term(size, ranks) for size in (*SIZES, REFERENCE) for ranks in RANKS)
}


def terms(*names: str) -> tuple[Term, ...]:
    """Return the terms with these names.

    Raises:
        UserError: A name is not known.

    >>> [(term.size, term.ranks) for term in terms("N^3/P", "P N^2", "log P")]
    [('N^3', '1/P'), ('N^2', 'P'), ('1', 'log P')]
    """
    for name in names:
        if name not in TERMS:
            raise UserError(f"term {name!r}", "no such term", f"Known: {', '.join(TERMS)}")
    return tuple(TERMS[name] for name in names)


def without(form: tuple[Term, ...], dropped: frozenset[str]) -> tuple[Term, ...]:
    """Return the form without the terms of some names (section 5.7).

    Raises:
        UserError: The form has no such term, or no term is left.
    """
    names = [term.name for term in form]
    for name in sorted(dropped):
        if name not in names:
            raise UserError(f"term {name!r}", "not in this model", f"It has {', '.join(names)}")
    left = tuple(term for term in form if term.name not in dropped)
    if not left:
        raise UserError("terms", "none is left", "Drop fewer")
    return left


def size_part(form: tuple[Term, ...], sizes: np.ndarray) -> np.ndarray:
    """Return the functions of N, terms x sizes, with 1 for a reference time, which depends on more than N."""
    N = np.asarray(sizes, float)
    return np.stack([SIZES["1" if term.size == REFERENCE else term.size](N) for term in form])


def ranks_part(form: tuple[Term, ...], ranks: np.ndarray) -> np.ndarray:
    """Return the functions of P >= 1, terms x numbers of processes."""
    P = np.asarray(ranks, float)
    return np.stack([RANKS[term.ranks](P) for term in form])


def columns(
    form: tuple[Term, ...], sizes: np.ndarray, ranks: np.ndarray, reference_s: np.ndarray | None = None
) -> np.ndarray:
    """Return the design matrix of measurements at sizes N on P processes, measurements x terms.

    Args:
        form: The terms.
        sizes: N of each measurement.
        ranks: P of each measurement.
        reference_s: Reference time of each measurement, s, for P-T models.
    """
    design: np.ndarray = size_part(form, sizes) * ranks_part(form, ranks)
    if reference_s is not None:
        for row, term in zip(design, form, strict=True):
            if term.size == REFERENCE:
                row *= reference_s
    return design.T


@dataclass(frozen=True)
class Equations:
    """Terms of T_i: the row of a benchmark in Table V, without coefficients."""

    nt: tuple[Term, ...]  # in N, for one P and M_i (eq. (2))
    pt: tuple[Term, ...]  # in P and the time T of an N-T model (eq. (3))
    npt: tuple[Term, ...]  # in N and P (eq. (4))
    beside_exchanges: tuple[Term, ...] = ()  # in N and P, of a program that exchanges everything (curves.py)

    def __post_init__(self) -> None:
        for name, form in (("N-T", self.nt), ("P-T", self.pt), ("NP-T", self.npt)):
            if not form or len(set(form)) < len(form):
                raise UserError(f"{name} equation", "no terms, or one twice", "Give each term once")
        if any(term.ranks != "1" for term in self.nt):
            raise UserError("N-T equation", "it depends on P", "Give terms in N alone")
        if any(term.size == REFERENCE for term in (*self.nt, *self.npt, *self.beside_exchanges)):
            raise UserError("N-T or NP-T equation", f"it has {REFERENCE}, a time", "Only P-T equations may")
