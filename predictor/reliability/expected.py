"""Expected times of a run whose failures are a Poisson process of rate lambda P: P nodes, any of which ends the run.

Times in s, rates in 1/s of all nodes together; arguments may be arrays.  Where a time exceeds what a float can hold
it is infinite.  A restart takes ``restart_s`` and may itself be hit by the next failure, and begins anew then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from predictor.reliability import names


def stretch_time(length_s: ArrayLike, rate_per_s: ArrayLike, restart_s: ArrayLike = 0.0) -> np.ndarray:
    """(e^(r L) - 1) e^(r R) / r: until a stretch L has passed without a failure, begun anew after each.

    Derivation: with p = e^(-rL) the first attempt succeeds, which on average takes (1 - p)/r up to its end or failure;
    a failure costs a restart, (e^(rR) - 1)/r by the same argument, and the stretch again.  For r = 0: L.

    A stretch that half of the attempts survive takes as long as failures are apart, on average:

    >>> round(float(stretch_time(1000 * np.log(2), 1 / 1000)), 9)
    1000.0
    """
    length_s, rate, restart_s = np.broadcast_arrays(*(np.asarray(x, float) for x in (length_s, rate_per_s, restart_s)))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        # exp(rR) (exp(rL) - 1) / r, ordered so that neither overflow times 0 nor a small r loses digits.
        times = np.where(length_s > 0, np.exp(rate * restart_s) * np.expm1(rate * length_s) / rate, 0.0)
    times = np.where(np.isnan(times), np.inf, times)  # a restart that never ends, before a stretch of next to nothing
    return np.where(rate > 0, times, length_s)


def restart_from_scratch(work_s: ArrayLike, rate_per_s: ArrayLike, *, restart_s: ArrayLike = 0.0) -> np.ndarray:
    """Of a run that begins anew after each failure; (e^(lambda P T) - 1) / (lambda P) where a restart costs nothing."""
    return stretch_time(work_s, rate_per_s, restart_s)


def with_checkpoints(
    work_s: ArrayLike,
    rate_per_s: ArrayLike,
    *,
    interval_s: ArrayLike,
    checkpoint_s: ArrayLike,
    restart_s: ArrayLike = 0.0,
) -> np.ndarray:
    """Of a run that writes a checkpoint after every ``interval_s`` of work, and goes on from the last one.

    Whole segments of work and checkpoint, and a last one of the work that is left, after which none is written: a run
    shorter than the interval writes none at all.  ``interval_s`` > 0, may be infinite.

    Without failures two checkpoints of 5 s lie between three segments of work:

    >>> float(with_checkpoints(300, 0, interval_s=100, checkpoint_s=5))
    310.0
    """
    work_s, interval_s = np.broadcast_arrays(np.asarray(work_s, float), np.asarray(interval_s, float))
    # Rounding must not make an empty last segment of a run of whole intervals.
    before_last = np.maximum(0.0, np.ceil(work_s / interval_s * (1 - 1e-12)) - 1)
    with np.errstate(invalid="ignore"):
        last_s = np.where(before_last > 0, work_s - before_last * interval_s, work_s)
        segments = before_last * stretch_time(np.minimum(interval_s, work_s) + checkpoint_s, rate_per_s, restart_s)
    # No segment before the last, even where one would take infinitely long.
    time_s: np.ndarray = np.where(before_last > 0, segments, 0.0) + stretch_time(last_s, rate_per_s, restart_s)
    return time_s


def daly_time(
    work_s: ArrayLike,
    rate_per_s: ArrayLike,
    *,
    interval_s: ArrayLike,
    checkpoint_s: ArrayLike,
    restart_s: ArrayLike = 0.0,
) -> np.ndarray:
    """M e^(R/M) (e^((tau + delta)/M) - 1) T/tau, with M = 1/rate: the complete cost function of Daly.

    J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", Future Generation
    Computer Systems 22 (2006), 303-312; for delta much shorter than T.  It counts T/tau segments, whole or not, each
    with its checkpoint; ``with_checkpoints`` counts those there are.  An infinite interval writes none.
    """
    interval_s = np.asarray(interval_s, float)
    never = np.isinf(interval_s)
    finite_s = np.where(never, 1.0, interval_s)
    times = np.asarray(work_s, float) / finite_s * stretch_time(finite_s + checkpoint_s, rate_per_s, restart_s)
    return np.where(never, stretch_time(work_s, rate_per_s, restart_s), times)


Counted = Callable[..., np.ndarray]
SEGMENTS: Mapping[str, Counted] = dict(zip(names.SEGMENTS, (with_checkpoints, daly_time), strict=True))
