"""Description lengths of models, in bits: of two that explain the same values, the shorter one is preferred."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from predictor.learned.features import Space
from predictor.learned.models import Cases, Formula, Linear, NumberModel, Numeric, Split
from predictor.learned.points import LEVEL

_DENOMINATORS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 48)
_REAL = 50.0  # bits of a coefficient that is no small fraction
_FEATURES = {"P": 3.0, "1/P": 4.0, "lg P": 4.0, "lg p0": 4.0, "lg p1": 4.0, "lg p2": 4.0}
_SHARES = {"e": 3.0, "E": 7.0, "F": 5.0, "C": 7.0, "W": 6.0, "V": 8.0, "s": 6.0, "u": 4.0, "v": 7.0, "g": 5.0, "N": 4.0}
_KNOWN = 4.0  # bits of a known number as a factor
_ANOTHER = 6.0  # bits of a product of shares of different numbers, and of different kinds
_DERIVED = 6.0  # bits of a number that is not known, but near a known one


def coefficient_bits(value: float, numbers: Sequence[int] = ()) -> float:
    """Return the length of a coefficient: of its numerator and denominator, perhaps times or over a known number.

    >>> coefficient_bits(1.0), coefficient_bits(0.5), coefficient_bits(0.123456789), coefficient_bits(4100.0, [4100])
    (2.0, 4.0, 50.0, 6.0)
    >>> coefficient_bits(1 / 64, [64])
    6.0
    """
    multiples = (_bits(value / n) + _KNOWN for n in numbers if value % n == 0 and value)
    parts = (_bits(value * n) + _KNOWN for n in numbers if 0 < abs(value) < 1)
    return min([_bits(value), *multiples, *parts])


@lru_cache(maxsize=1 << 16)
def _bits(value: float) -> float:
    for denominator in _DENOMINATORS:
        numerator = value * denominator
        if abs(numerator - round(numerator)) <= 1e-9 * max(1.0, abs(numerator)):
            bits = 2 * math.log2(1 + abs(round(numerator))) + 2 * math.log2(denominator) + (value < 0)
            return min(bits, _REAL)
    return _REAL


def feature_bits(name: str, space: Space) -> float:
    """Return the length of a feature."""
    if ":" in name:
        kind, number = name.split(":")
        known = 0.0 if int(number) in space.numbers else _DERIVED
        if LEVEL.match(name):
            return 3.0 + ("+" in kind.partition(">")[0]) + 0.5 * abs(int(kind[-1]) - 1)
        if "(" in kind or kind[0] in "TH":
            return known + 9.0 + (2.0 if "+1)" in kind or "(-1)" in kind else 0.0)
        return known + _SHARES[kind[0]] + (2.0 if kind[-2:-1] in "+-" and len(kind) > 2 else 0.0)
    if name[0] in "ijt" and name[1:].isdigit():
        return 3.0
    if name[0] == "p":
        return 4.0
    return _FEATURES.get(name, 6.0)


def formula_bits(formula: Formula, space: Space) -> float:
    """Return the length of a formula."""
    bits = coefficient_bits(formula.constant, space.numbers) if formula.constant else 0.0
    for factor, names in formula.terms:
        shares = [name.partition(":") for name in names if ":" in name]
        bits += coefficient_bits(factor, space.numbers) + sum(feature_bits(name, space) for name in names)
        for unlike in ({number for _, _, number in shares}, {kind[0] + kind[2:] for kind, _, _ in shares}):
            bits += _ANOTHER * max(0, len(unlike) - 1)
    return bits


def model_bits(model: NumberModel, space: Space) -> float:
    """Return the length of a model."""
    if isinstance(model, Numeric):
        return formula_bits(model.formulas[0], space)
    if isinstance(model, Linear):
        return 20.0 + 6.0 * int(model.span.shape[1])
    if isinstance(model, Split):
        parts = list(model.models.values())
        unlike = {part.formulas[0] if isinstance(part, Numeric) else part: part for part in parts}
        return 4.0 + 2.0 * len(parts) + sum(model_bits(part, space) for part in unlike.values())
    if isinstance(model, Cases):
        odd = model.atom.endswith("odd") or model.atom.startswith(("p", "r"))
        return (8.0 if odd else 4.0) + model_bits(model.yes, space) + model_bits(model.no, space)
    return 0.0
