"""The best configuration: through all of them, the procedure of Figure 1 (Ichikawa, Takahashi, Kawai)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from platforms.errors import UserError
from predictor.base import OutOfRange
from predictor.npt.configuration import Configuration
from predictor.npt.objectives import TIME, Objective
from predictor.npt.space import Space


@dataclass(frozen=True)
class Choice:
    """What a search found."""

    configuration: Configuration
    time_s: float  # estimated
    value: float  # of the objective, estimated
    examined: int  # configurations whose value was computed
    flags: tuple[str, ...] = ()  # reasons to distrust it


def exhaustive(
    space: Space,
    times_s: np.ndarray,
    objective: Objective = TIME,
    *,
    table_s: np.ndarray | None = None,
    energies_j: np.ndarray | None = None,
    time_limit_s: float = np.inf,
) -> Choice:
    """The configuration with the smallest value, given the times of all of them, from any model; energies if it has.

    Negative times, which wrecked models give, are taken as they are (section 5.8) and flagged; NaN, no model, never is
    the best.  Among equals, and models of T_i(N, P)|M_i make many, those with the fewest processes; then, where
    ``table_s`` tells T_i by (i, M_i, P), those whose processes are busy for the shortest time in all, sum P_i M_i T_i,
    so that the quick sub-clusters have the most; then the first in order.

    Raises OutOfRange where no configuration has a time, or none within ``time_limit_s``.
    """
    objective.check(space.limits.sub_clusters)
    if len(times_s) != len(space):
        raise ValueError(f"{len(times_s)} times for {len(space)} configurations")
    eligible = times_s <= time_limit_s  # NaN is not
    count = int(np.count_nonzero(eligible))
    if not count:
        raise nothing_found(not len(space), time_limit_s)
    values = objective.values(times_s, space.pes, energies_j)
    if count < len(times_s):
        values = np.where(eligible, values, np.inf)
    best = values.min()
    rows = np.flatnonzero(values == best)
    pes, processes = space.pes[rows], space.processes[rows]
    first = rows[first_of_equals(pes, processes, table_s)] if len(rows) > 1 else rows[0]
    missing = int(np.count_nonzero(np.isnan(times_s)))
    flags = (f"{missing} of {len(space)} configurations have no model",) if missing else ()
    configuration = space.configuration(first)
    return Choice(
        configuration, float(times_s[first]), float(best), len(space) - missing, time_flags(times_s[first]) + flags
    )


def cheapest_within(find: Callable[..., Choice], objective: Objective, slack: float = 0.10) -> Choice:
    """The best by ``objective`` among those whose estimated time is at most 1 + ``slack`` of the shortest (section 8).

    ``find(objective, time_limit_s=...)`` is either search, with its other arguments given.
    """
    check_slack(slack)
    best_s = find(TIME).time_s
    return find(objective, time_limit_s=best_s + slack * abs(best_s))


def check_slack(slack: float) -> None:
    """Raises UserError for what is no share of a time."""
    if not 0 <= slack < np.inf:
        raise UserError(f"slack {slack}", "not a share of the best time", "Give a number from 0, such as 0.1")


def first_of_equals(pes: np.ndarray, processes: np.ndarray, table_s: np.ndarray | None) -> int:
    """Which of these configurations of equal value is taken (see ``exhaustive``); arrays of equals x sub-clusters."""
    total = (pes * processes).sum(axis=1)
    rows = np.flatnonzero(total == total.min())
    if table_s is not None:
        busy_s = np.zeros(len(rows))
        for i in range(pes.shape[1]):
            count = pes[rows, i] * processes[rows, i]
            time_s = table_s[i, processes[rows, i], total[rows]]
            busy_s += np.where(count > 0, count * np.where(count > 0, time_s, 0), 0)
        rows = rows[busy_s == np.nanmin(busy_s)] if not np.isnan(busy_s).all() else rows
    keys = np.stack((pes[rows], processes[rows]), axis=2).reshape(len(rows), -1)
    return int(rows[np.lexsort(keys.T[::-1])[0]])


def time_flags(time_s: float) -> tuple[str, ...]:
    """Reasons to distrust an estimated time."""
    if time_s > 0:
        return ()
    return (f"its estimated time is {time_s:.4g} s: the model is wrecked (section 5.8 of the NP-T paper), use nnls",)


def nothing_found(empty: bool, time_limit_s: float) -> OutOfRange:
    """The error of a search without a result; ``empty``: there was nothing to search."""
    if empty:
        remedy = "Allow more PEs, processes or numbers of ranks"
        return OutOfRange("search", "no configuration is within the limits and the program's rule", remedy)
    if time_limit_s < np.inf:
        problem = f"no configuration with a model takes at most {time_limit_s:.6g} s"
        return OutOfRange("search", problem, "Allow more time")
    return OutOfRange("search", "no configuration has a model", "Measure some, or use another form")
