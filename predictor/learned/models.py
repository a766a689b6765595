"""Models of numbers: formulas, linear combinations, cases, and fits; their values, and their lengths in bits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from predictor.learned.features import Space, holds
from predictor.learned.points import LEVEL
from predictor.learned.rows import Rows
from predictor.learned.scatter import Scatter

EXACT = 1e-9  # relative
Term: TypeAlias = tuple[str, ...]  # the product of these features
_DENOMINATORS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 48)
_REAL = 50.0  # bits of a coefficient that is no small fraction
_FEATURES = {"P": 3.0, "1/P": 4.0, "lg P": 4.0, "lg p0": 4.0, "lg p1": 4.0, "lg p2": 4.0}
_SHARES = {"e": 3.0, "E": 7.0, "F": 5.0, "C": 7.0, "W": 6.0, "V": 8.0, "s": 6.0, "u": 4.0, "v": 7.0, "g": 5.0, "N": 4.0}
_KNOWN = 4.0  # bits of a known number as a factor
_ANOTHER = 6.0  # bits of a product of shares of different numbers, and of different kinds
_DERIVED = 6.0  # bits of a number that is not known, but near a known one


@dataclass(frozen=True)
class Formula:
    """Sum of coefficients times products of features, plus a constant."""

    terms: tuple[tuple[float, Term], ...]
    constant: float = 0.0

    def values(self, space: Space, rows: Rows) -> np.ndarray:
        """Return its values."""
        total = np.full(len(rows), self.constant)
        for factor, names in self.terms:
            product = np.full(len(rows), factor)
            for name in names:
                product *= space.value(name, rows)
            total += product
        return total

    def __str__(self) -> str:
        parts = [f"{factor:.6g} {' '.join(names)}" for factor, names in self.terms]
        return " + ".join([*parts, *([f"{self.constant:.6g}"] if self.constant or not parts else [])])


@dataclass(frozen=True)
class Numeric:
    """Formulas that are all exact on what was recorded, the shortest first."""

    formulas: tuple[Formula, ...]


@dataclass(frozen=True, eq=False)
class Linear:
    """A linear combination of terms, which is determined only within the span of the recorded rows."""

    terms: tuple[Term, ...]
    scale: np.ndarray  # by term
    coefficients: np.ndarray  # by scaled term
    span: np.ndarray  # orthonormal, terms x rank

    def values(self, space: Space, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        """Return its values, and for which rows they are determined."""
        matrix = matrix_of(self.terms, space, rows) / self.scale
        outside = matrix - matrix @ self.span @ self.span.T
        size = np.maximum(np.linalg.norm(matrix, axis=1), 1e-300)
        values = matrix @ self.coefficients
        values[np.abs(values) <= EXACT * (np.abs(matrix) @ np.abs(self.coefficients))] = 0.0  # the rest is rounding
        return values, np.linalg.norm(outside, axis=1) <= 1e-7 * size


@dataclass(frozen=True, eq=False)
class Split:
    """A model for each index of a loop, or for each number of turns that follow."""

    loop: int
    back: bool
    models: Mapping[int, NumberModel]

    def index(self, rows: Rows) -> np.ndarray:
        """Return what is told apart."""
        after: np.ndarray = rows.turns[:, self.loop] - 1 - rows.turn[:, self.loop]
        return after if self.back else rows.index[:, self.loop]


@dataclass(frozen=True, eq=False)
class Cases:
    """A model where a statement holds, and another elsewhere."""

    atom: str
    yes: NumberModel
    no: NumberModel


@dataclass(frozen=True, eq=False)
class Either:
    """A model where a truth, 0 or 1, holds, and another elsewhere."""

    truth: NumberModel
    yes: NumberModel
    no: NumberModel


@dataclass(frozen=True)
class Fitted:
    """A fit e^a times powers of features times a product of features, with the least and the largest ratio to it."""

    a: float
    powers: tuple[tuple[str, float], ...] = ()
    term: Term = ()
    low: float = 1.0
    high: float = 1.0
    step: tuple[int, float] | None = None  # number of ranks from which on its factor is another one, and by how much
    scatter: Scatter | None = None  # of numbers that look drawn

    def middle(self, space: Space, rows: Rows) -> np.ndarray:
        """Return its values."""
        found: np.ndarray = np.full(len(rows), math.exp(self.a))
        for name in self.term:
            found = found * np.maximum(space.value(name, rows), 0.0)  # a share without edges may be less than they are
        for name, power in self.powers:
            found = found * space.value(name, rows) ** power
        return found if self.step is None else np.where(rows.nranks < self.step[0], found / self.step[1], found)

    def widened(self, low: float, high: float) -> Fitted:
        """Return the fit with a range of ratios that has these."""
        return replace(self, low=min(self.low, low), high=max(self.high, high))


NumberModel: TypeAlias = Numeric | Linear | Split | Cases | Either | Fitted


@dataclass
class Notes:
    """Notes on values that are doubtful: by call, where formulas differ, and where a number is only fitted."""

    lean: int = 0  # of formulas that differ: 0 the shortest, -1 the least values, 1 the largest
    call: str = ""  # the call that is evaluated
    differs: dict[str, tuple[float, str]] = field(default_factory=dict)  # relative difference, and the formulas
    fitted: dict[str, float] = field(default_factory=dict)  # relative width of the residuals
    assumed: dict[str, str] = field(default_factory=dict)
    steps: dict[str, str] = field(default_factory=dict)  # where a fit's factor changes at once, as in a cache

    def assume(self, what: str) -> None:
        """Note an assumption about the call that is evaluated."""
        self.assumed.setdefault(self.call, what)


def parts_of_fit(model: NumberModel | None) -> tuple[Fitted, ...]:
    """Return the fits of a model whose cases are all fitted; none of any other."""
    if isinstance(model, Cases | Either):
        parts = [parts_of_fit(part) for part in (model.yes, model.no)]
        return (*parts[0], *parts[1]) if all(parts) else ()
    return (model,) if isinstance(model, Fitted) else ()


def constant(value: float) -> Numeric:
    """Return the model of a number that is always the same."""
    return Numeric((Formula((), float(value)),))


def features_of(model: NumberModel) -> set[str]:
    """Return the features that the shortest formulas of a model have."""
    if isinstance(model, Numeric):
        return {name for _, term in model.formulas[0].terms for name in term}
    if isinstance(model, Split):
        return {name for part in model.models.values() for name in features_of(part)}
    return features_of(model.yes) | features_of(model.no) if isinstance(model, Cases) else set()


def statements_of(model: NumberModel) -> set[str]:
    """Return the statements that tell the cases of a model apart."""
    if isinstance(model, Split):
        return {atom for part in model.models.values() for atom in statements_of(part)}
    return {model.atom, *statements_of(model.yes), *statements_of(model.no)} if isinstance(model, Cases) else set()


def matrix_of(terms: tuple[Term, ...], space: Space, rows: Rows) -> np.ndarray:
    """Return the values of terms, rows x terms."""
    columns = []
    for term in terms:
        product = np.ones(len(rows))
        for name in term:
            product = product * space.value(name, rows)
        columns.append(product)
    return np.column_stack(columns) if columns else np.empty((len(rows), 0))


def exact(got: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return which numbers are equal but for rounding: amounts of a rank are recorded as differences of sums."""
    scale = float(np.abs(values).max(initial=0.0)) or 1.0
    equal: np.ndarray = np.abs(got - values) <= EXACT * np.maximum(np.abs(values), 1e-4 * scale)
    return equal


def evaluate(model: NumberModel, space: Space, rows: Rows, notes: Notes) -> np.ndarray:
    """Return the values of a model; NaN where nothing like the row was recorded."""
    if isinstance(model, Numeric):
        return _of_formulas(model, space, rows, notes)
    if isinstance(model, Linear):
        values, determined = model.values(space, rows)
        if not determined.all():
            notes.assume("it depends on the place in a way that the recordings do not show in full")
        return values
    if isinstance(model, Fitted):
        notes.fitted[notes.call] = max(notes.fitted.get(notes.call, 0.0), model.high - model.low)
        if model.step is not None:
            nranks, factor = model.step
            notes.steps[notes.call] = f"{factor:.3g} times as much from {nranks} ranks on"
        fit: np.ndarray = model.middle(space, rows)
        if model.scatter is not None:
            fit = fit * model.scatter.ratios(rows, notes.lean)
        else:
            fit = fit * {0: 1.0, -1: model.low, 1: model.high}[notes.lean]
        return fit
    out = np.full(len(rows), np.nan)
    if isinstance(model, Split):
        index = model.index(rows)
        for value in np.unique(index).tolist():
            if value in model.models:
                which = index == value
                out[which] = evaluate(model.models[value], space, rows.take(which), notes)
        return out
    true = holds(model.atom, space, rows) if isinstance(model, Cases) else evaluate(model.truth, space, rows, notes) > 0
    beside = notes if isinstance(model, Cases) else Notes(notes.lean)  # what is negligible is in no caution
    for which, part, noted in ((true, model.yes, notes), (~true, model.no, beside)):
        if which.any():
            out[which] = evaluate(part, space, rows if which.all() else rows.take(which), noted)
    return out


def _of_formulas(model: Numeric, space: Space, rows: Rows, notes: Notes) -> np.ndarray:
    values = model.formulas[0].values(space, rows)
    for other in model.formulas[1:]:
        theirs = other.values(space, rows)
        apart = float((np.abs(theirs - values) / np.maximum(np.abs(values), 1e-300)).max(initial=0.0))
        if apart > EXACT:
            if apart > notes.differs.get(notes.call, (0.0, ""))[0]:
                notes.differs[notes.call] = apart, f"{model.formulas[0]} or {other}"
            if notes.lean and (float(theirs.sum()) - float(values.sum())) * notes.lean > 0:
                values = theirs
    return values


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
