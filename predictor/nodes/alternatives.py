"""Alternatives to the fastest configuration: fronts of time with energy, cost and emissions; the knee, the second best.

The knee is the configuration of the front of time and node-seconds with the least product of both: there the speed-up
times the efficiency, S^2 / nodes, is largest (Eager, Zahorjan, Lazowska 1989, as in predictor/scale/curve.py).

After how many runs the evidence of a choice has paid, against the whole platform with a process on each core.

Section 6.1 of Ichikawa, Takahashi and Kawai asks whether the choice is worth "all the efforts required to construct the
models", and compares it with static allocations, of which "the simplest example" is the whole cluster.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from apps.batch.headers import SLURM, limit_text
from platforms.model.platform import Platform
from platforms.prices.bill import amount_text
from platforms.prices.options import CostQuestion
from platforms.prices.price import S_PER_HOUR
from platforms.terminal.quantities import duration, percent
from platforms.terminal.table import table_lines
from platforms.wording import number_of
from predictor.allocation.configuration import Configuration
from predictor.allocation.objectives import emitted
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
    cost: float | None  # by the prices; None: there are none, or a node in use has none
    carbon_g: float | None  # CO2-equivalent; None: not asked for, or the energy is not known
    best_of: tuple[str, ...]  # the fronts that it is on: "node-seconds", "energy", "cost", "carbon"


@dataclass(frozen=True)
class Alternatives:
    """The fronts of a search, by increasing time."""

    front: tuple[Alternative, ...]
    knee: Configuration
    second: Configuration | None  # None: only one configuration has an estimate
    second_s: float | None
    currency: str | None = None  # of the costs; None: there are no prices
    emits: bool = False  # emissions are asked for

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
                    "carbon_g": one.carbon_g,
                    "best_of": list(one.best_of),
                }
                for one in self.front
            ],
            "knee": str(self.knee),
            "second": None if self.second is None else str(self.second),
            "second_s": self.second_s,
            "currency": self.currency,
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
        has_energy = any(one.energy_j is not None for one in self.front)
        head = ["configuration", "nodes", "ranks", "time", "node-seconds", *(["energy, J"] if has_energy else [])]
        cost = [] if self.currency is None else [f"cost, {self.currency}"]
        rows = [[*head, *cost, *(["g CO2e"] if self.emits else [])]]
        for one in _spread(self.front):
            cells = [str(one.configuration), str(one.configuration.nodes), str(one.configuration.total)]
            values: dict[str, float | None] = {"node-seconds": one.node_s}
            values |= ({"energy": one.energy_j} if has_energy else {}) | ({"cost": one.cost} if cost else {})
            values |= {"carbon": one.carbon_g} if self.emits else {}
            marked = (amount_text(value) + (" *" if name in one.best_of else "  ") for name, value in values.items())
            rows.append([*cells, duration(one.time_s), *marked])
        legend = "*: no configuration has less of it in as short a time; slower ones have at least 0.5 % less"
        return [*said, "", *table_lines(rows, left={0}, wide=wide), legend]


def alternatives(
    space: Space, estimates: Estimates, platform: Platform | None = None, costs: CostQuestion | None = None
) -> Alternatives | None:
    """Return the fronts of the configurations that have a positive time; None: none has.

    Args:
        space: The configurations.
        estimates: Their estimates.
        platform: The platform, for prices and emissions.
        costs: The prices and the emissions that are asked for; None: none are.
    """
    known = np.flatnonzero(estimates.times_s > 0)
    if not len(known):
        return None
    times_s = estimates.times_s
    node_s = times_s * space.pes.sum(axis=1)
    others: dict[str, np.ndarray] = {"node-seconds": node_s}
    if estimates.energies_j is not None:
        others["energy"] = estimates.energies_j
    if platform is not None and costs is not None:
        others |= _costs(space, estimates, platform, costs)
    best_of: dict[int, list[str]] = {}
    for name, values in others.items():
        valued = known[~np.isnan(values[known])] if name in ("cost", "carbon") else known
        points = [(float(times_s[row]), float(values[row])) for row in valued]
        for at in gaining(points, pareto_front(points, equals=False)):
            best_of.setdefault(int(valued[at]), []).append(name)
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
                value("cost", row), value("carbon", row), tuple(best_of[row]),
            )
            for row in front
        ),
        space.configuration(knee),
        None if second is None else space.configuration(second),
        None if second is None else float(times_s[second]),
        None if costs is None or costs.prices is None else costs.prices.currency,
        costs is not None and costs.carbon is not None,
    )  # fmt: skip


def _costs(space: Space, estimates: Estimates, platform: Platform, costs: CostQuestion) -> dict[str, np.ndarray]:
    """Return the costs and the emissions of configurations, NaN where they are not known."""
    made: dict[str, np.ndarray] = {}
    if costs.prices is not None:
        prices = np.array([np.nan if price is None else price for price in costs.prices.of_clusters(platform)])
        each = np.where(space.pes > 0, space.pes * prices, 0.0)  # the price of a node that is not used does not matter
        made["cost"] = estimates.times_s * each.sum(axis=1) / S_PER_HOUR
    site = None if costs.carbon is None else costs.carbon.of_name(*(one.name for one in platform.clusters))
    if site is not None:
        energies_j = np.full(len(estimates.times_s), np.nan) if estimates.energies_j is None else estimates.energies_j
        each_run = zip(estimates.times_s.tolist(), energies_j.tolist(), space.pes.sum(axis=1).tolist(), strict=True)
        made["carbon"] = np.array([emitted(site, *run, start_s=costs.start_s) for run in each_run])
    return made


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
    limit = limit_text(SLURM, wall_s)
    parts = [
        f"#SBATCH --partition={cluster} --nodes={nodes} --ntasks-per-node={processes} --time={limit}"
        for cluster, (nodes, processes) in zip(clusters, configuration.shares, strict=True)
        if nodes
    ]
    return [line for number, part in enumerate(parts) for line in (["#SBATCH hetjob"] if number else []) + [part]]


@dataclass(frozen=True)
class BreakEven:
    """The runs that made up for the evidence."""

    configuration: str  # that is used without a choice: all nodes within the limits, a process on each core
    time_s: float  # its time by the same estimates
    saved_s: float  # by each run of the choice; not positive: none
    evidence_s: float  # time of the runs of the evidence, one after another
    runs: int | None  # after which the evidence has paid; None: never

    def __str__(self) -> str:
        if self.runs is None:
            return f"all nodes, {self.configuration}, are as fast: the evidence does not pay"
        return (
            f"against all nodes, {self.configuration}, each run saves {duration(self.saved_s)}: the evidence, "
            f"{duration(self.evidence_s)} of runs, has paid after {number_of(self.runs, 'run')}"
        )


def break_even(
    space: Space, estimates: Estimates, platform: Platform, chosen_s: float, evidence_s: float
) -> BreakEven | None:
    """Return after how many runs the evidence has paid.

    Args:
        space: The configurations.
        estimates: Their estimates.
        platform: The platform, which says how many cores the nodes have.
        chosen_s: Time of the choice.
        evidence_s: Time of all runs of the evidence, one after another; 0: there were none.

    Returns:
        None where nothing was measured, or the whole platform has no estimate.
    """
    limits = zip(space.limits.pes, space.limits.processes, platform.clusters, strict=True)
    shares = tuple((pes, min(cluster.cores, most)) if pes and most else (0, 0) for pes, most, cluster in limits)
    (row,) = space.rows([Configuration(shares)])
    if evidence_s <= 0 or row < 0 or not estimates.times_s[row] > 0:
        return None
    whole_s = float(estimates.times_s[row])
    saved_s = whole_s - chosen_s
    runs = math.ceil(evidence_s / saved_s) if saved_s > 1e-9 * whole_s and np.isfinite(saved_s) else None
    return BreakEven(str(Configuration(shares)), whole_s, saved_s, evidence_s, runs)
