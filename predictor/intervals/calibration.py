"""The errors to expect of a prediction, from the errors of calibration cases like it.

Two steps make the interval of ln(true / predicted):

1. The errors of the predictor's cases are weighted by likeness: exp(-d^2 / (2 h^2)), where d is the distance between
   the features (cases.py) and h the smallest width that leaves cases worth ``ENOUGH``.  The weighted quantiles give
   a median and a spread to either side of it (localised: L. Guan, "Localized conformal prediction", Biometrika 110,
   2023).
2. The spread is stretched by the factor that would have covered the wanted share of the cases themselves, each with all
   cases of its kind of grids left out (of its grid, if all are of one kind), because a target's grid is of another
   kind; for a program that has no cases, with all of its program left out as well (normalised conformal prediction: V.
   Vovk, A. Gammerman, G. Shafer, "Algorithmic Learning in a Random World", 2005).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from predictor.intervals.cases import CalibrationCase, Features

LEVEL = 0.9
ENOUGH = 8.0  # effective number of cases that the weights must leave
OTHER_PROGRAM = 3.0  # distance between two programs
UNKNOWN = 1.0  # distance between a feature that is known and one that is not
LEAST_SPREAD = 0.02  # share of the spread of all cases below which the local spread does not fall
_WIDTHS = 0.4 * 1.3 ** np.arange(0, 34)  # of the weights, ascending


@dataclass(frozen=True)
class Expected:
    """The interval of ln(true / predicted)."""

    low: float
    high: float


@dataclass(frozen=True)
class Calibration:
    """The calibration of one predictor."""

    cases: Sequence[CalibrationCase]
    level: float = LEVEL
    _stretches: dict[bool, float] = field(default_factory=dict, repr=False)

    @cached_property
    def apps(self) -> frozenset[str]:
        """Programs that have cases."""
        return frozenset(case.features.app for case in self.cases)

    @cached_property
    def largest_ratio(self) -> float:
        """Largest extrapolation in the number of ranks."""
        return max((case.features.ratio or 1.0 for case in self.cases), default=1.0)

    @cached_property
    def _groups(self) -> list[str]:
        """The kind of grids of each case, or its grid if all are of one kind."""
        kinds = [case.kind for case in self.cases]
        return kinds if len(set(kinds)) > 1 else [case.grid for case in self.cases]

    @cached_property
    def _apps_of_cases(self) -> np.ndarray:
        return np.array([case.features.app for case in self.cases])

    @cached_property
    def _errors(self) -> np.ndarray:
        return np.array([case.log_error for case in self.cases])

    @cached_property
    def _coordinates(self) -> np.ndarray:
        return np.array([case.features.coordinates() for case in self.cases])

    @cached_property
    def _spread_of_all(self) -> float:
        low, high = np.quantile(self._errors, [(1 - self.level) / 2, (1 + self.level) / 2])
        return float(high - low)

    def expected(self, features: Features) -> Expected:
        """Return the interval of ln(true / predicted) for a prediction with these features."""
        middle, below, above = (
            float(bound[0]) for bound in self._local([features], np.ones((1, len(self.cases)), bool))
        )
        stretch = self.stretch(known=features.app in self.apps)
        return Expected(middle - stretch * below, middle + stretch * above)

    def stretch(self, *, known: bool) -> float:
        """Return the factor by which spreads are stretched, for programs that have cases or for others."""
        if known not in self._stretches:
            scores = np.sort(self._scores(known=known))
            rank = math.ceil(self.level * (len(scores) + 1))
            self._stretches[known] = float(scores[min(rank, len(scores)) - 1])
        return self._stretches[known]

    def _scores(self, *, known: bool) -> np.ndarray:
        """Return the stretch that just covers each case, without the cases of its group and, unless known, program."""
        groups, apps = np.array(self._groups), self._apps_of_cases
        kept = groups[:, None] != groups[None, :]
        if not known:
            kept &= apps[:, None] != apps[None, :]
        scores, possible = np.full(len(groups), math.inf), kept.any(axis=1)
        features = [case.features for case, is_possible in zip(self.cases, possible, strict=True) if is_possible]
        if features:
            middle, below, above = self._local(features, kept[possible])
            error = self._errors[possible]
            scores[possible] = np.where(error < middle, (middle - error) / below, (error - middle) / above)
        return scores

    def _local(self, features: Sequence[Features], kept: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the medians of the errors like each of these, and their spreads below and above.

        Args:
            features: The features of some predictions.
            kept: Which cases count, by prediction and case.
        """
        weights = self._weights(features, kept)
        order = np.argsort(self._errors, kind="stable")
        errors, shares = self._errors[order], weights[:, order] / weights.sum(axis=1, keepdims=True)
        places = np.cumsum(shares, axis=1) - shares / 2
        wanted = [(1 - self.level) / 2, 0.5, (1 + self.level) / 2]
        low, middle, high = np.array([np.interp(wanted, places_of_case, errors) for places_of_case in places]).T
        least = max(LEAST_SPREAD * self._spread_of_all, 1e-9)
        return middle, np.maximum(middle - low, least), np.maximum(high - middle, least)

    def _weights(self, features: Sequence[Features], kept: np.ndarray) -> np.ndarray:
        """Return the weights of all cases for each prediction, 0 for those that are not kept."""
        squares = np.zeros(kept.shape)
        coordinates = np.array([feature.coordinates() for feature in features])
        for of_cases, of_feature in zip(self._coordinates.T, coordinates.T[:, :, None], strict=True):
            if not (np.isnan(of_cases).all() and np.isnan(of_feature).all()):
                apart = np.abs(of_cases - of_feature)
                apart[np.isnan(apart)] = 0.0
                apart[np.isnan(of_cases) != np.isnan(of_feature)] = UNKNOWN
                squares += apart**2
        squares += OTHER_PROGRAM**2 * (self._apps_of_cases != np.array([feature.app for feature in features])[:, None])
        squares[~kept] = np.inf
        squares -= squares.min(axis=1, keepdims=True)
        enough = np.minimum(ENOUGH, 0.8 * kept.sum(axis=1))
        weights, rows = np.zeros_like(squares), np.arange(len(squares))
        for width in _WIDTHS:
            tried = weights[rows] = np.exp(-squares[rows] / (2 * width**2))
            rows = rows[tried.sum(axis=1) ** 2 < enough[rows] * (tried**2).sum(axis=1)]
            if len(rows) == 0:
                break
        return weights
