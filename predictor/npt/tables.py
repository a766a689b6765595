"""The estimation equations of the four benchmarks in Table V (Ichikawa, Takahashi, Kawai).

Equation (5), from which Himeno's are derived, has a halo of O(N^2) whatever P is: every rank has a slab.  Where the
domain is divided along two or three axes, the largest face of a rank shrinks with P, as N^2 P^(-1/2) or N^2 P^(-2/3);
the equations of pencils and boxes have this term in place of N^2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from platforms.errors import UserError
from predictor.npt.equations import Equations
from predictor.npt.nas import NAS
from predictor.npt.terms import terms

_HIMENO = Equations(
    nt=terms("N^3", "N^2", "N", "1"),
    pt=terms("T/P", "1", "log P"),
    npt=terms("N^3/P", "N^2/P", "N/P", "1/P", "N^2", "N", "1", "log P"),
)

TABLE_V: Mapping[str, Equations] = {
    "himeno": _HIMENO,
    "fem": _HIMENO,  # the same three equations, from eq. (6)
    "hpl": Equations(
        nt=terms("N^3", "N^2", "N", "1"),
        pt=terms("P T", "T/P", "1"),
        npt=terms("N^3/P", "N^2/P", "N/P", "1/P", "P N^2", "P N", "P", "N^2", "N", "1"),
    ),
    "fft": Equations(
        nt=terms("N log N", "N", "N^(1/3)", "1"),
        pt=terms("T/P", "P T", "1"),
        npt=terms("N log N/P", "N/P", "1/P", "P", "N", "N^(1/3)", "1"),
        beside_exchanges=terms("N log N/P", "1"),  # the transform, and what no size changes
    ),
}


# By the parameter "grid" of himeno: the term of the halo.
_HALO = {"slabs": "N^2", "pencils": "N^2/P^(1/2)", "boxes": "N^2/P^(2/3)"}


def equations(app: str, params: Mapping[str, Any] | None = None) -> Equations:
    """Return the equations of a benchmark of Table V or of a NAS kernel.

    Args:
        app: Name of the kernel.
        params: Parameters of the problem, on which the equations of Himeno depend: its grid of ranks; None: those of
            Table V.

    Raises:
        UserError: There are no equations for the program; the error lists the known programs.
    """
    known = {**TABLE_V, **NAS}
    if app not in known:
        remedy = f"Known: {', '.join(known)}; for a program of your own, declare the terms"
        raise UserError(f"app {app!r}", "no estimation equations are known for it", remedy)
    grid = (params or {}).get("grid")
    if app == "himeno" and grid in _HALO:
        halo = terms(*(_HALO[grid] if term.name == "N^2" else term.name for term in _HIMENO.npt))
        return Equations(_HIMENO.nt, _HIMENO.pt, halo)
    return known[app]
