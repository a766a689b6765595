"""The spelling of numbers on all pages: 12,800 and 0.04 and 2e10, never 2e+10 or 20000000000."""

from __future__ import annotations

import math

DIGITS = 5  # of a real number, unless a page asks for more
UNKNOWN = "\N{EN DASH}"


def number_text(value: float | None, digits: int = DIGITS) -> str:
    """Return a number as all pages show it; a dash where there is none.

    Whole numbers keep all their digits, unless a power of ten is shorter and as exact.

    >>> number_text(12800), number_text(20000000000), number_text(0.041), number_text(1234567.0)
    ('12,800', '2e10', '0.041', '1.2346e6')
    >>> number_text(2.5e-06), number_text(-3.0), number_text(1234567), number_text(1500.0)
    ('2.5e-6', '-3', '1,234,567', '1,500')
    >>> number_text(1020.4, 3), number_text(123456.7)
    ('1,020', '123,457')
    """
    if value is None:
        return UNKNOWN
    if not math.isfinite(value):
        return str(value)
    if isinstance(value, int):
        if abs(value) >= 1_000_000:
            short = exponent(f"{value:.12e}")
            if abs(value) < 1 << 53 and float(short) == value and len(short) < len(str(value)) - 2:
                return short
        return f"{value:,}"
    if 10.0**digits <= abs(value) < 1e6:
        return f"{value:,.0f}"
    return exponent(f"{value:,.{digits}g}")


def exponent(text: str) -> str:
    """Return a number whose power of ten has neither a plus sign nor zeros before it, nor zeros behind its digits.

    >>> exponent("2e+10"), exponent("1.250e-05"), exponent("3.5")
    ('2e10', '1.25e-5', '3.5')
    """
    digits, mark, power = text.partition("e")
    if not mark:
        return text
    return f"{digits.rstrip('0').rstrip('.') if '.' in digits else digits}e{int(power)}"


def value_text(value: object, digits: int = DIGITS) -> str:
    """Return any value of a result as all pages show it."""
    if value is None or value == "":
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number_text(value, digits) if isinstance(value, int | float) else str(value)


def percent_text(value: float | None) -> str:
    """Return a percentage with its sign; one that rounds to nothing has no sign of its own.

    >>> percent_text(-0.001), percent_text(12345.678)
    ('+0.00', '+12,345.68')
    """
    return UNKNOWN if value is None else f"{round(value, 2) + 0.0:+,.2f}"
