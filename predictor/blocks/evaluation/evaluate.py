"""Evaluate time, energy and probability of success of an application on a machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, fsum

from platforms.errors import UserError
from predictor.base import OutOfRange
from predictor.blocks.application import Application
from predictor.blocks.evaluation.choice import ChosenEvaluator, chosen
from predictor.blocks.evaluation.execution import Execution
from predictor.blocks.graph.evaluate import run_graph
from predictor.blocks.graph.parts import steps_of
from predictor.blocks.machines.hardware_machine import HardwareMachine
from predictor.blocks.machines.machine import Group, Machine
from predictor.blocks.machines.model_machine import ModelMachine
from predictor.blocks.machines.power import Ends, energies
from predictor.blocks.names import GRAPH, POWER_RULES, check_rule
from predictor.blocks.parts import StepTime
from predictor.blocks.setting import placed
from predictor.blocks.steps import check_constants, only_one_by_one

_SAME_TIME = 1e-4  # largest relative difference of two orders that is not said


@dataclass(frozen=True)
class LabelResult:
    """Result for the processes of a label."""

    label: str
    processes: int
    units: int  # compute units that have a process of the label
    first_s: float  # end of the first process
    last_s: float  # end of the last process
    compute_s: float  # computation time, summed over the processes
    energy_j: float | None  # the label's share of its units' energy; None: the machine does not know the power
    idle_s: float = 0.0  # between the end of each process and that of the last one, summed over the processes
    steps: tuple[StepTime, ...] = ()  # parts of the processes' times up to their ends, by step, if asked for


@dataclass(frozen=True)
class Result:
    """Time, energy and success of an application on a machine.  For a model of whole nodes, units are nodes.

    The energy is that of the nodes in use, by the power rule (predictor/blocks/machines/power.py).  If labels share a
    unit, its idle power is divided in proportion to their processes.  The total is the sum over the labels and over the
    units without a process on nodes in use.
    """

    application: str
    machine: str
    labels: tuple[LabelResult, ...]
    time_s: float  # end of the last process
    nodes: int  # nodes in use
    others_idle_j: float | None  # energy of the units without a process, on nodes in use
    success: float | None  # exp(-lambda time nodes); None: the failure rate is unknown
    unknown: tuple[str, ...] = ()  # reasons why results are None
    evaluator: str = ""  # one of predictor.blocks.names.EVALUATORS
    evaluated: str = ""  # why this evaluator, and what it has evaluated
    cautions: tuple[str, ...] = ()
    power: str = POWER_RULES[0]  # rule of the energies

    @property
    def energy_j(self) -> float | None:
        """Energy of all nodes in use, J."""
        parts = [*(label.energy_j for label in self.labels), self.others_idle_j]
        known = [energy_j for energy_j in parts if energy_j is not None]
        return fsum(known) if len(known) == len(parts) else None


@dataclass(frozen=True)
class _Done:
    """A finished evaluation."""

    compute_s: Mapping[Group, float]  # computation time, summed over the group's processes
    ends: tuple[Ends, ...]  # of parts of the groups
    evaluated: str
    steps: Mapping[str, tuple[StepTime, ...]]  # by label
    other_order_s: float | None = None  # time if messages of one date are taken in another order; None: not known


def evaluate(
    application: Application,
    machine: Machine,
    *,
    evaluator: str | None = None,
    power: str = POWER_RULES[0],
    parts: bool = False,
) -> Result:
    """Evaluate an application on a machine.

    Args:
        application: The application.
        machine: The machine.
        evaluator: One of predictor.blocks.names.EVALUATORS; None: the cheapest that is exact is chosen.
        power: The power rule, one of predictor.blocks.names.POWER_RULES.
        parts: Also find the parts of the processes' times, which takes a second evaluation of a graph.

    Raises:
        UserError: If the application has no processes, does not end, or leaves a message unreceived, or if the
            evaluator does not fit.
        OutOfRange: If the machine does not know the time of a block.
    """
    check_rule(power)
    if not any(group.count for group in machine.groups):
        raise UserError(application.where, "no processes", "Give a label a count of 1 or more")
    if isinstance(machine, ModelMachine):
        application = placed(application, machine.schedule, machine.measured_units)
    check_constants(application)
    choice = chosen(application, machine, evaluator)
    by_graph = choice.evaluator == GRAPH
    done = _by_graph(application, machine, choice, parts) if by_graph else _by_cohorts(application, machine, parts)
    time_s = max(end.most_s for end in done.ends)
    unknown: list[str] = []
    node_energies = _energies(power, machine, done, time_s, unknown)
    energies_j = None if node_energies is None else node_energies[0]
    labels = tuple(
        _label_result(label.name, done, energies_j) for label in application.labels if _groups(machine, label.name)
    )
    nodes = _nodes(machine)
    rate = machine.failure_rate_per_s
    if rate is None:
        unknown.append(f"success: model {machine.name} has no failure rate")
    return Result(
        application=application.name,
        machine=machine.name,
        labels=labels,
        time_s=time_s,
        nodes=nodes,
        others_idle_j=None if node_energies is None else node_energies[1],
        success=None if rate is None else exp(-rate * time_s * nodes),
        unknown=tuple(unknown),
        evaluator=choice.evaluator,
        evaluated=f"{choice.reason}{done.evaluated}",
        cautions=(*(() if choice.caution is None else (choice.caution,)), *_order_caution(done, time_s)),
        power=power,
    )


def _by_cohorts(application: Application, machine: Machine, parts: bool) -> _Done:
    done = Execution(application, machine)
    done.run()
    ends = tuple(
        Ends(end.group, end.members, end.clock.values, end.clock.least, end.clock.most, end.clock.total)
        for end in done.ended
    )
    return _Done(done.compute_s, ends, "", done.spent.steps() if parts else {})


def _by_graph(application: Application, machine: Machine, choice: ChosenEvaluator, parts: bool) -> _Done:
    stream = choice.stream
    if stream is None or not isinstance(machine, HardwareMachine):
        raise ValueError("a graph needs instructions and the network of a machine")
    try:
        run = run_graph(stream, machine, dated=parts)
    except UserError:
        if only_one_by_one(application) is None:
            Execution(application, machine).run()  # it names the step at which a process waits forever
        raise
    compute_s = {g: machine.compute_s(g, run.operations_of(stream, g)) for g in machine.groups if g.count}
    turns = ""
    if run.turns:
        turns = f", {run.evaluated if run.evaluated < run.turns else 'all'} of {run.turns} turns"
    first = {group: stream.labels.index(group.label) for group in compute_s}
    ends = tuple(Ends.of(g, run.ended_s[[first[g] + member for member in g.members]]) for g in compute_s)
    steps = {} if run.dated is None else steps_of(stream, run.dated, run.places)
    return _Done(compute_s, ends, turns, steps, run.other_order_s)


def _order_caution(done: _Done, time_s: float) -> tuple[str, ...]:
    """Return a caution if the order of messages that are sent at one date changes the time."""
    other_s = done.other_order_s
    if other_s is None or abs(other_s - time_s) <= _SAME_TIME * time_s:
        return ()
    return (
        "messages that any process may receive are sent at one date, and rounding decides which comes first: in "
        f"another order the run takes {100 * (other_s / time_s - 1):+.2g} %",
    )


def _groups(machine: Machine, label: str) -> list[Group]:
    return [group for group in machine.groups if group.label == label and group.count]


def _label_result(label: str, done: _Done, energies_j: dict[Group, float] | None) -> LabelResult:
    groups = [group for group in done.compute_s if group.label == label and group.count]
    ends = [end for end in done.ends if end.group.label == label]
    last_s = max(end.most_s for end in ends)
    processes = sum(group.count for group in groups)
    units = {(group.unit, group.first_unit, group.units) for group in groups}
    return LabelResult(
        label=label,
        processes=processes,
        units=sum(count for _, _, count in units),
        first_s=min(end.least_s for end in ends),
        last_s=last_s,
        compute_s=fsum(done.compute_s[group] for group in groups),
        energy_j=None if energies_j is None else fsum(energies_j[group] for group in groups),
        idle_s=processes * last_s - fsum(end.total_s for end in ends),
        steps=done.steps.get(label, ()),
    )


def _energies(
    rule: str, machine: Machine, done: _Done, time_s: float, unknown: list[str]
) -> tuple[dict[Group, float], float] | None:
    """Return the energies of power.energies; None, with the reason in ``unknown``, if the machine knows no power."""
    try:
        return energies(rule, machine, compute_s=done.compute_s, ends=done.ends, time_s=time_s)
    except OutOfRange as err:
        unknown.append(f"energy: {err.where}: {err.problem}")
        return None


def _nodes(machine: Machine) -> int:
    """Return the number of nodes that have a process."""
    count, reached = 0, -1
    ranges = sorted((g.first_node, g.first_node + g.units) for g in machine.groups if g.count)
    for first, end in ranges:
        count += max(0, end - max(first, reached))
        reached = max(reached, end)
    return count
