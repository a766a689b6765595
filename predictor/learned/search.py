"""Search for exact formulas of a number: the shortest first, and all of nearly the same length."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import cache
from typing import overload

import numpy as np

from predictor.learned import trees
from predictor.learned.cells import names
from predictor.learned.features import Space
from predictor.learned.models import (
    EXACT,
    Formula,
    Linear,
    Numeric,
    Term,
    coefficient_bits,
    constant,
    exact,
    feature_bits,
    formula_bits,
    matrix_of,
)
from predictor.learned.points import LEVEL
from predictor.learned.rows import Rows, reduced

_FEW_ROWS = 60
_MOST_ROWS = 200  # that candidates are searched on; all rows check them
_MOST_PAIRS, _MOST_TRIPLES = 6000, 3000
_MOST_CELLS = 200  # formulas by cells that are checked, the shortest ones
_MOST_CHECKED = 24  # candidates of a stage, the shortest ones
_SHORT = 24.0  # bits: no longer formula is looked for beside one so short
_NEARLY = 10.0  # bits: formulas so much longer than the shortest one are kept too
_MOST_KEPT = 8
_FEW_VALUES = 3  # different ones
_ROUNDING = 1e-13  # part of the largest value
_LEAST_WEIGHED = 1e-4  # part of the largest value down to which values count by their relative errors
_PRECISE = 1e-10
_WHOLE_COEFFICIENTS = 18.0  # bits: a line with such coefficients needs no more than two values
_MOST_SUMS = 200  # candidates
_LEAST_UNLIKE = 3  # different rows that a sum needs
_SMALL_COEFFICIENTS = 14.0  # bits: a sum with such coefficients needs no rows beyond its unknowns


class Search:
    """Looks for formulas under one rule for the grid; what was searched is remembered."""

    def __init__(self, space: Space, most: int):
        self.space = space
        self._most = most
        self.left = most  # for what is looked for now; a search with cases that finds nothing is long
        self.blank = False  # whether indices on which values do not depend are 0
        self._known: dict[tuple[int, bytes, bool, int, bool], Numeric | Linear | None] = {}

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
        key = (rows.key, values.tobytes(), quick, len(self.space.numbers), self.blank)
        if key not in self._known:
            if self.left <= 0:
                return None
            self.left -= 1
            self._known[key] = self._numeric(*reduced(rows, values, blank=self.blank), quick=quick)
        return self._known[key]

    def cells(self, rows: Rows, values: np.ndarray) -> Numeric | None:
        """Return the exact formulas of a number by the cells of a multi-partition; None where there are none."""
        values = np.asarray(values, float)
        if not is_square(self.space, rows) or np.ptp(values) == 0:
            return None
        rows, values = reduced(rows, values)
        few, wanted = _sample(rows, values, _MOST_ROWS)
        for found in candidates(self.space, few, wanted):
            short = sorted(dict.fromkeys(found), key=lambda formula: formula_bits(formula, self.space))[:_MOST_CELLS]
            kept = [f for f in short if bool(np.all(exact(f.values(self.space, rows), values)))]
            if kept:
                return self._nearly_shortest(kept)
        return None

    def begin(self) -> None:
        """Begin to look for the model of another quantity."""
        self.left = self._most

    def _numeric(self, rows: Rows, values: np.ndarray, *, quick: bool) -> Numeric | Linear | None:
        few, wanted = _sample(rows, values, _MOST_ROWS if not quick else _FEW_ROWS)
        names = [*self.space.names(rows.loops), *self.space.level_names(rows)]
        tiers = [names]
        if not quick:
            of_trees = trees.names(self.space.axes, trees.roots(rows))
            tiers += [[*names, *self.space.further_names(rows.loops), *of_trees]]
            tiers += map(self.space.names_near, self.space.derived)
        for tier in tiers:  # the search ends with the first that explains the number
            kept = self._tier(tier, rows, values, few, wanted, quick=quick)
            if kept:
                return self._shortest(kept, rows)
        return None if quick else self._linear(rows, values, few, wanted)

    def _tier(
        self, names: Sequence[str], rows: Rows, values: np.ndarray, few: Rows, wanted: np.ndarray, *, quick: bool
    ) -> list[Formula]:
        kept: list[Formula] = []
        kinds, matrix = self._distinct(names, few)
        for found in self._stages(kinds, matrix, wanted, quick=quick):
            short = sorted(found, key=lambda formula: formula_bits(formula, self.space))
            for formula in short[:_MOST_CHECKED]:
                if bool(np.all(exact(formula.values(self.space, rows), values))):
                    kept.append(formula)
            if kept and min(formula_bits(formula, self.space) for formula in kept) < _SHORT:
                break
            if any(_is_of_level(formula) for formula in kept) and len(np.unique(wanted)) > _FEW_VALUES:
                break
        return kept

    def _shortest(self, kept: list[Formula], rows: Rows) -> Numeric:
        """Return the shortest formulas, and those with another feature that was the same on all rows."""
        kept = sorted(dict.fromkeys(kept), key=lambda formula: formula_bits(formula, self.space))
        names = [*self.space.names(rows.loops), *self.space.level_names(rows)]
        for formula in kept[:2]:
            for at, (factor, term) in enumerate(formula.terms):
                for place, name in enumerate(term):
                    column = self.space.value(name, rows)
                    for other in names:
                        if other != name and np.array_equal(self.space.value(other, rows), column):
                            terms = list(formula.terms)
                            terms[at] = factor, (*term[:place], other, *term[place + 1 :])
                            kept.append(Formula(tuple(terms), formula.constant))
        return self._nearly_shortest(kept)

    def _nearly_shortest(self, kept: list[Formula]) -> Numeric:
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
        yield [*multiples(singles, matrix, values), *lines(singles, matrix, values)]
        length = np.array([feature_bits(name, self.space) for name in names])
        pairs = np.stack(np.triu_indices(len(names)), axis=1)
        shortest = np.argsort(length[pairs].sum(axis=1), kind="stable")[: _MOST_PAIRS // (4 if quick else 1)]
        products = Chosen(names, pairs[shortest])
        both = matrix[:, pairs[shortest]].prod(axis=2)
        yield [*multiples(products, both, values), *lines(products, both, values)]
        yield self._triples(names, matrix, values)
        yield sums_of_two(singles, matrix, values)

    def _triples(self, names: Sequence[str], matrix: np.ndarray, values: np.ndarray) -> list[Formula]:
        """Return the multiples of three shares of the same number, or of plain shares of any, the shortest terms."""
        shares = [at for at, name in enumerate(names) if ":" in name or name[0] in "p1"]
        if not shares:
            return []
        numbers = {number: at for at, number in enumerate(dict.fromkeys(names[at].partition(":")[2] for at in shares))}
        number = np.array([numbers[names[at].partition(":")[2]] for at in shares])
        plain = np.array([names[at][0] in "ep1" and "+" not in names[at] and "-" not in names[at] for at in shares])
        length = np.array([feature_bits(names[at], self.space) for at in shares])
        which = _choices_of_three(len(shares))
        a, b, c = which.T
        same = (number[a] == number[b]) & (number[b] == number[c])
        which = which[same | (plain[a] & plain[b] & plain[c])]
        which = which[np.argsort(length[which].sum(axis=1), kind="stable")[:_MOST_TRIPLES]]
        return multiples(Chosen([names[at] for at in shares], which), matrix[:, shares][:, which].prod(axis=2), values)

    def _linear(self, rows: Rows, values: np.ndarray, few: Rows, wanted: np.ndarray) -> Linear | None:
        """Return a combination of edges, surfaces and volumes of a share of one known number, or of block columns."""
        for terms in self._bases(rows):
            model = _combination(terms, self.space, few, wanted)
            if model is not None:
                got, determined = model.values(self.space, rows)
                if determined.all() and bool(np.all(exact(got, values))):
                    return model
        return None

    def _bases(self, rows: Rows) -> Iterator[tuple[Term, ...]]:
        edges = ("nb",) if self.space.axes == 3 else ("lo", "hi")
        for n in self.space.numbers:
            by_axis = [[(), (f"e{a}:{n}",), *((f"{edge}{a}",) for edge in edges)] for a in range(self.space.axes)]
            yield tuple(tuple(itertools.chain(*parts)) for parts in itertools.product(*by_axis))
        for root in trees.roots(rows)[1:] if not rows.levels else ():
            if root[0] == "m":  # rows below the panel times own columns right of it, with a column more on the first
                for a in range(self.space.axes):
                    own = ((), (f"rn{a}@{root}",)), ((), (f"j{root[1:]}",)), ((), (f"lo{a}",))
                    yield tuple(tuple(itertools.chain(*parts)) for parts in itertools.product(*own))
                yield (), ("P",), ("r",), ("P", f"j{root[1:]}")  # blocks above a rank's own one


@cache
def _choices_of_three(length: int) -> np.ndarray:
    """Return the choices of three out of that many, with repetition, choices x 3."""
    a, b, c = np.ogrid[:length, :length, :length]
    return np.argwhere((a <= b) & (b <= c))


def _is_of_level(formula: Formula) -> bool:
    """Return whether a formula is a multiple of a feature of levels, beside which longer ones are no likelier."""
    return len(formula.terms) == 1 and not formula.constant and all(map(LEVEL.match, formula.terms[0][1]))


def _sample(rows: Rows, values: np.ndarray, most: int) -> tuple[Rows, np.ndarray]:
    if len(rows) <= most:
        return rows, values
    which = np.sort(np.random.default_rng(1).choice(len(rows), most, replace=False))
    return rows.take(which), values[which]


def _combination(terms: tuple[Term, ...], space: Space, rows: Rows, values: np.ndarray) -> Linear | None:
    matrix = matrix_of(terms, space, rows)
    scale = np.maximum(np.abs(matrix).max(axis=0), 1e-300)
    unlike = np.unique(np.column_stack([matrix, values]), axis=0)
    wanted = unlike[:, -1]
    weight = 1 / np.maximum(np.abs(wanted), _LEAST_WEIGHED * np.abs(wanted).max())  # small values are as precise
    left, strengths, right = np.linalg.svd(unlike[:, :-1] / scale * weight[:, None], full_matrices=False)
    rank = int((strengths > 1e-9 * strengths[0]).sum())
    if len(unlike) < rank + 2:
        return None
    coefficients = right[:rank].T @ ((left[:, :rank].T @ (wanted * weight)) / strengths[:rank])
    coefficients[np.abs(coefficients) <= _ROUNDING * np.abs(wanted).max()] = 0.0
    off = np.abs(unlike[:, :-1] / scale @ coefficients - wanted).max()
    if off > 10 * EXACT * np.abs(values).max():
        return None
    return Linear(terms, scale, coefficients, right[:rank].T)


def is_square(space: Space, rows: Rows) -> bool:
    """Return whether the ranks form a square on all numbers of ranks, of more than one size."""
    sides = [space.sides(nranks) for nranks in rows.counts.tolist()]
    return space.axes == 2 and len(sides) > 1 and all(a == b for a, b in sides)


def candidates(space: Space, rows: Rows, values: np.ndarray) -> Iterator[list[Formula]]:
    """Yield formulas that fit the rows: multiples of a feature of cells, and sums of two such multiples."""
    moving = [k for k in range(rows.loops) if np.ptp(rows.index[:, k]) > 0][-1:]  # the innermost loop that goes round
    kept: dict[bytes, tuple[Term, np.ndarray]] = {}
    for name in sorted(names(space.numbers, moving), key=lambda name: feature_bits(name, space)):
        column = space.value(name, rows)
        if np.ptp(column) > 0:
            kept.setdefault(column.tobytes(), ((name,), column))
    if kept:
        terms, columns = zip(*kept.values(), strict=True)
        matrix = np.column_stack(columns)
        yield multiples(terms, matrix, values)
        yield sums_of_two(terms, matrix, values)


class Chosen(Sequence[Term]):
    """Products of features, each of which is made when it is asked for: few of many candidates fit.

    Args:
        names: The features.
        which: The indices of the factors of each product, products x factors.
    """

    def __init__(self, names: Sequence[str], which: np.ndarray):
        self._names, self._which = names, which

    def __len__(self) -> int:
        return len(self._which)

    @overload
    def __getitem__(self, at: int) -> Term: ...

    @overload
    def __getitem__(self, at: slice) -> Chosen: ...

    def __getitem__(self, at: int | slice) -> Term | Chosen:
        if isinstance(at, slice):
            return Chosen(self._names, self._which[at])
        return tuple(self._names[factor] for factor in self._which[at].tolist())


def multiples(terms: Sequence[Term], columns: np.ndarray, values: np.ndarray) -> list[Formula]:
    """Return the formulas k x that fit."""
    with np.errstate(all="ignore"):
        slope = (columns * values[:, None]).sum(axis=0) / (columns * columns).sum(axis=0)
        off = np.abs(columns * slope - values[:, None]).max(axis=0)
    good = np.flatnonzero(off <= _PRECISE * 10 * np.abs(values).max())
    return [Formula(((_neat(slope[k]), terms[k]),)) for k in good.tolist() if np.ptp(columns[:, k]) > 0]


def lines(terms: Sequence[Term], columns: np.ndarray, values: np.ndarray) -> list[Formula]:
    """Return the formulas k x + b that fit at least three different values of x, or two with small whole numbers."""
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
        by, shift = _neat(slope[k]), _neat(base[k])
        small = len(terms[k]) == 1 and max(coefficient_bits(by), coefficient_bits(shift)) < _WHOLE_COEFFICIENTS
        if len(np.unique(columns[:, k])) >= (2 if small else 3) and abs(base[k]) > _PRECISE * np.abs(values).max():
            found.append(Formula(((by, terms[k]),), shift))
    return found


def _is_shifted(term: Term) -> bool:
    """Return whether a term is a length without or with edges: a line has a constant for these."""
    return len(term) == 1 and ":" in term[0] and term[0][2:3] in ("+", "-")


def sums_of_two(terms: Sequence[Term], matrix: np.ndarray, values: np.ndarray) -> list[Formula]:
    """Return the formulas j x + k y + b that fit more rows than they have unknowns."""
    size = np.abs(matrix).max(axis=0)
    centred = matrix / size - (matrix / size).mean(axis=0)
    wanted = values - values.mean()
    gram, by = centred.T @ centred, centred.T @ wanted
    a, b = np.triu_indices(len(terms), 1)
    with np.errstate(all="ignore"):
        det = gram[a, a] * gram[b, b] - gram[a, b] ** 2
        x = (by[a] * gram[b, b] - by[b] * gram[a, b]) / det
        y = (by[b] * gram[a, a] - by[a] * gram[a, b]) / det
        left = (wanted @ wanted) - x * by[a] - y * by[b]
    near = np.flatnonzero((det > 1e-9 * gram[a, a] * gram[b, b]) & (left <= 1e-9 * (wanted @ wanted)))[:_MOST_SUMS]
    unlike = _unlike_rows(matrix, a[near], b[near])
    near, unlike = near[unlike >= _LEAST_UNLIKE], unlike[unlike >= _LEAST_UNLIKE]
    noise = 1e-9 * np.abs(values).max()
    found = []
    for k, rows in zip(near.tolist(), unlike.tolist(), strict=True):
        columns = np.column_stack([matrix[:, a[k]], matrix[:, b[k]], np.ones(len(values))])
        solved = np.linalg.lstsq(columns, values, rcond=None)[0]
        if not bool(np.all(exact(columns @ solved, values))):
            continue
        coefficients = [_neat(value) for value in solved.tolist()]
        small = max(map(coefficient_bits, coefficients)) < _SMALL_COEFFICIENTS
        if rows < (_LEAST_UNLIKE if small else 5) or any(np.abs(columns[:, :2] * solved[:2]).max(axis=0) <= noise):
            continue
        two = ((coefficients[0], terms[a[k]]), (coefficients[1], terms[b[k]]))
        base = coefficients[2] if abs(coefficients[2]) > _PRECISE * np.abs(values).max() else 0.0
        found.append(Formula(two, base))
    return found


def _unlike_rows(matrix: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the number of different rows of each pair of columns."""
    order = np.argsort(matrix, axis=0)
    ascending = np.take_along_axis(matrix, order, axis=0)
    number = np.zeros(matrix.shape, np.int64)  # of each value among those of its column
    number[1:] = np.cumsum(ascending[1:] != ascending[:-1], axis=0)
    place = np.empty_like(number)
    np.put_along_axis(place, order, number, axis=0)
    both = np.sort(place[:, a] * len(matrix) + place[:, b], axis=0)
    found: np.ndarray = 1 + (both[1:] != both[:-1]).sum(axis=0)
    return found


def _neat(value: float) -> float:
    """Return the nearby fraction of a small denominator, if there is one."""
    near = round(value * 48) / 48
    return near if near and abs(near - value) <= 1e-11 * abs(near) else float(value)
