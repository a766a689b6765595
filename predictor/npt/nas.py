"""Estimation equations of the NAS kernels, derived by the reasoning of Ichikawa, Takahashi and Kawai, section 5.

The paper has no equations for the NAS kernels.  Their problems are classes, so N is the number that makes one class
larger than another:

kernel  N                          computation / P      exchanged, summed
cg      order of the matrix, na    N^(4/3): non-zeros   parts of vectors N, sums log P
mg      points along an edge, n    N^3, N^2             faces N^2, levels and sums log P
lu      points along an edge, n    N^3, N^2             faces N^2, planes N (one message each), sums log P
bt, sp  points along an edge, n    N^3                 faces N^2 / sqrt P, messages of a rank sqrt P
ft      points, nx ny nz           N log N, N           everything, all-to-all: N/P, N, P
is      keys, total_keys           N                    everything, all-to-all: N/P, N, P
ep      pairs, 2^m                 N                    sums log P

CG's rows grow denser with the class: (nonzer + 1)^2 na of S, W, A, B, C is 5 na^(4/3) within 20 %.
Classes also differ in their numbers of iterations, for which there is no term: fit times of equal numbers of
iterations, or times of one iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from apps.programs.problem import Problem
from apps.traffic import accepts, describes
from platforms.errors import UserError
from predictor.npt.equations import Equations
from predictor.npt.terms import terms

_HALVED = terms("T/P", "1", "log P")  # P-T equation for divided computation with reductions
_PASSED = terms("T/P", "sqrt P", "1")  # P-T equation for passes through layers of tiles
_EXCHANGED = terms("T/P", "P T", "1")  # P-T equation for all-to-all exchanges

NAS: Mapping[str, Equations] = MappingProxyType(
    {
        "cg": Equations(terms("N^(4/3)", "N", "1"), _HALVED, terms("N^(4/3)/P", "N/P", "N", "1", "log P")),
        "mg": Equations(terms("N^3", "N^2", "1"), _HALVED, terms("N^3/P", "N^2/P", "N^2", "1", "log P")),
        "lu": Equations(terms("N^3", "N^2", "N"), _HALVED, terms("N^3/P", "N^2/P", "N^2", "N", "1", "log P")),
        "bt": Equations(terms("N^3", "N^2", "1"), _PASSED, terms("N^3/P", "N^2/P^(1/2)", "sqrt P")),
        "sp": Equations(terms("N^3", "N^2", "1"), _PASSED, terms("N^3/P", "N^2/P^(1/2)", "sqrt P")),
        "ft": Equations(terms("N log N", "N", "1"), _EXCHANGED, terms("N log N/P", "N/P", "N", "P", "1")),
        "is": Equations(terms("N", "1"), _EXCHANGED, terms("N/P", "N", "P", "1")),
        "ep": Equations(terms("N", "1"), _HALVED, terms("N/P", "1", "log P")),
    }
)

_SIZE: Mapping[str, Callable[[Mapping[str, Any]], int]] = {
    "cg": lambda params: params["na"],
    "mg": lambda params: params["n"],
    "lu": lambda params: params["n"],
    "bt": lambda params: params["n"],
    "sp": lambda params: params["n"],
    "ft": lambda params: params["nx"] * params["ny"] * params["nz"],
    "is": lambda params: params["total_keys"],
    "ep": lambda params: 2 ** params["m"],
}


def nas_size(app: str, params: Mapping[str, Any]) -> int:
    """Return N of a NAS kernel's problem, from the parameters of its class.

    Raises:
        UserError: The program is not a NAS kernel.
    """
    if app not in _SIZE:
        raise UserError(f"app {app!r}", "not a NAS kernel", f"Known: {', '.join(_SIZE)}")
    return int(_SIZE[app](params))


def runs_on(asked: Problem, ranks: int) -> bool:
    """Return whether a problem's program runs on so many ranks: by its own rule and, for NAS kernels, by ``nas_fits``.

    LU's class S has 12 points along an axis, and every rank needs two:

    >>> from apps.programs.problem import problem
    >>> [runs_on(problem("lu", "S"), ranks) for ranks in (6, 7, 8)]
    [True, False, True]
    """
    known = asked.program is None and (asked.name in NAS or describes(asked))
    if known and not nas_fits(asked, ranks):
        return False
    return asked.allows(ranks)


def nas_fits(asked: Problem, ranks: int) -> bool:
    """Return whether a NAS kernel runs on so many ranks (docs/kernels/index.md).

    Raises:
        UserError: The problem is not one of a NAS kernel.
    """
    if describes(asked):
        return accepts(asked, ranks)
    raise UserError(f"app {asked.name!r}", "not a NAS kernel", f"Known: {', '.join(_SIZE)}")
