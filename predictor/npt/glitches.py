"""Measurements that are slower than the sizes beside them lead to expect.

Ichikawa, Takahashi, Kawai, section 5.6.
"""

from __future__ import annotations

import numpy as np

from platforms.errors import UserError
from predictor.npt.measurements import Measurements

K = 0.9  # the paper's, for the Himeno benchmark; to be found anew for other programs and clusters


def glitches(measurements: Measurements, k: float = K) -> np.ndarray:
    """Which runs are glitches: p(n) <= k p(m), with performance p = work / time.

    m is the nearest smaller size measured on the same configuration.  Every measured size counts as m, one that is a
    glitch itself too ("the point of measurement which is nearest to and smaller than n"): of two low points in a row
    only the first is found.  Where m was measured several times, p(m) is all of their work over all of their time.
    The smallest size is never a glitch.

    Raises UserError for runs whose work is not known, and for k outside of (0, 1).
    """
    check_k(k)
    if np.isnan(measurements.work_flops).any():
        remedy = "Give the benchmark's flop count, or keep glitches"
        raise UserError("glitches", "the work of some measurements is not known", remedy)
    found = np.zeros(len(measurements), bool)
    for rows in measurements.series:
        _, first, group = np.unique(measurements.size[rows], return_index=True, return_inverse=True)
        work, time_s = measurements.work_flops[rows], measurements.time_s[rows]
        mean = np.add.reduceat(work, first) / np.add.reduceat(time_s, first)
        before = np.concatenate(([0.0], mean[:-1]))[group]
        found[rows] = (before > 0) & (work / time_s <= k * before)
    return found


def check_k(k: float) -> None:
    """Raises UserError for a k outside of (0, 1)."""
    if not 0 < k < 1:
        problem = "not a share of the expected performance"
        raise UserError(f"glitches below k = {k}", problem, "Give a number between 0 and 1")
