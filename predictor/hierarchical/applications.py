"""The programs of the paper's table and one's own: #op, #b and #x as functions of n and p, and their surfaces."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

from platforms.errors import UserError, nearest
from predictor.hierarchical.model import PRINTED, Beta, check_variant
from predictor.hierarchical.multicore_cluster import MulticoreCluster, no_v, rows
from predictor.hierarchical.polynomial import Polynomial, Powers, parse
from predictor.hierarchical.surface import (
    DISTANCES,
    GROWS,
    PRINTED_CORES,
    PRINTED_NODES,
    PRINTED_NODES_CONSTANT,
    PRINTED_TABLE,
    Optimum,
    Surface,
    cores_optimum,
    nodes_of,
    nodes_optimum,
    printed_cores,
    printed_nodes,
    terms_of,
    within,
)

DOUBLE_BYTES = 8
GAMMA = parse("1 + 1/12 log2(p)")
# w and c in bytes; alpha and gamma as in the paper.
CONSTANTS: Mapping[str, Polynomial | int | Fraction] = {
    "w": DOUBLE_BYTES,
    "c": 2 * DOUBLE_BYTES,
    "alpha": Fraction(1, 3),
    "gamma": GAMMA,
}
MOST_N = 10**12
NAME = "formulas"
_EVERY_LINK = Beta(Fraction(1), per_core=False)  # #x is of all nodes together, each with a link of its own
_DECIMAL = re.compile(r"(?<![\w^.])(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?(?![\w.])")  # not the digits of log2 or of a power
_SIZE, _NODES = ("n", "log2(n)"), ("p", "log2(p)")


@dataclass(frozen=True)
class Application:
    """A row of the table "Characteristic values for applications"."""

    name: str
    paper_name: str
    op: Polynomial  # in n
    b: Polynomial  # byte; a single term in n
    x: Polynomial  # byte; in n, p, log2(p)
    printed_a: Polynomial  # flop/byte; in n
    printed_1_over_r: Polynomial  # in n, p, log2(p)
    beta: Beta  # beta_1(p), over q
    messages: Polynomial | None = None  # of a node that wait for each other; None: latency is left out

    @property
    def a(self) -> Polynomial:
        """Operational intensity, #op / #b."""
        return self.op / self.b

    @property
    def one_over_r(self) -> Polynomial:
        """The inverse of r, #x / #b."""
        return self.x / self.b

    def operations(self, n: int) -> float:
        """Return #op.

        Raises:
            UserError: n has no operations, or exceeds MOST_N.
        """
        if not 1 <= n <= MOST_N:
            raise UserError(f"n = {n}", "not a size", f"Give a whole number from 1 to {MOST_N}")
        op = float(self.op.evaluate(n=n))
        if not 0 < op < float("inf"):
            raise UserError(f"{self.name}, n = {n}", "it has no operations", "Give a larger n")
        return op

    def surface(
        self, n: int, system: MulticoreCluster, *, variant: str, beta: Beta | None = None, overlap: bool = False
    ) -> Surface:
        """Return the surface of efficiency on a machine.

        The printed variant is eq. (6) to (9) where the paper has one for this program and machine.  Otherwise it is
        eq. (5), simplified, with the values of the tables as printed, and with the paper's beta_1(p) in place of
        beta(q, p), as in (6) to (9).

        Args:
            n: Size of the problem.
            system: The machine.
            variant: "printed" or "derived".
            beta: beta(q, p); None: the paper's choice.
            overlap: True: s(z) = min(1, z); False: s(z) = z / (1 + z).

        Raises:
            UserError: The variant or n is not valid, or eq. (5) as printed needs a memory bandwidth that is not given.
        """
        check_variant(variant)
        self.operations(n)
        if variant != PRINTED:
            return self._derived(n, system, beta or self.beta, overlap)
        if beta is None and not overlap:
            for equation in printed_equations():
                if (equation.app, equation.system) == (self.name, system.name):
                    return equation.surface(n)
        return self._printed(n, system, beta or Beta(self.beta.power, per_core=False), overlap)

    def optima(
        self,
        n: int,
        system: MulticoreCluster,
        q: float,
        p: float,
        *,
        variant: str,
        beta: Beta | None = None,
        overlap: bool = False,
    ) -> tuple[Optimum, Optimum]:
        """Return q_E for p nodes and p_E for q cores: derived, or by the printed formulas, which the optima name.

        The printed q_E is q_E^3 = beta_1 v r x / (2 p).  The printed p_E depends on beta_1 and r.  Where beta_1 is
        constant and r = c / d with d(p) = p, sqrt(p) or log2(p), p_E is that of the paper's table; with another d it
        solves p_E^2 d'(p) = (beta_0 / q^2) w(x).  Where beta_1 is not constant, p_E solves
        p_E^2 (1 / (beta_1 r))' = v (x + q) / q^3.  The printed optima are the same for both s(z).
        """
        check_variant(variant)
        if variant != PRINTED:
            surface = self._derived(n, system, beta or self.beta, overlap)
            return cores_optimum(surface, p), nodes_optimum(surface, q)
        beta_1 = replace(beta or self.beta, per_core=False)
        return self._printed_cores(n, system, beta_1, p), self._printed_nodes(n, system, beta_1, q)

    def _printed_cores(self, n: int, system: MulticoreCluster, beta_1: Beta, p: float) -> Optimum:
        x, v = self._printed_x(n, system), float(_printed_v(system))
        one_over_r = float(terms_of(self.printed_1_over_r, n)(1, p))
        if one_over_r <= 0:
            return Optimum(None, GROWS, PRINTED_CORES)
        value = printed_cores(float(beta_1(1, p)), v, 1 / one_over_r, x, p)
        return replace(within(value, "q"), formula=PRINTED_CORES)

    def _printed_nodes(self, n: int, system: MulticoreCluster, beta_1: Beta, q: float) -> Optimum:
        x, v = self._printed_x(n, system), float(_printed_v(system))
        exchange = self.printed_1_over_r / beta_1.polynomial  # 1 / (beta_1 r)
        condition = terms_of(parse("p") * exchange, n).terms  # for this G, p G' - G is p^2 (1 / (beta_1 r))'
        if beta_1.power:
            return replace(nodes_of(condition, v * (x + q) / q**3), formula=PRINTED_NODES)
        for d, form in DISTANCES.items():
            one_over_c = self.printed_1_over_r / form
            if not any(symbol in ("p", "log2(p)") for powers, _ in one_over_c.terms for symbol, _ in powers):
                c = 1 / float(one_over_c.evaluate(n=n))
                value = printed_nodes(d, beta_0=float(beta_1.scale), v=v, x=x, c=c, q=q)
                return replace(within(value, "p"), formula=PRINTED_TABLE[d])
        return replace(nodes_of(condition, v * x / q**3), formula=PRINTED_NODES_CONSTANT)

    def _printed_x(self, n: int, system: MulticoreCluster) -> float:
        """Return x = a / a* from the printed values of both."""
        a_star = system.a_star if system.printed_a_star is None else system.printed_a_star
        if not a_star:
            raise no_v(system)
        return float(self.printed_a.evaluate(n=n)) / float(a_star)

    def _derived(self, n: int, system: MulticoreCluster, beta: Beta, overlap: bool) -> Surface:
        op = Polynomial.constant(Fraction(self.operations(n)))
        factor = parse("q p") / beta.polynomial
        network = system.network_balance * factor * self.x / op
        latency = ""
        if self.messages is not None:
            network += system.core_flops * Fraction(system.latency_s) * parse("q p") * self.messages / op
            latency = " with latency,"
        return Surface(
            terms_of(system.a_star * parse("q") * self.b / op, n),
            terms_of(network, n),
            overlap,
            f"eq. (5) derived,{latency} beta(q, p) = {beta}",
        )

    def _printed(self, n: int, system: MulticoreCluster, beta: Beta, overlap: bool) -> Surface:
        x, v = Fraction(self._printed_x(n, system)), Fraction(float(_printed_v(system)))
        memory = parse("q") / x
        if not overlap:  # the paper's simplified form, for s(z) = z / (1 + z), omits beta in this term
            memory /= beta.polynomial
        network = parse("q^2 p") / beta.polynomial * self.printed_1_over_r / (v * x)
        name = "eq. (5)" if overlap else "eq. (5), simplified,"
        return Surface(terms_of(memory, n), terms_of(network, n), overlap, f"{name} as printed, beta(q, p) = {beta}")


def _printed_v(system: MulticoreCluster) -> Fraction:
    return system.known_v if system.printed_v is None else system.printed_v


@dataclass(frozen=True)
class PrintedEquation:
    """One of eq. (6) to (9): the efficiency of a program on a machine of the table."""

    number: int
    app: str
    system: str
    numerator: Polynomial  # in n
    denominator: Polynomial  # in n, q, p

    def surface(self, n: int) -> Surface:
        """Return the surface after division by the numerator; terms without p belong to memory."""
        over = Fraction(float(self.numerator.evaluate(n=n)))
        rest = self.denominator + -1 * self.numerator
        memory = Polynomial(frozenset(term for term in rest.terms if _without_nodes(term[0])))
        return Surface(
            terms_of(memory / over, n),
            terms_of((rest + -1 * memory) / over, n),
            source=f"eq. ({self.number}) as printed",
        )


def _without_nodes(powers: Powers) -> bool:
    return all(symbol not in ("p", "log2(p)") for symbol, _ in powers)


@cache
def applications() -> dict[str, Application]:
    """Return the programs of the table by name, in the paper's order."""
    return {
        row["app"]: Application(
            row["app"],
            row["paper_name"],
            _known(row["op"]),
            _known(row["b"]),
            _known(row["x"]),
            _known(row["a"]),
            parse(row["r"]).inverse().substitute(CONSTANTS),
            Beta(Fraction(1 if row["beta1"] == "p" else 0), per_core=True),
        )
        for row in rows("applications.csv")
    }


def application(name: str) -> Application:
    """Return a program of the table.

    Raises:
        UserError: There is no such program; the error suggests known names.
    """
    if name not in applications():
        raise UserError(f"app {name!r}", "no such program", nearest(name, applications()))
    return applications()[name]


@cache
def printed_equations() -> tuple[PrintedEquation, ...]:
    """Return eq. (6) to (9)."""
    return tuple(
        PrintedEquation(
            int(row["equation"]), row["app"], row["system"], parse(row["numerator"]), parse(row["denominator"])
        )
        for row in rows("equations.csv")
    )


def _known(text: str) -> Polynomial:
    """Return a value of the table with w, c, alpha and gamma substituted."""
    return parse(text).substitute(CONSTANTS)


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
