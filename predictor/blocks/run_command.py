"""The command ``gridval blocks run``: time, energy and probability of success of an application on a system."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict, dataclass, replace
from math import fsum
from typing import TYPE_CHECKING, Any

from apps.options.timeline import TIMELINE, timeline_formats
from apps.timelines.files import check_timeline, write_activities
from platforms.command.command import Command, Reply
from platforms.command.request import JsonOption, given, option
from platforms.errors import UserError
from platforms.terminal.progress import doing
from platforms.terminal.prose import folded_lines, prose_lines
from platforms.terminal.quantities import significant
from platforms.terminal.table import table_lines
from platforms.wording import number_of
from predictor.blocks.names import COHORTS, GRAPH, POWER_RULES, NoGraph
from predictor.blocks.options import machine_from_request, say_cautions, setting_from_request
from predictor.blocks.parts import KINDS, StepTime, total
from predictor.blocks.series.command import SeriesOptions, check_series, run_series
from predictor.blocks.series.points import VARY

if TYPE_CHECKING:
    from predictor.blocks.evaluation.evaluate import LabelResult, Result
    from predictor.blocks.machines.hardware_machine import HardwareMachine
    from predictor.blocks.machines.machine import Machine
    from predictor.blocks.machines.power import Interconnect
    from predictor.blocks.setting import Setting
    from predictor.blocks.stream.instructions import Stream

_JOULES_PER_WH = 3600.0
_ROUNDING = 1e-12  # share of a time below which a part of it is a rounding error
_EVALUATED = {GRAPH: "a graph of messages", COHORTS: "cohorts of equal processes"}


@dataclass(frozen=True, kw_only=True)
class BlocksRequest(SeriesOptions, JsonOption):
    """An application to evaluate."""

    timeline: str | None = option(
        None,
        "FILE",
        f"write what each process does when, of the turns that are evaluated: {timeline_formats()} "
        "(docs/programs/traces.md); the application is then evaluated message by message",
    )


def answer(request: BlocksRequest) -> Reply:
    """Evaluate the application, or each point of a series.

    Raises:
        UserError: If a file or an option is wrong.
    """
    check_series(request)
    if request.wide and not (request.vary or request.parts):
        raise UserError("--wide", f"goes only with {VARY} or --parts", "Leave it out")
    if request.vary:
        if request.timeline is not None:
            raise UserError(
                f"{TIMELINE} {request.timeline}", f"does not go with {VARY}", "Write one timeline at a time"
            )
        return run_series(request)
    if request.timeline is not None:
        check_timeline(TIMELINE, request.timeline)
    # Imported here for a quick start: it is slow to import.
    from predictor.blocks.evaluation.evaluate import evaluate
    from predictor.blocks.machines.power import interconnect

    setting = setting_from_request(request)
    machine = machine_from_request(request, setting)
    say_cautions(request, setting)
    started = time.perf_counter()
    stream = _drawn(request, setting, machine) if request.timeline is not None else None
    evaluator = request.evaluator if stream is None else GRAPH
    with doing("evaluating the application"):
        result = evaluate(setting.application, machine, evaluator=evaluator, power=request.power, parts=request.parts)
    wall_s = time.perf_counter() - started
    for caution in result.cautions:
        print(f"caution: {caution}", file=sys.stderr)
    if stream is not None:
        # Imported here for a quick start: it is slow to import.
        from predictor.blocks.graph.timeline import activities_of

        with doing("writing the timeline"):
            said = write_activities(TIMELINE, given(request.timeline), activities_of(*stream))
        print(f"timeline: {said}", file=sys.stderr)
    wires = interconnect(setting.system, setting.schedule, result.time_s)
    steps = ["", *parts_lines(result, wide=request.wide)] if request.parts else []
    return Reply(
        result,
        lambda: "\n".join([result_text(result, wires), *steps]),
        lambda: {
            **result_json(result, wall_s),
            "interconnect": asdict(wires),
            "cautions": [*setting.cautions(request.model), *result.cautions],
        },
    )


def _drawn(request: BlocksRequest, setting: Setting, machine: Machine) -> tuple[Stream, HardwareMachine]:
    """Return the instructions of which a timeline is drawn, and the machine that they run on.

    Raises:
        UserError: The application cannot be evaluated message by message.
    """
    # Imported here for a quick start: they are slow to import.
    from predictor.blocks.evaluation.choice import chosen
    from predictor.blocks.machines.hardware_machine import HardwareMachine

    where = f"{TIMELINE} {request.timeline}"
    if not isinstance(machine, HardwareMachine):
        problem = f"model {machine.name} gives the times of whole blocks for equal processes together"
        raise UserError(where, f"{problem}, of which there is no timeline", "Use --model simgrid or hardware")
    if request.evaluator not in (None, GRAPH):
        problem = "cohorts of equal processes have no timeline"
        raise UserError(where, problem, "Leave out --evaluator")
    try:
        choice = chosen(setting.application, machine, GRAPH)
    except NoGraph as err:
        raise UserError(where, err.problem, "Take fewer processes or turns") from None
    assert choice.stream is not None
    return choice.stream, machine


def parts_lines(result: Result, *, wide: bool = False) -> list[str]:
    """Return where the time goes as the lines of a table: for each label and step, the mean over its processes."""
    rows: list[tuple[str, ...]] = [("label", "step", *KINDS, "idle", "sum")]

    def add(label: LabelResult, parts: StepTime, *idle_s: float) -> None:
        own_s = [*(getattr(parts, f"{kind}_s") for kind in KINDS), *idle_s]
        least_s = _ROUNDING * label.processes * label.last_s
        shown = [
            significant(part_s / label.processes, 4) if part_s > least_s else "0" for part_s in (*own_s, fsum(own_s))
        ]
        blank = [""] * (not idle_s)
        rows.append((label.label, parts.step, *shown[:-1], *blank, shown[-1]))

    for label in result.labels:
        for step in label.steps:
            add(label, step)
        add(label, replace(total(label.steps), step="all"), label.idle_s)
    said = "seconds of a process, the mean over its label; idle: from its end to that of the label's last process"
    return [*prose_lines(said), *table_lines(rows, left={0, 1}, wide=wide)]


def result_json(result: Result, wall_s: float) -> dict[str, Any]:
    """Return the result as JSON values; ``wall_s`` is the wall time of the evaluation, s."""
    return {**asdict(result), "energy_j": result.energy_j, "wall_s": wall_s}


def result_text(result: Result, wires: Interconnect | None = None) -> str:
    """Return the result as lines of text, with the energy of the interconnect where some watts of it are known."""

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
    if wires is not None and (wires.adapters_j is not None or wires.switches_j is not None):
        lines.append(wires.line())
    if result.success is not None:
        lines.append(f"probability of success {result.success:.10g}")
    return "\n".join(folded_lines([*lines, *(f"not known: {reason}" for reason in result.unknown)]))


COMMAND = Command(
    "blocks run",
    BlocksRequest,
    answer,
    "Evaluate an application: time and energy of every label, overall time, energy of all nodes in "
    "use, and probability of success (docs/blocks/applications.md).",
    first="application --system --count --set --vary --out --parts --model --power --failure-rate".split(),
)
main = COMMAND.main
