"""Truth of a space: the simulated times of all its configurations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from apps.runs.runner import Runner
from apps.spec.run_spec import RunSpec
from apps.spec.settings import Settings
from predictor.allocation.configuration import Configuration
from predictor.allocation.objectives import TIME, Objective
from predictor.allocation.search import cheapest_within, exhaustive
from predictor.allocation.space import Space
from predictor.nodes.study import Study


@dataclass(frozen=True, eq=False)
class Truth:
    """Simulated times of all configurations of a space for one N."""

    space: Space
    size: int
    times_s: npt.NDArray[np.float64]
    node_s: float  # node-seconds of all runs
    wall_s: float  # wall time of all simulations
    energies_j: npt.NDArray[np.float64] | None = (
        None  # simulated energies of the hosts in use; None: the platform gives no watts
    )

    def time_s(self, configuration: Configuration) -> float:
        """Return the simulated time of a configuration of the space."""
        (row,) = self.space.rows([configuration])
        if row < 0:
            raise ValueError(f"{configuration} is not in the space")
        return float(self.times_s[row])

    def optimum(self, objective: Objective = TIME, slack: float | None = None) -> Configuration:
        """Return the best configuration; with ``slack``, the best within 1 + slack of the shortest time."""
        find = partial(exhaustive, self.space, self.times_s, energies_j=self.energies_j)
        return (find(objective) if slack is None else cheapest_within(find, objective, slack)).configuration


def specs(study: Study, sizes: Sequence[int], settings: Settings) -> Iterator[RunSpec]:
    """Yield the runs of the whole spaces of these sizes."""
    for size in sizes:
        space = study.space(size)
        yield from (settings.spec(study.target(space.configuration(row), size)) for row in range(len(space)))


def simulate_space(study: Study, size: int, settings: Settings, runner: Runner) -> Truth:
    """Simulate every configuration, or take its run from the store."""
    space = study.space(size)
    wanted = list(specs(study, [size], settings))
    runner.start(wanted)
    records = [runner.record(spec) for spec in wanted]
    energies_j = [record.used_energy_j for record in records]
    return Truth(
        space,
        size,
        np.array([record.time_s for record in records]),
        sum(record.node_seconds for record in records),
        sum(record.wall_s for record in records),
        None if None in energies_j else np.array(energies_j),
    )
