"""Times, energies and costs of an application, evaluated and simulated with one rank per process, and their text."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from apps.results.record import RunRecord
from apps.runs.runner import Runner
from apps.spec.run_spec import RunSpec
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.system.convert import materialise_system
from platforms.terminal.prose import prose_lines
from platforms.terminal.quantities import NONE, duration, significant
from platforms.terminal.table import Cell, table_lines
from predictor.base import OutOfRange
from predictor.blocks.application import Application
from predictor.blocks.evaluation.evaluate import Result, evaluate
from predictor.blocks.machines.machine import Group, Machine
from predictor.blocks.machines.power import Ends, energies
from predictor.blocks.names import HARDWARE, POWER_RULES
from predictor.blocks.parts import total
from predictor.blocks.setting import Setting
from validation.blocks.blockprogram.instructions import block_problem
from validation.blocks.program import block_program
from validation.presentation.tables import error_cell, table_of

PARTS = {
    "working_s": "computing, disk",
    "messages_s": "sending, waiting",
    "idle_s": "idle",
}  # columns, and their names in tables


# A simulated run tells the time inside MPI from the time outside it, which is that of computations and disks; a process
# that waits for a message is inside MPI, as is one whose message is on its way.
@dataclass(frozen=True)
class LabelParts:
    """Parts of the time until the end of a label's last process, s, the mean over its processes."""

    processes: int
    working_s: float  # computing and disks
    messages_s: float  # sending and waiting
    idle_s: float  # after the end of a process


def evaluated_parts(result: Result) -> dict[str, LabelParts]:
    """Return the parts by label of an evaluation that has found the parts."""
    by_label = {}
    for label in result.labels:
        parts, n = total(label.steps), label.processes
        working_s, messages_s = parts.computing_s + parts.disk_s, parts.sending_s + parts.waiting_s
        by_label[label.label] = LabelParts(n, working_s / n, messages_s / n, label.idle_s / n)
    return by_label


def simulated_parts(application: Application, record: RunRecord) -> dict[str, LabelParts]:
    """Return the parts by label of a simulated run."""
    by_label, first = {}, 0
    ended_s = np.add(record.compute_s, record.comm_s)
    for label, count in application.counts().items():
        ranks = slice(first, first + count)
        if count:
            working_s, messages_s = float(np.mean(record.compute_s[ranks])), float(np.mean(record.comm_s[ranks]))
            idle_s = float(ended_s[ranks].max() - ended_s[ranks].mean())
            by_label[label] = LabelParts(count, working_s, messages_s, idle_s)
        first += count
    return by_label


def mean_parts(parts: Mapping[str, LabelParts], time_s: float, prefix: str) -> dict[str, float]:
    """Return the parts by column, s, the mean over all processes; here idle lasts until the overall end."""
    processes = sum(part.processes for part in parts.values())
    working_s, messages_s = (
        sum(part.processes * getattr(part, name) for part in parts.values()) / processes
        for name in ("working_s", "messages_s")
    )
    values = working_s, messages_s, max(0.0, time_s - working_s - messages_s)
    return {f"{prefix}{name}": value for name, value in zip(PARTS, values, strict=True)}


@dataclass(frozen=True)
class Comparison:
    """Comparison of one application on one system; times are in s, errors in % of the simulated value.

    What could not be evaluated, or could not be simulated, is None, and ``refused`` says why.
    """

    application: str
    system: str
    model: str
    processes: int | None
    varied: Mapping[str, object]  # values that were changed in a series, by name
    evaluated_s: float | None
    simulated_s: float | None
    labels: Mapping[str, tuple[float, float]]  # end of each label's last process: evaluated, simulated; of both only
    evaluated_j: float | None  # energy of the nodes in use
    simulated_j: float | None
    evaluation_wall_s: float | None  # wall time on this computer in a warm process: placement and evaluation
    simulation_wall_s: float | None
    messages: int | None  # point-to-point messages of the simulation, without those of its collectives
    success: float | None = None  # evaluated probability of success; None: the failure rate is unknown
    evaluator: str = ""  # one of predictor.blocks.names.EVALUATORS
    cautions: tuple[str, ...] = ()  # of the evaluation
    power: str = POWER_RULES[0]  # rule of both energies
    evaluated_parts: Mapping[str, LabelParts] = field(default_factory=dict)  # by label; empty: not asked for
    simulated_parts: Mapping[str, LabelParts] = field(default_factory=dict)
    refused: str | None = None  # why it was not evaluated, or not simulated

    @property
    def error_pct(self) -> float | None:
        """Error of the evaluated time, %, or None if a time is unknown."""
        return _error_pct(self.evaluated_s, self.simulated_s)

    @property
    def energy_error_pct(self) -> float | None:
        """Error of the evaluated energy, %, or None if an energy is unknown."""
        return _error_pct(self.evaluated_j, self.simulated_j)

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as JSON values."""
        return {**asdict(self), "error_pct": self.error_pct, "energy_error_pct": self.energy_error_pct}


def compare(
    setting: Setting,
    machine_of: Callable[[Setting], Machine],
    runner: Runner,
    *,
    evaluator: str | None = None,
    power: str = POWER_RULES[0],
    parts: bool = False,
) -> Comparison:
    """Evaluate and simulate an application.

    Args:
        setting: The application and the system.
        machine_of: Function that makes the machine of a setting.
        runner: Runner of the simulation.
        evaluator: As for ``evaluate``.
        power: As for ``evaluate``; the simulated energy follows the same rule.
        parts: As for ``evaluate``.

    Raises:
        UserError: If the application cannot be evaluated or simulated; errors of the engine are passed on.
        OutOfRange: If the machine does not know the time of a block.
    """
    result = evaluate(setting.application, machine_of(setting), evaluator=evaluator, power=power, parts=parts)
    started = time.perf_counter()
    evaluate(setting.application, machine_of(replace(setting)), evaluator=evaluator, power=power)
    wall_s = time.perf_counter() - started
    return compared(setting, result, simulate(setting, runner), evaluation_wall_s=wall_s, power=power, parts=parts)


def compared(
    setting: Setting,
    result: Result | None,
    record: RunRecord | None,
    *,
    power: str,
    model: str = "",
    evaluation_wall_s: float | None = None,
    varied: Mapping[str, object] | None = None,
    parts: bool = False,
    refused: str | None = None,
) -> Comparison:
    """Return the comparison of an evaluation with a simulation, either of which may be missing.

    Args:
        setting: The application and the system.
        result: The evaluation; None: there is none.
        record: The simulated run; None: there is none.
        power: The power rule.
        model: Name of the model, for want of an evaluation.
        evaluation_wall_s: Wall time of the evaluation.
        varied: Values that were changed in a series, by name.
        parts: The evaluation has parts of the times, and those of the run are wanted too.
        refused: Why one of both is missing.
    """
    application = setting.application
    return Comparison(
        application=application.name,
        system=setting.system.name,
        model=model if result is None else result.machine,
        processes=sum(application.counts().values()),
        varied=dict(varied or {}),
        evaluated_s=None if result is None else result.time_s,
        simulated_s=None if record is None else record.time_s,
        labels={} if result is None or record is None else _labels(setting, result, record),
        evaluated_j=None if result is None else result.energy_j,
        simulated_j=None if record is None else simulated_energy_j(setting, record, power),
        evaluation_wall_s=evaluation_wall_s,
        simulation_wall_s=None if record is None else record.wall_s,
        messages=None if record is None else sum(record.messages),
        success=None if result is None else result.success,
        evaluator="" if result is None else result.evaluator,
        cautions=() if result is None else result.cautions,
        power=power,
        evaluated_parts=evaluated_parts(result) if parts and result is not None else {},
        simulated_parts=simulated_parts(application, record) if parts and record is not None else {},
        refused=refused,
    )


def simulated_energy_j(setting: Setting, record: RunRecord, power: str) -> float | None:
    """Return the energy of a simulated run by a power rule, J; None if the system has no watts.

    SimGrid counts by the rule idle-waiting.  The others need only the ends of the processes, which the run has, and the
    system's watts.
    """
    if power == POWER_RULES[0]:
        return _nodes_energy_j(setting, record)
    machine = setting.machine(HARDWARE)
    first, firsts = 0, {}
    for label, count in setting.application.counts().items():
        firsts[label] = first
        first += count
    ended_s = np.add(record.compute_s, record.comm_s)
    groups = [group for group in machine.groups if group.count]
    compute_s = {group: float(np.take(record.compute_s, _ranks(group, firsts)).sum()) for group in groups}
    ends = [Ends.of(group, ended_s[_ranks(group, firsts)]) for group in groups]
    try:
        groups_j, others_j = energies(power, machine, compute_s=compute_s, ends=ends, time_s=float(ended_s.max()))
    except OutOfRange:
        return None
    return math.fsum((*groups_j.values(), others_j))


def _nodes_energy_j(setting: Setting, record: RunRecord) -> float | None:
    """Return the energy of the nodes in use, J: of all their units, with or without processes."""
    hosts = set()
    for host in dict.fromkeys(record.host):
        unit, number = setting.system.find(host)
        hosts |= {unit.node.host_name(number, node_unit) for node_unit in unit.node.units}
    if record.energy_j is None or not record.energy_j.keys() >= hosts:
        return None
    return math.fsum(record.energy_j[host] for host in sorted(hosts))


def _ranks(group: Group, firsts: Mapping[str, int]) -> list[int]:
    return [firsts[group.label] + member for member in group.members]


def simulate(setting: Setting, runner: Runner) -> RunRecord:
    """Simulate an application and return the record of the run."""
    return runner.record(simulation(setting))


def simulation(setting: Setting) -> RunSpec:
    """Return the run of the description as an MPI program, on the system's platform, with the same placement."""
    program = block_program(setting.application, setting.system, setting.schedule)
    platform = materialise_system(setting.system)
    target = Target(block_problem(program), platform, setting.schedule.placement())
    return Settings(iterations="full").spec(target)


def _labels(setting: Setting, result: Result, record: RunRecord) -> dict[str, tuple[float, float]]:
    ended_s = [compute + comm for compute, comm in zip(record.compute_s, record.comm_s, strict=True)]
    times_s, first = {}, 0
    counts = setting.application.counts()
    evaluated = {label.label: label.last_s for label in result.labels}
    for label, count in counts.items():
        if count:
            times_s[label] = evaluated[label], max(ended_s[first : first + count])
        first += count
    return times_s


def _error_pct(evaluated: float | None, simulated: float | None) -> float | None:
    if evaluated is None or simulated is None:
        return None
    if simulated == 0:
        return 0.0 if evaluated == 0 else math.inf
    return 100 * (evaluated - simulated) / simulated


_ROUNDING = 1e-9  # share of a label's time below which a part of it is a rounding error


def table(rows: Sequence[Comparison], title: str, *, wide: bool = False) -> str:
    """Return the comparisons as a table of text; ``wide``: with energies, messages and costs."""
    columns: dict[str, Sequence[str | Cell]] = {
        **{name: [str(row.varied[name]) for row in rows] for name in rows[0].varied},
        "processes": [_known(row.processes, "d") for row in rows],
        "evaluated": [duration(row.evaluated_s, like_s=row.simulated_s) for row in rows],
        "simulated": [duration(row.simulated_s) for row in rows],
        "error %": [error_cell(row.error_pct) for row in rows],
    }
    if wide:
        columns["evaluated J"] = [significant(row.evaluated_j) for row in rows]
        columns["simulated J"] = [significant(row.simulated_j) for row in rows]
        columns["evaluated as"] = [row.evaluator or NONE for row in rows]
    columns["energy error %"] = [error_cell(row.energy_error_pct) for row in rows]
    if wide:
        columns["point-to-point messages"] = [_known(row.messages, "d") for row in rows]
    if any(row.success is not None for row in rows):
        columns["success"] = [significant(row.success) for row in rows]
    if wide:
        columns["evaluation wall s"] = [_known(row.evaluation_wall_s, ".4f") for row in rows]
        columns["simulation wall s"] = [_known(row.simulation_wall_s, ".3f") for row in rows]
    return "\n".join([*prose_lines(title), "", *table_of(columns, left=tuple(rows[0].varied), wide=wide)])


def _known(value: float | None, form: str) -> str:
    return NONE if value is None else format(value, form)


def parts_lines(rows: Sequence[Comparison], *, wide: bool = False) -> list[str]:
    """Return the parts of all comparisons as the lines of a table."""
    varied = list(rows[0].varied)
    cells = [(*varied, "label", "part", "evaluated", "simulated")]
    for row in rows:
        for label in dict.fromkeys((*row.evaluated_parts, *row.simulated_parts)):
            sides = row.evaluated_parts.get(label), row.simulated_parts.get(label)
            for name, part in PARTS.items():
                here = (str(row.varied[key]) for key in varied)
                cells.append((*here, label, part, *(_seconds(side, name) for side in sides)))
    said = (
        "seconds of a process, the mean over its label; idle: from its end to that of the label's last process; the "
        "simulation tells computing and disks from messages, and not more"
    )
    return [*prose_lines(said), "", *table_lines(cells, left=set(range(len(varied) + 2)), wide=wide)]


def _seconds(parts: LabelParts | None, name: str) -> str:
    if parts is None:
        return "-"
    value = getattr(parts, name)
    least = _ROUNDING * sum(getattr(parts, part) for part in PARTS)
    return significant(value, 4) if value > least else "0"
