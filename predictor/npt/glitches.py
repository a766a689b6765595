"""Glitches: measurements that are slower than neighbouring sizes lead one to expect.

Ichikawa, Takahashi, Kawai, section 5.6.
"""

from __future__ import annotations

import numpy as np

from platforms.errors import UserError
from predictor.npt.measurements import Measurements

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
