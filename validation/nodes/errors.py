"""The truth of a space of configurations, and errors of a choice: epsilon and delta (Ichikawa et al., 4.1, 6.2)."""

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
from predictor.allocation.search import ChosenConfiguration, cheapest_within, exhaustive
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


def estimation_error(chosen_s: float, optimal_s: float) -> float:
    """Return epsilon = (tau^ - T^) / T^, the relative loss of the chosen configuration against the best one (4.1)."""
    return (chosen_s - optimal_s) / optimal_s


def time_error(estimated_s: float, chosen_s: float) -> float:
    """Return delta = (tau - tau^) / tau^, the error of the estimated time of the chosen configuration (6.2)."""
    return (estimated_s - chosen_s) / chosen_s


def best_constant(truths: Sequence[Truth]) -> Configuration | None:
    """Return the one configuration that, used at all sizes, has the least mean epsilon over the sizes.

    It is found with knowledge of all simulated times, so no choice that ignores the size can be better.  Of equals, it
    is the one with the fewest processes, then the first in order.  None: no configuration is allowed at every size.

    Args:
        truths: Simulations of all configurations within the same limits, one for each size, at least one.
    """
    first = truths[0].space
    known = [first.configuration(row) for row in range(len(first))]
    rows = np.array([truth.space.rows(known) for truth in truths])
    common = np.flatnonzero((rows >= 0).all(axis=0))
    if not common.size:
        return None
    times_s = [truth.times_s[truth_rows[common]] for truth, truth_rows in zip(truths, rows, strict=True)]
    optima_s = [float(truth.times_s.min()) for truth in truths]
    means = np.mean([(own_s - best_s) / best_s for own_s, best_s in zip(times_s, optima_s, strict=True)], axis=0)
    _, _, best = min(zip(means.tolist(), first.total[common].tolist(), common.tolist(), strict=True))
    return known[best]


@dataclass(frozen=True)
class Judged:
    """A choice and its truth.  With an objective other than time, epsilon compares values of the objective."""

    objective: Objective

    chosen: Configuration
    estimated_s: float  # tau
    simulated_s: float  # tau^
    optimum: Configuration
    optimum_s: float  # T^, the simulated time of the optimum
    chosen_value: float  # simulated value of the objective
    optimum_value: float
    epsilon: float
    delta: float
    configurations: int
    flags: tuple[str, ...]


def judge(choice: ChosenConfiguration, truth: Truth, objective: Objective = TIME, slack: float | None = None) -> Judged:
    """Compare a choice with the optimum.

    Args:
        choice: The choice.
        truth: Simulations of all configurations.
        objective: The quantity that the choice minimises.
        slack: If given, the optimum is the best configuration within 1 + slack of the shortest time.
    """
    values = objective.values(truth.times_s, truth.space.pes, truth.energies_j)
    chosen_row, optimum_row = truth.space.rows([choice.configuration, truth.optimum(objective, slack)])
    simulated_s = float(truth.times_s[chosen_row])
    chosen_value, optimum_value = float(values[chosen_row]), float(values[optimum_row])
    return Judged(
        objective=objective,
        chosen=choice.configuration,
        estimated_s=choice.time_s,
        simulated_s=simulated_s,
        optimum=truth.space.configuration(int(optimum_row)),
        optimum_s=float(truth.times_s[optimum_row]),
        chosen_value=chosen_value,
        optimum_value=optimum_value,
        epsilon=estimation_error(chosen_value, optimum_value),
        delta=time_error(choice.time_s, simulated_s),
        configurations=len(truth.space),
        flags=choice.flags,
    )
