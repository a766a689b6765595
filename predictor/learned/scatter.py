"""Spread of numbers that look drawn at random, such as the keys that a rank gets when keys are sorted.

Around a mean, the places (the members that get a block, or the ranks themselves) differ from each other, and what is
left differs from row to row.  The relative standard deviation of an amount x goes with x^-1/2 where it is a sum of
independent items, and with 1/x where it is rounded to parts of a fixed size; what was recorded chooses the exponent
between both, which are the ends of the range.  At another number of ranks deviations are drawn from normal
distributions, always the same ones, since the slowest rank counts.
"""

import math
from dataclasses import dataclass

import numpy as np

from predictor.learned.rows import Rows

_LEAST = 1e-12  # a relative standard deviation below it is rounding
_MOST_SPREAD = 0.5  # of what is drawn
_MEAN = 0.005  # relative error of the mean up to which the ranks differ from it at random alone
# Numbers look drawn if they differ by less than this share of their mean, at least this many, and this
# share of all, are different; in several iterations they may be nearly the same.
_NEAR, _MANY, _UNLIKE = 0.5, 12, 0.2


@dataclass(frozen=True)
class Power:
    """A value at a number of ranks, and exponents of the number of ranks: the least, the likeliest and the largest."""

    nranks: float
    value: float
    exponents: tuple[float, float, float]

    def at(self, nranks: float, lean: int) -> float:
        """Return its value, by the least exponent with a lean of -1, and by the largest with a lean of 1."""
        return self.value * float((nranks / self.nranks) ** self.exponents[lean + 1])


@dataclass(frozen=True)
class Scatter:
    """Deviations from a mean.

    Attributes:
        places: Relative standard deviation between places; None: they do not differ.
        rest: That of what is left; None: nothing is.
        by_member: Whether the places are the indices of the innermost loop, the members of a collective.
    """

    places: Power | None
    rest: Power | None
    by_member: bool

    def ratios(self, rows: Rows, lean: int) -> np.ndarray:
        """Return ratios to the mean for rows of one number of ranks; a lean of -1 or 1 is the end of the range."""
        ratio = np.ones(len(rows))
        nranks = int(rows.nranks[0]) if len(rows) else 1
        place = _places(rows, by_member=self.by_member)
        for seed, (power, which) in enumerate(((self.places, place), (self.rest, np.arange(len(rows))))):
            if power is not None and len(rows):
                drawn = np.random.default_rng([nranks, seed]).standard_normal(int(which.max()) + 1)[which]
                drawn = (drawn - drawn.mean()) / max(float(drawn.std()), _LEAST)  # the sum stays what the mean says
                ratio += min(power.at(nranks, lean), _MOST_SPREAD) * drawn
        return np.maximum(ratio, 0.0)


def looks_drawn(rows: Rows, values: np.ndarray) -> bool:
    """Return whether numbers look drawn at random: on the most ranks near each other, and many of them different."""
    last = values[rows.nranks == rows.counts[-1]]
    near = float(np.ptp(last)) < _NEAR * float(np.abs(last).mean())
    return near and len(np.unique(last)) >= max(_MANY, _UNLIKE * len(last))


def scatter_of(rows: Rows, values: np.ndarray, ratio: np.ndarray, *, by_member: bool) -> Scatter | None:
    """Return the deviations of values around a fit; None where they do not look drawn, or the fit misses their means.

    Args:
        rows: Where they were recorded.
        values: What was recorded.
        ratio: Their ratios to the fit.
        by_member: Whether the innermost loop goes over the members of a collective.
    """
    by_count = [rows.nranks == nranks for nranks in rows.counts]
    off = max(abs(float(ratio[which].mean()) - 1) for which in by_count)
    if len(by_count) < 2 or off > _MEAN or not looks_drawn(rows, values):
        return None
    places, rest = [], []
    for which in by_count:
        part, place = ratio[which], _places(rows, by_member=by_member)[which]
        of_place = (np.bincount(place, part) / np.maximum(np.bincount(place), 1))[place]
        places.append(float(of_place[np.unique(place, return_index=True)[1]].std()))
        rest.append(float((part - of_place).std()))
    means = [float(values[which].mean()) for which in by_count]
    shrinks = max(0.0, -float(np.polyfit(np.log(rows.counts), np.log(means), 1)[0]))
    of_places = max(0.0, shrinks - 1) if by_member else shrinks  # a member gets a block from each rank
    return Scatter(_power(rows.counts, places, of_places), _power(rows.counts, rest, shrinks), by_member)


def _places(rows: Rows, *, by_member: bool) -> np.ndarray:
    places: np.ndarray = rows.index[:, -1] if by_member else rows.rank
    return places


def _power(counts: np.ndarray, values: list[float], shrinks: float) -> Power | None:
    """Return the power through relative deviations by number of ranks; None where there is nothing but rounding.

    ``shrinks``: the exponent by which the amounts shrink.
    """
    if min(values) <= _LEAST:
        return None
    x, y = np.log(counts), np.log(values)
    slope = float(np.polyfit(x, y, 1, w=np.sqrt(counts))[0])
    middle, height = (float(np.average(row, weights=counts)) for row in (x, y))
    return Power(math.exp(middle), math.exp(height), (shrinks / 2, min(max(slope, shrinks / 2), shrinks), shrinks))
