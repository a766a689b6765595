"""Periods of iterations, found in rows of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LEAST_ITERATIONS = 4  # least number that shows a period: two differences are compared, and the last is ignored
PERIODS = (1, 2)  # multiples of the pattern's period that are tried
FIRST_TRY = 5  # iterations
_DRAW = 1e-9  # spreads below this, relative to the period, are rounding errors: the shorter period is chosen


@dataclass(frozen=True)
class Pattern:
    """A repetition: from iteration ``start`` on, each iteration is like the one ``period`` before, except the last."""

    start: int = 0
    period: int = 1

    @property
    def first_try(self) -> int:
        """Number of iterations to simulate first."""
        return max(FIRST_TRY, self.least)

    @property
    def least(self) -> int:
        """Fewest iterations that show the advance of every iteration of a period twice, the last left out."""
        return self.start + 3 * self.period + 1


@dataclass(frozen=True)
class Period:
    """A period: every rank advances by ``time_s`` in ``iterations`` iterations, to within ``spread_s``."""

    iterations: int
    time_s: float
    spread_s: float
    window: int  # number of iterations that were compared


def find_period(ends_s: Sequence[Sequence[float]], pattern: Pattern = Pattern()) -> Period:
    """Return the period of iteration end times, s, given as one row per rank with at least ``pattern.least`` each.

    The last iteration is left out, because it may do more than the others (LU computes norms in it).  The window is the
    last half of the remaining iterations, rounded to an even number.  Of the periods of one and two iterations the one
    with the smaller spread is chosen, or the shorter one if both are regular up to rounding errors.  If the iterations
    are known to repeat with a longer period, once and twice this period take the place of one and two iterations.
    """
    usable = [row[pattern.start : -1] for row in ends_s]
    count = len(usable[0])
    window = max(2 * pattern.period, count // 4 * 2)
    candidates = []
    for lag in (times * pattern.period for times in PERIODS):
        if count < lag + window and lag > pattern.period:
            continue
        advances = [row[i] - row[i - lag] for row in usable for i in range(count - window, count)]
        latest = [row[-1] - row[-1 - lag] for row in usable]
        candidates.append(Period(lag, sum(latest) / len(latest), max(advances) - min(advances), window))

    def irregularity(period: Period) -> tuple[float, int]:
        return (period.spread_s if period.spread_s > _DRAW * period.time_s else 0.0), period.iterations

    return min(candidates, key=irregularity)


def added_s(ends_s: Sequence[float], missing: int, *, period: int, period_s: float) -> float:
    """Return the time that ``missing`` more iterations add to a row of end times, s, of at least ``period`` + 1.

    Whole periods of ``period`` iterations take ``period_s`` each.  A remaining part of a period lasts as long as the
    same part of the last simulated period, counted before the very last iteration, which may do more than the others.

    >>> added_s([1.0, 3.0, 5.0, 7.0], missing=4, period=1, period_s=2.0)
    8.0
    """
    periods, rest = divmod(missing, period)
    return periods * period_s + (ends_s[rest - period - 1] - ends_s[-period - 1] if rest else 0.0)


def next_try(tried: int, missing: int, period: int, unit: int = 1) -> int:
    """Return how many iterations to simulate after ``tried``, which left ``missing`` to extrapolate by ``period``.

    It is ``unit`` more, the period with which the iterations repeat, if a part of a period is left over, because the
    time after the iterations depends on where in the period they end; otherwise twice as many.
    """
    if missing % period:
        return tried + unit
    return 2 * tried + (missing - tried) % unit


def drift_rel(period: Period, missing: int, time_s: float) -> float:
    """Return the relative error of ``time_s`` after ``missing`` more iterations if the observed spread were a drift.

    After m more iterations a period is off by spread m / window; the sum over the iterations is spread m^2 / (2 window)
    per iteration of the period.
    """
    drift_s = missing / period.iterations * max(1.0, missing / (2 * period.window)) * period.spread_s
    return drift_s / time_s if time_s else 0.0


def other_half(row: Sequence[float]) -> float:
    """Return by how much the last two of a row's iterations differ, the very last left out."""
    return abs((row[-2] - row[-3]) - (row[-3] - row[-4]))


def last_advance(row: Sequence[float]) -> float:
    """Return what the last iteration of a row adds, or the one before it, because the very last may do more."""
    if len(row) > 2:
        return row[-2] - row[-3]
    return row[-1] - row[-2] if len(row) > 1 else row[-1]
