"""Predict time and energy by frequency, as ``gridval plan clock`` does, and compare with simulations."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from apps.options.dry_run import print_plan
from apps.options.exit_status import exit_status
from apps.options.runner import runner_from_request
from apps.options.settings import settings_from_request
from apps.results.cautions import Cautions
from platforms.command.command import Command
from platforms.command.request import JsonOption, OutOption, WideOption, given, option
from platforms.files.writing import usable_folder, write_csv, written_into
from platforms.terminal.prose import folded_lines
from platforms.terminal.quantities import duration, significant
from platforms.terminal.table import Cell, table_lines
from predictor.clock.cli import frequency_cautions, to_json
from predictor.clock.levels import Clocks
from predictor.clock.study import (
    ClockOptions,
    Study,
    assumed,
    grid_at_maximum,
    option_text,
    plan_from_request,
    study,
    targets_from_request,
)
from predictor.evidence.given import NOT_SIMULATED
from validation.clock.compare import FrequencyRow, Optimum, compare, known_runs, loss_pct, number_of_choices, optimum
from validation.presentation.tables import error_cell

if TYPE_CHECKING:
    from apps.runs.plan import Plan
    from apps.spec.settings import Settings
    from apps.spec.target import Target
    from platforms.grids.grid import Grid


@dataclass(frozen=True, kw_only=True)
class ClockComparisonRequest(ClockOptions, OutOption, WideOption, JsonOption):
    """Request of ``gridval plan clock``."""

    absent: ClassVar[Mapping[str, str]] = NOT_SIMULATED
    without: ClassVar[frozenset[str]] = frozenset({"recording", "recorded_gflops"})  # it cannot be simulated
    out_files: ClassVar[str] = "frequencies.csv and a figure per app"

    optimum: bool = option(False, help="simulate all choices and report how far the chosen one is from the best")


def _run(request: ClockComparisonRequest) -> int:
    grid = grid_at_maximum(request)
    settings = settings_from_request(request)
    folder = None if request.out is None else usable_folder("--out", request.out)
    targets = targets_from_request(request, grid)
    general = frequency_cautions(assumed(grid))
    said = Cautions()
    said.say(*general)
    if request.dry_run:
        return print_plan(request, _plan(request, grid, targets, settings))
    limit = float("inf") if request.time_limit is None else request.time_limit
    compared = []
    with runner_from_request(request, cautions=said) as runner:
        for target in targets:
            clock_study = study(request, grid, target, settings, runner)
            rows = compare(clock_study, request.predictor, settings, runner)
            optimal = None
            if request.optimum:
                optimal = optimum(clock_study, settings, runner, limit=limit, objective=request.objective)
            compared.append((clock_study, rows, optimal))
    if request.json:
        made = [_to_json(*comparison, request.objective) for comparison in compared]
        print(json.dumps({"studies": made, "cautions": [*general, *runner.cautions.lines()]}))
    else:
        print("\n\n".join(_text(*comparison, request.objective, wide=request.wide) for comparison in compared))
    if folder is not None:
        _write(folder, given(request.out), compared)
    return 0


def _plan(request: ClockComparisonRequest, grid: Grid, targets: Sequence[Target], settings: Settings) -> Plan:
    """Return the simulations of the command, apart from those of the chosen frequencies."""
    # Imported here because it is slow to import.
    from apps.runs.plan import Other, wall_s

    asked = plan_from_request(request, targets, settings)
    known = tuple(spec for target in targets for spec in known_runs(grid, target, settings))
    if not request.optimum:
        return replace(asked, truths=known, remark="and a run of each choice that is none of these")
    counts = [number_of_choices(Clocks(grid, target)) for target in targets]
    time_s = sum(count * wall_s([settings.spec(target)], 1) for count, target in zip(counts, targets, strict=True))
    every = Other("choice for the optimum", "choices for the optimum", sum(counts) - len(known), time_s)
    return replace(asked, truths=known, others=(every,))


def _to_json(
    clock_study: Study, rows: Sequence[FrequencyRow], optimal: Optimum | None, objective: str
) -> dict[str, Any]:
    data = {**to_json(clock_study, objective), "compared": [row.to_json() for row in rows]}
    if optimal is not None:
        data["optimum"] = {
            "option": option_text(clock_study.levels.grid, clock_study.levels, optimal.point),
            "time_s": optimal.point.time_s,
            "energy_j": optimal.point.energy_j,
            "choices": optimal.choices,
            "within_limit": optimal.within_limit,
            "loss_pct": loss_pct(rows, optimal, objective),
        }
    return data


def _text(
    clock_study: Study, rows: Sequence[FrequencyRow], optimal: Optimum | None, objective: str, *, wide: bool
) -> str:
    answer = [f"{clock_study.target}, by {rows[0].predictor}", *_answer(clock_study, rows, optimal, objective)]
    return "\n".join([*folded_lines(answer), "", *_table(rows, wide=wide)])


def _table(rows: Sequence[FrequencyRow], *, wide: bool) -> list[str]:
    """Return the lines of a table of all choices; the narrow one leaves out the predicted values."""
    cells: list[list[str | Cell]] = []
    for row in rows:
        times = [duration(value, like_s=row.simulated_s) for value in (row.predicted_s, row.simulated_s)]
        energies = [significant(value) for value in (row.energy_predicted_j, row.energy_simulated_j)]
        first = 0 if wide else 1
        error, energy_error = error_cell(row.time_error_pct), error_cell(row.energy_error_pct)
        cells.append([row.choice, row.frequency, *times[first:], error, *energies[first:], energy_error])
    predicted, predicted_j = (["predicted"], ["predicted J"]) if wide else ([], [])
    head = ["choice", "GHz", *predicted, "simulated", "error %", *predicted_j, "simulated J", "error %"]
    return table_lines([head, *cells], left={0, 1}, wide=wide)


def _answer(clock_study: Study, rows: Sequence[FrequencyRow], optimal: Optimum | None, objective: str) -> list[str]:
    lines = []
    highest = next(row for row in rows if row.choice == "highest")
    best = [row for row in rows if row.choice == "best"][-1]
    worst = max(abs(row.time_error_pct) for row in rows), max(abs(row.energy_error_pct) for row in rows)
    lines.append(f"largest errors: time {worst[0]:.3g} %, energy {worst[1]:.3g} %")
    lines.append(
        f"best, simulated: energy {100 * (best.energy_simulated_j / highest.energy_simulated_j - 1):+.2f} %, time "
        f"{100 * (best.simulated_s / highest.simulated_s - 1):+.2f} %, against the highest frequencies"
    )
    if optimal is not None:
        lines.append(
            f"optimum of {optimal.choices} simulated choices, {optimal.within_limit} within the limit: --frequency "
            f"{option_text(clock_study.levels.grid, clock_study.levels, optimal.point)}; the predicted choice "
            f"is {loss_pct(rows, optimal, objective):.3g} % worse"
        )
    return lines


def _write(folder: Path, option: str, compared: Sequence[tuple[Study, list[FrequencyRow], Optimum | None]]) -> None:
    # Imported here because they are slow to import.
    import pandas as pd

    from validation.clock.plots import write_figures

    with written_into("--out", option):
        table = pd.DataFrame([row.to_json() for _, rows, _ in compared for row in rows])
        write_csv(table, folder / "frequencies.csv")
        write_figures([rows for _, rows, _ in compared], folder)


COMMAND = Command(
    "plan clock",
    ClockComparisonRequest,
    _run,
    __doc__,
    status=exit_status,
)
main = COMMAND.main
