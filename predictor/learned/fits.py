"""Formulas of one or two terms that fit values: coefficients for all candidates at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np

from predictor.learned.bits import coefficient_bits
from predictor.learned.models import Formula, Term, exact

_PRECISE = 1e-10
_WHOLE_COEFFICIENTS = 18.0  # bits: a line with such coefficients needs no more than two values
_MOST_SUMS = 200  # candidates
_LEAST_UNLIKE = 3  # different rows that a sum needs
_SMALL_COEFFICIENTS = 14.0  # bits: a sum with such coefficients needs no rows beyond its unknowns


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
