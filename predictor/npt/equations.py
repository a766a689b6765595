"""The estimation equations of a benchmark: what its time is made of, coefficients left out."""

from __future__ import annotations

from dataclasses import dataclass

from platforms.errors import UserError
from predictor.npt.terms import REFERENCE, Term


@dataclass(frozen=True)
class Equations:
    """What T_i is made of: the row of a benchmark in Table V, coefficients left out.

    ``nt``: in N, for one P and M_i (eq. (2)).  ``pt``: in P and the time T that an N-T model gives (eq. (3)).
    ``npt``: in N and P (eq. (4)).
    """

    nt: tuple[Term, ...]
    pt: tuple[Term, ...]
    npt: tuple[Term, ...]

    def __post_init__(self) -> None:
        for name, form in (("N-T", self.nt), ("P-T", self.pt), ("NP-T", self.npt)):
            if not form or len(set(form)) < len(form):
                raise UserError(f"{name} equation", "no terms, or one twice", "Give each term once")
        if any(term.ranks != "1" for term in self.nt):
            raise UserError("N-T equation", "it depends on P", "Give terms in N alone")
        if any(term.size == REFERENCE for term in (*self.nt, *self.npt)):
            raise UserError("N-T or NP-T equation", f"it has {REFERENCE}, a time", "Only P-T equations may")
