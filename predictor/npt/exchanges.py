"""NP-T models with times of messages: programs that exchange everything among all processes.

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
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from predictor.npt.curves import Curves, Series
from predictor.npt.fit import Fit
from predictor.npt.terms import Term, columns

APART = 2.0  # least ratio of two knots of t


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
