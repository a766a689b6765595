"""Exact comparison of the paper's printed equations, tables and optima with what its own definitions give.

Efficiencies are quotients of polynomials.  With x = (#op / #b) / a* and 1 / r = #x / #b, eq. (5) with
s(z) = z / (1 + z) is x / (x + q + F / (v r)), where F = q p / beta(q, p) by the lines above eq. (4).
"""

from dataclasses import dataclass
from fractions import Fraction

from predictor.hierarchical.applications import application, applications, printed_equations
from predictor.hierarchical.multicore_cluster import MulticoreCluster, hardware_table, paper_cluster
from predictor.hierarchical.polynomial import Polynomial, parse

EQUAL, SLIP, TRUNCATED, LEADING = "equal", "does not follow", "cut off, not rounded", "leading term for large n"
_FUNCTION, _DERIVATIVE = "h", "H"
# Denominators of S = q p v r x / (...), with beta = beta_1(p): derived, and with the factor of (5) taken literally.
_CORES_DERIVED, _CORES_PRINTED = parse("v r x + v r q + q^2 p beta^-1"), parse("v r x + v r q + q^3 p beta^-1")
# The same divided by r, with h(p) = 1 / (beta_1(p) r(x, p)); H is the derivative of h.
_NODES_DERIVED, _NODES_PRINTED = parse("v x + v q + q^2 p h"), parse("v x + v q + q^3 p h")
# p_E in the paper's table, by d(p); W stands for beta_0 w(x) / q^2.
_PRINTED_NODES = {
    "p": (parse("p"), "W^(1/2)"),
    "sqrt(p)": (parse("p^(1/2)"), "(2 W)^(3/2)"),
    "log2(p)": (parse("log2(p)"), "W ln2"),
}


@dataclass(frozen=True)
class Finding:
    """A printed value and the derived one."""

    where: str  # "eq. (8)"
    what: str  # "denominator, q^2 p log2(p)"
    printed: str
    derived: str
    verdict: str  # "equal", or the kind of difference

    @property
    def agrees(self) -> bool:
        """True if both values are equal."""
        return self.verdict == EQUAL


def derived_efficiency(app: str, system: MulticoreCluster) -> tuple[Polynomial, Polynomial]:
    """Return numerator and denominator of eta(q, p, n): x, and x + q + q p / (beta(q, p) v r)."""
    model = application(app)
    x = model.a / system.a_star
    network = parse("q p") / model.beta.polynomial * model.one_over_r / system.known_v
    return x, x + parse("q") + network


def in_the_form_of(numerator: Polynomial, denominator: Polynomial, form: Polynomial) -> tuple[Polynomial, Polynomial]:
    """Multiply numerator and denominator by a single term that makes the numerator ``form``.

    Where no single term does so, the factor makes the first term of the numerator the first term of ``form``.
    """
    for monomial in _monomials(numerator):
        for wanted in _monomials(form):
            factor = wanted / monomial
            if factor * numerator == form:
                return form, factor * denominator
    factor = _monomials(form)[0] / _monomials(numerator)[0]
    return factor * numerator, factor * denominator


def equation_findings() -> list[Finding]:
    """Compare eq. (6) to (9), coefficient by coefficient."""
    findings = []
    for equation in printed_equations():
        numerator, denominator = in_the_form_of(
            *derived_efficiency(equation.app, paper_cluster(equation.system)), equation.numerator
        )
        for part, printed, derived in (
            ("numerator", equation.numerator, numerator),
            ("denominator", equation.denominator, denominator),
        ):
            for powers in sorted(dict(printed.terms) | dict(derived.terms)):
                there, here = printed.coefficient(powers), derived.coefficient(powers)
                name = str(Polynomial.of({powers: Fraction(1)}))
                verdict = EQUAL if there == here else SLIP
                findings.append(Finding(f"eq. ({equation.number})", f"{part}, {name}", str(there), str(here), verdict))
    return findings


def table_findings() -> list[Finding]:
    """Compare a* and v of the machines, and a and r of the programs."""
    findings = []
    for row in hardware_table():
        for name, printed, exact in (("a*", row.a_star, row.system.a_star), ("v", row.v, row.system.known_v)):
            digits = len(printed.partition(".")[2])
            where = f"hardware table, {row.system.name}"
            findings.append(Finding(where, name, printed, f"{float(exact):.{digits + 2}f}", _decimal(printed, exact)))
    for model in applications().values():
        where = f"application table, {model.paper_name}"
        findings.append(Finding(where, "a", str(model.printed_a), str(model.a), _leading(model.printed_a, model.a)))
        verdict = EQUAL if model.printed_1_over_r == model.one_over_r else SLIP
        findings.append(Finding(where, "1/r", str(model.printed_1_over_r), str(model.one_over_r), verdict))
    return findings


def stationary(denominator: Polynomial, symbol: str) -> Polynomial:
    """Return D - s dD/ds, which is 0 where s / D(s) has its maximum; the symbol ``ln2`` stands for ln 2."""
    return denominator + -1 * parse(symbol) * derivative(denominator, symbol)


def derivative(polynomial: Polynomial, symbol: str) -> Polynomial:
    """Return the derivative by the product rule; log2(s) has 1 / (s ln 2), and the unknown function h of s has H."""
    logarithm, total = f"log2({symbol})", Polynomial.constant(0)
    for powers, coefficient in polynomial.terms:
        exponents = dict(powers)
        rest = Polynomial.of({tuple((s, e) for s, e in powers if s not in (symbol, logarithm)): coefficient})
        power, logs = exponents.get(symbol, Fraction(0)), exponents.get(logarithm, Fraction(0))
        factor, log = Polynomial.symbol(symbol, power), Polynomial.symbol(logarithm, logs)
        total += power * rest * factor / parse(symbol) * log
        if logs:
            inner = Polynomial.symbol(symbol, -1) / parse("ln2")
            total += logs * rest * factor * Polynomial.symbol(logarithm, logs - 1) * inner
        if unknown := exponents.get(_FUNCTION):
            chain = Polynomial.symbol(_FUNCTION, -1) * parse(_DERIVATIVE)
            total += unknown * rest * factor * log * chain
    return total


@dataclass(frozen=True)
class Root:
    """The solution s^exponent = value of a stationary condition of two terms in s."""

    symbol: str
    exponent: Fraction
    value: Polynomial  # does not contain s

    def __str__(self) -> str:
        base = "(" + str(self.value) + ")" if len(self.value.terms) > 1 else str(self.value)
        return f"{self.symbol}^{self.exponent} = {base}"


def root(condition: Polynomial, symbol: str) -> Root:
    """Solve A - B s^e = 0, with A free of s and a single term B.

    Raises:
        ValueError: The condition has another form.
    """
    free = {powers: value for powers, value in condition.terms if symbol not in dict(powers)}
    bound = [(powers, value) for powers, value in condition.terms if symbol in dict(powers)]
    if len(bound) != 1 or any(symbol in s for powers in free for s, _ in powers):
        raise ValueError(f"{condition} = 0 has no closed root in {symbol}")
    exponents = dict(bound[0][0])
    exponent = exponents.pop(symbol)
    factor = Polynomial.of({tuple(sorted(exponents.items())): -bound[0][1]})
    return Root(symbol, exponent, Polynomial.of(free) / factor)


def general_findings() -> list[Finding]:
    """Compare eq. (4), (5) and their simplified form: the factor of s / (v r x), and the term of memory."""
    # Eq. (3) divided by its first part is 1 + p l_m / (beta b_cl) #x / #op, with l_m = q l_c s.
    network = parse("p q lc s X beta^-1 bcl^-1 op^-1")
    vrx = parse("bcl bm^-1 b X^-1 op b^-1 bm lc^-1")  # v r x
    factor = network * vrx / parse("s")
    # Denominator of (5) with s = x / (x + q), with numerator and denominator multiplied by beta r v (x + q).
    denominator = parse("beta r v") * (parse("x + q") + factor / parse("v r"))
    simplified = parse("beta r v x + r v q + q^2 p")
    compared_forms = [Finding("eq. (4), (5)", "factor of s(x/q) / (v r x)", "beta^-1 p q^2", str(factor), SLIP)]
    for what, powers in (("term of memory", "r v q"), ("term of the network", "p q")):
        printed = [monomial for monomial in _monomials(simplified) if _holds(monomial, powers)]
        derived = [monomial for monomial in _monomials(denominator) if _holds(monomial, powers)]
        verdict = EQUAL if printed == derived else SLIP
        compared_forms.append(Finding("eq. (5) simplified", what, str(printed[0]), str(derived[0]), verdict))
    return compared_forms


def optimum_findings() -> list[Finding]:
    """Compare q_E, p_E and the table of p_E."""
    cores = "q^3 = 1/2 beta p^-1 r v x"
    nodes = parse("v x + v q") / parse("q^3")
    inserted = parse("beta c v x") / parse("q^3")  # (beta_0 / q^2) w(x), w(x) = v (x / q) c(x)
    compared_forms = []
    for which, first, second in (
        ("definitions", _CORES_DERIVED, _NODES_DERIVED),
        ("(5)", _CORES_PRINTED, _NODES_PRINTED),
    ):
        root_text = str(root(stationary(first, "q"), "q"))
        compared_forms.append(
            Finding("optimum q_E", f"by the {which}", cores, root_text, EQUAL if root_text == cores else SLIP)
        )
        right = _of_h(stationary(second, "p"))
        verdict = EQUAL if right == nodes else SLIP
        compared_forms.append(
            Finding("optimum p_E", f"p^2 (1 / (beta r))' by the {which}", str(nodes), str(right), verdict)
        )
        right *= parse("beta c")  # r = c / d(p)
        verdict = EQUAL if right == inserted else SLIP
        compared_forms.append(Finding("optimum p_E", f"p^2 d'(p) by the {which}", str(inserted), str(right), verdict))
    for name, (d, printed) in _PRINTED_NODES.items():
        # p / (1 + p d(p) / W) is largest where p^2 d'(p) = W.
        root_text = _as_power(root(stationary(parse("1") + parse("p W^-1") * d, "p"), "p"))
        compared_forms.append(
            Finding("table of p_E", f"d(p) = {name}", printed, root_text, EQUAL if root_text == printed else SLIP)
        )
    return compared_forms


def _of_h(condition: Polynomial) -> Polynomial:
    """Return R of p^2 h'(p) = R, from the condition A - B p^2 H = 0."""
    bound = [monomial for monomial in _monomials(condition) if _holds(monomial, "H")]
    free = Polynomial(frozenset(term for term in condition.terms if "H" not in dict(term[0])))
    ((powers, value),) = bound[0].terms
    factor = Polynomial.of({powers: -value}) / parse("p^2 H")
    return free / factor


def _as_power(exact_root: Root) -> str:
    """Return p as a power of the value of p^e, in the notation of the table."""
    exponent, base = 1 / exact_root.exponent, str(exact_root.value)
    if exponent == 1:
        return base
    return f"{base}^({exponent})" if " " not in base else f"({base})^({exponent})"


def _holds(monomial: Polynomial, symbols: str) -> bool:
    ((powers, _),) = monomial.terms
    return set(symbols.split()) <= set(dict(powers))


def findings() -> list[Finding]:
    """Return all comparisons."""
    return [*table_findings(), *general_findings(), *equation_findings(), *optimum_findings()]


def _monomials(polynomial: Polynomial) -> list[Polynomial]:
    return [Polynomial(frozenset((term,))) for term in sorted(polynomial.terms)]


def _decimal(printed: str, exact: Fraction) -> str:
    unit = Fraction(1, 10 ** len(printed.partition(".")[2]))
    distance = exact - Fraction(printed)
    if abs(distance) <= unit / 2:
        return EQUAL
    return TRUNCATED if 0 <= distance < unit else SLIP


def _leading(printed: Polynomial, exact: Polynomial) -> str:
    if printed == exact:
        return EQUAL
    return LEADING if printed.terms < exact.terms else SLIP
