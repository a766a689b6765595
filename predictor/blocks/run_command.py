"""Command ``python -m predictor.blocks run``: time, energy and probability of success of an application on a system."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from platforms.terminal.progress import doing
from platforms.terminal.prose import folded_lines
from platforms.wording import number_of
from predictor.blocks.names import POWER_RULES
from predictor.blocks.options import (
    add_model_arguments,
    add_power_argument,
    add_setting_arguments,
    machine_from_arguments,
    say_cautions,
    setting_from_arguments,
)
from predictor.blocks.series.command import add_series_arguments, check_series_arguments, run_series

if TYPE_CHECKING:
    from predictor.blocks.evaluation.evaluate import Result

_JOULES_PER_WH = 3600.0
_EVALUATED = {"graph": "a graph of messages", "cohorts": "cohorts of equal processes"}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the sub-command ``run``."""
    parser = subparsers.add_parser(
        "run",
        help="an application's time, energy and success on a system",
        description="Evaluate an application: time and energy of every label, overall time, energy of all nodes in "
        "use, and probability of success (docs/blocks/applications.md).",
    )
    add_setting_arguments(parser)
    add_model_arguments(parser)
    add_power_argument(parser)
    add_series_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Evaluate, print the result and return the exit status.

    Raises:
        UserError: If a file or an option is wrong.
    """
    check_series_arguments(args)
    if args.vary:
        return run_series(args)
    # Imported here for a quick start: it is slow to import.
    from predictor.blocks.evaluation.evaluate import evaluate

    setting = setting_from_arguments(args)
    machine = machine_from_arguments(args, setting)
    say_cautions(args, setting)
    started = time.perf_counter()
    with doing("evaluating the application"):
        result = evaluate(setting.application, machine, evaluator=args.evaluator, power=args.power)
    wall_s = time.perf_counter() - started
    for caution in result.cautions:
        print(f"caution: {caution}", file=sys.stderr)
    shown = {**result_json(result, wall_s), "cautions": [*setting.cautions(args.model), *result.cautions]}
    print(json.dumps(shown) if args.json else result_text(result))
    return 0


def result_json(result: Result, wall_s: float) -> dict[str, Any]:
    """Return the result as JSON values; ``wall_s`` is the wall time of the evaluation, s."""
    return {**asdict(result), "energy_j": result.energy_j, "wall_s": wall_s}


def result_text(result: Result) -> str:
    """Return the result as lines of text."""

    def energy(joules: float | None) -> str:
        return "" if joules is None else f"{joules / _JOULES_PER_WH:.6g} Wh"

    width = max(len(label.label) for label in result.labels)
    lines = [f"{result.application} on {number_of(result.nodes, 'node')}, model {result.machine}"]
    lines.append(f"  evaluated as {_EVALUATED[result.evaluator]}: {result.evaluated}")
    for label in result.labels:
        first = f" (the first at {label.first_s:.7g} s)" if label.first_s < label.last_s else ""
        placed = f"{number_of(label.processes, 'process', 'processes')} on {number_of(label.units, 'unit')}"
        line = f"  {label.label:{width}}  {placed} end{'s' * (label.processes == 1)} at {label.last_s:.7g} s"
        lines.append(f"{line}{first}{', ' if label.energy_j is not None else ''}{energy(label.energy_j)}")
    if result.others_idle_j:
        lines.append(f"  units of these nodes without a process: {energy(result.others_idle_j)}")
    lines.append(f"overall time {result.time_s:.7g} s")
    if result.energy_j is not None:
        rule = "" if result.power == POWER_RULES[0] else f" (power rule {result.power})"
        lines.append(f"total energy {energy(result.energy_j)}{rule}")
    if result.success is not None:
        lines.append(f"probability of success {result.success:.10g}")
    return "\n".join(folded_lines([*lines, *(f"not known: {reason}" for reason in result.unknown)]))
