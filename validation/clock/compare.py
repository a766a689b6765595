"""Predicted and simulated time and energy at chosen frequencies."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

from apps.spec.run_spec import RunSpec
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.grids.grid import Grid
from platforms.read.read import materialise
from predictor.clock.levels import OBJECTIVES, Clocks, Frequency, Point
from predictor.clock.study import Study, option_text

if TYPE_CHECKING:
    from apps.runs.runner import Runner

MOST_SIMULATED = 50_000  # choices that --optimum simulates at most


@dataclass(frozen=True)
class FrequencyRow:
    """A choice of frequencies: predicted from evidence at the highest frequencies, and simulated."""

    app: str
    preset: str | None
    scenario: str
    ranks: int
    predictor: str
    choice: str  # kind of choice: name of the only slowed cluster, "highest", "lowest", "best", "optimum"
    frequency: str  # GHz of the clusters, as the option --frequency takes it
    predicted_s: float
    simulated_s: float
    time_error_pct: float
    energy_predicted_j: float
    energy_simulated_j: float
    energy_error_pct: float
    edp_predicted_js: float
    edp_simulated_js: float

    def to_json(self) -> dict[str, Any]:
        """Return the values by field name."""
        return asdict(self)


@dataclass(frozen=True)
class Optimum:
    """The best of all choices, found by simulation."""

    point: Point  # simulated
    choices: int  # number of simulated choices
    within_limit: int  # number of those that keep the time limit


def choices(study: Study) -> list[tuple[str, Point]]:
    """Return the points of a study to simulate, each once, with their kind of choice."""
    named = [("highest", study.highest), ("lowest", study.lowest), ("best", study.best.point)]
    named += [(name, point) for name, points in study.sweeps.items() for point in points]
    first: dict[Frequency, tuple[str, Point]] = {}
    for name, point in named:
        first.setdefault(point.frequencies_hz, (name, point))
    # If the best point coincides with another choice, it has a row of its own too.
    rows = list(first.values())
    if first[study.best.point.frequencies_hz][0] != "best":
        rows.append(("best", study.best.point))
    return rows


def specs(levels: Clocks, points: Iterable[Frequency], settings: Settings) -> list[RunSpec]:
    """Return the runs at these frequencies."""
    return [settings.spec(_target(levels, frequencies_hz)) for frequencies_hz in points]


def compare(study: Study, predictor: str, settings: Settings, runner: Runner) -> list[FrequencyRow]:
    """Return a row with prediction and simulation for every choice of a study."""
    chosen = choices(study)
    wanted = specs(study.levels, [point.frequencies_hz for _, point in chosen], settings)
    runner.start(wanted)
    return [
        _row(study, predictor, name, point, _simulated(point.frequencies_hz, spec, runner))
        for (name, point), spec in zip(chosen, wanted, strict=True)
    ]


def optimum(study: Study, settings: Settings, runner: Runner, *, limit: float, objective: str) -> Optimum:
    """Find the best of all choices by simulating all of them.

    Args:
        study: The study whose frequencies are the choices.
        settings: How the choices are simulated.
        runner: Makes the runs.
        limit: Largest allowed time over the time at the highest frequencies.
        objective: A name of predictor.clock.levels.OBJECTIVES.

    Raises:
        UserError: There are more than MOST_SIMULATED choices.
    """
    levels = study.levels
    number_of_choices(levels)  # raises an error if there are too many
    every = list(product(*(frequency.levels_hz for frequency in levels.frequencies)))
    wanted = specs(levels, every, settings)
    runner.start(wanted)
    points = [_simulated(hz, spec, runner) for hz, spec in zip(every, wanted, strict=True)]
    limit_s = limit * next(point.time_s for point in points if point.frequencies_hz == levels.highest)
    within = [point for point in points if point.time_s <= limit_s * (1 + 1e-12)]
    value = OBJECTIVES[objective]
    return Optimum(min(within, key=lambda point: value(point.time_s, point.energy_j)), len(points), len(within))


def known_runs(grid: Grid, target: Target, settings: Settings) -> list[RunSpec]:
    """Return the runs that a comparison makes regardless of the predictions.

    Args:
        grid: The grid at its highest frequencies.
        target: The target on the platform of that grid.
        settings: How the choices are simulated.
    """
    clocks = Clocks(grid, target)
    swept = [hz for choices in clocks.sweeps().values() for hz in choices]
    return specs(clocks, dict.fromkeys([clocks.highest, clocks.lowest, *swept]), settings)


def number_of_choices(clocks: Clocks) -> int:
    """Return the number of choices that ``optimum`` simulates.

    Raises:
        UserError: There are more than MOST_SIMULATED.
    """
    count = math.prod(len(frequency.levels_hz) for frequency in clocks.frequencies)
    if count > MOST_SIMULATED:
        problem = f"{count} choices to simulate, but at most {MOST_SIMULATED} are allowed"
        raise UserError("--optimum", problem, "Give larger steps (step_ghz), or leave it out")
    return count


def loss_pct(rows: Sequence[FrequencyRow], optimal: Optimum, objective: str) -> float:
    """Return how much worse the chosen frequencies are than the best ones, %, both simulated."""
    best = next(row for row in rows if row.choice == "best")
    value = OBJECTIVES[objective]
    least = value(optimal.point.time_s, optimal.point.energy_j)
    return 100 * (value(best.simulated_s, best.energy_simulated_j) / least - 1)


def _target(levels: Clocks, frequencies_hz: Frequency) -> Target:
    """Return the target on the platform whose clusters run at these frequencies."""
    chosen = dict(zip((cluster.name for cluster in levels.clusters), frequencies_hz, strict=True))
    grid = levels.grid.at([chosen.get(cluster.name) for cluster in levels.grid.clusters])
    return Target(levels.target.problem, materialise(grid), levels.target.placement)


def _simulated(frequencies_hz: Frequency, spec: RunSpec, runner: Runner) -> Point:
    record = runner.record(spec)
    if record.used_energy_j is None:
        raise UserError(f"platform {spec.target.platform.name}", "it has no watts for the hosts in use", "Give them")
    return Point(frequencies_hz, record.time_s, record.used_energy_j)


def _row(study: Study, predictor: str, name: str, point: Point, simulated: Point) -> FrequencyRow:
    target = study.target
    return FrequencyRow(
        app=target.problem.name,
        preset=target.problem.label,
        scenario=target.platform.name,
        ranks=target.nranks,
        predictor=predictor,
        choice=name,
        frequency=option_text(study.levels.grid, study.levels, point),
        predicted_s=point.time_s,
        simulated_s=simulated.time_s,
        time_error_pct=100 * (point.time_s / simulated.time_s - 1),
        energy_predicted_j=point.energy_j,
        energy_simulated_j=simulated.energy_j,
        energy_error_pct=100 * (point.energy_j / simulated.energy_j - 1),
        edp_predicted_js=point.edp_js,
        edp_simulated_js=simulated.edp_js,
    )
