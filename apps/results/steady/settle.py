"""Simulate as few iterations as show the steady state, and extrapolate the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from apps.results.record import RunRecord
from apps.results.steady.growth import Growth
from apps.results.steady.period import FIRST_TRY, Pattern, find_period, next_try

__all__ = ["FIRST_TRY", "SETTLED_BOUND", "extrapolate", "settle"]
# A run has settled when its bound on the relative error of the extrapolated time is at most this.
SETTLED_BOUND = 1e-6


def extrapolate(record: RunRecord, iterations: int, pattern: Pattern | None = None) -> RunRecord:
    """Return the record of ``iterations`` iterations, extrapolated from a record of fewer.

    The missing iterations are treated as whole periods; if one iteration of a period of two is left over, it lasts as
    long as the corresponding one before the last.  Every extensive field grows in the same way.  Fewer than
    LEAST_ITERATIONS show no period: the missing iterations are then treated like the last one, without a bound.

    ``pattern`` is how the iterations of a user's program were seen to repeat; the counts of a whole period are then
    those of the last one simulated.  None: all iterations are alike, or nothing is known.
    """
    done = len(record.iteration_s[0])
    if done in (0, iterations):  # 0: a program without iterations, simulated in full
        return record
    known = Pattern() if pattern is None else pattern
    period = find_period(record.iteration_s, known) if done >= known.least else None
    advance = None if pattern is None else record.seen.advance(pattern.period)
    drift = 0.0 if pattern is None or period is None else record.seen.drift_rel(period, pattern.start)
    return Growth(record, iterations, period, known.period, advance, drift).grown_record()


def settle(
    run: Callable[[int], RunRecord],
    iterations: int,
    *,
    bound_rel: float = SETTLED_BOUND,
    pattern: Pattern | None = None,
) -> RunRecord:
    """Return the record of all ``iterations`` from as few simulated ones as possible.

    ``run`` simulates the number of iterations that it is given.  The number is doubled until the run has settled or all
    iterations are simulated.  With a period of two, one more iteration is simulated if the run would otherwise end in
    the other half of a period, because the time after the iterations depends on it.  Wall time is the sum and peak
    memory the maximum over all tries.  ``pattern`` is as in ``extrapolate``: only whole periods of it are extrapolated.
    """
    known = Pattern() if pattern is None else pattern
    tried, wall_s, peak_memory_bytes = known.first_try, 0.0, 0
    tried += (iterations - tried) % known.period
    while True:
        tried = iterations if iterations < known.least else min(tried, iterations)
        record = extrapolate(run(tried), iterations, pattern)
        wall_s += record.wall_s
        peak_memory_bytes = max(peak_memory_bytes, record.peak_memory_bytes)
        how, missing = record.extrapolation, iterations - tried
        if how is None or (how.bound_rel is not None and how.bound_rel <= bound_rel and missing % how.period == 0):
            return replace(record, wall_s=wall_s, peak_memory_bytes=peak_memory_bytes)
        tried = next_try(tried, missing, how.period, known.period)
