"""Exact algebra for the paper's equations: sums of products of powers with rational coefficients and exponents.

``log2(n)`` and ``log2(p)`` are symbols like n and p; only ``evaluate`` treats them as logarithms.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Union

if TYPE_CHECKING:  # numpy is slow to import
    import numpy as np

Number = Union[int, float, Fraction, "np.ndarray"]
Powers = tuple[tuple[str, Fraction], ...]  # symbols in alphabetical order, with exponents other than 0

_TOKEN = re.compile(r"\s*(?:(?P<sign>[+-])|(?P<number>\d+(?:/\d+)?)|(?P<symbol>log2\(\w+\)|[A-Za-z]\w*))")
_EXPONENT = re.compile(r"\^(?:\((?P<long>-?\d+(?:/\d+)?)\)|(?P<short>-?\d+))")
_LOGARITHM = re.compile(r"log2\((\w+)\)")


def _powers(exponents: Mapping[str, Fraction]) -> Powers:
    return tuple(sorted((symbol, exponent) for symbol, exponent in exponents.items() if exponent))


@dataclass(frozen=True)
class Polynomial:
    """A sum of terms with coefficients other than 0; sums that are equal compare equal."""

    terms: frozenset[tuple[Powers, Fraction]]

    @staticmethod
    def of(terms: Mapping[Powers, Fraction]) -> Polynomial:
        """Return the sum of terms; coefficients may be 0."""
        return Polynomial(frozenset((powers, value) for powers, value in terms.items() if value))

    @staticmethod
    def constant(value: int | Fraction) -> Polynomial:
        """Return a number as a polynomial."""
        return Polynomial.of({(): Fraction(value)})

    @staticmethod
    def symbol(name: str, exponent: int | Fraction = 1) -> Polynomial:
        """Return a power of a symbol."""
        return Polynomial.of({_powers({name: Fraction(exponent)}): Fraction(1)})

    def coefficient(self, powers: Powers) -> Fraction:
        """Return the coefficient of a term; 0 for a term that is absent."""
        return dict(self.terms).get(powers, Fraction(0))

    @property
    def is_monomial(self) -> bool:
        """True if the sum has exactly one term."""
        return len(self.terms) == 1

    def __add__(self, other: Polynomial) -> Polynomial:
        total = dict(self.terms)
        for powers, value in other.terms:
            total[powers] = total.get(powers, Fraction(0)) + value
        return Polynomial.of(total)

    def __mul__(self, other: Polynomial | int | Fraction) -> Polynomial:
        if not isinstance(other, Polynomial):
            other = Polynomial.constant(other)
        total: dict[Powers, Fraction] = {}
        for mine, a in self.terms:
            for theirs, b in other.terms:
                exponents = dict(mine)
                for symbol, exponent in theirs:
                    exponents[symbol] = exponents.get(symbol, Fraction(0)) + exponent
                powers = _powers(exponents)
                total[powers] = total.get(powers, Fraction(0)) + a * b
        return Polynomial.of(total)

    __rmul__ = __mul__

    def __truediv__(self, other: Polynomial | int | Fraction) -> Polynomial:
        """Divide by a number or a single term."""
        if not isinstance(other, Polynomial):
            other = Polynomial.constant(other)
        return self * other.inverse()

    def inverse(self) -> Polynomial:
        """Return the inverse of a single term.

        Raises:
            ValueError: The polynomial has not exactly one term.
        """
        if not self.is_monomial:
            raise ValueError(f"1 / ({self}) is not a polynomial")
        ((powers, value),) = self.terms
        return Polynomial.of({tuple((symbol, -exponent) for symbol, exponent in powers): 1 / value})

    def substitute(self, values: Mapping[str, Polynomial | int | Fraction]) -> Polynomial:
        """Replace some symbols by numbers or polynomials.

        A symbol with an exponent other than 1, 2, ... can only be replaced by a single term.
        """
        total = Polynomial.constant(0)
        for powers, value in self.terms:
            product = Polynomial.constant(value)
            for symbol, exponent in powers:
                known = values.get(symbol)
                product *= Polynomial.symbol(symbol, exponent) if known is None else _raised(known, exponent)
            total += product
        return total

    def evaluate(self, **values: Number) -> Number:
        """Return the value for numbers or arrays in place of all symbols; log2(s) is computed from the value of s.

        The result is exact where all values are rational and all exponents whole, otherwise it consists of floats.
        """
        total: Number = Fraction(0)
        for powers, coefficient in sorted(self.terms):  # a sum of floats depends on its order
            product: Number = coefficient
            for symbol, exponent in powers:
                product = _times(product, _power(_value(symbol, values), exponent))
            total = _plus(total, product)
        return total

    def __str__(self) -> str:
        """Return the text that ``parse`` reads, highest powers first."""
        shown = sorted(self.terms, key=lambda term: [(s, -e) for s, e in term[0]] or [("~", 0)])
        return " ".join(_shown(powers, value, first=i == 0) for i, (powers, value) in enumerate(shown)) or "0"


def parse(text: str) -> Polynomial:
    """Parse a polynomial such as ``2 n^3 - n^2`` or ``2/3 n^2 p^(1/2) log2(p)``.

    Factors are separated by spaces, and exponents are rational.

    Raises:
        ValueError: The text is not a polynomial.
    """
    total, at, sign = Polynomial.constant(0), 0, 1
    product: Polynomial | None = None
    text = text.strip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"{text!r}: cannot be read from {text[at:]!r} on")
        at = match.end()
        if match["sign"]:
            if product is not None:
                total += sign * product
                product, sign = None, 1
            sign *= -1 if match["sign"] == "-" else 1
            continue
        if match["number"]:
            factor = Polynomial.constant(Fraction(match["number"]))
        else:
            exponent = Fraction(1)
            if raised := _EXPONENT.match(text, at):
                exponent, at = Fraction(raised["long"] or raised["short"]), raised.end()
            factor = Polynomial.symbol(match["symbol"], exponent)
        product = factor if product is None else product * factor
    if product is None:
        raise ValueError(f"{text!r}: ends where a term is expected")
    return total + sign * product


def _raised(value: Polynomial | int | Fraction, exponent: Fraction) -> Polynomial:
    polynomial = value if isinstance(value, Polynomial) else Polynomial.constant(value)
    if exponent.denominator == 1 and exponent > 0:
        result = polynomial
        for _ in range(int(exponent) - 1):
            result *= polynomial
        return result
    if exponent.denominator == 1:
        return _raised(polynomial.inverse(), -exponent)
    ((powers, coefficient),) = polynomial.terms
    if coefficient != 1:
        raise ValueError(f"({polynomial})^({exponent}) is not rational")
    return Polynomial.of({_powers({symbol: power * exponent for symbol, power in powers}): Fraction(1)})


def _value(symbol: str, values: Mapping[str, Number]) -> Number:
    inner = _LOGARITHM.fullmatch(symbol)
    if inner is None:
        return values[symbol]
    # Imported here for a quick start: it is slow to import.
    import numpy as np

    logarithm: Number = np.log2(np.asarray(values[inner[1]], float))
    return logarithm


def _power(value: Number, exponent: Fraction) -> Number:
    if exponent.denominator == 1 and isinstance(value, int | Fraction):
        return Fraction(value) ** int(exponent)
    # Imported here for a quick start: it is slow to import.
    import numpy as np

    power: Number = np.asarray(value, float) ** float(exponent)
    return power


def _times(a: Number, b: Number) -> Number:
    return a * b if isinstance(a, Fraction) and isinstance(b, Fraction) else _float(a) * _float(b)


def _plus(a: Number, b: Number) -> Number:
    return a + b if isinstance(a, Fraction) and isinstance(b, Fraction) else _float(a) + _float(b)


def _float(value: Number) -> float | np.ndarray:
    return float(value) if isinstance(value, Fraction) else value


def _shown(powers: Powers, value: Fraction, *, first: bool) -> str:
    factors = [
        symbol if e == 1 else f"{symbol}^{e}" if e.denominator == 1 else f"{symbol}^({e})" for symbol, e in powers
    ]
    if abs(value) != 1 or not factors:
        factors.insert(0, str(abs(value)))
    sign = ("-" if value < 0 else "") if first else ("- " if value < 0 else "+ ")
    return sign + " ".join(factors)
