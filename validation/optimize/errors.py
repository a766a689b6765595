"""How good a choice is: epsilon and delta of Ichikawa, Takahashi, Kawai, sections 4.1 and 6.2."""

from __future__ import annotations

from dataclasses import dataclass

from predictor.npt.configuration import Configuration
from predictor.npt.objectives import TIME, Objective
from predictor.npt.search import Choice
from validation.optimize.truth import Truth


def estimation_error(chosen_s: float, optimal_s: float) -> float:
    """epsilon = (tau^ - T^) / T^: by how much the chosen configuration really takes longer than the best (4.1)."""
    return (chosen_s - optimal_s) / optimal_s


def time_error(estimated_s: float, chosen_s: float) -> float:
    """delta = (tau - tau^) / tau^: error of the estimated time of the chosen configuration (6.2)."""
    return (estimated_s - chosen_s) / chosen_s


@dataclass(frozen=True)
class Judged:
    """A choice beside the truth.  With an objective other than time, epsilon is of its value."""

    objective: Objective

    chosen: Configuration
    estimated_s: float  # tau
    simulated_s: float  # tau^
    optimum: Configuration
    optimum_s: float  # T^, the simulated time of the optimum
    chosen_value: float  # of the objective, simulated
    optimum_value: float
    epsilon: float
    delta: float
    configurations: int
    flags: tuple[str, ...]


def judge(choice: Choice, truth: Truth, objective: Objective = TIME, slack: float | None = None) -> Judged:
    """What a choice is worth.  ``slack``: the optimum is the best of those within 1 + slack of the shortest time."""
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
