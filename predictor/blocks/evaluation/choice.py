"""Choose how an application is evaluated: cohorts of equal processes, or the graph of all its messages.

Cohorts are exact where no two messages can be on their way at the same time: where every message is from or to one
process, which waits for each.  They cost little for any number of processes.  All other applications are evaluated
message by message, up to a number of events that takes a few seconds; beyond, cohorts give an approximation.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from platforms.errors import UserError
from predictor.blocks.application import Application
from predictor.blocks.expressions import Expression
from predictor.blocks.graph.evaluate import MOST_PROCESSES
from predictor.blocks.graph.events import number_of_events
from predictor.blocks.machines.hardware_machine import HardwareMachine
from predictor.blocks.machines.machine import Machine
from predictor.blocks.names import COHORTS, EVALUATORS, GRAPH, NoGraph, SettingError
from predictor.blocks.programs import Collective, Compute, If, Receive, Repeat, Send, Set, Step, While, all_steps
from predictor.blocks.steps import inner_steps, only_one_by_one
from predictor.blocks.stream.expand import TooManyInstructions, expand
from predictor.blocks.stream.instructions import Stream

MOST_EVENTS = 4_000_000  # of a graph that is chosen without being asked for
_CAUTION = "messages of different steps do not slow one another here: the time may be far too short"


@dataclass(frozen=True)
class ChosenEvaluator:
    """The evaluator of an application on a machine."""

    evaluator: str  # one of EVALUATORS
    reason: str
    stream: Stream | None = None  # the instructions, for a graph
    caution: str | None = None  # why the result is only an approximation


def chosen(application: Application, machine: Machine, evaluator: str | None) -> ChosenEvaluator:
    """Return the evaluator of an application on a machine.

    Args:
        application: The application.
        machine: The machine.
        evaluator: One of EVALUATORS; None: the cheapest that is exact is chosen.

    Raises:
        UserError: If the evaluator is unknown, or cannot evaluate the application on the machine.
    """
    if evaluator not in (None, *EVALUATORS):
        raise SettingError(f"--evaluator {evaluator}", "no such evaluator", f"Known: {', '.join(EVALUATORS)}")
    single = only_one_by_one(application)
    if evaluator == COHORTS:
        if single is not None:
            where, why = single
            raise UserError(where, f"{why}, which --evaluator cohorts does not know", "Leave the option out")
        return ChosenEvaluator(COHORTS, "asked for")
    if not isinstance(machine, HardwareMachine):
        if single is not None:
            where, why = single
            problem = f"{why}, which model {machine.name} cannot evaluate"
            raise UserError(where, problem, "Use --model simgrid or hardware")
        if evaluator == GRAPH:
            problem = f"model {machine.name} gives the times of whole blocks, which a graph has no use for"
            raise SettingError("--evaluator graph", problem, "Use --model simgrid, or --evaluator cohorts")
        return ChosenEvaluator(COHORTS, f"model {machine.name} gives the times of whole blocks")
    if evaluator is None and _one_at_a_time(application, machine):
        return ChosenEvaluator(COHORTS, "never two messages at the same time")
    if evaluator is None and single is None and not machine.collectives_are_messages and _has_collectives(application):
        return ChosenEvaluator(COHORTS, f"model {machine.name} gives the times of whole collectives", caution=_CAUTION)
    return _graph_if_possible(application, asked=evaluator == GRAPH, single=single)


def _graph_if_possible(application: Application, *, asked: bool, single: tuple[str, str] | None) -> ChosenEvaluator:
    """Return the graph, or cohorts where it would be too large; an error is raised if it was ``asked`` for.

    Cohorts are no choice either if ``single`` names a step that they do not represent.
    """
    processes = sum(application.counts().values())
    if processes > MOST_PROCESSES:
        problem = f"{processes} processes are more than the {MOST_PROCESSES} that it evaluates one by one"
    else:
        try:
            stream = expand(application)
            events = number_of_events(stream)
            if asked or events <= MOST_EVENTS:
                return ChosenEvaluator(GRAPH, "messages may meet", stream)
            problem = f"about {events} events are more than {MOST_EVENTS}"
        except TooManyInstructions as err:
            problem = f"{err.where}: {err.problem}"
    if asked:
        raise NoGraph("--evaluator graph", problem, "Leave it out, or take fewer processes or turns")
    if single is not None:
        remedy = "Take fewer processes or turns, or simulate it: gridval blocks run --simulate"
        where, why = single
        raise UserError(where, f"{why}, so that it needs a graph, but {problem}", remedy)
    return ChosenEvaluator(COHORTS, f"no graph: {problem}", caution=_CAUTION)


def _has_collectives(application: Application) -> bool:
    programs = (all_steps(None, label.program, "") for label in application.labels)
    return any(isinstance(step, Collective) for program in programs for step, _ in program)


def _one_at_a_time(application: Application, machine: HardwareMachine) -> bool:
    """Return whether at most one message is on its way at any time, and no core is shared."""
    if any(group.threads > machine.unit_of(group).unit.cores for group in machine.groups if group.count):
        return False
    counts = application.counts()
    hubs = [label for label, count in counts.items() if count == 1]
    busy = [label for label in application.labels if counts[label.name]]
    return any(all(_is_with(process.program, process.name, hub) for process in busy) for hub in hubs)


def _is_with(steps: Sequence[Step], label: str, hub: str) -> bool:
    """Return whether all messages of the steps are waited for, and are from or to the process ``hub``."""
    for step in steps:
        if isinstance(step, Send | Receive):
            other = step.to if isinstance(step, Send) else step.sender
            if hub not in (label, other) or (isinstance(step, Send) and step.buffered != Expression.of(False)):
                return False
        elif not isinstance(step, Compute | Repeat | If | Set | While) or not _is_with(inner_steps(step), label, hub):
            return False
    return True
