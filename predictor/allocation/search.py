"""Exhaustive search for the best configuration, the procedure of Figure 1 (Ichikawa, Takahashi, Kawai)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from platforms.errors import UserError
from predictor.allocation.configuration import Configuration
from predictor.allocation.objectives import TIME, Objective
from predictor.allocation.space import Space
from predictor.base import OutOfRange


@dataclass(frozen=True)
class ChosenConfiguration:
    """Result of a search."""

    configuration: Configuration
    time_s: float  # estimated time
    value: float  # estimated value of the objective
    examined: int  # number of configurations whose value was computed
    flags: tuple[str, ...] = ()  # reasons to distrust the choice


def exhaustive(
    space: Space,
    times_s: np.ndarray,
    objective: Objective = TIME,
    *,
    table_s: np.ndarray | None = None,
    energies_j: np.ndarray | None = None,
    time_limit_s: float = np.inf,
) -> ChosenConfiguration:
    """Return the configuration with the smallest value, given the times of all configurations from any model.

    Negative times, which wrecked models give, are taken as they are (section 5.8) and flagged; a time of NaN, without a
    model, is never the best.  Models of T_i(N, P)|M_i give many equal values.  Among equals the choice falls on the
    configurations with the fewest processes; then, with ``table_s``, on those with the smallest sum P_i M_i T_i of busy
    times, which puts most processes on the fast sub-clusters; then on the first in order.

    Args:
        space: The configurations.
        times_s: Time of each configuration; NaN: no model.
        objective: The value to minimise.
        table_s: T_i by (i, M_i, P), where the model gives them.
        energies_j: Energy of each configuration, where the model gives it.
        time_limit_s: Largest allowed time.

    Raises:
        OutOfRange: No configuration has a time within ``time_limit_s``.
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
    return ChosenConfiguration(
        configuration, float(times_s[first]), float(best), len(space) - missing, time_flags(times_s[first]) + flags
    )


def cheapest_within(
    find: Callable[..., ChosenConfiguration], objective: Objective, slack: float = 0.10
) -> ChosenConfiguration:
    """Return the best configuration by ``objective`` within 1 + ``slack`` times the best estimated time (section 8).

    Args:
        find: Either search with its other arguments bound, called as ``find(objective, time_limit_s=...)``.
        objective: The value to minimise.
        slack: Share of the shortest time, >= 0.

    Raises:
        UserError: ``slack`` is negative or not finite.
    """
    check_slack(slack)
    best_s = find(TIME).time_s
    return find(objective, time_limit_s=best_s + slack * abs(best_s))


def check_slack(slack: float) -> None:
    """Check a share of the best time.

    Raises:
        UserError: ``slack`` is negative or not finite.
    """
    if not 0 <= slack < np.inf:
        raise UserError(f"slack {slack}", "not a share of the best time", "Give a number from 0, such as 0.1")


def first_of_equals(pes: np.ndarray, processes: np.ndarray, table_s: np.ndarray | None) -> int:
    """Return the index of the preferred one of configurations of equal value (see ``exhaustive``).

    Args:
        pes: P_i, configurations x sub-clusters.
        processes: M_i, configurations x sub-clusters.
        table_s: T_i by (i, M_i, P), or None.
    """
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
    """Return reasons to distrust an estimated time."""
    if time_s > 0:
        return ()
    return (f"its estimated time is {time_s:.4g} s: the model is wrecked (section 5.8 of the NP-T paper), use nnls",)


def nothing_found(empty: bool, time_limit_s: float) -> OutOfRange:
    """Return the error of a search without a result; ``empty``: the space has no configuration."""
    if empty:
        remedy = "Allow more PEs, processes or numbers of ranks"
        return OutOfRange("search", "no configuration is within the limits and the program's rule", remedy)
    if time_limit_s < np.inf:
        problem = f"no configuration with a model takes at most {time_limit_s:.6g} s"
        return OutOfRange("search", problem, "Allow more time")
    return OutOfRange("search", "no configuration has a model", "Measure some, or use another form")
