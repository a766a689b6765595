"""The estimation equations of the four benchmarks in Table V (Ichikawa, Takahashi, Kawai)."""

from __future__ import annotations

from collections.abc import Mapping

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
    ),
}


def equations(app: str) -> Equations:
    """Return the equations of a benchmark of Table V or of a NAS kernel.

    Raises:
        UserError: There are no equations for the program; the error lists the known programs.
    """
    known = {**TABLE_V, **NAS}
    if app not in known:
        remedy = f"Known: {', '.join(known)}; for a program of your own, declare the terms"
        raise UserError(f"app {app!r}", "no estimation equations are known for it", remedy)
    return known[app]
