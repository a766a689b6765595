"""The dispatch over the kinds of steps, and what programs that walk through steps have in common.

Check the constant numbers of programs before anything is evaluated.

A number is constant if it depends on neither the process nor the turn of a loop.  Steps inside loops and conditions are
checked if it is certain that they are done.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from platforms.errors import UserError, inside
from predictor.blocks.application import Application
from predictor.blocks.expressions import Expression
from predictor.blocks.places import program_place
from predictor.blocks.programs import (
    Collective,
    Compute,
    If,
    Number,
    ReadDisk,
    Receive,
    ReceiveAny,
    Repeat,
    Reply,
    Rooted,
    Send,
    Set,
    Step,
    Wait,
    While,
    WriteDisk,
    all_steps,
    names_set,
    numbered,
)

_Who = TypeVar("_Who")
_Done = TypeVar("_Done")
_MESSAGES, _DISKS, _LOOSE = (Send, Receive), (ReadDisk, WriteDisk), (ReceiveAny, Reply, Wait)


@dataclass(frozen=True)
class StepActions(Generic[_Who, _Done]):
    """The action for each kind of step.  Its arguments are who does the step, the step, and its place for errors."""

    compute: Callable[[_Who, Compute, str], _Done]
    message: Callable[[_Who, Send | Receive, str], _Done]
    collective: Callable[[_Who, Collective, str], _Done]
    disk: Callable[[_Who, ReadDisk | WriteDisk, str], _Done]
    repeat: Callable[[_Who, Repeat, str], _Done]
    branch: Callable[[_Who, If, str], _Done]
    set: Callable[[_Who, Set, str], _Done]
    loop: Callable[[_Who, While, str], _Done]  # whose condition is tested in each turn
    loose: Callable[[_Who, ReceiveAny | Reply | Wait, str], _Done]  # messages whose partner or end is decided later

    def do(self, who: _Who, step: Step, where: str) -> _Done:
        """Call the action for the step, and return its result."""
        if isinstance(step, _MESSAGES):
            return self.message(who, step, where)
        if isinstance(step, Compute):
            return self.compute(who, step, where)
        if isinstance(step, If):
            return self.branch(who, step, where)
        if isinstance(step, Repeat):
            return self.repeat(who, step, where)
        if isinstance(step, Collective):
            return self.collective(who, step, where)
        if isinstance(step, _DISKS):
            return self.disk(who, step, where)
        if isinstance(step, Set):
            return self.set(who, step, where)
        if isinstance(step, While):
            return self.loop(who, step, where)
        if isinstance(step, _LOOSE):
            return self.loose(who, step, where)
        raise TypeError(f"{where}: {step!r} is not a step of any kind")


def turns_are_alike(loop: Repeat) -> bool:
    """Return whether no expression in the loop uses its variable, and no step in it sets a name."""
    used = loop.variable is not None and any(
        loop.variable in expression.names for expression in _expressions(loop.steps)
    )
    return not used and not names_set(loop.steps)


def inner_steps(step: Step) -> tuple[Step, ...]:
    """Return the steps inside a loop or a condition; a block has none."""
    return (*getattr(step, "steps", ()), *getattr(step, "otherwise", ()))


def _expressions(steps: Sequence[Step]) -> Iterator[Expression]:
    """Yield all expressions in the steps and in the steps inside them."""
    for step in steps:
        yield from step.expressions()
        yield from _expressions(inner_steps(step))


def only_one_by_one(application: Application) -> tuple[str, str] | None:
    """Return the place of the first step that cohorts do not represent, and what it does; None if there is none."""
    for label in application.labels:
        for step, where in all_steps(None, label.program, program_place(application.where, label.name)):
            if isinstance(step, ReceiveAny | Reply | Wait) or (isinstance(step, Send | Receive) and step.request):
                return where, "it waits for messages in an order of its own"
            if isinstance(step, Collective) and step.split is not None:
                return where, "it is a collective of split processes"
    return None


def check_together(application: Application) -> None:
    """Refuse an application whose messages have to be followed one by one.

    Raises:
        UserError: If a step cannot be evaluated for equal processes together; the error names it.
    """
    single = only_one_by_one(application)
    if single is not None:
        raise UserError(*single, "Evaluate it with --model simgrid or hardware, and without --evaluator")


def check_constants(application: Application) -> None:
    """Check the sizes, operations, partners and roots that are the same for all processes of a label.

    Raises:
        UserError: If one of them is out of its range; the error names the step.
    """
    numbers, counts = application.numbers(), application.counts()
    for label in application.labels:
        if counts[label.name]:
            where = program_place(application.where, label.name)
            _Constants(application, label.name, numbers, counts).check(None, label.program, where)


class _Constants:
    """Checks the program of a label."""

    def __init__(self, application: Application, label: str, numbers: Mapping[str, float], counts: Mapping[str, int]):
        self._application, self._label, self._numbers, self._counts = application, label, numbers, counts

    def check(self, owner: Step | None, steps: Sequence[Step], where: str) -> None:
        """Check the steps inside ``owner``, whose place is ``where``."""
        for step, place in numbered(owner, steps, where):
            self._check_step(step, place)

    def _value(self, number: Number | None, where: str) -> float | None:
        """Return the value of a number, or None if it is not constant."""
        if number is None:
            return None
        expression = Expression.of(number)
        return expression.value(self._numbers, where) if expression.names <= self._numbers.keys() else None  # type: ignore[return-value]  # no progression without index

    def _check_step(self, step: Step, where: str) -> None:
        if isinstance(step, If):
            condition = self._value(step.condition, where)
            if condition is not None:
                self.check(step, step.steps if condition else step.otherwise, where)
            return
        if isinstance(step, Repeat):
            if Expression.of(step.times).names <= self._numbers.keys() and Expression.of(step.times).whole(
                self._numbers, where
            ):
                self.check(step, step.steps, where)
            return
        if isinstance(step, Compute):
            self._not_negative(step.operations, where, "operations")
        elif hasattr(step, "bytes"):
            self._not_negative(step.bytes, where, "bytes")
        if isinstance(step, Send | Receive):
            self._check_partner(step.at, step.to if isinstance(step, Send) else step.sender, where)
        elif isinstance(step, Rooted) and step.split is None:
            self._check_root(step.at, step.root_label(self._application), where)

    def _not_negative(self, number: Number, where: str, what: str) -> None:
        value = self._value(number, where)
        if value is not None and value < 0:
            text = Expression.of(number).defined_text
            raise UserError(inside(where, f", expression {text!r}"), "below 0", f"Give 0 or more {what}")

    def _check_partner(self, at: Number | None, label: str, where: str) -> None:
        value = self._value(at, where)
        if at is not None and value is not None and not self._has(label, value):
            problem = f"process 0 of {self._label} names process {value:g} of {label}, which has {self._counts[label]}"
            text = Expression.of(at).defined_text
            raise UserError(inside(where, f", expression {text!r}"), problem, "Count from 0, and name another process")

    def _check_root(self, at: Number, label: str, where: str) -> None:
        value = self._value(at, where)
        if value is not None and not self._has(label, value):
            raise UserError(where, f"no process {value:g} of {label}, which has {self._counts[label]}", "Count from 0")

    def _has(self, label: str, number: float) -> bool:
        return number == int(number) and 0 <= number < self._counts[label]
