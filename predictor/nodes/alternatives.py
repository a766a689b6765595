"""Alternatives to the fastest configuration: the fronts of time with energy and with cost, the knee, the second best.

The knee is the configuration of the front of time and node-seconds with the least product of both: there the speed-up
times the efficiency, S^2 / nodes, is largest (Eager, Zahorjan, Lazowska 1989, as in predictor/scale/curve.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from platforms.terminal.quantities import duration, percent, significant
from platforms.terminal.table import table_lines
from predictor.allocation.configuration import Configuration
from predictor.allocation.objectives import S_PER_HOUR
from predictor.allocation.space import Space
from predictor.nodes.drivers import Estimates
from predictor.series.front import pareto_front

_LEAST_GAIN = 0.005  # of what a slower configuration of a front takes less, relative
_MOST_ROWS = 12  # of the table on the terminal; JSON has all


@dataclass(frozen=True)
class Alternative:
    """A configuration that no other one beats in time and in another quantity."""

    configuration: Configuration
    time_s: float
    node_s: float  # nodes in use times the time
    energy_j: float | None
    cost: float | None  # by the prices; None: there are none
    best_of: tuple[str, ...]  # the fronts that it is on: "node-seconds", "energy", "cost"


@dataclass(frozen=True)
class Alternatives:
    """The fronts of a search, by increasing time."""

    front: tuple[Alternative, ...]
    knee: Configuration
    second: Configuration | None  # None: only one configuration has an estimate
    second_s: float | None

    def to_json(self) -> dict[str, Any]:
        """Return the fronts as JSON values."""
        return {
            "front": [
                {
                    "configuration": str(one.configuration),
                    "nodes": one.configuration.nodes,
                    "ranks": one.configuration.total,
                    "time_s": one.time_s,
                    "node_s": one.node_s,
                    "energy_j": one.energy_j,
                    "cost": one.cost,
                    "best_of": list(one.best_of),
                }
                for one in self.front
            ],
            "knee": str(self.knee),
            "second": None if self.second is None else str(self.second),
            "second_s": self.second_s,
        }

    def lines(self, best_s: float, *, wide: bool = False) -> list[str]:
        """Return sentences and a table; ``best_s``: time of the fastest configuration, or 0 to say nothing of it."""
        said = []
        if self.second is not None and self.second_s is not None and best_s > 0:
            loss = percent(100 * (self.second_s / best_s - 1))
            said.append(f"the second best, {self.second}, takes {loss} % longer: {duration(self.second_s)}")
        knee = next(one for one in self.front if one.configuration == self.knee)
        said.append(
            f"the knee, with the largest speed-up times efficiency, is {self.knee}: {duration(knee.time_s)} on "
            f"{knee.configuration.nodes} of the nodes"
        )
        has_energy, has_cost = (
            any(getattr(one, name) is not None for one in self.front) for name in ("energy_j", "cost")
        )
        head = ["configuration", "nodes", "ranks", "time", "node-seconds"]
        rows = [[*head, *(["energy, J"] if has_energy else []), *(["cost"] if has_cost else [])]]
        for one in _spread(self.front):
            cells = [str(one.configuration), str(one.configuration.nodes), str(one.configuration.total)]
            values: dict[str, float | None] = {"node-seconds": one.node_s}
            values |= ({"energy": one.energy_j} if has_energy else {}) | ({"cost": one.cost} if has_cost else {})
            marked = (significant(value) + (" *" if name in one.best_of else "  ") for name, value in values.items())
            rows.append([*cells, duration(one.time_s), *marked])
        legend = "*: no configuration has less of it in as short a time; slower ones have at least 0.5 % less"
        return [*said, "", *table_lines(rows, left={0}, wide=wide), legend]


def alternatives(space: Space, estimates: Estimates, prices: Sequence[float] | None = None) -> Alternatives | None:
    """Return the fronts of the configurations that have a positive time; None: none has.

    Args:
        space: The configurations.
        estimates: Their estimates.
        prices: Price of a node-hour of each cluster; None: there are none.
    """
    known = np.flatnonzero(estimates.times_s > 0)
    if not len(known):
        return None
    times_s = estimates.times_s
    node_s = times_s * space.pes.sum(axis=1)
    others: dict[str, np.ndarray] = {"node-seconds": node_s}
    if estimates.energies_j is not None:
        others["energy"] = estimates.energies_j
    if prices is not None:
        others["cost"] = times_s * (space.pes * np.asarray(prices)).sum(axis=1) / S_PER_HOUR
    best_of: dict[int, list[str]] = {}
    for name, values in others.items():
        points = [(float(times_s[row]), float(values[row])) for row in known]
        for at in gaining(points, pareto_front(points, equals=False)):
            best_of.setdefault(int(known[at]), []).append(name)
    ordered = sorted(known.tolist(), key=lambda row: (times_s[row], space.total[row]))
    front = [row for row in ordered if row in best_of]
    knee = min((row for row in front if "node-seconds" in best_of[row]), key=lambda row: times_s[row] * node_s[row])
    second = ordered[1] if len(ordered) > 1 else None

    def value(name: str, row: int) -> float | None:
        return None if name not in others or np.isnan(others[name][row]) else float(others[name][row])

    return Alternatives(
        tuple(
            Alternative(
                space.configuration(row), float(times_s[row]), float(node_s[row]), value("energy", row),
                value("cost", row), tuple(best_of[row]),
            )
            for row in front
        ),
        space.configuration(knee),
        None if second is None else space.configuration(second),
        None if second is None else float(times_s[second]),
    )  # fmt: skip


def gaining(points: Sequence[tuple[float, float]], front: Sequence[int]) -> list[int]:
    """Return the points of a front, each of which has at least _LEAST_GAIN less than the faster ones."""
    kept: list[int] = []
    for at in sorted(front, key=lambda at: points[at]):
        if not kept or points[at][1] <= (1 - _LEAST_GAIN) * points[kept[-1]][1]:
            kept.append(at)
    return kept


def _spread(front: Sequence[Alternative]) -> list[Alternative]:
    """Return at most _MOST_ROWS of a front, evenly among them, with both ends."""
    if len(front) <= _MOST_ROWS:
        return list(front)
    return [front[round(at)] for at in np.linspace(0, len(front) - 1, _MOST_ROWS)]


def slurm_lines(configuration: Configuration, clusters: Sequence[str], wall_s: int) -> list[str]:
    """Return the lines of a Slurm script that ask for a configuration, each cluster as a partition of its name.

    >>> slurm_lines(Configuration(((8, 16), (0, 0), (4, 2))), ["a", "b", "c"], 90)[:2]
    ['#SBATCH --partition=a --nodes=8 --ntasks-per-node=16 --time=00:01:30', '#SBATCH hetjob']
    """
    clock = f"{wall_s // 3600:02d}:{wall_s // 60 % 60:02d}:{wall_s % 60:02d}"
    parts = [
        f"#SBATCH --partition={cluster} --nodes={nodes} --ntasks-per-node={processes} --time={clock}"
        for cluster, (nodes, processes) in zip(clusters, configuration.shares, strict=True)
        if nodes
    ]
    return [line for number, part in enumerate(parts) for line in (["#SBATCH hetjob"] if number else []) + [part]]
