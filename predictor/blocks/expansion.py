"""Expand programs into the steps that evaluators know: loops, conditions and blocks.

Named steps take the place of their calls, a ``While`` that only its turn decides becomes ``Repeat``, messages that may
have no partner get a condition, operations are divided by the efficiency, and variables that each process has for
itself become parts of expressions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from platforms.errors import UserError
from predictor.blocks.expressions import Expression, grid_functions
from predictor.blocks.parsing import Value
from predictor.blocks.places import program_place
from predictor.blocks.programs import (
    Call,
    Compute,
    If,
    Inline,
    Label,
    NamedSteps,
    Receive,
    Repeat,
    Reply,
    Send,
    Set,
    Step,
    While,
    numbered,
)
from predictor.blocks.progression import Progression

MOST_STEPS = 100_000  # of a label's program
MOST_TURNS = 1_000_000  # of a while loop, whose condition is evaluated for each
_KEPT = "kept_"  # begins the names of arguments that are kept for a call
_DEEPEST = 16  # calls of named steps in each other: an argument may be evaluated twice for each


@dataclass(frozen=True)
class Expansion:
    """The named steps and variables that programs are expanded with.

    Attributes:
        named: The named steps, by name.
        own: Definitions of lists and functions, and of the variables that each process has for itself.
        known: Names of variables, lists, functions and labels.
        states: Names that steps set.
    """

    named: Mapping[str, NamedSteps]
    own: Mapping[str, Expression]
    known: frozenset[str]
    states: frozenset[str] = frozenset()

    def expanded(self, label: Label, where: str) -> Label:
        """Return the label with its program expanded; ``where`` is the file, for error messages."""
        grid = [Expression.of(extent) for extent in label.grid]
        variables = {**self.own, **(grid_functions(grid, label.periodic) if grid else {})}
        efficiency = _unplaced() if isinstance(label.efficiency, Mapping) else label.efficiency
        efficiency = None if efficiency is None else Expression.of(efficiency)
        program = _Program(self, variables, efficiency, label.measured)
        place = program_place(where, label.name)
        expanded = program.steps(None, label.program, _Names({}, frozenset()), place)
        return replace(label, program=expanded, efficiency=None, measured=None)


@dataclass(frozen=True)
class _Names:
    """The names of a place in a program.

    Attributes:
        defined: Definitions of parameters and of renamed loop variables.
        loops: Variables of the enclosing loops, of callers too.
        depth: Number of calls that enclose the place.
    """

    defined: Mapping[str, Expression]
    loops: frozenset[str]
    depth: int = 0

    def with_loop(self, variable: str, known: frozenset[str]) -> tuple[_Names, str]:
        """Return the names inside a loop, and its variable: another one if a caller's loop has the same."""
        new, number = variable, 1
        while new in self.loops or (new != variable and new in known):
            number += 1
            new = f"{variable}_{number}"
        defined = {**self.defined, variable: Expression.of(new)} if new != variable else self.defined
        return _Names(defined, self.loops | {new}, self.depth), new


class _Program:
    """Expands one label's program."""

    def __init__(
        self,
        expansion: Expansion,
        variables: Mapping[str, Expression],
        efficiency: Expression | None,
        measured: Expression | None,
    ):
        self._expansion, self._own, self._efficiency, self._made = expansion, variables, efficiency, 0
        self._measured = measured
        self._known = expansion.known | expansion.states
        self._kept = 0  # arguments that are set before their call

    def steps(self, owner: Step | None, steps: Sequence[Step], names: _Names, where: str) -> tuple[Step, ...]:
        """Return the expanded steps inside ``owner``, whose place is ``where``."""
        return tuple(self._step(step, names, place) for step, place in numbered(owner, steps, where))

    def _step(self, step: Step, names: _Names, where: str) -> Step:
        self._made += 1
        if self._made > MOST_STEPS:
            raise UserError(where, f"more than {MOST_STEPS} steps after all calls", "Use loops, or fewer calls")
        if isinstance(step, Call):
            return self._call(step, names, where)
        if isinstance(step, While):
            return self._while(step, names, where)
        if isinstance(step, Compute):
            return self._compute(step, names)
        if isinstance(step, Send | Reply):
            step = self._sized(step, names)
        made = self._bound(step, names)
        if isinstance(made, Repeat):
            inner = names
            if made.variable is not None:
                inner, variable = names.with_loop(made.variable, self._known)
                made = replace(made, variable=variable)
            return replace(made, steps=self.steps(step, made.steps, inner, where))
        if isinstance(made, If):
            otherwise = self.steps(step, made.otherwise, names, where)
            return replace(made, steps=self.steps(step, made.steps, names, where), otherwise=otherwise)
        if isinstance(made, Send | Receive) and made.at is not None and Expression.of(made.at).may_be_nobody:
            exists = Expression.of("process != nobody").defined({"process": Expression.of(made.at)})
            return Inline(exists, (made,))
        return made

    def _expression(self, expression: Expression, names: _Names) -> Expression:
        return expression.defined(names.defined).defined(self._own, together=True)

    def _bound(self, step: Step, names: _Names) -> Step:
        """Return the step with all its own expressions in terms of numbers, loop variables and index."""
        changed: dict[str, Any] = {}
        for field in fields(step):
            value = getattr(step, field.name)
            if isinstance(value, Expression):
                bound = self._expression(value, names)
                if bound is not value:
                    changed[field.name] = bound
        return replace(step, **changed) if changed else step

    def _sized(self, step: Send | Reply, names: _Names) -> Send | Reply:
        """Return the step with its size for the name `bytes` in `buffered`, unless the description has that name."""
        buffered = Expression.of(step.buffered)
        if "bytes" not in buffered.names or "bytes" in {*self._known, *names.defined, *names.loops}:
            return step
        return replace(step, buffered=buffered.defined({"bytes": Expression.of(step.bytes)}))

    def _compute(self, step: Compute, names: _Names) -> Step:
        efficiency = self._efficiency if step.efficiency is None else Expression.of(step.efficiency)
        inner = names if step.size is None else replace(names, defined=_without(names.defined, "size"))
        operations = self._expression(Expression.of(step.operations), inner)
        if efficiency is not None:
            efficiency = self._expression(efficiency, names if step.efficiency is not None else _Names({}, frozenset()))
        if self._measured is not None:
            efficiency = _measured_or(self._measured, efficiency)
        if efficiency is not None:
            operations = _slowed(operations, efficiency)
        size = None if step.size is None else self._expression(Expression.of(step.size), names)
        if operations is step.operations and size is step.size:
            return step
        return replace(step, operations=operations, size=size, efficiency=None)

    def _call(self, step: Call, names: _Names, where: str) -> Step:
        if names.depth == _DEEPEST:
            raise UserError(where, f"more than {_DEEPEST} calls in each other", "Give named steps fewer levels")
        called = self._expansion.named[step.name]
        arguments = {n: self._expression(Expression.of(value), names) for n, value in step.arguments.items()}
        before = [self._before_call(n, value, arguments) for n, value in arguments.items() if self._changes(value)]
        inner = _Names(arguments, names.loops, names.depth + 1)
        inline = Inline("True", called.steps, prefix=step.name)
        inline = replace(inline, steps=self.steps(inline, called.steps, inner, where))
        return Inline("True", (*before, inline)) if before else inline

    def _changes(self, expression: Expression) -> bool:
        return any(name in self._expansion.states or name.startswith(_KEPT) for name in expression.names)

    def _before_call(self, name: str, value: Expression, arguments: dict[str, Expression]) -> Set:
        """Return the step that keeps an argument, which the called steps could change by what they set."""
        self._kept += 1
        kept = f"{_KEPT}{self._kept}_{name}"

        def evaluate(scope: Mapping[str, Any]) -> Any:
            return scope[kept]

        arguments[name] = Expression.computed(
            kept, frozenset({kept}), evaluate, ((kept, value),), may_be_nobody=value.may_be_nobody
        )
        return Set(kept, value)

    def _while(self, step: While, names: _Names, where: str) -> Step:
        inner, variable = names, step.variable
        if variable is not None:
            inner, variable = names.with_loop(variable, self._known)
        condition = self._expression(Expression.of(step.condition), inner)
        at_most = None if step.at_most is None else self._expression(Expression.of(step.at_most), names)
        steps = self.steps(step, step.steps, inner, where)
        if step.until or at_most is None or self._changes(condition):
            return replace(step, condition=condition, at_most=at_most, steps=steps, variable=variable)
        return Repeat(_turns(condition, variable, at_most), steps, variable)


def _without(names: Mapping[str, Expression], name: str) -> dict[str, Expression]:
    return {key: value for key, value in names.items() if key != name}


def _unplaced() -> Expression:
    """Return the efficiency of a process whose processor is not known; ``placed.placed`` replaces it."""

    def evaluate(scope: Mapping[str, Any]) -> Any:
        raise UserError("efficiency", "efficiencies by processor without a system", "Make a Setting of both")

    return Expression.computed("efficiency by processor", frozenset({"index"}), evaluate)


def _measured_or(measured: Expression, efficiency: Expression | None) -> Expression:
    """Return the measured share of the speed, and the efficiency where that is 0."""
    given = Expression.of(1) if efficiency is None else efficiency

    def evaluate(scope: Mapping[str, Any]) -> Any:
        return measured.value(scope, "measured share") or given.value(scope, "efficiency")

    definitions = (("measured share", measured), ("efficiency", given))
    return Expression.computed(given.text, measured.names | given.names, evaluate, definitions)


def _slowed(operations: Expression, efficiency: Expression) -> Expression:
    """Return the operations that take as long at peak speed as these at an efficiency."""

    def evaluate(scope: Mapping[str, Any]) -> Any:
        share = efficiency.value(scope, "efficiency")
        if not share > 0 or share > 1:
            given = "" if efficiency.text == f"{share}" else f" from {efficiency.text!r}"
            raise UserError("efficiency", f"an efficiency of {share}{given}", "Give more than 0 and at most 1")
        return operations.value(scope, "operations") / share

    definitions = (("operations", operations), ("efficiency", efficiency))
    return Expression.computed(operations.text, operations.names | efficiency.names, evaluate, definitions)


def most_turns(most: Value, where: str) -> int:
    """Return the bound of a loop with a condition, which has to be a whole number."""
    if isinstance(most, Progression):
        raise most.split_all()
    if most != int(most) or not 0 <= most <= MOST_TURNS:
        raise UserError(where, f"at_most is {most:g}", f"Give a whole number from 0 to {MOST_TURNS}")
    return int(most)


def _turns(condition: Expression, variable: str | None, at_most: Expression) -> Expression:
    """Return the number of turns before the first one for which the condition does not hold; no step changes it."""

    def evaluate(scope: Mapping[str, Any]) -> Value:
        most = most_turns(at_most.value(scope, "at_most"), "at_most")
        if variable is None or variable not in condition.names:
            return most if most and condition.value(scope, "turn 0") else 0
        for turn in range(most):
            if not condition.value({**scope, variable: turn}, f"turn {turn}"):
                return turn
        return most

    names = (condition.names - {variable}) | at_most.names
    return Expression.computed(condition.text, names, evaluate, (("condition", condition), ("at_most", at_most)))
