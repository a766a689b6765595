"""Fitted equations, which are evaluated together into a table of T_i by (i, M_i, P)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from predictor.npt.fit import Fit
from predictor.npt.terms import REFERENCE, Term, ranks_part, size_part


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
