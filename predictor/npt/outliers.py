"""Outliers: runs that are far slower than the model of all other runs lets one expect.

The rule of glitches (section 5.6, below) compares a run with that of the next smaller size.  Here a run is
compared with the model itself, so that all runs take part, and the threshold follows from their spread.

Glitches: measurements that are slower than neighbouring sizes lead one to expect.

Ichikawa, Takahashi, Kawai, section 5.6.

Local weights: measurements count the more, the nearer they are to the size and the processes of the choice.

The equations of Table V are sums of a few powers, which no program follows over a wide range of sizes and processes.
Fits with local weights follow it where the choice is made.  The choice is made at one size N, among configurations of
the whole cluster, which have more processes than most of the measured ones.  So measurements lose weight with their
distance from N and from the largest measured P, both in logarithms, by a Gaussian whose width is a share of the
measured range: a narrow one follows the program more closely, a wide one is less moved by noise.  An N outside the
measured sizes counts as the nearest of them.  No weight falls below ``LEAST``, so that any measurements that
separate the terms of an equation still do.
"""

from collections.abc import Callable

import numpy as np

from platforms.errors import UserError
from predictor.npt.fit import Fit
from predictor.npt.measurements import Measurements

DEVIATIONS = 3.5  # robust standard deviations (1.4826 times the median absolute deviation) beyond which a run is one
LEAST_EXCESS = 0.05  # no run within 5 % of the model is an outlier, however close the others are
MOST_SHARE = 0.2  # of the runs of a model may be left out
WIDTHS = (0.5, 1.0)  # standard deviations of the Gaussian, as shares of the measured range, to choose from
LEAST = 1e-3


def outliers(fit_where: Callable[[np.ndarray], Fit], times_s: np.ndarray) -> np.ndarray:
    """Return a mask of the outliers: of the runs, again and again, the one that exceeds the model of the rest most.

    Only runs that are too slow are left out: disturbances do not speed a program up.  The last outlier is kept where
    the other runs do not suffice for a fit.

    Args:
        fit_where: Fits the runs that a mask selects.
        times_s: Times of the runs, s.
    """
    kept = np.ones(len(times_s), bool)
    fitted = fit_where(kept)
    while (~kept).sum() < int(MOST_SHARE * len(times_s)):
        model_s = times_s[kept] + fitted.residuals_s
        if not (model_s > 0).all():  # a wrecked model judges no run
            break
        excess = np.log(times_s[kept] / model_s)
        worst = int(excess.argmax())
        if not is_far_slower(excess)[worst]:
            break
        fewer = kept.copy()
        fewer[np.flatnonzero(kept)[worst]] = False
        try:
            fitted = fit_where(fewer)
        except UserError:
            break
        kept = fewer
    return ~kept


def is_far_slower(excess: np.ndarray) -> np.ndarray:
    """Return a mask of the runs whose excess, log(time / model), is far above that of the others."""
    above = excess - np.median(excess)
    deviation = 1.4826 * np.median(np.abs(above))
    mask: np.ndarray = above > max(DEVIATIONS * deviation, LEAST_EXCESS)
    return mask


K = 0.9  # the paper's value for the Himeno benchmark; other programs and clusters need their own


def glitches(measurements: Measurements, k: float = K) -> np.ndarray:
    """Return a mask of the runs that are glitches: p(n) <= k p(m), with performance p = work / time.

    m is the nearest smaller size measured on the same configuration.  Any measured size can be m, even if it is itself
    a glitch ("the point of measurement which is nearest to and smaller than n"), so of two low points in a row only the
    first is found.  Where m was measured several times, p(m) is the sum of the work over the sum of the times.  The
    smallest size is never a glitch.

    Raises:
        UserError: The work of a run is not known, or k lies outside (0, 1).
    """
    check_k(k)
    if np.isnan(measurements.work_flops).any():
        remedy = "Give the benchmark's flop count, or keep glitches"
        raise UserError("glitches", "the work of some measurements is not known", remedy)
    mask = np.zeros(len(measurements), bool)
    for rows in measurements.series:
        _, first, group = np.unique(measurements.size[rows], return_index=True, return_inverse=True)
        work, time_s = measurements.work_flops[rows], measurements.time_s[rows]
        mean = np.add.reduceat(work, first) / np.add.reduceat(time_s, first)
        before = np.concatenate(([0.0], mean[:-1]))[group]
        mask[rows] = (before > 0) & (work / time_s <= k * before)
    return mask


def check_k(k: float) -> None:
    """Check the threshold of glitches.

    Raises:
        UserError: k lies outside (0, 1).
    """
    if not 0 < k < 1:
        problem = "not a share of the expected performance"
        raise UserError(f"glitches below k = {k}", problem, "Give a number between 0 and 1")


def nearness(values: np.ndarray, to: float, least: float, most: float, *, width: float) -> np.ndarray:
    """Return the weight of measurements, in (0, 1], by the distance of their ``values`` from ``to``.

    Args:
        values: N or P of the measurements, positive.
        to: The N or P of the choice.
        least: Smallest measured value.
        most: Largest measured value.
        width: Standard deviation of the Gaussian as a share of the measured range.

    >>> nearness(np.array([1.0, 4.0, 16.0]), 64, 1, 16, width=0.5).round(3).tolist()
    [0.135, 0.607, 1.0]
    """
    span = np.log(most / least)
    if span == 0:
        return np.ones(len(values))
    distance = np.log(values / np.clip(to, least, most)) / (width * span)
    weights: np.ndarray = np.maximum(np.exp(-(distance**2) / 2), LEAST)
    return weights
