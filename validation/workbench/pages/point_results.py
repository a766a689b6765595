"""Results of suites of applications: titles, the best points by each objective, and the commands that repeat them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from validation.workbench.dispatch.desk import Desk
from validation.workbench.project.application_suites import (
    ApplicationSuite,
    read_suite,
    within_project,
    words_of,
    written,
)
from validation.workbench.queue.points import PointsView, names_of, point_of
from validation.workbench.queue.results import VALUE
from validation.workbench.queue.series import case_word

TITLES = {
    "app": "application", "platform": "system", "predictor": "model", "ranks": "processes", "predicted_s": "time, s",
    "simulated_s": "simulated, s", "error_pct": "error, %", "energy_predicted_j": "energy, J",
    "energy_simulated_j": "simulated energy, J", "success": "success", "flags": "cautions", "state": "state",
}  # fmt: skip
NUMBERS = {
    "ranks", "predicted_s", "simulated_s", "error_pct", "energy_predicted_j", "energy_simulated_j", "success"
}  # fmt: skip
OBJECTIVES = {  # title, unit, column, whether the largest is best
    "time": ("shortest time", "s", "predicted_s", False),
    "energy": ("lowest energy", "J", "energy_predicted_j", False),
    "success": ("most probable success", "", "success", True),
}
_SIMULATED = {"time": "simulated_s", "energy": "energy_simulated_j"}


@dataclass(frozen=True)
class Best:
    """The best point of a model by an objective."""

    title: str
    unit: str
    model: str
    row: Mapping[str, Any]
    said: str  # what tells the point from others
    value: float
    simulated: float | None


def titles_of(view: PointsView) -> dict[str, str]:
    """Return the titles of columns and filters by key."""
    return {**TITLES, **{VALUE + name: name for name in view.names}}


def numbers_of(view: PointsView, rows: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the columns that have numbers alone."""
    values = (VALUE + name for name in view.names)
    return NUMBERS | {key for key in values if all(isinstance(row[key], int | float | None) for row in rows)}


def shown_columns(view: PointsView, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the columns that have a value in any of the rows, and those that every result has."""
    kept = ("app", "platform", "ranks", "predictor", "predicted_s")
    return [key for key in view.columns if key in kept or any(row[key] not in (None, "") for row in rows)]


def best(view: PointsView, rows: Sequence[Mapping[str, Any]], objectives: Sequence[str]) -> list[Best]:
    """Return the best point by each objective for each model, of rows as ``PointsView.drawn`` returns them."""
    best_points = []
    keys = [*(VALUE + name for name in view.names), "platform", "app"]
    several = [key for key in keys if len({row[key] for row in rows}) > 1]
    for objective in objectives:
        title, unit, column, largest = OBJECTIVES[objective]
        for model in dict.fromkeys(row["predictor"] for row in rows):
            known = [row for row in rows if row["predictor"] == model and row[column] is not None]
            if known:
                values = [row[column] for row in known]
                row = known[values.index(max(values) if largest else min(values))]
                said = ", ".join(case_word(key, row) for key in several if row[key] is not None)
                simulated = row.get(_SIMULATED.get(objective, ""))
                best_points.append(Best(title, unit, model, row, said or "the only point", row[column], simulated))
    return best_points


def suite_commands(desk: Desk, number: int) -> list[str]:
    """Return the commands that repeat a suite of applications, in the project folder."""
    suite = read_suite(desk.text_of(number))
    names = names_of(desk.queue.tables, number)
    commands = []
    for application in suite.applications:
        stem = Path(application).stem
        if stem in names:
            words = words_of(suite, application, names[stem], suite.models)
            more = "" if len(suite.applications) == 1 else f"-{stem}"
            vary = any(word.startswith("--vary") for word in words)
            commands += _commands(desk, suite, words, ["--out", f"results-{number}{more}"] if vary else [])
    return commands


def point_commands(desk: Desk, result: Mapping[str, Any]) -> list[str]:
    """Return the commands that repeat one result of a suite of applications, in the project folder."""
    suite, fields = read_suite(desk.text_of(result["suite"])), result["fields"]
    values = json.loads(point_of(desk.queue.tables, result["run"]))
    single = ApplicationSuite(
        applications=suite.applications,
        systems=_called(suite.systems, fields["scenario"]),
        powers=(fields["power"],),
        policies=(fields["policy"],),
        counts=_given(suite.counts, values),
        variables=_given(suite.variables, values),
        simulate=suite.simulate,
        failure_rate=suite.failure_rate,
    )
    application = _called(suite.applications, fields["app"])[0]
    words = words_of(single, application, list(values), [fields["model"]])
    return _commands(desk, single, words, [])


def _commands(desk: Desk, suite: ApplicationSuite, words: Sequence[str], more: Sequence[str]) -> list[str]:
    store = ["--store", str(desk.project.store)] if more else []
    commands = [shlex.join(["gridval", "blocks", "run", *words, "--parts", *store, *more])]
    if suite.simulate:
        out = [f"{word}-simulated" if at else word for at, word in enumerate(more)]
        store = ["--store", str(desk.project.store)]
        commands.append(shlex.join(["gridval", "blocks", "run", "--simulate", *words, *store, *out]))
    return commands


def _called(names: Sequence[str], stem: str) -> tuple[str, ...]:
    """Return the name of a file or of a scenario by its name without folder and ending."""
    return tuple(name for name in names if Path(within_project(name)).stem == stem)[:1]


def _given(names: Collection[str], values: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the values of a point that the suite gives, as a command takes them."""
    given = {name: values[name] for name in names if name in values}
    return {name: (written(value) if isinstance(value, int | float) else str(value),) for name, value in given.items()}
