"""Random runs whose nodes fail independently by an exponential law.

The runs are followed event by event, without any formula of the mean.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_DRAWS_AT_ONCE = 4_000_000  # 32 MB


def first_failures(rng: np.random.Generator, runs: int, *, nodes: int, rate_per_s: float) -> npt.NDArray[np.float64]:
    """Return for each run the time until the first of its nodes fails, s; each node has its own draw."""
    rows = max(1, _DRAWS_AT_ONCE // nodes)
    parts = [
        rng.exponential(1 / rate_per_s, (min(rows, runs - begin), nodes)).min(axis=1) for begin in range(0, runs, rows)
    ]
    return np.concatenate(parts) if parts else np.empty(0)


def completion_times(
    rng: np.random.Generator,
    runs: int,
    *,
    nodes: int,
    rate_per_s: float,
    work_s: float,
    interval_s: float,
    checkpoint_s: float,
    restart_s: float,
) -> npt.NDArray[np.float64]:
    """Return the completion time of each run, s.

    A run works and writes a checkpoint after every ``interval_s`` of work, except at its end.  At a failure it loses
    the work since the last checkpoint, restarts, which another failure may interrupt, and continues.  The dates of
    failures are drawn beforehand and do not depend on what the run does.

    Args:
        rng: Source of the draws.
        runs: Number of runs.
        nodes: Nodes of a run.
        rate_per_s: Failure rate of one node, 1/s.
        work_s: Work of a run without checkpoints, s.
        interval_s: Work between checkpoints, s; infinite: no checkpoints.
        checkpoint_s: Time to write a checkpoint, s.
        restart_s: Time of a restart, s.
    """
    clock_s, saved_s, done_s = np.zeros(runs), np.zeros(runs), np.full(runs, np.nan)
    restarting = np.zeros(runs, bool)
    failure_s = first_failures(rng, runs, nodes=nodes, rate_per_s=rate_per_s)
    active = np.arange(runs)
    while active.size:
        left_s = work_s - saved_s[active]
        last = left_s <= interval_s * (1 + 1e-12)
        stretch_s = np.where(last, left_s, interval_s + checkpoint_s)
        end_s = clock_s[active] + np.where(restarting[active], restart_s, stretch_s)
        passed = end_s <= failure_s[active]
        clock_s[active] = np.where(passed, end_s, failure_s[active])
        worked = passed & ~restarting[active]
        saved_s[active] += np.where(worked & ~last, interval_s, 0.0)
        finished = worked & last
        done_s[active[finished]] = end_s[finished]
        restarting[active] = ~passed
        hit = active[~passed]
        failure_s[hit] += first_failures(rng, hit.size, nodes=nodes, rate_per_s=rate_per_s)
        active = active[~finished]
    return done_s
