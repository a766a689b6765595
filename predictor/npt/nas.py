"""Estimation equations of the NAS kernels: ours, by the reasoning of Ichikawa, Takahashi and Kawai, section 5.

The paper has none of them.  Their problems are classes, so N is the number that makes one class larger than another:

kernel  N                          computation / P      exchanged, summed
cg      order of the matrix, na    N^(4/3): non-zeros   parts of vectors N, sums log P
mg      points along an edge, n    N^3, N^2             faces N^2, levels and sums log P
lu      points along an edge, n    N^3, N^2             faces N^2, planes N (one message each), sums log P
ft      points, nx ny nz           N log N, N           everything, all-to-all: N/P, N, P
is      keys, total_keys           N                    everything, all-to-all: N/P, N, P
ep      pairs, 2^m                 N                    sums log P

CG's rows grow denser with the class: (nonzer + 1)^2 na of S, W, A, B, C is 5 na^(4/3) within 20 %.
Classes also differ in their numbers of iterations, which no term stands for: fit times of equal numbers of iterations,
or times of one iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from platforms.errors import UserError
from predictor.npt.equations import Equations
from predictor.npt.terms import terms

_HALVED = terms("T/P", "1", "log P")  # P-T where the computation is shared out and sums are formed
_EXCHANGED = terms("T/P", "P T", "1")  # P-T where everybody sends to everybody

NAS: Mapping[str, Equations] = MappingProxyType(
    {
        "cg": Equations(terms("N^(4/3)", "N", "1"), _HALVED, terms("N^(4/3)/P", "N/P", "N", "1", "log P")),
        "mg": Equations(terms("N^3", "N^2", "1"), _HALVED, terms("N^3/P", "N^2/P", "N^2", "1", "log P")),
        "lu": Equations(terms("N^3", "N^2", "N"), _HALVED, terms("N^3/P", "N^2/P", "N^2", "N", "1", "log P")),
        "ft": Equations(terms("N log N", "N", "1"), _EXCHANGED, terms("N log N/P", "N/P", "N", "P", "1")),
        "is": Equations(terms("N", "1"), _EXCHANGED, terms("N/P", "N", "P", "1")),
        "ep": Equations(terms("N", "1"), _HALVED, terms("N/P", "1", "log P")),
    }
)

_LOG_BATCH = 16  # of the pairs of EP that are shared out whole, by powers of two

_SIZE: Mapping[str, Callable[[Mapping[str, Any]], int]] = {
    "cg": lambda params: params["na"],
    "mg": lambda params: params["n"],
    "lu": lambda params: params["n"],
    "ft": lambda params: params["nx"] * params["ny"] * params["nz"],
    "is": lambda params: params["total_keys"],
    "ep": lambda params: 2 ** params["m"],
}


def nas_size(app: str, params: Mapping[str, Any]) -> int:
    """N of a NAS kernel's problem, from the parameters of its class; raises UserError for another program."""
    if app not in _SIZE:
        raise UserError(f"app {app!r}", "not a NAS kernel", f"Known: {', '.join(_SIZE)}")
    return int(_SIZE[app](params))


def nas_fits(app: str, params: Mapping[str, Any], ranks: int) -> bool:
    """Whether a class is large enough for so many ranks: what the kernels would refuse (docs/kernels/index.md).

    CG's smallest class is large enough for 1400.
    """
    if app == "lu":  # ranks form a grid, the longer side first; each needs two planes
        shorter = max(side for side in range(1, int(ranks**0.5) + 1) if ranks % side == 0)
        return bool(params["n"] // (ranks // shorter) >= 2)
    if app == "mg":  # a box, whose longest side has a point for each
        from apps.traffic.mg import shape_of

        return bool(max(shape_of(ranks)) <= params["n"])
    if app == "ft":  # slabs, else a grid of at most so many by so many
        most = min(params["nx"], params["ny"], ranks)
        return any(ranks % px == 0 and ranks // px <= params["nz"] for px in range(1, most + 1))
    if app == "ep":
        return bool(ranks <= 2 ** (params["m"] - _LOG_BATCH))
    return True
