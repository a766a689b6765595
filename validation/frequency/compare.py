"""Predicted and simulated time and energy of choices of frequencies."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

from apps.runner import Runner
from apps.spec import RunSpec, Settings, Target
from platforms.errors import UserError
from platforms.read import materialise
from predictor.frequency.levels import Frequency, Levels, Point
from predictor.frequency.search import OBJECTIVES
from predictor.frequency.study import Study, option_text

MOST_SIMULATED = 50_000  # choices of a whole space


@dataclass(frozen=True)
class Row:
    """A choice of frequencies, predicted from evidence at the highest ones, and simulated."""

    app: str
    preset: str | None
    scenario: str
    ranks: int
    predictor: str
    choice: str  # why it is here: the cluster that is slowed alone, "highest", "lowest", "best", "optimum"
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
        return asdict(self)


@dataclass(frozen=True)
class Optimum:
    """What is really the best of all choices."""

    point: Point  # simulated
    choices: int  # simulated
    within_limit: int


def choices(study: Study) -> list[tuple[str, Point]]:
    """What is to be simulated of a study, each point once."""
    named = [("highest", study.highest), ("lowest", study.lowest), ("best", study.best.point)]
    named += [(name, point) for name, points in study.sweeps.items() for point in points]
    first: dict[Frequency, tuple[str, Point]] = {}
    for name, point in named:
        first.setdefault(point.frequencies_hz, (name, point))
    # The best may be another of them: it is shown as the best too.
    rows = list(first.values())
    if first[study.best.point.frequencies_hz][0] != "best":
        rows.append(("best", study.best.point))
    return rows


def specs(levels: Levels, points: Iterable[Frequency], settings: Settings) -> list[RunSpec]:
    """The runs at these frequencies."""
    return [settings.spec(_target(levels, frequencies_hz)) for frequencies_hz in points]


def compare(study: Study, predictor: str, settings: Settings, runner: Runner) -> list[Row]:
    """Every choice of a study beside its simulation."""
    chosen = choices(study)
    wanted = specs(study.levels, [point.frequencies_hz for _, point in chosen], settings)
    runner.start(wanted)
    return [
        _row(study, predictor, name, point, _simulated(point.frequencies_hz, spec, runner))
        for (name, point), spec in zip(chosen, wanted, strict=True)
    ]


def optimum(study: Study, settings: Settings, runner: Runner, *, limit: float, objective: str) -> Optimum:
    """The best of all choices, by simulating them all.  Raises UserError for more than can be."""
    levels = study.levels
    count = math.prod(len(one.levels_hz) for one in levels.frequencies)
    if count > MOST_SIMULATED:
        problem = f"{count} choices would have to be simulated, at most {MOST_SIMULATED} are"
        raise UserError("--optimum", problem, "Give larger steps (step_ghz), or leave it out")
    every = list(product(*(one.levels_hz for one in levels.frequencies)))
    wanted = specs(levels, every, settings)
    runner.start(wanted)
    points = [_simulated(hz, spec, runner) for hz, spec in zip(every, wanted, strict=True)]
    limit_s = limit * next(point.time_s for point in points if point.frequencies_hz == levels.highest)
    within = [point for point in points if point.time_s <= limit_s * (1 + 1e-12)]
    value = OBJECTIVES[objective]
    return Optimum(min(within, key=lambda one: value(one.time_s, one.energy_j)), len(points), len(within))


def loss_pct(rows: Sequence[Row], found: Optimum, objective: str) -> float:
    """By how many per cent the chosen frequencies are really worse than the best ones."""
    best = next(row for row in rows if row.choice == "best")
    value = OBJECTIVES[objective]
    least = value(found.point.time_s, found.point.energy_j)
    return 100 * (value(best.simulated_s, best.energy_simulated_j) / least - 1)


def _target(levels: Levels, frequencies_hz: Frequency) -> Target:
    """The same on a platform whose clusters run at these frequencies."""
    chosen = dict(zip((cluster.name for cluster in levels.clusters), frequencies_hz, strict=True))
    grid = levels.grid.at([chosen.get(cluster.name) for cluster in levels.grid.clusters])
    return Target(levels.target.problem, materialise(grid), levels.target.placement)


def _simulated(frequencies_hz: Frequency, spec: RunSpec, runner: Runner) -> Point:
    record = runner.record(spec)
    if record.used_energy_j is None:
        raise UserError(f"platform {spec.target.platform.name}", "it gives no watts of the hosts in use", "Give them")
    return Point(frequencies_hz, record.time_s, record.used_energy_j)


def _row(study: Study, predictor: str, name: str, point: Point, simulated: Point) -> Row:
    target = study.target
    return Row(
        app=target.problem.app,
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
