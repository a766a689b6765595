"""Fit N-T, P-T and NP-T models to measurements.

Ichikawa, Takahashi, Kawai, sections 4, 5.6 and 5.7; ``predictor/npt/models.py`` describes the forms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from platforms.errors import UserError
from predictor.allocation.configuration import Configuration
from predictor.npt.curves import (
    Curves,
    ExchangeCurves,
    Point,
    Points,
    Series,
    exchange_columns,
    knots_of,
    message_points,
)
from predictor.npt.fit import Fit, check_method, fit
from predictor.npt.measurements import Measurements
from predictor.npt.models import FORMS, NptModels
from predictor.npt.outliers import glitches, nearness, outliers
from predictor.npt.terms import Equations, Term, columns, without


def fit_models(
    measurements: Measurements,
    equations: Equations,
    *,
    form: str = "npt",
    method: str = "nnls",
    weights: str = "absolute",
    drop: Iterable[str] = (),
    glitch_k: float | None = None,
    reference_pes: int | None = None,
    near: float | None = None,
    width: float = 1.0,
    reject: bool = False,
) -> NptModels:
    """Fit models to measurements; a sub-cluster and M_i without measurements get no model.

    Args:
        measurements: Times of runs.
        equations: Terms of the program's time.
        form: See models.py; all forms except "npt:nt" use only the homogeneous runs.
        method: "ls", the paper's first choice, or "nnls", its final one (section 5.8).
        weights: "absolute", as in the paper, "relative", or "local": relative and, as in nearness.py, near a size.
        drop: Names of terms to leave out of the form's equation, such as "log P" (section 5.7).
        glitch_k: Leave out glitches below this share of the performance, 0.9 in the paper (section 5.6); None: keep.
        reference_pes: For P-T models, the number of PEs of the reference time; None: the largest measured one.
        near: For local weights, the size N near which the models are to hold; None: the largest measured one.
        width: For local weights, their width as a share of the measured range (nearness.py).
        reject: Leave out the runs that are far slower than the model of the others (outliers.py).

    Raises:
        UserError: A name is not known, or a sub-cluster and M_i have some measurements, but too few.
    """
    if form not in FORMS:
        raise UserError(f"form {form!r}", "no such model", f"Known: {', '.join(FORMS)}")
    check_method(method, weights)
    if reference_pes is not None and not form.startswith("npt:pt"):
        raise UserError(f"reference {reference_pes} PEs", f"{form} models have none", "Leave it out, or use form pt")
    excluded = np.zeros(len(measurements), bool) if glitch_k is None else glitches(measurements, glitch_k)
    fitter = _Fitter(
        measurements, excluded, equations, drop=frozenset(drop), form=form, method=method, weights=weights, near=near,
        width=width, reject=reject,
    )  # fmt: skip
    single_pes = {key: rows for key, rows in fitter.homogeneous.items() if key.ranks == key.processes}
    curves, whole = None, {}
    if form == "npt:nt":
        points, whole = fitter.points(fitter.homogeneous), fitter.whole()
    else:
        points = fitter.points(single_pes)
        curves = fitter.curves(reference_pes)
    sizes = float(measurements.size.min()), float(measurements.size.max())
    return NptModels(form, measurements.pes.shape[1], sizes, points, curves, whole, excluded, fitter.outlying)


def _curve(equations: Equations, form: str) -> tuple[Term, ...]:
    """Return the terms of the models of several PEs.

    Raises:
        UserError: The program does not exchange everything among all processes, which the form is for.
    """
    if form == "npt:messages":
        if not equations.beside_exchanges:
            problem = "the program is not known to exchange everything among all processes, as fft does"
            raise UserError(f"form {form!r}", problem, "Use form npt")
        return equations.beside_exchanges
    return equations.npt if form == "npt" else equations.pt


class _Fitter:
    """Measurements grouped by model, with the settings of the fit."""

    def __init__(
        self,
        measurements: Measurements,
        excluded: np.ndarray,
        equations: Equations,
        *,
        drop: frozenset[str],
        form: str,
        method: str,
        weights: str,
        near: float | None,
        width: float,
        reject: bool,
    ):
        self.data, self.excluded, self.reject = measurements, excluded, reject
        self.outlying = np.zeros(len(measurements), bool)  # rows that were rejected
        self.width = width
        self.near = float(measurements.size.max()) if near is None else near
        self.form, self.method, self.weights = form, method, weights
        self.nt = without(equations.nt, drop) if form == "npt:nt" else equations.nt
        self.curve = () if form == "npt:nt" else without(_curve(equations, form), drop)
        self.homogeneous: dict[Point, np.ndarray] = {}  # rows of the measurements by (i, P, M_i)
        self.heterogeneous: dict[Configuration, np.ndarray] = {}
        for rows in measurements.series:
            if (i := int(measurements.sub_cluster[rows[0]])) < 0:
                self.heterogeneous[measurements.configuration(rows[0])] = rows
            else:
                point = Point(i, int(measurements.total[rows[0]]), int(measurements.processes[rows[0], i]))
                self.homogeneous[point] = rows
        self.homogeneous = dict(sorted(self.homogeneous.items()))

    def points(self, groups: Mapping[Point, np.ndarray]) -> Points:
        """Fit N-T models to homogeneous runs."""
        return Points(self.nt, {point: self._n_fit(rows, f"N-T model, {point}") for point, rows in groups.items()})

    def whole(self) -> dict[Configuration, Fit]:
        """Fit N-T models to heterogeneous configurations."""
        return {c: self._n_fit(rows, f"N-T model, configuration {c}") for c, rows in self.heterogeneous.items()}

    def curves(self, reference_pes: int | None) -> Curves:
        """Fit the models of several PEs."""
        if self.form == "npt":
            return self.np_curves()
        return self.exchange_curves() if self.form == "npt:messages" else self.p_curves(reference_pes)

    def np_curves(self) -> Curves:
        """Fit NP-T models, eq. (4)."""
        fits = {}
        for series, points in self._series().items():
            rows = np.concatenate([self.homogeneous[point] for point in points])
            kept = rows[~self.excluded[rows]]
            design = columns(self.curve, self.data.size[kept], self.data.total[kept])
            fits[series] = self._fit(
                design, rows, self.data.time_s[kept], list(map(str, self.curve)), f"NP-T model, {series}"
            )
        return Curves(self.curve, fits)

    def exchange_curves(self) -> Curves:
        """Fit NP-T models with times of messages."""
        fits, knots = {}, {}
        for series, points in self._series().items():
            rows = np.concatenate([self.homogeneous[point] for point in points])
            kept = rows[~self.excluded[rows]]
            N, P = self.data.size[kept], self.data.total[kept]
            knots[series] = knots_of(message_points(N, P), len(kept) - len(self.curve))
            design = exchange_columns(self.curve, knots[series], N, P, series.processes)
            names = [*map(str, self.curve), *(f"(P - {series.processes}) t({size:g})" for size in knots[series])]
            fits[series] = self._fit(design, rows, self.data.time_s[kept], names, f"NP-T model, {series}")
        return ExchangeCurves(self.curve, fits, knots=knots)

    def p_curves(self, reference_pes: int | None) -> Curves:
        """Fit P-T models, eq. (3), to the N-T models of the same runs."""
        fits, references = {}, {}
        point_fits: dict[Point, Fit] = {}
        for series, points in self._series().items():
            if reference_pes is None:
                reference = max(points, key=lambda point: point.ranks)
            else:
                reference = Point(series.sub_cluster, reference_pes * series.processes, series.processes)
            if reference not in self.homogeneous:
                remedy = "Measure it, or refer to another number of PEs"
                raise UserError(f"P-T model, {series}", f"no runs on its reference of {reference_pes} PEs", remedy)
            needed = {point: self.homogeneous[point] for point in dict.fromkeys((*points, reference))}
            by_size = self.points(needed)
            rows = np.concatenate([self.homogeneous[point] for point in points])
            kept = rows[~self.excluded[rows]]
            N, P = self.data.size[kept], self.data.total[kept]
            same = [by_size.times_s(Point(series.sub_cluster, int(p), series.processes), N) for p in np.unique(P)]
            target_s = np.stack(same)[np.searchsorted(np.unique(P), P), np.arange(len(N))]
            reference_s = target_s if self.form == "npt:pt-printed" else by_size.times_s(reference, N)
            design = columns(self.curve, N, P, reference_s)
            fits[series] = self._fit(design, rows, target_s, list(map(str, self.curve)), f"P-T model, {series}")
            references[series] = by_size.fits[reference]
            if self.form == "npt:pt-printed":
                point_fits |= {point: by_size.fits[point] for point in points}
        return Curves(self.curve, fits, references, Points(self.nt, point_fits))

    def _series(self) -> dict[Series, list[Point]]:
        """Return the measured points of each P-T or NP-T model: P > M_i, by (i, M_i)."""
        series: dict[Series, list[Point]] = {}
        for point in self.homogeneous:
            if point.ranks > point.processes:
                series.setdefault(Series(point.sub_cluster, point.processes), []).append(point)
        return series

    def _n_fit(self, rows: np.ndarray, where: str) -> Fit:
        kept = rows[~self.excluded[rows]]
        design = columns(self.nt, self.data.size[kept], self.data.total[kept])
        return self._fit(design, rows, self.data.time_s[kept], list(map(str, self.nt)), where)

    def _fit(self, design: np.ndarray, rows: np.ndarray, times_s: np.ndarray, names: Sequence[str], where: str) -> Fit:
        """Fit the rows that are not excluded; an error states how many were excluded."""
        left_out = int(self.excluded[rows].sum())
        where = f"{where} ({left_out} glitches left out)" if left_out else where
        kept, divisors_s = rows[~self.excluded[rows]], self._divisors_s(rows)

        def fit_where(mask: np.ndarray, weights: str, divisors_s: np.ndarray) -> Fit:
            return fit(
                design[mask], times_s[mask], names, method=self.method, weights=weights, weigh_by_s=divisors_s[mask],
                where=where,
            )  # fmt: skip

        used = np.ones(len(kept), bool)
        if self.reject:
            # Found with equal weights: near its size, a local fit goes through an outlier.
            used = ~outliers(lambda mask: fit_where(mask, "relative", self.data.time_s[kept]), times_s)
            self.outlying[kept[~used]] = True
        return fit_where(used, self.weights, divisors_s)

    def _divisors_s(self, rows: np.ndarray) -> np.ndarray:
        """Return what the residuals of the rows that are not excluded are divided by, s."""
        kept = rows[~self.excluded[rows]]
        times_s: np.ndarray = self.data.time_s[kept]
        if self.weights != "local":
            return times_s
        sizes, ranks = self.data.size, self.data.total[rows]
        near_size = np.ones(len(kept))
        if self.form != "npt:messages":  # which has a time for each size of message, whatever N it comes from
            near_size = nearness(sizes[kept], self.near, float(sizes.min()), float(sizes.max()), width=self.width)
        near_ranks = nearness(
            self.data.total[kept], float(ranks.max()), float(ranks.min()), float(ranks.max()), width=self.width
        )
        divisors_s: np.ndarray = times_s / (near_size * near_ranks)
        return divisors_s
