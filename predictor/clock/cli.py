"""Predict the time and the energy of a program at every frequency of its nodes, and choose the best.

Evidence is gathered at the highest frequencies only.  At frequency f computation takes f_max / f times as long, and
communication takes the same time.  All nodes of a cluster run at the same frequency.  A cluster that would wait anyway
saves energy by running slower.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from apps.options.dry_run import print_plan
from apps.options.exit_status import exit_status
from apps.options.runner import runner_from_request
from apps.options.settings import settings_from_request
from apps.results.cautions import Cautions
from platforms.command.command import Command
from platforms.command.request import JsonOption
from platforms.terminal.prose import folded_lines
from platforms.terminal.quantities import duration, significant
from platforms.terminal.table import table_lines
from predictor.base import Cost
from predictor.clock.levels import Point
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
from predictor.evidence.given import given_from_request


@dataclass(frozen=True, kw_only=True)
class ClockRequest(ClockOptions, JsonOption):
    """Request of ``gridval plan clock``."""


def _run(request: ClockRequest) -> int:
    grid = grid_at_maximum(request)
    settings = settings_from_request(request)
    given = given_from_request(request)
    targets = targets_from_request(request, grid, given)
    general = frequency_cautions(assumed(grid))
    said = Cautions()
    said.say(*general)
    if request.dry_run:
        return print_plan(request, plan_from_request(request, targets, settings))
    with runner_from_request(request, cautions=said) as runner:
        studies = [study(request, grid, target, settings, runner, given) for target in targets]
    if request.json:
        made = [to_json(one_study, request.objective) for one_study in studies]
        print(json.dumps({"studies": made, "cautions": [*general, *runner.cautions.lines()]}))
    else:
        print("\n\n".join(text(one_study, request.objective) for one_study in studies))
    return 0


def frequency_cautions(clusters: Sequence[str]) -> list[str]:
    """Return cautions about clusters whose frequency levels are not published."""
    if not clusters:
        return []
    return [f"frequencies of {', '.join(clusters)} are assumed, in part or whole (platforms/model/frequencies.toml)"]


def point_to_json(clocked: Study, point: Point) -> dict[str, Any]:
    """Return a point as JSON values, with the frequencies by cluster in use."""
    names = [cluster.name for cluster in clocked.levels.clusters]
    return {
        "frequency_ghz": {name: hz / 1e9 for name, hz in zip(names, point.frequencies_hz, strict=True)},
        "time_s": point.time_s,
        "energy_j": point.energy_j,
        "edp_js": point.edp_js,
    }


def to_json(clocked: Study, objective: str) -> dict[str, Any]:
    """Return a study as JSON values."""
    return {
        "app": clocked.target.problem.name,
        "class": clocked.target.problem.label,
        "platform": clocked.target.platform.name,
        "ranks": clocked.target.nranks,
        "objective": objective,
        "highest": point_to_json(clocked, clocked.highest),
        "lowest": point_to_json(clocked, clocked.lowest),
        "best": {
            **point_to_json(clocked, clocked.best.point),
            "option": option_text(clocked.levels.grid, clocked.levels, clocked.best.point),
            "choices": clocked.best.choices,
            "evaluated": clocked.best.evaluated,
            "gap": clocked.best.gap,
            "flags": list(clocked.best.point.flags),
        },
        "clusters": {
            name: [point_to_json(clocked, point) for point in points] for name, points in clocked.sweeps.items()
        },
        "evidence_node_s": sum((e.cost for e in clocked.evidence), Cost()).node_s,
    }


def text(clocked: Study, objective: str) -> str:
    """Return a study as text: the choice, and a table of the clusters' levels."""
    target, base = clocked.target, clocked.highest
    option = option_text(clocked.levels.grid, clocked.levels, clocked.best.point)
    lines = [f"{target}: smallest {objective} by --frequency {option}"]
    left = (
        f"no choice is better by more than {100 * clocked.best.gap:.2g} %" if clocked.best.gap > 0 else "none is better"
    )
    lines.append(f"    of {clocked.best.choices} choices by {clocked.best.evaluated} predictions; {left}")
    cost = sum((e.cost for e in clocked.evidence), Cost())
    lines.append(f"    evidence, at the highest frequencies, costs {cost.node_s:.4g} node-seconds")
    lines += [f"    caution: {flag}" for flag in clocked.best.point.flags]
    rows: list[tuple[str, ...]] = [
        ("cluster", "GHz", "time", "change %", "energy J", "change %", "EDP J s", "change %")
    ]
    rows.append(_row("best", "", clocked.best.point, base))
    rows.append(_row("all", "max", base, base))
    rows.append(_row("all", "min", clocked.lowest, base))
    for i, (name, points) in enumerate(clocked.sweeps.items()):
        rows += [_row(name, f"{point.frequencies_hz[i] / 1e9:.4g}", point, base) for point in points]
    return "\n".join([*folded_lines(lines), "", *table_lines(rows, left={0})])


def _row(name: str, frequency: str, point: Point, base: Point) -> tuple[str, ...]:
    pairs = ((point.time_s, base.time_s), (point.energy_j, base.energy_j), (point.edp_js, base.edp_js))
    changes = [f"{100 * (value / reference - 1):+z.2f}" for value, reference in pairs]
    time = duration(point.time_s, like_s=base.time_s)
    values = (time, changes[0], significant(point.energy_j), changes[1], significant(point.edp_js), changes[2])
    return (name, frequency, *values)


COMMAND = Command(
    "plan clock",
    ClockRequest,
    _run,
    __doc__,
    status=exit_status,
)
main = COMMAND.main
