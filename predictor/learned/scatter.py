"""Fits of numbers that follow no formula, such as the keys that a rank gets when keys are sorted.

The mean over all rows of a number of ranks follows a power of it.  Around the mean, the places (the members that get a
block, or the ranks themselves) differ from each other, and what is left differs from row to row.  The relative standard
deviation of an amount x goes with x^-1/2 where it is a sum of independent items, and with 1/x where it is rounded to
parts of a fixed size; what was recorded chooses the exponent between both, which are the ends of the range.  At another
number of ranks deviations are drawn from normal distributions, always the same ones, since the slowest rank counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from predictor.learned.rows import Rows

_LEAST = 1e-12  # a relative standard deviation below it is rounding
_MOST_SPREAD = 0.5  # of what is drawn


@dataclass(frozen=True)
class Power:
    """A value at a number of ranks, and exponents of the number of ranks: the least, the likeliest and the largest."""

    nranks: float
    value: float
    exponents: tuple[float, float, float]

    def at(self, nranks: float, lean: int) -> float:
        """Return its value, by the least exponent with a lean of -1, and by the largest with a lean of 1."""
        return self.value * (nranks / self.nranks) ** self.exponents[lean + 1]


@dataclass(frozen=True)
class Fitted:
    """A fit for all rows.

    Attributes:
        mean: The mean over all rows.
        places: Relative standard deviation between places; None: they do not differ.
        rest: That of what is left; None: nothing is.
        by_member: Whether the places are the indices of the innermost loop, the members of a collective.
        low: The least ratio of what was recorded to the mean.
        high: The largest one.
    """

    mean: Power
    places: Power | None
    rest: Power | None
    by_member: bool
    low: float
    high: float

    def values(self, rows: Rows, lean: int) -> np.ndarray:
        """Return values for rows of one number of ranks; a lean of -1 or 1 is that of the residuals of the powers."""
        nranks = int(rows.nranks[0]) if len(rows) else 1
        ratio = np.ones(len(rows))
        place = _places(rows, by_member=self.by_member)
        for seed, (power, which) in enumerate(((self.places, place), (self.rest, np.arange(len(rows))))):
            if power is not None and len(rows):
                drawn = np.random.default_rng([nranks, seed]).standard_normal(int(which.max()) + 1)[which]
                drawn = (drawn - drawn.mean()) / max(float(drawn.std()), _LEAST)  # the sum stays what the mean says
                ratio += min(power.at(nranks, lean), _MOST_SPREAD) * drawn
        found: np.ndarray = self.mean.at(nranks, lean) * np.maximum(ratio, 0.0)
        return found


def fitted(rows: Rows, values: np.ndarray, *, by_member: bool = False) -> Fitted:
    """Return the fit of values that were recorded on several numbers of ranks.

    ``by_member``: whether the innermost loop goes over the members of a collective.
    """
    values = np.asarray(values, float)
    means, places, rest = [], [], []
    for nranks in rows.counts.tolist():
        which = rows.nranks == nranks
        part, place = values[which], _places(rows, by_member=by_member)[which]
        mean = float(part.mean())
        of_place = (np.bincount(place, part) / np.maximum(np.bincount(place), 1))[place]
        means.append(mean)
        places.append(float(of_place[np.unique(place, return_index=True)[1]].std()) / mean if mean else 0.0)
        rest.append(float((part - of_place).std()) / mean if mean else 0.0)
    mean_power = _power(rows.counts, means) or Power(1.0, max(float(values.mean()), 1e-9), (0.0, 0.0, 0.0))
    by_row = max(0.0, -mean_power.exponents[1])  # by which the amounts of a row shrink, and those of a place
    by_place = max(0.0, by_row - 1) if by_member else by_row
    expected = np.array([mean_power.at(nranks, 0) for nranks in rows.counts.tolist()])
    ratio = values / expected[np.searchsorted(rows.counts, rows.nranks)]
    spreads = _power(rows.counts, places, by_place), _power(rows.counts, rest, by_row)
    return Fitted(mean_power, *spreads, by_member, float(ratio.min()), float(ratio.max()))


def _places(rows: Rows, *, by_member: bool) -> np.ndarray:
    places: np.ndarray = rows.index[:, -1] if by_member else rows.rank
    return places


def _power(counts: np.ndarray, values: list[float], shrinks: float | None = None) -> Power | None:
    """Return the power through values by number of ranks; None where there is none, or nothing but rounding.

    ``shrinks``: of relative deviations, the exponent by which the amounts shrink.
    """
    if len(counts) < 2 or min(values) <= _LEAST:
        return None
    x, y = np.log(counts), np.log(values)
    slope = float(np.polyfit(x, y, 1, w=np.sqrt(counts))[0])
    middle, height = (float(np.average(row, weights=counts)) for row in (x, y))
    likeliest = slope if shrinks is None else min(max(slope, shrinks / 2), shrinks)
    ends = (slope, slope) if shrinks is None else (shrinks / 2, shrinks)
    return Power(math.exp(middle), math.exp(height), (ends[0], likeliest, ends[1]))
