"""Predict the time and the energy of a program at every frequency of its nodes, and choose the best.

Evidence is gathered at the highest frequencies alone: computation takes f_max / f times as long, communication as long
as ever.  The nodes of a cluster run at the same frequency; of clusters that would wait anyway, slower ones save energy.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from apps.options import cautions, exit_status, runner_from_arguments, settings_from_arguments
from platforms.command import EXIT_STATUSES, CommandParser
from predictor.base import Cost
from predictor.frequency.levels import Point
from predictor.frequency.study import (
    Study,
    add_arguments,
    assumed,
    grid_at_maximum,
    option_text,
    study,
    targets_from_arguments,
)


def build_parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="python -m predictor.frequency",
        description=__doc__,
        epilog=EXIT_STATUSES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")
    return parser


def _run(args: argparse.Namespace) -> int:
    grid = grid_at_maximum(args)
    settings = settings_from_arguments(args)
    targets = targets_from_arguments(args, grid)
    for caution in (*cautions(settings), *frequency_cautions(assumed(grid))):
        print(f"caution: {caution}", file=sys.stderr)
    with runner_from_arguments(args) as runner:
        studies = [study(args, grid, target, settings, runner) for target in targets]
    if args.json:
        print(json.dumps({"studies": [to_json(one, args.objective) for one in studies]}))
    else:
        print("\n\n".join(text(one, args.objective) for one in studies))
    return 0


def frequency_cautions(clusters: Sequence[str]) -> list[str]:
    """What a reader must know of levels that are not published."""
    if not clusters:
        return []
    return [f"frequencies of {', '.join(clusters)} are assumed, in part or whole (platforms/frequencies.toml)"]


def point_to_json(one: Study, point: Point) -> dict[str, Any]:
    """A point; frequencies by cluster in use."""
    names = [cluster.name for cluster in one.levels.clusters]
    return {
        "frequency_ghz": {name: hz / 1e9 for name, hz in zip(names, point.frequencies_hz, strict=True)},
        "time_s": point.time_s,
        "energy_j": point.energy_j,
        "edp_js": point.edp_js,
    }


def to_json(one: Study, objective: str) -> dict[str, Any]:
    """A study as JSON values."""
    return {
        "app": one.target.problem.app,
        "class": one.target.problem.label,
        "platform": one.target.platform.name,
        "ranks": one.target.nranks,
        "objective": objective,
        "highest": point_to_json(one, one.highest),
        "lowest": point_to_json(one, one.lowest),
        "best": {
            **point_to_json(one, one.best.point),
            "option": option_text(one.levels.grid, one.levels, one.best.point),
            "choices": one.best.choices,
            "evaluated": one.best.evaluated,
            "gap": one.best.gap,
            "flags": list(one.best.point.flags),
        },
        "clusters": {name: [point_to_json(one, point) for point in points] for name, points in one.sweeps.items()},
        "evidence_node_s": sum((e.cost for e in one.evidence), Cost()).node_s,
    }


def text(one: Study, objective: str) -> str:
    """A study for a reader: a table per cluster, and the choice."""
    target, base = one.target, one.highest
    lines = [f"{target.problem} on {target.nranks} ranks of {target.platform.name}"]
    lines.append(f"{'cluster':>10} {'GHz':>6} {'time s':>10} {'':>8} {'energy J':>10} {'':>8} {'EDP J s':>10} {'':>8}")
    for i, (name, points) in enumerate(one.sweeps.items()):
        lines += [_row(name, f"{point.frequencies_hz[i] / 1e9:.4g}", point, base) for point in points]
    lines.append(_row("all", "max", base, base))
    lines.append(_row("all", "min", one.lowest, base))
    lines.append(_row("best", "", one.best.point, base))
    option = option_text(one.levels.grid, one.levels, one.best.point)
    lines.append(f"smallest {objective} by --frequency {option}")
    left = f"{100 * one.best.gap:.2g} % less is not excluded" if one.best.gap > 0 else "none is better"
    lines.append(f"    of {one.best.choices} choices by {one.best.evaluated} predictions; {left}")
    cost = sum((e.cost for e in one.evidence), Cost())
    lines.append(f"    evidence, at the highest frequencies, costs {cost.node_s:.4g} node-seconds")
    lines += [f"    caution: {flag}" for flag in one.best.point.flags]
    return "\n".join(lines)


def _row(name: str, frequency: str, point: Point, base: Point) -> str:
    pairs = ((point.time_s, base.time_s), (point.energy_j, base.energy_j), (point.edp_js, base.edp_js))
    values = (f"{value:>10.5g} {100 * (value / reference - 1):>+7.2f}%" for value, reference in pairs)
    return f"{name:>10} {frequency:>6} {' '.join(values)}"


def main(argv: Sequence[str] | None = None) -> int:
    args = build_parser().parse_args(argv)
    return exit_status(lambda: _run(args))
