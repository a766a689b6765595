"""Estimation equations of a program: the terms of its time, without their coefficients."""

from __future__ import annotations

from dataclasses import dataclass

from platforms.errors import UserError
from predictor.npt.terms import REFERENCE, Term


@dataclass(frozen=True)
class Equations:
    """Terms of T_i: the row of a benchmark in Table V, without coefficients."""

    nt: tuple[Term, ...]  # in N, for one P and M_i (eq. (2))
    pt: tuple[Term, ...]  # in P and the time T of an N-T model (eq. (3))
    npt: tuple[Term, ...]  # in N and P (eq. (4))
    beside_exchanges: tuple[Term, ...] = ()  # in N and P, of a program that exchanges everything (exchanges.py)

    def __post_init__(self) -> None:
        for name, form in (("N-T", self.nt), ("P-T", self.pt), ("NP-T", self.npt)):
            if not form or len(set(form)) < len(form):
                raise UserError(f"{name} equation", "no terms, or one twice", "Give each term once")
        if any(term.ranks != "1" for term in self.nt):
            raise UserError("N-T equation", "it depends on P", "Give terms in N alone")
        if any(term.size == REFERENCE for term in (*self.nt, *self.npt, *self.beside_exchanges)):
            raise UserError("N-T or NP-T equation", f"it has {REFERENCE}, a time", "Only P-T equations may")
