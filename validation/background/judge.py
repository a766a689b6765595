"""Judge a predicted distribution by runs under loads that the prediction did not know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from predictor.background.forecast import Forecast

CONFIDENCE = 0.95  # of the interval of the coverage


@dataclass(frozen=True)
class Judged:
    """A predicted distribution, and how well it fits the simulated times."""

    forecast: Forecast
    true_s: tuple[float, ...]  # simulated times, one for each draw of the load
    inside: int  # how many of them the 90 % interval contains
    crps_s: float  # mean CRPS of the forecast
    quiet_s: float  # mean CRPS of the prediction for the quiet grid: its mean absolute error
    best_s: float  # mean CRPS of the other simulated times as a forecast: about the least that any forecast can have
    pit: tuple[float, ...]  # share of the draws that are below each simulated time

    @property
    def coverage(self) -> float:
        """Share of the simulated times that the 90 % interval contains."""
        return self.inside / len(self.true_s)

    @property
    def coverage_range(self) -> tuple[float, float]:
        """Interval of Clopper and Pearson for the coverage, at CONFIDENCE."""
        interval = stats.binomtest(self.inside, len(self.true_s)).proportion_ci(CONFIDENCE, method="exact")
        return float(interval.low), float(interval.high)

    @property
    def width_pct(self) -> float:
        """Width of the 90 % interval, % of the median simulated time."""
        low_s, high_s = self.forecast.interval_s
        return 100 * (high_s - low_s) / float(np.median(self.true_s))

    @property
    def true_width_pct(self) -> float:
        """Distance between the same quantiles of the simulated times, % of their median."""
        low_s, middle_s, high_s = np.quantile(self.true_s, [0.05, 0.5, 0.95])
        return 100 * float(high_s - low_s) / float(middle_s)

    @property
    def median_error_pct(self) -> float:
        """Error of the median of the forecast against that of the simulated times, %."""
        return 100 * (self.forecast.quantile_s(0.5) / float(np.median(self.true_s)) - 1)

    @property
    def p_value(self) -> float:
        """P-value of the test of Kolmogorov and Smirnov that drawn and simulated times have one distribution."""
        return float(stats.ks_2samp(self.forecast.times_s, self.true_s).pvalue)


def judged(forecast: Forecast, true_s: Sequence[float]) -> Judged:
    """Return how well a forecast fits the simulated times of at least two runs."""
    low_s, high_s = forecast.interval_s
    drawn_s, count = np.array(forecast.times_s), len(true_s)
    return Judged(
        forecast,
        tuple(true_s),
        inside=sum(low_s <= time_s <= high_s for time_s in true_s),
        crps_s=sum(crps(forecast.times_s, time_s) for time_s in true_s) / count,
        quiet_s=sum(abs(forecast.quiet.time_s - time_s) for time_s in true_s) / count,
        best_s=sum(crps([*true_s[:i], *true_s[i + 1 :]], time_s) for i, time_s in enumerate(true_s)) / count,
        pit=tuple(float(((drawn_s < time_s).mean() + (drawn_s <= time_s).mean()) / 2) for time_s in true_s),
    )


def crps(sample: Sequence[float], true: float) -> float:
    """Return the continuous ranked probability score of a sample, all of whose members are equally likely.

    T. Gneiting, A. E. Raftery, "Strictly Proper Scoring Rules, Prediction, and Estimation", 2007, eq. (21):
    ``E |X - true| - E |X - X'| / 2``.  This is half the square of the energy distance to the true value.

    >>> round(crps([3.0], 5.0), 12), round(crps([0.0, 1.0], 0.0), 12)
    (2.0, 0.25)
    """
    return float(stats.energy_distance(sample, [true])) ** 2 / 2
