"""N-T, P-T and NP-T models of a cluster of sub-clusters: fitted on measurements, evaluated for whole spaces at once.

Ichikawa, Takahashi, Kawai, section 4.  T_i depends on N, P and M_i, and T = max_i T_i over the sub-clusters in use.

nt
    One model per (i, P, M_i), from homogeneous runs.  In a heterogeneous configuration T_i needs the model of the total
    P, which G_i alone cannot always reach: then there is no time.  The paper therefore measured N-T models on all
    configurations of the space (section 5.1), and so may the measurements here: a configuration with heterogeneous
    runs of its own gets a model of its own, which gives T as a whole.
pt
    One model per (i, M_i) in P and T_i(N) at P and M_i, from the N-T models of homogeneous runs (eq. (3)).  The time
    that it refers to is that of one reference P everywhere, by default the largest measured one: so T/P falls as 1/P
    does, which is what makes a model of P of it.
pt-printed
    Eq. (3) to the letter: the time it refers to is that of the same P where P was measured, and that of the reference P
    elsewhere.  It expresses T(N) at P by itself, and one k_0 cannot equal every P: measured on 2, 3 and 4 PEs, T = W/P
    comes out 13 % too high to 43 % too low, where ``pt`` is exact.
npt
    One model per (i, M_i) in N and P, from homogeneous runs (eq. (4)).

P-T and NP-T models hold for P > M_i.  P = M_i is a single PE, without a network: there the N-T model decides
(section 4.1), whatever the form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from platforms.errors import UserError
from predictor.base import OutOfRange
from predictor.npt.configuration import Configuration
from predictor.npt.curves import Curves, Points
from predictor.npt.fit import Fit
from predictor.npt.space import Space

FORMS = ("nt", "pt", "pt-printed", "npt")


@dataclass(frozen=True, eq=False)
class NptModels:
    """Fitted models; ``predictor.npt.fitting.fit_models`` makes them."""

    form: str
    sub_clusters: int
    sizes: tuple[float, float]  # smallest and largest N of the measurements
    points: Points  # N-T models by (i, P, M_i): of single PEs, for form "nt" of all homogeneous runs
    curves: Curves | None  # P-T or NP-T models by (i, M_i)
    whole: Mapping[Configuration, Fit]  # form "nt": models of heterogeneous configurations
    glitches: np.ndarray  # which measurements were left out as such

    def times(self, space: Space, size: float) -> tuple[np.ndarray, np.ndarray]:
        """T of every configuration at N = ``size``, s, and the table of T_i by (i, M_i, P) behind it.

        NaN where there is no model; least squares may say negative times (section 5.8).
        """
        table_s = self._table_s(space.table_shape, size)
        times_s = space.gather(table_s)
        if self.whole:
            rows = space.rows(list(self.whole))
            estimates = np.array([self.points.time_s(fitted, size) for fitted in self.whole.values()])
            times_s[rows[rows >= 0]] = estimates[rows >= 0]
        return times_s, table_s

    def table_s(self, space: Space, size: float) -> np.ndarray:
        """T_i by (i, M_i, P), s: all that the times of the configurations depend on.

        Rows M_i = 0 hold -inf, entries without a model NaN.  Raises UserError for N-T models of whole configurations,
        whose times are in no table.
        """
        if self.whole:
            problem = "models of whole configurations have no times by sub-cluster"
            raise UserError("N-T models", problem, "Search exhaustively, or use P-T or NP-T models")
        return self._table_s(space.table_shape, size)

    def predict(self, configuration: Configuration, size: float) -> tuple[float, dict[int, float]]:
        """T at N = ``size``, s, and the T_i of the sub-clusters in use, counted from 0 (none for a whole model).

        Raises OutOfRange where one of them has no model.
        """
        if configuration in self.whole:
            return self.points.time_s(self.whole[configuration], size), {}
        most = max(processes for _, processes in configuration.shares)
        table_s = self._table_s((len(configuration.shares), most + 1, configuration.total + 1), size)
        times_s = {i: float(table_s[i, configuration.shares[i][1], configuration.total]) for i in configuration.used}
        for i, time_s in times_s.items():
            if np.isnan(time_s):
                processes = configuration.shares[i][1]
                problem = f"no {self.form} model of sub-cluster {i + 1} with {processes} processes on a PE"
                where = f"configuration {configuration}, P = {configuration.total}"
                raise OutOfRange(where, problem, "Measure it, or use a form that reaches this P, such as npt")
        return max(times_s.values()), times_s

    def flags(self, size: float) -> tuple[str, ...]:
        """Reasons to distrust what they say of N = ``size``."""
        least, most = self.sizes
        if least <= size <= most:
            return ()
        return (f"N = {size:g} is outside of the measured sizes, {least:g} to {most:g}",)

    def _table_s(self, shape: tuple[int, int, int], size: float) -> np.ndarray:
        if shape[0] != self.sub_clusters:
            problem = f"{shape[0]} sub-clusters, {self.sub_clusters} were measured"
            raise UserError(
                "configurations", problem, "Give limits for the measured sub-clusters, zero for one left out"
            )
        if not 0 < size < np.inf:
            raise UserError(f"size {size}", "not a size", "Give a positive number")
        table_s = np.full(shape, np.nan)
        if self.curves is not None:
            self.curves.fill(table_s, size)
        self.points.fill(table_s, size)
        table_s[:, 0, :] = -np.inf
        return table_s
