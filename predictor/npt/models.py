"""N-T, P-T and NP-T models of a cluster of sub-clusters: fitted on measurements, evaluated for whole spaces at once.

Ichikawa, Takahashi, Kawai, section 4.  T_i depends on N, P and M_i, and T = max_i T_i over the sub-clusters in use.

npt:nt
    One model per (i, P, M_i), from homogeneous runs.  In a heterogeneous configuration T_i needs the model for the
    total P, which G_i alone cannot always reach; then there is no time.  The paper therefore measured N-T models on all
    configurations of the space (section 5.1).  Here too, a configuration that has heterogeneous runs gets its own
    model, which gives T as a whole.
npt:pt
    One model per (i, M_i) in P and T_i(N) at P and M_i, from the N-T models of homogeneous runs (eq. (3)).  Its
    reference time T is always that of one reference P, by default the largest measured one.  So T/P falls as 1/P does,
    which makes it a model of P.
npt:pt-printed
    Eq. (3) taken literally: the reference time is that of the same P where P was measured, and that of the reference P
    elsewhere.  This expresses T(N) at P by itself, and one k_0 cannot equal every P: measured on 2, 3 and 4 PEs,
    T = W/P comes out 13 % too high to 43 % too low, where ``npt:pt`` is exact.
npt
    One model per (i, M_i) in N and P, from homogeneous runs (eq. (4)).
npt:messages
    As npt, for programs that exchange everything among all processes: the time of a message is any function of its
    size that does not fall (curves.py).

P-T and NP-T models hold for P > M_i.  P = M_i means a single PE without a network: there the N-T model is used with
every form (section 4.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from platforms.errors import UserError
from predictor.allocation.configuration import Configuration
from predictor.allocation.space import Space
from predictor.base import OutOfRange
from predictor.npt.curves import Curves, Points
from predictor.npt.fit import Fit

FORMS = ("npt:nt", "npt:pt", "npt:pt-printed", "npt", "npt:messages")


@dataclass(frozen=True, eq=False)
class NptModels:
    """Fitted models; ``predictor.npt.fitting.fit_models`` makes them."""

    form: str
    sub_clusters: int
    sizes: tuple[float, float]  # smallest and largest N of the measurements
    points: Points  # N-T models by (i, P, M_i): of single PEs, for form "npt:nt" of all homogeneous runs
    curves: Curves | None  # P-T or NP-T models by (i, M_i)
    whole: Mapping[Configuration, Fit]  # form "npt:nt": models of heterogeneous configurations
    glitches: np.ndarray  # mask of the measurements that were left out as glitches
    outliers: np.ndarray  # mask of the measurements that were left out as outliers

    def times(self, space: Space, size: float) -> tuple[np.ndarray, np.ndarray]:
        """Return T of every configuration at N = ``size``, s, and the table of T_i by (i, M_i, P).

        Times are NaN where there is no model; least squares may give negative times (section 5.8).
        """
        table_s = self._table_s(space.table_shape, size)
        times_s = space.gather(table_s)
        if self.whole:
            rows = space.rows(list(self.whole))
            estimates = np.array([self.points.time_s(fitted, size) for fitted in self.whole.values()])
            times_s[rows[rows >= 0]] = estimates[rows >= 0]
        return times_s, table_s

    def table_s(self, space: Space, size: float) -> np.ndarray:
        """Return the table of T_i by (i, M_i, P), s, from which the times of all configurations follow.

        Rows M_i = 0 hold -inf, and entries without a model NaN.

        Raises:
            UserError: There are N-T models of whole configurations, whose times are in no table.
        """
        if self.whole:
            problem = "models of whole configurations have no times by sub-cluster"
            raise UserError("N-T models", problem, "Search exhaustively, or use P-T or NP-T models")
        return self._table_s(space.table_shape, size)

    def predict(self, configuration: Configuration, size: float) -> tuple[float, dict[int, float]]:
        """Return T at N = ``size``, s, and T_i of each sub-cluster in use, counted from 0 (none for a whole model).

        Raises:
            OutOfRange: A sub-cluster in use has no model.
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
        """Return reasons to distrust the models at N = ``size``."""
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
