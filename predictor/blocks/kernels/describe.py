"""Adapt the descriptions of kernels to a problem and a number of ranks, with the kernel's layout of ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from math import isqrt
from pathlib import Path
from typing import Any

from apps.programs.problem import Problem
from apps.traffic import bt, sp
from apps.traffic.adi import Method
from predictor.base import OutOfRange
from predictor.blocks.application import Application, Collective, If, Repeat, Send, Step
from predictor.blocks.description import read_application
from predictor.blocks.names import MADE_OF

Params = Mapping[str, Any]  # parameters of a problem; those used here are whole numbers

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Description:
    """A kernel's application; if the kernel has iterations, their number is the variable ``iterations``."""

    application: Application
    iterations: int | None  # of a full run; None: the kernel has none
    posts_ahead: bool = False  # receives are posted before the sends ahead of them (machines.machine.Posted)
    # Blocks of at least this size are sent by MPI_Alltoallv, for which SMPI has one algorithm (all messages at once);
    # None: none are.
    vectors_from_bytes: float | None = None

    def of(self, iterations: int) -> Application:
        """Return the application with this number of iterations."""
        return self.application.changed(variables={"iterations": iterations})

    @property
    def blocks(self) -> frozenset[str]:
        """Names of predictor.blocks.model.COMMUNICATION that the application uses."""
        return frozenset(name for label in self.application.labels for name in _blocks(label.program))


def _blocks(steps: Iterable[Step]) -> Iterator[str]:
    for step in steps:
        if isinstance(step, Repeat):
            yield from _blocks(step.steps)
        elif isinstance(step, If):
            yield from _blocks((*step.steps, *step.otherwise))
        elif isinstance(step, Send):
            yield "p2p"
        elif isinstance(step, Collective):
            yield from MADE_OF.get(step.block, (step.block,))


def describe(problem: Problem, ranks: int) -> Description:
    """Return the description of a problem on this number of ranks.

    Raises:
        OutOfRange: If the problem has no description, or its description has no layout for this number of ranks.
    """
    if problem.program is not None or problem.name not in _KERNELS:
        problem_text = "it has no description in blocks"
        raise OutOfRange(f"blocks, {problem}", problem_text, f"Described: {', '.join(_KERNELS)}; or use dpgraph")
    try:
        made: Description = _described(problem, ranks)
    except KeyError as err:
        problem_text = f"it has no parameter {err}, which its description needs"
        raise OutOfRange(f"blocks, {problem}", problem_text, "Give all the parameters of a class") from None
    return made


@lru_cache(maxsize=64)
def _described(problem: Problem, ranks: int) -> Description:
    return _KERNELS[problem.name](dict(problem.params), ranks)


# --- kernels ---


def _cg(params: Params, ranks: int) -> Description:
    groups, pieces = next(((r, k) for k in (1, 2, 3) if k * (r := isqrt(ranks // k)) ** 2 == ranks), (0, 0))
    if not groups:
        raise _no_layout("cg", ranks, "it is not k R^2 with k = 1, 2 or 3, so its groups of ranks differ")
    odd = next((f for f in range(3, pieces * groups + 1, 2) if pieces * groups % f == 0), 3)
    twos, odds, rest = _powers(groups, odd)
    width_twos, width_odds, width_rest = _powers(pieces * groups, odd)
    if rest * width_rest != 1:
        raise _no_layout("cg", ranks, "a sum over its groups has steps of more than one odd prime")
    values = {"na": params["na"], "nonzer": params["nonzer"], "steps": params["cgitmax"], "iterations": params["niter"]}
    layout = {"groups": groups, "pieces": pieces, "odd": odd, "twos": twos, "odds": odds}
    widths = {"width_twos": width_twos, "width_odds": width_odds}
    return Description(_read("cg", {**values, **layout, **widths}), params["niter"], posts_ahead=True)


def _powers(number: int, odd: int) -> tuple[int, int, int]:
    """Return the exponents of 2 and of ``odd`` in a number, and the remaining factor."""
    twos, rest = _power(number, 2)
    odds, rest = _power(rest, odd)
    return twos, odds, rest


def _power(number: int, factor: int) -> tuple[int, int]:
    exponent = 0
    while number % factor == 0:
        number //= factor
        exponent += 1
    return exponent, number


def _mg(params: Params, ranks: int) -> Description:
    grids = [
        (x, y, ranks // x // y)
        for x in range(1, ranks + 1)
        for y in range(x, ranks // x + 1)
        if ranks % (x * y) == 0 and x * y * y <= ranks
    ]
    grid = min(grids, key=sum)
    if grid[-1] > params["n"]:
        raise _no_layout("mg", ranks, f"some ranks would have none of the {params['n']} points along an axis")
    values = {"n": params["n"], "iterations": params["nit"], "official_iterations": params["nit"]}
    return Description(_read("mg", {**values, **dict(zip(("px", "py", "pz"), grid, strict=True))}), params["nit"],
                       posts_ahead=True)  # fmt: skip


def _lu(params: Params, ranks: int) -> Description:
    ydim = max(d for d in range(1, isqrt(ranks) + 1) if ranks % d == 0)
    if params["n"] // (ranks // ydim) < 2:
        raise _no_layout("lu", ranks, f"some ranks would have less than two of the {params['n']} points along an axis")
    values = {"n": params["n"], "iterations": params["itmax"], "xdim": ranks // ydim, "ydim": ydim}
    return Description(_read("lu", values), params["itmax"])


def _bt(params: Params, ranks: int) -> Description:
    return _adi("bt", bt.METHOD, params, ranks)


def _sp(params: Params, ranks: int) -> Description:
    return _adi("sp", sp.METHOD, params, ranks)


def _adi(name: str, method: Method, params: Params, ranks: int) -> Description:
    side, n = isqrt(ranks), params["n"]
    if side * side != ranks:
        raise _no_layout(name, ranks, "it is not a square, so a rank may have several tiles in a layer")
    if n // side < 2:
        raise _no_layout(name, ranks, f"some tiles would have less than two of the {n} points along an axis")
    numbers = {key: value for key, value in asdict(method).items() if key != "official_flops"}
    unit = method.official_flops(n) / (n - 2) ** 3 / method.all
    made = _read("adi", {"n": n, "iterations": params["niter"], "q": side, "unit": unit, **numbers})
    return Description(replace(made, name=name, labels=made.given), params["niter"], posts_ahead=True)


def _is(params: Params, ranks: int) -> Description:
    values = {"total_keys": params["total_keys"], "num_buckets": params["num_buckets"], "ranks": ranks}
    made = _read("is", {**values, "iterations": params["max_iterations"]})
    return Description(made, params["max_iterations"], vectors_from_bytes=_MORE_THAN_COUNTS)


def _ft(params: Params, ranks: int) -> Description:
    nx, ny, nz = (params[name] for name in ("nx", "ny", "nz"))
    if ranks > nz:
        raise _no_layout("ft", ranks, f"more than nz = {nz} ranks form a grid of ranks, with two transpositions")
    made = _read("ft", {"nx": nx, "ny": ny, "nz": nz, "iterations": params["niter"], "ranks": ranks})
    even = nz % ranks == 0 and nx * ny % ranks == 0
    return Description(made, params["niter"], vectors_from_bytes=None if even else 0.0)


def _ep(params: Params, ranks: int) -> Description:
    if ranks > 2 ** (params["m"] - 16):
        raise _no_layout("ep", ranks, f"there are only {2 ** (params['m'] - 16)} batches of pairs")
    return Description(_read("ep", {"m": params["m"], "ranks": ranks}), None)


_MORE_THAN_COUNTS = 5.0  # bytes; IS sends numbers of keys (4 bytes) by MPI_Alltoall, and keys by MPI_Alltoallv
_KERNELS: Mapping[str, Callable[[Params, int], Description]] = {
    "bt": _bt, "cg": _cg, "ep": _ep, "ft": _ft, "is": _is, "lu": _lu, "mg": _mg, "sp": _sp,
}  # fmt: skip


def _read(name: str, variables: Mapping[str, Any]) -> Application:
    return read_application(_HERE / f"{name}.toml").changed(variables=variables)


def _no_layout(name: str, ranks: int, why: str) -> OutOfRange:
    problem = f"its description in blocks has no layout for this number of ranks: {why}"
    return OutOfRange(f"blocks, {name} on {ranks} ranks", problem, "Use other numbers of ranks, or dpgraph")
