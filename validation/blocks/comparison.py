"""Compare times, energies and costs of an application that is evaluated and simulated with one rank per process."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from apps.results.record import RunRecord
from apps.runs.runner import Runner
from apps.spec.run_spec import RunSpec
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.system.convert import materialise_system
from predictor.base import OutOfRange
from predictor.blocks.evaluation.evaluate import Result, evaluate
from predictor.blocks.machines.machine import Group, Machine
from predictor.blocks.machines.power import Ends, energies
from predictor.blocks.names import HARDWARE, POWER_RULES
from predictor.blocks.setting import Setting
from validation.blocks.blockprogram.instructions import block_problem
from validation.blocks.parts import LabelParts, evaluated_parts, simulated_parts
from validation.blocks.program import block_program


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
