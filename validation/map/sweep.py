"""The sweep: every problem on every grid, with network and efficiency scaled step by step."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import pandas as pd

from apps.programs.problem import Problem
from apps.spec.settings import Settings, resolve_efficiency
from apps.spec.target import Target
from platforms.errors import PlatformError
from platforms.grids.grid import Grid, Wire
from platforms.grids.random_grid import random_grid
from platforms.grids.scenario import SCENARIOS, named_grid, read_grid
from platforms.model.placement import MAPPINGS
from platforms.read.read import materialise
from predictor.series.grid import combinations
from validation.comparison.compare import COLUMNS
from validation.series.case import Case


@dataclass(frozen=True)
class Step:
    """Scale factors of network speed and efficiency.

    The computation of a run is proportional to 1 / efficiency and its messages to 1 / network speed.  SimGrid's model
    has no other time scale, so only the ratio of the two factors changes the shape of a run.
    """

    network: float = 1.0  # bandwidths are multiplied and latencies divided by this
    efficiency: float = 1.0  # the efficiency of the kernels is multiplied by this

    def __post_init__(self) -> None:
        for name, value in (("network", self.network), ("efficiency", self.efficiency)):
            if not 0 < value < math.inf:
                raise PlatformError(f"scale of the {name}", f"{value} is not positive", "Give a positive number")

    @property
    def ratio(self) -> float:
        """Factor by which the network becomes faster relative to the computation."""
        return self.network / self.efficiency


def scaled(grid: Grid, factor: float) -> Grid:
    """Return the grid with bandwidths multiplied and latencies divided by ``factor`` > 0.

    Options, speeds and the name of the grid stay; the name of its network becomes ``NAME x FACTOR``.
    """
    if factor == 1:
        return grid
    clusters = tuple(
        replace(cluster, node=_scaled(cluster.node, factor), backbone=_scaled(cluster.backbone, factor))
        for cluster in grid.clusters
    )
    links = tuple(replace(link, wire=_scaled(link.wire, factor)) for link in grid.wan_links)
    return replace(grid, network=f"{grid.network} x {factor:g}", clusters=clusters, wan_links=links)


def slowed(grid: Grid, factor: float) -> Grid:
    """Return the grid with the speed of its nodes multiplied by ``factor`` > 0; its name stays."""
    if factor == 1:
        return grid
    clusters = tuple(replace(cluster, speed_flops=cluster.speed_flops * factor) for cluster in grid.clusters)
    return replace(grid, clusters=clusters)


def _scaled(wire: Wire, factor: float) -> Wire:
    return Wire(wire.bandwidth_Bps * factor, wire.latency_s / factor)


# Together they span twelve half decades of network speed over efficiency with few networks, since some predictors
# measure each network.
NETWORK_SCALES = (0.1, 10.0, 1e3)
EFFICIENCY_SCALES = (1.0, 10**-0.5, 0.1, 10**-1.5)
# Columns of a sweep's results: those of every validation, the original network and the scale factors.
SWEEP_COLUMNS = (*COLUMNS, "base_network", "network_scale", "efficiency_scale")


@dataclass(frozen=True)
class Sweep:
    """The ranges of a sweep."""

    problems: tuple[Problem, ...]
    scenarios: tuple[str, ...] = SCENARIOS
    networks: tuple[str, ...] = ("gigabit",)  # networks of the scenarios, to be scaled
    network_scales: tuple[float, ...] = NETWORK_SCALES
    efficiency_scales: tuple[float, ...] = EFFICIENCY_SCALES  # factors of the kernels' reference efficiency
    mapping: str = "block"
    ranks: int | None = None  # None: one on each node
    random_grids: int = 0  # number in addition to the scenarios; each is run at one step, in turn
    seed: int = 1
    settings: Settings = field(default_factory=Settings)  # whose efficiency is scaled

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps, in ascending order of network speed over computation speed."""
        axes = {"network": self.network_scales, "efficiency": self.efficiency_scales}
        steps = [Step(**chosen) for chosen in combinations(axes)]
        return tuple(sorted(steps, key=lambda step: (step.ratio, step.network)))

    def grids(self) -> Iterator[tuple[Grid, Step]]:
        """Yield every unscaled grid with its step, step by step."""
        for step, chosen in product(self.steps, combinations({"network": self.networks, "name": self.scenarios})):
            yield _grid(**chosen), step
        for number in range(self.random_grids):
            yield random_grid(self.seed, number), self.steps[number % len(self.steps)]


def cases(sweep: Sweep) -> Iterator[Case]:
    """Yield all cases of the sweep, step by step; their axes are the columns that a sweep adds.

    Raises:
        UserError: A name is unknown, there are too many ranks, or an efficiency is out of range.
    """
    for grid, step in sweep.grids():
        with_network = scaled(grid, step.network)
        axes = {
            "base_network": grid.network,
            "network_scale": step.network,
            "efficiency_scale": step.efficiency,
        }
        for problem in sweep.problems:
            if problem.program is None:
                platform, settings = (
                    materialise(with_network),
                    replace(
                        sweep.settings, efficiency=repr(resolve_efficiency("reference", problem) * step.efficiency)
                    ),
                )
            else:  # it states or takes its own computation, which slower nodes stretch as much
                platform, settings = materialise(slowed(with_network, step.efficiency)), sweep.settings
            ranks = len(platform.hosts) if sweep.ranks is None else sweep.ranks
            placement = MAPPINGS[sweep.mapping](platform, ranks)
            yield Case(Target(problem, platform, placement), sweep.mapping, settings, axes)


def results_table(rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Return the rows of a sweep as a table; missing numbers are NaN."""
    table = pd.DataFrame(list(rows), columns=list(SWEEP_COLUMNS))
    numbers = ["compute_share", "error_pct", "abs_error_pct", "predicted_compute_share"]
    return table.astype(dict.fromkeys(numbers, float))


def _grid(name: str, network: str | None) -> Grid:
    return read_grid(name, network) if name.endswith(".toml") else named_grid(name, network)
