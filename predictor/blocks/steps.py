"""The dispatch over the kinds of steps, and what programs that walk through steps have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from platforms.errors import UserError
from predictor.blocks.application import (
    Application,
    Collective,
    Compute,
    If,
    ReadDisk,
    Receive,
    ReceiveAny,
    Repeat,
    Reply,
    Send,
    Set,
    Step,
    Wait,
    While,
    WriteDisk,
    all_steps,
    names_set,
)
from predictor.blocks.expressions import Expression
from predictor.blocks.places import program_place

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
