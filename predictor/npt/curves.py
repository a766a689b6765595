"""Fitted equations, which are evaluated together into a table of T_i by (i, M_i, P).

NP-T models with times of messages: programs that exchange everything among all processes.

In an exchange of N points every process sends a message of N / P^2 points to every other.  With M_i processes on a node
P - M_i of them leave the node, one after the other, so that

    T_i(N, P) = terms of Table V without communication + (P - M_i) t(N / P^2).

The paper takes the time of a message, t, to be linear: O(N) / P + P O(1).  It is not: MPI changes its protocol and its
algorithm with the size of a message, and networks give small messages less of their bandwidth.  A larger N on more
processes has messages of sizes that smaller N had on fewer.  So t is fitted as any function that does not fall with the
size: linear between the measured sizes, with rises of at least 0, which are found by NNLS together with the other
terms (an isotonic regression).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from predictor.npt.fit import Fit
from predictor.npt.terms import REFERENCE, Term, columns, ranks_part, size_part

APART = 2.0  # least ratio of two knots of t


class Point(NamedTuple):
    """Subject of an N-T model, ``T_i(N)|P,M_i``."""

    sub_cluster: int  # i, counted from 0
    ranks: int  # P
    processes: int  # M_i

    def __str__(self) -> str:
        return f"G{self.sub_cluster + 1} P={self.ranks} M={self.processes}"


class Series(NamedTuple):
    """Subject of a P-T or NP-T model, ``T_i(N, P)|M_i``."""

    sub_cluster: int  # i, counted from 0
    processes: int  # M_i

    def __str__(self) -> str:
        return f"G{self.sub_cluster + 1} M={self.processes}"


@dataclass(frozen=True, eq=False)
class Points:
    """N-T models that share one equation."""

    form: tuple[Term, ...]
    fits: Mapping[Point, Fit] = field(default_factory=dict)

    @cached_property
    def _places(self) -> np.ndarray:
        """The i, P and M_i of each model, models x 3."""
        return np.array(list(self.fits), int).reshape(-1, 3)

    @cached_property
    def _coefficients(self) -> np.ndarray:
        """Coefficients, models x terms."""
        return np.array([fitted.coefficients for fitted in self.fits.values()]).reshape(-1, len(self.form))

    def time_s(self, fitted: Fit, size: float) -> float:
        """Return the time of a fit of this equation at N = ``size``, s."""
        return float(fitted.coefficients @ size_part(self.form, np.array([size]))[:, 0])

    def times_s(self, point: Point, sizes: np.ndarray) -> np.ndarray:
        """Return the times of the point's model at several sizes N, s."""
        times_s: np.ndarray = self.fits[point].coefficients @ size_part(self.form, sizes)
        return times_s

    def fill(self, table_s: np.ndarray, size: float) -> None:
        """Write ``T_i(N)|P,M_i`` to the table at [i, M_i, P], as far as the table reaches."""
        _, most, most_total = table_s.shape
        i, ranks, processes = self._places.T
        inside = (processes < most) & (ranks < most_total)
        times_s = self._coefficients @ size_part(self.form, np.array([size]))[:, 0]
        table_s[i[inside], processes[inside], ranks[inside]] = times_s[inside]


@dataclass(frozen=True, eq=False)
class Curves:
    """P-T or NP-T models that share one equation."""

    form: tuple[Term, ...]
    fits: Mapping[Series, Fit]
    references: Mapping[Series, Fit] | None = None  # P-T: the N-T model that each model refers to; None: NP-T
    points: Points | None = None  # P-T: the N-T equation; form "npt:pt-printed": also the N-T models of the measured P

    @cached_property
    def _coefficients(self) -> np.ndarray:
        """Coefficients, models x terms."""
        return np.array([fitted.coefficients for fitted in self.fits.values()]).reshape(-1, len(self.form))

    def fill(self, table_s: np.ndarray, size: float) -> None:
        """Write ``T_i(N, P)|M_i`` to the table at [i, M_i, P] for all P > M_i, as far as the table reaches."""
        times_s = self.times_s(size, np.arange(1, table_s.shape[2]))
        for (i, processes), row in zip(self.fits, times_s, strict=True):
            if processes < table_s.shape[1]:
                table_s[i, processes, processes + 1 :] = row[processes:]

    def times_s(self, size: float, ranks: np.ndarray) -> np.ndarray:
        """Return the times at N = ``size`` on P = ``ranks`` processes, s, models x ranks, in the order of ``fits``."""
        weighted = self._coefficients * size_part(self.form, np.array([size]))[:, 0]
        by_ranks = ranks_part(self.form, ranks)
        times_s: np.ndarray
        if self.references is None or self.points is None:
            times_s = weighted @ by_ranks
            return times_s
        refers = np.array([term.size == REFERENCE for term in self.form])
        plain_s = weighted[:, ~refers] @ by_ranks[~refers]
        reference_s = self._reference_s(self.references, self.points, size, ranks)
        times_s = plain_s + reference_s * (weighted[:, refers] @ by_ranks[refers])
        return times_s

    def _reference_s(
        self, references: Mapping[Series, Fit], points: Points, size: float, ranks: np.ndarray
    ) -> np.ndarray:
        """Return the reference time T of eq. (3), s, models x ranks."""
        by_size = size_part(points.form, np.array([size]))[:, 0]
        coefficients = np.array([references[series].coefficients for series in self.fits]).reshape(-1, len(by_size))
        times_s = np.repeat((coefficients @ by_size)[:, None], len(ranks), axis=1)
        if points.fits:
            for row, (i, M) in enumerate(self.fits):
                for column, P in enumerate(ranks.tolist()):
                    if (fitted := points.fits.get(Point(i, P, M))) is not None:
                        times_s[row, column] = fitted.coefficients @ by_size
        return times_s


def message_points(sizes: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """Return the points of a message, N / P^2."""
    points: np.ndarray = np.asarray(sizes, float) / np.asarray(ranks, float) ** 2
    return points


def knots_of(measured: np.ndarray, most: int) -> np.ndarray:
    """Return the sizes of messages between which t is linear: measured ones, each at least twice the one before.

    Args:
        measured: Points of the messages of all runs.
        most: Most knots that the runs can decide; where there are more, those that remain are further apart.

    >>> knots_of(np.array([4.0, 1.0, 1.0, 8.0, 9.0, 32.0]), 9).tolist()
    [1.0, 4.0, 8.0, 32.0]
    >>> knots_of(np.array([4.0, 1.0, 1.0, 8.0, 9.0, 32.0]), 3).tolist()
    [1.0, 4.0, 32.0]
    """
    apart = APART
    while True:
        knots = [float(measured.min())]
        for points in np.unique(measured).tolist():
            if points >= apart * knots[-1]:
                knots.append(points)
        if len(knots) <= max(most, 1):
            return np.array(knots)
        apart *= APART


def rises(points: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """Return the share of every rise of t that messages of these sizes have taken, messages x knots.

    Below the first knot t is constant, because messages have a latency; beyond the last it goes on rising.

    >>> rises(np.array([1.0, 4.0, 6.0, 20.0]), np.array([2.0, 4.0, 8.0])).tolist()
    [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 1.0, 0.5], [1.0, 1.0, 4.0]]
    """
    shares = [np.ones(len(points))]
    for least, most in pairwise(knots.tolist()):
        beyond = np.inf if most == knots[-1] else 1.0
        shares.append(np.clip((points - least) / (most - least), 0.0, beyond))
    return np.stack(shares, axis=1)


def exchange_columns(
    beside: tuple[Term, ...], knots: np.ndarray, sizes: np.ndarray, ranks: np.ndarray, processes: int
) -> np.ndarray:
    """Return the design matrix of runs at sizes N on P processes, M_i on a node: the terms, then the rises of t."""
    leaving = np.asarray(ranks, float) - processes
    return np.hstack([columns(beside, sizes, ranks), leaving[:, None] * rises(message_points(sizes, ranks), knots)])


@dataclass(frozen=True, eq=False)
class ExchangeCurves(Curves):
    """Fitted NP-T models with times of messages; ``form`` has the terms beside them."""

    knots: Mapping[Series, np.ndarray] | None = None  # of t of every model

    def times_s(self, size: float, ranks: np.ndarray) -> np.ndarray:
        """Return the times at N = ``size`` on P = ``ranks`` processes, s, models x ranks, in the order of ``fits``."""
        assert self.knots is not None  # given with the fits
        sizes = np.full(len(ranks), float(size))
        rows = [
            exchange_columns(self.form, self.knots[series], sizes, ranks, series.processes) @ fitted.coefficients
            for series, fitted in self.fits.items()
        ]
        return np.array(rows).reshape(-1, len(ranks))

    def message_s(self, series: Series, points: np.ndarray) -> np.ndarray:
        """Return t, the time of a message that leaves the node, s, times the number of exchanges."""
        assert self.knots is not None  # given with the fits
        fitted: Fit = self.fits[series]
        times_s: np.ndarray = rises(points, self.knots[series]) @ fitted.coefficients[len(self.form) :]
        return times_s
