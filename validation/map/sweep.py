"""The sweep: every problem on every grid, with network and efficiency scaled step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from apps.programs.problem import Problem
from apps.runs.runner import Runner
from apps.spec.settings import Settings, resolve_efficiency
from apps.spec.target import Target
from platforms.grids.grid import Grid
from platforms.grids.random_grid import random_grid
from platforms.grids.scenario import SCENARIOS, named_grid, read_grid
from platforms.model.placement import MAPPINGS
from platforms.read.read import materialise
from predictor.base import Predictor
from validation.comparison.compare import COLUMNS, Failure, runs, validate
from validation.map.scaling import Step, scaled

if TYPE_CHECKING:
    import pandas as pd

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

    @property
    def steps(self) -> tuple[Step, ...]:
        """All steps, in ascending order of network speed over computation speed."""
        steps = map(Step, *zip(*product(self.network_scales, self.efficiency_scales), strict=True))
        return tuple(sorted(steps, key=lambda step: (step.ratio, step.network)))

    def grids(self) -> Iterator[tuple[Grid, Step]]:
        """Yield every unscaled grid with its step, step by step."""
        for step, network, name in product(self.steps, self.networks, self.scenarios):
            yield _grid(name, network), step
        for number in range(self.random_grids):
            yield random_grid(self.seed, number), self.steps[number % len(self.steps)]


@dataclass(frozen=True)
class Case:
    """One target of a sweep."""

    target: Target
    settings: Settings
    base_network: str
    step: Step


def cases(sweep: Sweep) -> list[Case]:
    """Return all cases of the sweep, step by step.

    Raises:
        UserError: A name is unknown, there are too many ranks, or an efficiency is out of range.
    """
    made = []
    for grid, step in sweep.grids():
        platform = materialise(scaled(grid, step.network))
        ranks = len(platform.hosts) if sweep.ranks is None else sweep.ranks
        placement = MAPPINGS[sweep.mapping](platform, ranks)
        for problem in sweep.problems:
            efficiency = resolve_efficiency("reference", problem) * step.efficiency
            case = Case(Target(problem, platform, placement), Settings(efficiency=repr(efficiency)), grid.network, step)
            case.settings.spec(case.target)  # raises an error for impossible settings before anything runs
            made.append(case)
    return made


def results(
    asked: Sequence[Case], models: Sequence[Predictor], *, mapping: str, runner: Runner
) -> Iterator[dict[str, Any] | Failure]:
    """Yield a row of SWEEP_COLUMNS for every case and predictor, in order, or a Failure for a case that fails."""
    runner.start(spec for case in asked for spec in runs([case.target], models, case.settings))
    for case in asked:
        said = {
            "base_network": case.base_network,
            "network_scale": case.step.network,
            "efficiency_scale": case.step.efficiency,
        }
        for outcome in validate([case.target], models, case.settings, mapping=mapping, runner=runner):
            yield outcome if isinstance(outcome, Failure) else outcome.to_json() | said


def results_table(rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Return the rows of a sweep as a table; missing numbers are NaN."""
    # Imported here for a quick start: it is slow to import.
    import pandas as pd

    table = pd.DataFrame(list(rows), columns=list(SWEEP_COLUMNS))
    numbers = ["compute_share", "error_pct", "abs_error_pct", "predicted_compute_share"]
    return table.astype(dict.fromkeys(numbers, float))


def _grid(name: str, network: str | None) -> Grid:
    return read_grid(name, network) if name.endswith(".toml") else named_grid(name, network)
