"""Random runs of placed applications, followed event by event, without any formula of a mean."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from predictor.checkpoints.placed import Placed
from validation.failures.study import first_failures

_MOST_DRAWN = 10_000  # nodes; the first failure of more is one draw, at the rate of all of them


def drawn_parts(
    rng: np.random.Generator, runs: int, run: Placed, *, interval_s: float, restart_s: float
) -> npt.NDArray[np.float64]:
    """Return for each run the times of work, of checkpoints and of restarts, s, as three columns.

    A run works, and writes a checkpoint after every ``interval_s`` of work except at its end.  A failure of any node
    loses the work since the last checkpoint and begins a restart; another failure restarts that.

    Args:
        rng: Source of the draws.
        runs: Number of runs.
        run: The placed application.
        interval_s: Work between checkpoints, s; infinite: no checkpoints.
        restart_s: Time of a restart, s.
    """
    return np.array([_one(rng, run, interval_s, restart_s) for _ in range(runs)])


def _one(rng: np.random.Generator, run: Placed, interval_s: float, restart_s: float) -> tuple[float, float, float]:
    """Follow one run through its phases; a phase ends as planned or at the next failure."""
    spent = {"work": 0.0, "write": 0.0, "restart": 0.0}
    clock_s, saved_s, phase = 0.0, 0.0, "work"
    failure_s = _next_failure(rng, run)
    while True:
        left_s = run.work_s - saved_s
        last = left_s <= interval_s * (1 + 1e-12)
        planned_s = {"work": left_s if last else interval_s, "write": run.checkpoint_s, "restart": restart_s}[phase]
        failed = clock_s + planned_s > failure_s
        end_s = failure_s if failed else clock_s + planned_s
        spent[phase] += end_s - clock_s
        clock_s = end_s
        if failed:
            phase, failure_s = "restart", clock_s + _next_failure(rng, run)
        elif phase == "restart":
            phase = "work"
        elif phase == "write":
            phase, saved_s = "work", saved_s + interval_s
        elif last:
            return spent["work"], spent["write"], spent["restart"]
        else:
            phase = "write"


def _next_failure(rng: np.random.Generator, run: Placed) -> float:
    """Return the time until the first of the nodes fails, s; each node has its own draw, unless there are many."""
    if run.rate_per_s == 0:
        return float("inf")
    if run.nodes > _MOST_DRAWN:
        return float(rng.exponential(1 / run.rate_per_s))
    return float(first_failures(rng, 1, nodes=run.nodes, rate_per_s=run.rate_per_s / run.nodes)[0])
