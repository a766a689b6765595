"""A program of one's own for the model, by formulas of #op, #b and #x, or of r(x, p) = c(x) / d(p)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction

from platforms.errors import UserError
from predictor.hierarchical.applications import CONSTANTS, Application
from predictor.hierarchical.beta import Beta
from predictor.hierarchical.multicore_cluster import MulticoreCluster
from predictor.hierarchical.polynomial import Polynomial, parse

NAME = "formulas"
_EVERY_LINK = Beta(Fraction(1), per_core=False)  # #x is of all nodes together, each with a link of its own
_DECIMAL = re.compile(r"(?<![\w^.])(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?(?![\w.])")  # not the digits of log2 or of a power
_SIZE, _NODES = ("n", "log2(n)"), ("p", "log2(p)")


@dataclass(frozen=True)
class Formulas:
    """The texts of a program's formulas; polynomials as in the paper's table, such as 2/3 n^3 or n log2(p)."""

    operations: str  # #op, in n
    bytes: str  # #b, in n
    exchange: str | None = None  # #x of all nodes, in n, q and p; None: by ``ratio``
    ratio: str | None = None  # r = #b / #x, a product of powers of x, n and p
    messages: str | None = None  # of a node that wait for each other, in n and p; None: none are counted

    def application(self, n: int | None, system: MulticoreCluster) -> Application:
        """Return the program; ``ratio`` needs the machine, because x = (#op / #b) / a*.

        Raises:
            UserError: A formula cannot be read, has a symbol that it must not have, or n is missing.
        """
        texts = (self.operations, self.bytes, self.exchange or "", self.ratio or "", self.messages or "")
        op, b = (_read(option, text, _SIZE) for option, text in (("--operations", texts[0]), ("--bytes", texts[1])))
        messages = None if self.messages is None else _read("--messages", self.messages, (*_SIZE, *_NODES))
        if (self.exchange is None) == (self.ratio is None):
            problem = "both --exchange and --ratio" if self.exchange else "neither --exchange nor --ratio"
            raise UserError("--operations", problem, "Give #x, or r = #b / #x")
        if self.exchange is not None:
            x = _read("--exchange", self.exchange, (*_SIZE, *_NODES, "q"))
        else:
            r = _read("--ratio", str(self.ratio), ("x", *_SIZE, *_NODES))
            if not r.is_monomial:
                raise UserError(f"--ratio {self.ratio}", "a sum", "Give c(x) / d(p), a product of powers")
            x = b / r.substitute({"x": _intensity(op, b, n, system)})
        if n is None and any("n" in str(each) for each in (op, b, x, *([messages] if messages else []))):
            raise UserError("--n", "not given", "Give the size n that the formulas have")
        return Application(NAME, NAME, op, b, x, op, x, _EVERY_LINK, messages)


def _read(option: str, text: str, symbols: tuple[str, ...]) -> Polynomial:
    """Return a formula whose only symbols are these, and w, 8 bytes, and c, 16 bytes."""
    try:
        made = parse(_DECIMAL.sub(lambda number: str(Fraction(number[0])), text))
    except ValueError as err:
        remedy = "Write factors with spaces between, such as 2/3 n^3 or n log2(n) + 8 n p^(1/2)"
        raise UserError(f"{option} {text}", f"no formula, {err}", remedy) from None
    units = {name: CONSTANTS[name] for name in ("w", "c")}
    made = made.substitute(units)
    strange = sorted({symbol for powers, _ in made.terms for symbol, _ in powers} - set(symbols))
    if strange:
        known = ", ".join((*symbols, "w", "c"))
        raise UserError(f"{option} {text}", f"it has {strange[0]}", f"Known here: {known}")
    return made


def _intensity(op: Polynomial, b: Polynomial, n: int | None, system: MulticoreCluster) -> Fraction:
    """Return x = (#op / #b) / a*."""
    if not system.a_star:
        raise UserError("--ratio", f"{system.name} has no a*, since its memory never limits", "Give --exchange")
    values = {} if n is None else {"n": n}
    try:
        both = [Fraction(float(each.evaluate(**values))) for each in (op, b)]
    except KeyError:
        raise UserError("--n", "not given", "Give the size n that the formulas have") from None
    if both[0] <= 0 or both[1] <= 0:
        raise UserError("--ratio", "there are no operations or no bytes", "Give formulas above 0")
    return both[0] / both[1] / system.a_star


def flat(system: MulticoreCluster) -> MulticoreCluster:
    """Return the flat cluster of a machine: every core is a node of its own (q = 1), with all its links."""
    return replace(system, name=f"{system.name}, flat", cores=1)
