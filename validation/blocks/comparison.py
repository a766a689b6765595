"""An application of blocks evaluated, and simulated with one rank per process: both times, energies and costs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from apps.blockprogram.instructions import block_problem
from apps.record import RunRecord
from apps.runner import Runner
from apps.spec import RunSpec, Settings, Target
from platforms.system.convert import materialise_system
from predictor.blocks.evaluation.evaluate import Result, evaluate
from predictor.blocks.machines.machine import Machine
from predictor.blocks.setting import Setting
from validation.blocks.program import block_program


@dataclass(frozen=True)
class Comparison:
    """One application on one system.  Times in s, errors in % of the simulated value."""

    application: str
    system: str
    model: str
    processes: int
    varied: Mapping[str, object]  # what was set to what, of a series
    evaluated_s: float
    simulated_s: float
    labels: Mapping[str, tuple[float, float]]  # when the last process of each ends: evaluated, simulated
    evaluated_j: float | None  # of the nodes in use
    simulated_j: float | None
    evaluation_wall_s: float  # of this computer, in a warm process: placing and evaluating
    simulation_wall_s: float
    messages: int  # from process to process, in the simulation; not those of its collectives
    success: float | None = None  # evaluated; None: no rate of failures is known

    @property
    def error_pct(self) -> float:
        return _error_pct(self.evaluated_s, self.simulated_s)

    @property
    def energy_error_pct(self) -> float | None:
        if self.evaluated_j is None or self.simulated_j is None:
            return None
        return _error_pct(self.evaluated_j, self.simulated_j)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "error_pct": self.error_pct, "energy_error_pct": self.energy_error_pct}


def compare(
    setting: Setting,
    machine_of: Callable[[Setting], Machine],
    runner: Runner,
    *,
    varied: Mapping[str, object] | None = None,
) -> Comparison:
    """Evaluates on the machine of the setting, and simulates.

    Raises UserError, OutOfRange and what the engine raises.
    """
    result = evaluate(setting.application, machine_of(setting))
    started = time.perf_counter()
    evaluate(setting.application, machine_of(replace(setting)))
    evaluation_wall_s = time.perf_counter() - started
    record = simulate(setting, runner)
    return Comparison(
        application=setting.application.name,
        system=setting.system.name,
        model=result.machine,
        processes=record.ranks,
        varied=dict(varied or {}),
        evaluated_s=result.time_s,
        simulated_s=record.time_s,
        labels=_labels(setting, result, record),
        evaluated_j=result.energy_j,
        simulated_j=record.used_energy_j,
        evaluation_wall_s=evaluation_wall_s,
        simulation_wall_s=record.wall_s,
        messages=sum(record.messages),
        success=result.success,
    )


def simulate(setting: Setting, runner: Runner) -> RunRecord:
    """Waits for the simulation."""
    return runner.record(simulation(setting))


def simulation(setting: Setting) -> RunSpec:
    """The same description as an MPI program, on the system's platform, with the same placement."""
    program = block_program(setting.application, setting.system, setting.schedule)
    platform = materialise_system(setting.system)
    target = Target(block_problem(program), platform, setting.schedule.placement())
    return Settings(iterations="full").spec(target)


def _labels(setting: Setting, result: Result, record: RunRecord) -> dict[str, tuple[float, float]]:
    ended_s = [compute + comm for compute, comm in zip(record.compute_s, record.comm_s, strict=True)]
    found, first = {}, 0
    counts = setting.application.counts()
    evaluated = {label.label: label.last_s for label in result.labels}
    for label, count in counts.items():
        if count:
            found[label] = evaluated[label], max(ended_s[first : first + count])
        first += count
    return found


def _error_pct(evaluated: float, simulated: float) -> float:
    if simulated == 0:
        return 0.0 if evaluated == 0 else math.inf
    return 100 * (evaluated - simulated) / simulated
