"""Search for the best configuration: the exhaustive one of Figure 1 (Ichikawa, Takahashi, Kawai), and branch and bound.

Branch and bound over the sub-clusters: finds the best configuration without listing all of them.

Ichikawa, Takahashi, Kawai, section 4.1, mention it for large numbers of configurations.  A partial configuration fixes
(P_i, M_i) of the first sub-clusters.  With s processes so far and at most r more, its T is at least
max_i min {T_i(P)|M_i : s <= P <= s + r} over the sub-clusters that it uses.  Its rate R lies between the rate of its
own nodes and the rate with all nodes of the remaining sub-clusters added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from platforms.errors import UserError
from predictor.allocation.configuration import Configuration
from predictor.allocation.objectives import TIME, Objective
from predictor.allocation.space import Space
from predictor.base import OutOfRange

_BLOCK = 1 << 14  # number of children that are made at once


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


def branch_and_bound(
    space: Space,
    table_s: np.ndarray,
    objective: Objective = TIME,
    *,
    time_limit_s: float = np.inf,
) -> ChosenConfiguration:
    """Return the same choice as ``exhaustive(space, space.gather(table_s), objective, table_s=table_s)``, bit for bit.

    The configurations of the space are never listed.

    Args:
        space: The configurations.
        table_s: T_i by (i, M_i, P), s, as in ``Space.gather``.
        objective: The value to minimise.
        time_limit_s: Largest allowed time.

    Raises:
        OutOfRange: No configuration has a time within the limit.
    """
    objective.check(space.limits.sub_clusters)
    search = _Search(space, table_s, objective, time_limit_s)
    search.run()
    if not search.found:
        raise nothing_found(not space.allowed.any(), time_limit_s)
    chosen = np.concatenate(search.found)
    pes = np.stack([search.options[i][0][chosen[:, i]] for i in range(chosen.shape[1])], axis=1)
    processes = np.stack([search.options[i][1][chosen[:, i]] for i in range(chosen.shape[1])], axis=1)
    first = first_of_equals(pes, processes, table_s)
    configuration = Configuration(tuple(zip(pes[first].tolist(), processes[first].tolist(), strict=True)))
    time_s = float(max(table_s[i, configuration.shares[i][1], configuration.total] for i in configuration.used))
    return ChosenConfiguration(configuration, time_s, float(search.best), search.examined, time_flags(time_s))


# Partial configurations as arrays: options of the sub-clusters (configurations x sub-clusters), P, R, and bounds.
_Partial = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class _Search:
    """State of a search: partial configurations to extend, and the best complete ones."""

    def __init__(self, space: Space, table_s: np.ndarray, objective: Objective, time_limit_s: float):
        limits, self.objective, self.time_limit_s = space.limits, objective, time_limit_s
        self.depth = limits.sub_clusters
        self.options = [space.options(i) for i in range(self.depth)]
        self.most_pes = [int(pes.max()) for pes, _ in self.options]
        possible = np.where(np.isnan(table_s) | ~space.allowed, np.inf, table_s)
        possible[:, 0] = -np.inf
        self.least_s = possible[:, 1:].min(initial=np.inf)
        # By level, the smallest T_i from P up to the largest P that the remaining sub-clusters can reach.
        to_come = [sum(limits.most_processes[level:]) for level in range(self.depth + 1)]
        self.bound_s = [windowed_min(possible, reach + 1) for reach in to_come]
        self.best, self.examined = np.inf, 0
        self.found: list[np.ndarray] = []

    def run(self) -> None:
        """Search depth first, in blocks of partial configurations, those with the smallest bounds first."""
        root = np.zeros((1, 0), np.int32)
        blocks = [(root, np.zeros(1, np.int64), np.zeros(1), np.full(1, -np.inf))]
        while blocks:
            choices, total, rate, bound = blocks.pop()
            still = bound <= self.best
            choices, total, rate = choices[still], total[still], rate[still]
            if not len(choices):
                continue
            children = self._children(choices, total, rate)
            if choices.shape[1] + 1 < self.depth:
                blocks.extend(self._blocks(*children))
            else:
                self._complete(*children)

    def _children(self, choices: np.ndarray, total: np.ndarray, rate: np.ndarray) -> _Partial:
        """Return all extensions by the next sub-cluster that may still be the best, with their bounds."""
        level = choices.shape[1]
        pes, processes = self.options[level]
        parents, options = np.divmod(np.arange(len(choices) * len(pes)), len(pes))
        choices = np.concatenate((choices[parents], options[:, None].astype(np.int32)), axis=1)
        total = total[parents] + (pes * processes)[options]
        rate = rate[parents] + self.objective.rate(level, pes)[options]
        time_s = np.full(len(total), self.least_s)
        for i in range(level + 1):
            np.maximum(time_s, self.bound_s[level + 1][i, self.options[i][1][choices[:, i]], total], out=time_s)
        possible = (time_s <= self.time_limit_s) & (time_s < np.inf)
        if level + 1 == self.depth:
            possible &= total > 0
        choices, total, rate, time_s = choices[possible], total[possible], rate[possible], time_s[possible]
        at_most = rate
        for i in range(level + 1, self.depth):
            at_most = at_most + self.objective.rate(i, self.most_pes[i])
        bound = np.minimum(self.objective.value(time_s, rate), self.objective.value(time_s, at_most))
        best = bound <= self.best
        return choices[best], total[best], rate[best], bound[best]

    def _blocks(
        self, choices: np.ndarray, total: np.ndarray, rate: np.ndarray, bound: np.ndarray
    ) -> Iterator[_Partial]:
        """Yield the partial configurations in blocks, with the smallest bounds last, where the search continues."""
        by_bound = np.argsort(-bound, kind="stable")
        most = max(1, _BLOCK // len(self.options[choices.shape[1]][0]))
        for start in range(0, len(by_bound), most):
            rows = by_bound[start : start + most]
            yield choices[rows], total[rows], rate[rows], bound[rows]

    def _complete(self, choices: np.ndarray, total: np.ndarray, rate: np.ndarray, value: np.ndarray) -> None:
        """Record complete configurations, whose bounds are their values."""
        self.examined += len(choices)
        if not len(choices):
            return
        best = value.min()
        if best < self.best:
            self.best, self.found = best, []
        self.found.append(choices[value == self.best])


def windowed_min(values: np.ndarray, width: int) -> np.ndarray:
    """Return the minimum of each value and the next ``width`` - 1 values along the last axis, fewer at its end."""
    length = values.shape[-1]
    least, reached = values.copy(), 1
    while reached < min(width, length):
        step = min(reached, width - reached)
        least[..., : length - step] = np.minimum(least[..., : length - step], least[..., step:])
        reached += step
    return least
