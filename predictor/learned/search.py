"""Search for exact formulas of a number: the shortest first, and all of nearly the same length."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from predictor.learned.bits import coefficient_bits, feature_bits, formula_bits
from predictor.learned.features import Space
from predictor.learned.models import EXACT, Formula, Linear, Numeric, Term, constant, exact, matrix_of
from predictor.learned.rows import Rows, reduced

_FEW_ROWS = 60
_MOST_ROWS = 200  # that candidates are searched on; all rows check them
_MOST_PAIRS, _MOST_TRIPLES = 6000, 3000
_MOST_CHECKED = 24  # candidates of a stage, the shortest ones
_SHORT = 24.0  # bits: no longer formula is looked for beside one so short
_NEARLY = 10.0  # bits: formulas so much longer than the shortest one are kept too
_MOST_KEPT = 8
_PRECISE = 1e-10
_SMALL_COEFFICIENTS = 14.0  # bits: a sum with such coefficients needs no rows beyond its unknowns


class Search:
    """Looks for formulas under one rule for the grid; what was searched is remembered."""

    def __init__(self, space: Space, most: int):
        self.space = space
        self._most = most
        self.left = most  # for what is looked for now; a search with cases that finds nothing is long
        self._known: dict[tuple[int, bytes, bool], Numeric | Linear | None] = {}

    def numeric(self, rows: Rows, values: np.ndarray, *, quick: bool = False) -> Numeric | Linear | None:
        """Return the exact formulas of a number; None where there are none.

        Args:
            rows: Where it was recorded.
            values: What was recorded.
            quick: Look for short formulas only.
        """
        values = np.asarray(values, float)
        if bool(np.all(exact(np.full(len(values), values[0]), values))):
            return constant(float(values[0]))
        if len(rows.counts) < 2:
            return None
        key = (rows.key, values.tobytes(), quick)
        if key not in self._known:
            if self.left <= 0:
                return None
            self.left -= 1
            self._known[key] = self._numeric(*reduced(rows, values), quick=quick)
        return self._known[key]

    def begin(self) -> None:
        """Begin to look for the model of another quantity."""
        self.left = self._most

    def _numeric(self, rows: Rows, values: np.ndarray, *, quick: bool) -> Numeric | Linear | None:
        few, wanted = _sample(rows, values, _MOST_ROWS if not quick else _FEW_ROWS)
        names = self.space.names(rows.loops)
        tiers = (names,) if quick else (names, [*names, *self.space.further_names(rows.loops)])
        for tier in tiers:
            kept = self._tier(tier, rows, values, few, wanted, quick=quick)
            if kept:
                return self._shortest(kept, rows)
        return None if quick else self._linear(rows, values, few, wanted)

    def _tier(
        self, names: Sequence[str], rows: Rows, values: np.ndarray, few: Rows, wanted: np.ndarray, *, quick: bool
    ) -> list[Formula]:
        kept: list[Formula] = []
        kinds, matrix = self._distinct(names, few)
        for candidates in self._stages(kinds, matrix, wanted, quick=quick):
            short = sorted(candidates, key=lambda formula: formula_bits(formula, self.space))
            for formula in short[:_MOST_CHECKED]:
                if bool(np.all(exact(formula.values(self.space, rows), values))):
                    kept.append(formula)
            if kept and min(formula_bits(formula, self.space) for formula in kept) < _SHORT:
                break
        return kept

    def _shortest(self, kept: list[Formula], rows: Rows) -> Numeric:
        """Return the shortest formulas, and those with another feature that was the same on all rows."""
        kept = sorted(dict.fromkeys(kept), key=lambda formula: formula_bits(formula, self.space))
        names = self.space.names(rows.loops)
        for formula in kept[:2]:
            for at, (factor, term) in enumerate(formula.terms):
                for place, name in enumerate(term):
                    column = self.space.value(name, rows)
                    for other in names:
                        if other != name and np.array_equal(self.space.value(other, rows), column):
                            terms = list(formula.terms)
                            terms[at] = factor, (*term[:place], other, *term[place + 1 :])
                            kept.append(Formula(tuple(terms), formula.constant))
        kept = sorted(dict.fromkeys(kept), key=lambda formula: formula_bits(formula, self.space))
        least = formula_bits(kept[0], self.space)
        near = [formula for formula in kept if formula_bits(formula, self.space) <= least + _NEARLY]
        return Numeric(tuple(near[:_MOST_KEPT]))

    def _distinct(self, names: Sequence[str], rows: Rows) -> tuple[list[str], np.ndarray]:
        """Return the features that vary, of equal ones the shortest, and their values."""
        seen: set[bytes] = set()
        kinds, columns = [], []
        for name in sorted(names, key=lambda name: feature_bits(name, self.space)):
            column = np.ascontiguousarray(self.space.value(name, rows), float)
            if np.isfinite(column).all() and np.ptp(column) > 0 and column.tobytes() not in seen:
                seen.add(column.tobytes())
                kinds.append(name)
                columns.append(column)
        return kinds, np.column_stack(columns) if columns else np.empty((len(rows), 0))

    def _stages(
        self, names: Sequence[str], matrix: np.ndarray, values: np.ndarray, *, quick: bool
    ) -> Iterator[list[Formula]]:
        """Yield candidates, the shorter ones first."""
        if not names:
            return
        singles: list[Term] = [(name,) for name in names]
        yield [*_multiples(singles, matrix, values), *_lines(singles, matrix, values)]
        length = [feature_bits(name, self.space) for name in names]
        pairs = list(itertools.combinations_with_replacement(range(len(names)), 2))
        pairs = sorted(pairs, key=lambda pair: length[pair[0]] + length[pair[1]])[: _MOST_PAIRS // (4 if quick else 1)]
        a, b = np.array(pairs).T
        products: list[Term] = [(names[i], names[j]) for i, j in pairs]
        both = matrix[:, a] * matrix[:, b]
        yield [*_multiples(products, both, values), *_lines(products, both, values)]
        yield self._triples(names, matrix, values)
        yield _sums(names, matrix, values)

    def _triples(self, names: Sequence[str], matrix: np.ndarray, values: np.ndarray) -> list[Formula]:
        shares = [at for at, name in enumerate(names) if ":" in name or name[0] in "p1"]
        triples = list(itertools.combinations_with_replacement(shares, 3))[:_MOST_TRIPLES]
        if not triples:
            return []
        a, b, c = np.array(triples).T
        terms: list[Term] = [(names[i], names[j], names[k]) for i, j, k in triples]
        return _multiples(terms, matrix[:, a] * matrix[:, b] * matrix[:, c], values)

    def _linear(self, rows: Rows, values: np.ndarray, few: Rows, wanted: np.ndarray) -> Linear | None:
        """Return a combination of edges, surfaces and volumes of a share of one known number."""
        for terms in self._bases():
            model = _combination(terms, self.space, few, wanted)
            if model is not None:
                got, determined = model.values(self.space, rows)
                if determined.all() and bool(np.all(exact(got, values))):
                    return model
        return None

    def _bases(self) -> Iterator[tuple[Term, ...]]:
        edges = ("nb",) if self.space.axes == 3 else ("lo", "hi")
        for n in self.space.numbers:
            by_axis = [[(), (f"e{a}:{n}",), *((f"{edge}{a}",) for edge in edges)] for a in range(self.space.axes)]
            yield tuple(tuple(itertools.chain(*parts)) for parts in itertools.product(*by_axis))


def _sample(rows: Rows, values: np.ndarray, most: int) -> tuple[Rows, np.ndarray]:
    if len(rows) <= most:
        return rows, values
    which = np.sort(np.random.default_rng(1).choice(len(rows), most, replace=False))
    return rows.take(which), values[which]


def _multiples(terms: Sequence[Term], columns: np.ndarray, values: np.ndarray) -> list[Formula]:
    """Return the formulas k x that fit."""
    with np.errstate(all="ignore"):
        slope = (columns * values[:, None]).sum(axis=0) / (columns * columns).sum(axis=0)
        off = np.abs(columns * slope - values[:, None]).max(axis=0)
    good = np.flatnonzero(off <= _PRECISE * 10 * np.abs(values).max())
    return [Formula(((_neat(slope[k]), terms[k]),)) for k in good.tolist() if len(np.unique(columns[:, k])) >= 2]


def _lines(terms: Sequence[Term], columns: np.ndarray, values: np.ndarray) -> list[Formula]:
    """Return the formulas k x + b that fit at least three different values of x."""
    middle, mean = columns.mean(axis=0), values.mean()
    with np.errstate(all="ignore"):
        slope = ((columns - middle) * (values - mean)[:, None]).sum(axis=0) / ((columns - middle) ** 2).sum(axis=0)
        base = mean - slope * middle
        off = np.abs(columns * slope + base - values[:, None]).max(axis=0)
    good = np.flatnonzero(off <= _PRECISE * 10 * np.abs(values).max())
    found = []
    for k in good.tolist():
        if _is_shifted(terms[k]):
            continue
        if len(np.unique(columns[:, k])) >= 3 and abs(base[k]) > _PRECISE * np.abs(values).max():
            found.append(Formula(((_neat(slope[k]), terms[k]),), _neat(base[k])))
    return found


def _is_shifted(term: Term) -> bool:
    """Return whether a term is a length without or with edges: a line has a constant for these."""
    return len(term) == 1 and ":" in term[0] and term[0][2:3] in ("+", "-")


def _sums(names: Sequence[str], matrix: np.ndarray, values: np.ndarray) -> list[Formula]:
    """Return the formulas j x + k y + b that fit more rows than they have unknowns."""
    size = np.abs(matrix).max(axis=0)
    centred = matrix / size - (matrix / size).mean(axis=0)
    wanted = values - values.mean()
    gram, by = centred.T @ centred, centred.T @ wanted
    a, b = np.triu_indices(len(names), 1)
    with np.errstate(all="ignore"):
        det = gram[a, a] * gram[b, b] - gram[a, b] ** 2
        x = (by[a] * gram[b, b] - by[b] * gram[a, b]) / det
        y = (by[b] * gram[a, a] - by[a] * gram[a, b]) / det
        left = (wanted @ wanted) - x * by[a] - y * by[b]
    near = np.flatnonzero((det > 1e-9 * gram[a, a] * gram[b, b]) & (left <= 1e-9 * (wanted @ wanted)))
    found = []
    for k in near[:200].tolist():
        columns = np.column_stack([matrix[:, a[k]], matrix[:, b[k]], np.ones(len(values))])
        solved = np.linalg.lstsq(columns, values, rcond=None)[0]
        if not bool(np.all(exact(columns @ solved, values))):
            continue
        coefficients = [_neat(value) for value in solved.tolist()]
        small = max(map(coefficient_bits, coefficients)) < _SMALL_COEFFICIENTS
        if len(np.unique(columns, axis=0)) < (3 if small else 5) or min(map(abs, coefficients[:2])) == 0:
            continue
        terms = ((coefficients[0], (names[a[k]],)), (coefficients[1], (names[b[k]],)))
        base = coefficients[2] if abs(coefficients[2]) > _PRECISE * np.abs(values).max() else 0.0
        found.append(Formula(terms, base))
    return found


def _combination(terms: tuple[Term, ...], space: Space, rows: Rows, values: np.ndarray) -> Linear | None:
    matrix = matrix_of(terms, space, rows)
    scale = np.maximum(np.abs(matrix).max(axis=0), 1e-300)
    unlike = np.unique(np.column_stack([matrix, values]), axis=0)
    left, strengths, right = np.linalg.svd(unlike[:, :-1] / scale, full_matrices=False)
    rank = int((strengths > 1e-9 * strengths[0]).sum())
    if len(unlike) < rank + 2:
        return None
    coefficients = right[:rank].T @ ((left[:, :rank].T @ unlike[:, -1]) / strengths[:rank])
    off = np.abs(unlike[:, :-1] / scale @ coefficients - unlike[:, -1]).max()
    if off > 10 * EXACT * np.abs(values).max():
        return None
    return Linear(terms, scale, coefficients, right[:rank].T)


def _neat(value: float) -> float:
    """Return the nearby fraction of a small denominator, if there is one."""
    near = round(value * 48) / 48
    return near if near and abs(near - value) <= 1e-11 * abs(near) else float(value)
