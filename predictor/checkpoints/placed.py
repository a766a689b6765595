"""Time, power and failure rate of an application's work and of its checkpoints, where its processes are placed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from platforms.errors import UserError
from predictor.base import OutOfRange
from predictor.blocks.application import Application
from predictor.blocks.evaluation.evaluate import Result, evaluate
from predictor.blocks.machines.hardware_machine import HardwareMachine
from predictor.blocks.machines.machine import Machine
from predictor.blocks.names import POWER_RULES
from predictor.blocks.setting import Setting
from predictor.checkpoints.rhythm import has_checkpoints, one_checkpoint, rhythm_of, without_checkpoints


@dataclass(frozen=True)
class Placed:
    """An application on some nodes of a system."""

    processes: int
    nodes: int
    work_s: float  # time without checkpoints and failures
    work_w: float | None  # mean power meanwhile; None: the machine does not know the power
    checkpoint_s: float  # time of one checkpoint
    checkpoint_w: float | None
    idle_w: float | None  # power while nothing runs, as during a restart
    rate_per_s: float  # failures of all nodes together, 1/s
    own_interval_s: float | None  # work between the application's own checkpoints; None: it writes none
    cautions: tuple[str, ...] = ()  # about the time of the work, and about its own checkpoints


def placed(
    setting: Setting,
    machine_of: Callable[[Setting], Machine],
    *,
    power: str = POWER_RULES[0],
    evaluator: str | None = None,
    checkpoint_s: float | None = None,
    repeat: int = 1,
) -> Placed:
    """Return times, powers and the failure rate of an application.

    Args:
        setting: The application, the system and the placement.
        machine_of: Function that makes the machine of a setting.
        power: The power rule, of predictor.blocks.names.POWER_RULES.
        evaluator: As for ``evaluate``.
        checkpoint_s: Time of a checkpoint, s; None: the time in which all processes write what their own blocks
            ``write_disk`` write.
        repeat: Number of runs in a row that make up the job.

    Raises:
        UserError: The application cannot be evaluated, there is no time of a checkpoint, or the failure rate of a node
            is not known.
        OutOfRange: The machine does not know the time of a block.
    """
    application = setting.application
    writes = has_checkpoints(application)
    if checkpoint_s is None and not writes:
        raise UserError(application.where, "it has no write_disk, which would be its checkpoint", "Give --checkpoint S")

    def evaluated(part: Setting) -> Result:
        return evaluate(part.application, machine_of(part), evaluator=evaluator, power=power)

    machine = machine_of(setting)
    work = evaluated(replace(setting, application=without_checkpoints(application)))
    if work.time_s <= 0:
        raise UserError(application.where, "it takes no time without its checkpoints", "Give it work")
    written = evaluated(replace(setting, application=one_checkpoint(application))) if writes else None
    if checkpoint_s is None and written is not None and written.time_s <= 0:
        raise UserError(application.where, "its write_disk takes no time", "Give --checkpoint S")
    interval: float | None = None
    cautions: tuple[str, ...] = ()
    if written is not None and written.time_s > 0:
        by_time = round((evaluated(setting).time_s - work.time_s) / written.time_s)
        interval, cautions = own_interval(application, by_time, repeat)
    if machine.failure_rate_per_s is None:
        problem = f"a node's failure rate is not known{_unknown_rates(machine)}"
        remedy = "Give --failure-rate, or failures_per_year of its nodes"
        raise UserError(f"system {setting.system.name}", problem, remedy)
    idle_w = _idle_w(machine)
    given = checkpoint_s is not None or written is None
    return Placed(
        processes=sum(group.count for group in machine.groups),
        nodes=work.nodes,
        work_s=repeat * work.time_s,
        work_w=_power(work),
        checkpoint_s=checkpoint_s if checkpoint_s is not None else (0.0 if written is None else written.time_s),
        checkpoint_w=idle_w if given or written is None else _power(written),
        idle_w=idle_w,
        rate_per_s=machine.failure_rate_per_s * work.nodes,
        own_interval_s=None if interval is None else work.time_s * interval,
        cautions=(*work.cautions, *cautions),
    )


def own_interval(application: Application, by_time: int, repeat: int = 1) -> tuple[float | None, tuple[str, ...]]:
    """Return the work between an application's own checkpoints as a share of that of one run, and cautions about it.

    Args:
        application: The application.
        by_time: The time that a run takes more than its work, in checkpoints.
        repeat: Number of runs in a row; the work that ends a run and that which begins the next one lie together.
    """
    rhythm = rhythm_of(application)
    if rhythm is None:
        said = "own: it is not known when checkpoints are written; they count as equally far apart, one at the end"
        return (1 / by_time, (said,)) if by_time >= 1 else (None, ())
    checkpoints = by_time if rhythm.checkpoints is None else rhythm.checkpoints
    if checkpoints < 1:
        return None, ()
    caution = rhythm.caution()
    return repeat / (repeat * checkpoints + rhythm.ends_with_work), () if caution is None else (caution,)


def _unknown_rates(machine: Machine) -> str:
    """Return which parts of the nodes have no failure rate, as the end of a sentence."""
    if not isinstance(machine, HardwareMachine):
        return ""
    nodes = {id(node): node for node in (machine.unit_of(group).node for group in machine.groups if group.count)}
    parts: dict[str, None] = {}
    for node in nodes.values():
        if node.failures_per_year is None:
            parts |= {f"processor {unit.processor}": None for unit in node.units if unit.failures_per_year is None}
            parts |= {f"disk {disk.name}": None for disk in node.disks if disk.failures_per_year is None}
    return f": none for {', '.join(parts)}" if parts else ""


def _power(result: Result) -> float | None:
    """Return the mean power of the nodes in use, W."""
    return None if result.energy_j is None or result.time_s <= 0 else result.energy_j / result.time_s


def _idle_w(machine: Machine) -> float | None:
    try:
        shares = (group.count / group.threads * machine.power_w(group, 0) for group in machine.groups if group.count)
        return sum(shares) + machine.others_idle_w
    except OutOfRange:
        return None
