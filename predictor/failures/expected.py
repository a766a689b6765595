"""Expected times of a run on P nodes with failures (a Poisson process), checkpoint intervals, the best number of nodes.

Times are in s, rates in 1/s for all nodes together; arguments may be arrays.  A time that exceeds the range of floats
is infinite.  A restart takes ``restart_s``; if a failure occurs during a restart, the restart begins again.

Amount of work between two checkpoints, by the formulas of Young and Daly.

delta is the time to write a checkpoint, M the mean time between failures of all nodes together, and R the time of a
restart; all in s, as numbers or arrays.  The intervals count work only, from the end of one checkpoint to the beginning
of the next, and are infinite if nothing fails (M infinite).

J. W. Young, "A first order approximation to the optimum checkpoint interval", Comm. ACM 17 (1974), 530-531.
J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", Future Generation Computer
Systems 22 (2006), 303-312.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from platforms.errors import UserError
from predictor.blocks.published.formulas import success
from predictor.failures import names

NO_FAILURES, SCRATCH = "no failures", "scratch"
RATE_RANGE_PER_S = (1e-30, 1e9)  # of one node; outside this range the formulas exceed the range of floats
SHORTEST_S = 1e-9  # of a checkpoint, and of a run on one node
LONGEST_S = 1e15  # of a checkpoint, a restart and a run without failures: 30 million years


def stretch_time(length_s: ArrayLike, rate_per_s: ArrayLike, restart_s: ArrayLike = 0.0) -> np.ndarray:
    """Return (e^(r L) - 1) e^(r R) / r, the expected time until a stretch L passes without a failure.

    The stretch begins again after each failure.  Derivation: the first attempt succeeds with probability p = e^(-rL)
    and takes (1 - p)/r on average until its end or failure.  A failure costs a restart, which takes (e^(rR) - 1)/r by
    the same argument, and then the stretch again.  For r = 0 the time is L.

    Args:
        length_s: L, s.
        rate_per_s: r, the failure rate of all nodes together, 1/s.
        restart_s: R, s.

    A stretch that half of the attempts survive takes as long, on average, as the mean time between failures:

    >>> round(float(stretch_time(1000 * np.log(2), 1 / 1000)), 9)
    1000.0
    """
    length_s, rate, restart_s = np.broadcast_arrays(*(np.asarray(x, float) for x in (length_s, rate_per_s, restart_s)))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        # exp(rR) (exp(rL) - 1) / r, ordered so that neither overflow times 0 nor a small r loses digits.
        times = np.where(length_s > 0, np.exp(rate * restart_s) * np.expm1(rate * length_s) / rate, 0.0)
    times = np.where(np.isnan(times), np.inf, times)  # a restart that never ends, before a very short stretch
    return np.where(rate > 0, times, length_s)


def restart_from_scratch(work_s: ArrayLike, rate_per_s: ArrayLike, *, restart_s: ArrayLike = 0.0) -> np.ndarray:
    """Return the expected time of a run that begins again after each failure.

    The time is (e^(lambda P T) - 1) / (lambda P) where a restart takes no time.
    """
    return stretch_time(work_s, rate_per_s, restart_s)


def with_checkpoints(
    work_s: ArrayLike,
    rate_per_s: ArrayLike,
    *,
    interval_s: ArrayLike,
    checkpoint_s: ArrayLike,
    restart_s: ArrayLike = 0.0,
) -> np.ndarray:
    """Return the expected time of a run that writes checkpoints and continues from the last one after a failure.

    A checkpoint is written after every ``interval_s`` of work, except after the last segment, which holds the remaining
    work.  So a run that is shorter than the interval writes no checkpoint.  ``interval_s`` is > 0 and may be infinite.

    Without failures two checkpoints of 5 s lie between three segments of work:

    >>> float(with_checkpoints(300, 0, interval_s=100, checkpoint_s=5))
    310.0
    """
    work_s, interval_s = np.broadcast_arrays(np.asarray(work_s, float), np.asarray(interval_s, float))
    # The factor keeps rounding from adding an empty last segment to a run of whole intervals.
    before_last = np.maximum(0.0, np.ceil(work_s / interval_s * (1 - 1e-12)) - 1)
    with np.errstate(invalid="ignore"):
        last_s = np.where(before_last > 0, work_s - before_last * interval_s, work_s)
        segments = before_last * stretch_time(np.minimum(interval_s, work_s) + checkpoint_s, rate_per_s, restart_s)
    # Without segments before the last their time is 0, even where a segment would take infinitely long.
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
    """Return Daly's complete cost function, M e^(R/M) (e^((tau + delta)/M) - 1) T/tau, with M = 1/rate.

    J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", Future Generation
    Computer Systems 22 (2006), 303-312; for delta much shorter than T.  The function counts T/tau segments, which need
    not be whole, each with its checkpoint; ``with_checkpoints`` counts the segments of a real run.  With an infinite
    interval no checkpoint is written.
    """
    interval_s = np.asarray(interval_s, float)
    never = np.isinf(interval_s)
    finite_s = np.where(never, 1.0, interval_s)
    times = np.asarray(work_s, float) / finite_s * stretch_time(finite_s + checkpoint_s, rate_per_s, restart_s)
    return np.where(never, stretch_time(work_s, rate_per_s, restart_s), times)


Counted = Callable[..., np.ndarray]
SEGMENTS: Mapping[str, Counted] = dict(zip(names.SEGMENTS, (with_checkpoints, daly_time), strict=True))


def young(delta: ArrayLike, M: ArrayLike, R: ArrayLike = 0.0) -> np.ndarray:
    """Return sqrt(2 delta M), Young's balance of the time of checkpoints and half an interval lost per failure.

    >>> float(young(50, 40_000))
    2000.0
    """
    return np.sqrt(2 * np.asarray(delta, float) * M)


def daly_first_order(delta: ArrayLike, M: ArrayLike, R: ArrayLike = 0.0) -> np.ndarray:
    """Return sqrt(2 delta (M + R)), Daly's first model, which includes failures during restarts and their work.

    >>> float(daly_first_order(50, 39_000, 1_000))
    2000.0
    """
    return np.sqrt(2 * np.asarray(delta, float) * (np.asarray(M, float) + R))


def daly(delta: ArrayLike, M: ArrayLike, R: ArrayLike = 0.0) -> np.ndarray:
    """Return sqrt(2 delta M) (1 + sqrt(delta/2M)/3 + (delta/2M)/9) - delta for delta < 2M, else M.

    This is Daly's higher-order estimate: the minimum of his complete cost function, in powers of sqrt(delta/2M).  It
    does not depend on R.
    """
    delta, M = np.broadcast_arrays(np.asarray(delta, float), np.asarray(M, float))
    x = delta / (2 * M)
    return np.where(x < 1, np.sqrt(2 * delta * M) * (1 + np.sqrt(x) / 3 + x / 9) - delta, M)


def exact(delta: ArrayLike, M: ArrayLike, R: ArrayLike = 0.0) -> np.ndarray:
    """Return M (1 + W(-e^(-1 - delta/M))), the exact minimum of Daly's cost function, with Lambert's function W.

    The derivative of (e^((tau + delta)/M) - 1)/tau vanishes where (tau/M - 1) e^(tau/M - 1) = -e^(-1 - delta/M).
    """
    # Imported here because it is slow to import.
    from scipy.special import lambertw

    delta, M = np.broadcast_arrays(np.asarray(delta, float), np.asarray(M, float))
    x = delta / M
    # Near its branch point W loses half of the digits; its series there (Corless et al. 1996, eq. 4.22) keeps them.
    q = np.sqrt(-2 * np.expm1(-x))
    series = q - q**2 / 3 + 11 * q**3 / 72 - 43 * q**4 / 540
    with np.errstate(invalid="ignore"):
        interval_s = np.where(q < 1e-3, series, 1 + np.real(lambertw(-np.exp(-1 - x)))) * M
    return np.where(np.isfinite(M), interval_s, np.inf)


Interval = Callable[[ArrayLike, ArrayLike, ArrayLike], np.ndarray]
INTERVALS: Mapping[str, Interval] = dict(zip(names.INTERVALS, (young, daly_first_order, daly, exact), strict=True))


@dataclass(frozen=True)
class Failures:
    """Failure rate of the nodes, and the times of a checkpoint and a restart."""

    rate_per_s: float  # lambda of one node, 1/(s node): 0, or in RATE_RANGE_PER_S
    checkpoint_s: float  # time to write a checkpoint, from SHORTEST_S to LONGEST_S
    restart_s: float = 0.0  # time between a failure and the continuation of the work, >= 0, <= LONGEST_S

    def __post_init__(self) -> None:
        low, high = RATE_RANGE_PER_S
        rate, checkpoint_s, restart_s = self.rate_per_s, self.checkpoint_s, self.restart_s
        least_s = SHORTEST_S
        for name, value, good, wanted in (
            ("failure rate", rate, rate == 0 or low <= rate <= high, f"0, or from {low:g} to {high:g} 1/s"),
            ("checkpoint time", checkpoint_s, least_s <= checkpoint_s <= LONGEST_S, f"{least_s:g} to {LONGEST_S:g} s"),
            ("restart time", restart_s, 0 <= restart_s <= LONGEST_S, f"0 to {LONGEST_S:g} s"),
        ):
            if not good:
                raise UserError(f"{name} {value:g}", "out of its range", f"Give {wanted}")


@dataclass(frozen=True)
class Outlook:
    """Arrays over the numbers of nodes; times are in s, and infinite if they exceed the range of floats."""

    nodes: np.ndarray
    run_s: np.ndarray  # time without failures
    success: np.ndarray  # probability that no failure occurs during a run
    intervals_s: Mapping[str, np.ndarray]  # work between two checkpoints, by name of the interval
    expected_s: Mapping[str, np.ndarray]  # expected times by strategy: NO_FAILURES, SCRATCH and the intervals

    def best(self, strategy: str) -> int | None:
        """Return the index of the shortest expected time, the first among equals; None if all are infinite."""
        place = int(np.argmin(self.expected_s[strategy]))
        return place if np.isfinite(self.expected_s[strategy][place]) else None


def outlook(
    nodes: Sequence[float] | np.ndarray,
    run_s: Sequence[float] | np.ndarray,
    failures: Failures,
    intervals: Sequence[str],
    *,
    segments: str = "whole",
) -> Outlook:
    """Compute the expected times of runs with failures.

    Args:
        nodes: Numbers of nodes.
        run_s: Time of the run without failures on each number of nodes, s, up to LONGEST_S.
        failures: Failure rate, and times of a checkpoint and a restart.
        intervals: Names of checkpoint intervals, of INTERVALS.
        segments: Formula for the times with checkpoints, of SEGMENTS.
    """
    P, T = np.asarray(nodes, float), np.asarray(run_s, float)
    rate = failures.rate_per_s * P
    with np.errstate(divide="ignore"):
        M = 1 / rate
    chosen = {name: INTERVALS[name](failures.checkpoint_s, M, failures.restart_s) for name in intervals}
    expected = {NO_FAILURES: T, SCRATCH: restart_from_scratch(T, rate, restart_s=failures.restart_s)}
    for name, interval_s in chosen.items():
        expected[name] = SEGMENTS[segments](
            T, rate, interval_s=interval_s, checkpoint_s=failures.checkpoint_s, restart_s=failures.restart_s
        )
    return Outlook(P, T, success(T, P, failures.rate_per_s), chosen, expected)
