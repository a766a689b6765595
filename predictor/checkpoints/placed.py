"""Time, power and failure rate of an application's work and of its checkpoints, and when each process writes them.

When a process writes its checkpoints: how much of its work lies before, between and after them.

The work is counted in operations, or in messages where a process does not compute.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from platforms.errors import UserError
from predictor.base import OutOfRange
from predictor.blocks.application import Application
from predictor.blocks.evaluation.evaluate import Result, evaluate
from predictor.blocks.expressions import Expression
from predictor.blocks.machines.hardware_machine import HardwareMachine
from predictor.blocks.machines.machine import Machine
from predictor.blocks.names import POWER_RULES
from predictor.blocks.parts import step_name
from predictor.blocks.programs import (
    Collective,
    Compute,
    If,
    Receive,
    ReceiveAny,
    Repeat,
    Reply,
    Send,
    Set,
    Step,
    While,
    WriteDisk,
    all_steps,
    names_set,
    numbered,
)
from predictor.blocks.setting import Setting
from predictor.blocks.steps import turns_are_alike

MOST_STEPS = 50_000  # that are looked at one by one, because turns of loops differ
_UNEVEN = 1.5  # a gap this many times as long as the mean one is uneven


def has_checkpoints(application: Application) -> bool:
    """Return whether any label writes to a disk."""
    return any(_writes(label.program) for label in application.labels)


def without_checkpoints(application: Application) -> Application:
    """Return the application without its blocks ``write_disk``."""
    labels = tuple(replace(label, program=_without(label.program)) for label in application.labels)
    return replace(application, labels=labels)


def one_checkpoint(application: Application) -> Application:
    """Return an application in which all processes write one checkpoint together, and do nothing else.

    The steps are the blocks ``write_disk`` of each label, once each, without the loops around them.  A condition stays,
    so that only some processes of a label may write; one that depends on the turn of a loop, or on a name that a step
    sets, counts as true, because it says when to write.
    """
    labels = tuple(
        replace(label, program=tuple(_only(label.program, names_set(label.program)))) for label in application.labels
    )
    return replace(application, labels=labels)


def _writes(steps: tuple[Step, ...]) -> bool:
    return any(isinstance(step, WriteDisk) or any(map(_writes, _inner(step).values())) for step in steps)


def _inner(step: Step) -> dict[str, tuple[Step, ...]]:
    """Return the steps in a step, by the name of the field."""
    inner_steps: dict[str, tuple[Step, ...]] = {}
    for part in fields(step):
        value: Any = getattr(step, part.name)
        if isinstance(value, tuple) and value and all(isinstance(item, Step) for item in value):
            inner_steps[part.name] = value
    return inner_steps


def _without(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    kept = (step for step in steps if not isinstance(step, WriteDisk))
    return tuple(replace(step, **{name: _without(inner) for name, inner in _inner(step).items()}) for step in kept)


def _only(steps: tuple[Step, ...], turns: frozenset[str]) -> Iterator[Step]:
    """Yield the steps that write or set a name; ``turns`` has these names and the variables of the loops around."""
    for step in steps:
        if isinstance(step, WriteDisk | Set):
            yield step
        elif isinstance(step, If) and not turns & Expression.of(step.condition).names:
            if _writes(step.steps) or _writes(step.otherwise):
                yield replace(
                    step, steps=tuple(_only(step.steps, turns)), otherwise=tuple(_only(step.otherwise, turns))
                )
        else:
            named = {step.variable} if isinstance(step, Repeat | While) and step.variable is not None else set()
            for inner in _inner(step).values():
                yield from _only(inner, turns | named)


Work = Callable[[Step, Mapping[str, Any], str], float]


class TooManySteps(Exception):
    """More than MOST_STEPS steps would have to be looked at."""


@dataclass(frozen=True)
class Rhythm:
    """Work of a process around the moments at which it writes; writes without work in between are one moment."""

    work: float = 0.0  # of the whole process
    moments: int = 0
    head: float = 0.0  # work before the first moment
    tail: float = 0.0  # work after the last moment
    longest: float = 0.0  # most work between two moments
    done: Counter[str] = field(default_factory=Counter)  # by the place of each step that writes: how often it is done

    def then(self, other: Rhythm) -> Rhythm:
        """Return the rhythm of this part of a program followed by another one."""
        work, done = self.work + other.work, self.done + other.done
        if not self.moments or not other.moments:
            head = self.head + (0.0 if self.moments else other.head)
            tail = other.tail + (0.0 if other.moments else self.tail)
            return Rhythm(work, self.moments + other.moments, head, tail, max(self.longest, other.longest), done)
        gap = self.tail + other.head
        moments = self.moments + other.moments - (gap == 0)
        return Rhythm(work, moments, self.head, other.tail, max(self.longest, other.longest, gap), done)

    def repeated(self, times: int) -> Rhythm:
        """Return the rhythm of this number of turns."""
        rhythm, power = Rhythm(), self
        while times:
            if times % 2:
                rhythm = rhythm.then(power)
            power, times = power.then(power), times // 2
        return rhythm

    @property
    def checkpoints(self) -> int | None:
        """Number of checkpoints, each of which has every writing step once, or None if some are done more often."""
        often = set(self.done.values())
        return often.pop() if len(often) == 1 else None

    @property
    def ends_with_work(self) -> bool:
        """True if at least about half as much work follows the last checkpoint as lies before one."""
        return self.tail * max(self.done.values(), default=0) >= 0.5 * (self.work - self.tail) > 0

    def caution(self) -> str | None:
        """Return why checkpoints at equal intervals differ from this rhythm, if they do much."""
        if self.checkpoints is None:
            said = ", ".join(f"{place}: {times}" for place, times in sorted(self.done.items()))
            return (
                f"write_disk is not done equally often ({said}); a checkpoint is counted as each of them once, unless "
                "--checkpoint gives its seconds"
            )
        mean = (self.work - self.tail) / self.checkpoints
        longest = max(self.head, self.longest, self.tail)
        if longest > _UNEVEN * mean:
            return f"own: up to {longest / mean:.2g} times the mean work lies between checkpoints, counted as equal"
        return None


def rhythm_of(application: Application) -> Rhythm | None:
    """Return the rhythm of the process that writes most often, of the first and the last of each label.

    None stands for a rhythm that is not known, because too many turns would have to be looked at, or because only other
    processes write, or because steps set names.
    """
    if any(
        isinstance(step, Set | While) for label in application.labels for step, _ in all_steps(None, label.program, "")
    ):
        return None
    numbers, counts = application.numbers(), application.counts()
    rhythms = []
    for label in application.labels:
        for index in dict.fromkeys((0, counts[label.name] - 1)):
            if index < 0:
                continue
            for work in (_operations, _messages):
                try:
                    walk = _Walk(work)
                    rhythm = walk.steps(None, label.program, {**numbers, "index": index}, f"{label.name}, step ")
                except TooManySteps:
                    return None
                if rhythm.work:
                    break
            rhythms.append(rhythm)
    best = max(rhythms, key=lambda rhythm: sum(rhythm.done.values()), default=None)
    return best if best is not None and best.moments and best.work else None


@dataclass
class _Walk:
    """A walk through the program of a process."""

    work: Work
    looked: int = 0  # steps so far

    def steps(self, owner: Step | None, steps: Sequence[Step], scope: Mapping[str, Any], where: str) -> Rhythm:
        """Return the rhythm of the steps inside ``owner``, whose place is ``where``."""
        rhythm = Rhythm()
        for step, place in numbered(owner, steps, where):
            self.looked += 1
            if self.looked > MOST_STEPS:
                raise TooManySteps
            rhythm = rhythm.then(self._step(step, scope, place))
        return rhythm

    def _step(self, step: Step, scope: Mapping[str, Any], where: str) -> Rhythm:
        if isinstance(step, WriteDisk):
            return Rhythm(moments=1, done=Counter({step_name(where): 1}))
        if isinstance(step, If):
            holds = bool(Expression.of(step.condition).value(scope, where))
            return self.steps(step, step.steps if holds else step.otherwise, scope, where)
        if not isinstance(step, Repeat):
            work = self.work(step, scope, where)
            return Rhythm(work=work, head=work, tail=work)
        times = Expression.of(step.times).whole(scope, where)
        if turns_are_alike(step):
            inner = scope if step.variable is None else {**scope, step.variable: 0}
            return self.steps(step, step.steps, inner, where).repeated(times) if times else Rhythm()
        rhythm = Rhythm()
        for turn in range(times):
            rhythm = rhythm.then(self.steps(step, step.steps, {**scope, str(step.variable): turn}, where))
        return rhythm


def _operations(step: Step, scope: Mapping[str, Any], where: str) -> float:
    if not isinstance(step, Compute):
        return 0.0
    if step.size is not None:
        scope = {**scope, "size": Expression.of(step.size).value(scope, where)}
    return float(Expression.of(step.operations).value(scope, where))  # type: ignore[arg-type]  # of one process


def _messages(step: Step, scope: Mapping[str, Any], where: str) -> float:
    return float(isinstance(step, Send | Receive | ReceiveAny | Reply | Collective))


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
