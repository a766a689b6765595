"""Check the constant numbers of programs before anything is evaluated.

A number is constant if it depends on neither the process nor the turn of a loop.  Steps inside loops and conditions are
checked if it is certain that they are done.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from platforms.errors import UserError, inside
from predictor.blocks.application import (
    Application,
    Compute,
    If,
    Number,
    Receive,
    Repeat,
    Rooted,
    Send,
    Step,
    numbered,
)
from predictor.blocks.expressions import Expression
from predictor.blocks.places import program_place


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
