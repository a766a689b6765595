"""Expand an application into the instructions of its processes, once for each distinct process."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import accumulate, groupby
from math import ceil
from typing import Any, cast

from platforms.errors import UserError, inside
from predictor.blocks import programs
from predictor.blocks.application import Application, members_of
from predictor.blocks.expansion import most_turns
from predictor.blocks.expressions import SHARED, Expression
from predictor.blocks.parsing import Value
from predictor.blocks.places import program_place
from predictor.blocks.progression import Number as PlainNumber
from predictor.blocks.progression import Progression, Split
from predictor.blocks.steps import StepActions, check_constants, inner_steps, turns_are_alike
from predictor.blocks.stream.instructions import (
    NONE,
    Collective,
    Compute,
    Disk,
    Instruction,
    Loop,
    Program,
    Receive,
    ReceiveAny,
    Reply,
    Send,
    Stream,
    Wait,
)
from predictor.blocks.stream.turns import Question, Turns, is_told_by_values

MOST_INSTRUCTIONS = 2_000_000  # of all distinct processes together
MOST_OPEN_TURNS = 100_000  # of a loop without at_most, whose condition never ends it
_MOST_KEPT = 100_000  # values of expressions


class TooManyInstructions(UserError):
    """Error of an application whose processes have too many instructions."""


def expand(application: Application, *, most: int = MOST_INSTRUCTIONS) -> Stream:
    """Return the instructions of an application's processes.

    Args:
        application: The application.
        most: Largest number of instructions of all distinct processes together.

    Raises:
        UserError: If an expression has no valid value, or a process named in a step does not exist.
        TooManyInstructions: If there are more.
    """
    check_constants(application)
    return _Expansion(application, most).stream()


class Together:
    """The instructions of equal processes together.

    A group of collectives then has labels: ``labels``, by the number of the group.
    """

    def __init__(self, application: Application):
        self._expansion = _Expansion(application, MOST_INSTRUCTIONS, together=True)
        self._application, self._numbers = application, application.numbers()
        self.first: Mapping[str, int] = self._expansion.first  # number of process 0 of each label
        self.labels: list[tuple[str, ...]] = self._expansion.labels

    def program(self, label: str, index: Progression | PlainNumber, first: int) -> Program:
        """Return the instructions of some processes of a label.

        Args:
            label: The label.
            index: Their indices within the label.  If it is a progression, ``Compute.operations``, ``Send.first`` and
                ``Receive.first`` may be progressions too.
            first: Index of the first one.

        Raises:
            UserError: If an expression has no valid value, or a process named in a step does not exist.
            TooManyInstructions: If there are more.
            Split: If the processes have to be separated first.
        """
        process = _Process(label, index, first, {**self._numbers, "index": index})
        steps, where = self._application.label(label).program, program_place(self._application.where, label)
        before = self._expansion.made
        try:
            return self._expansion.program(steps, process, where)
        except Split:
            self._expansion.made = before
            raise


@dataclass(frozen=True)
class _Process:
    """A process whose instructions are made, or equal processes."""

    label: str
    index: Progression | PlainNumber  # within the label
    first: int  # the first index
    scope: Mapping[str, Value]  # the application's numbers, loop variables and index
    state: dict[str, Value] = field(default_factory=dict)  # values of the names that steps set, by name

    def values(self, expression: Expression) -> Mapping[str, Value]:
        """Return the values of the names in an expression."""
        return self.scope if expression.names <= self.scope.keys() else _Values({**self.scope, **self.state})

    def within(self, variable: str | None, turn: int) -> _Process:
        """Return the process in a turn of a loop."""
        return self if variable is None else replace(self, scope={**self.scope, variable: turn})


class _Values(dict[str, Any]):
    """Values of names; those that are missing have not been set yet."""

    def __missing__(self, name: str) -> Any:
        raise UserError(name, f"{name} has no value yet", "Set it in a step before")


@dataclass
class _Expansion:
    """Makes the instructions, and collects the groups that they refer to."""

    application: Application
    most: int
    counts: dict[str, int] = field(init=False)
    first: dict[str, int] = field(init=False)  # process 0 of each label
    groups: dict[tuple[int, ...], int] = field(default_factory=dict)
    members: dict[tuple[str, ...], tuple[int, int]] = field(default_factory=dict)  # `_group`, by labels
    parts: dict[Hashable, dict[float, tuple[int, ...]]] = field(default_factory=dict)  # `_part`, by split number
    requests: dict[str, int] = field(default_factory=dict)  # numbers of requests, by name
    names: dict[str, tuple[str, ...]] = field(init=False)  # of all requests of each label's program
    made: int = 0  # instructions so far
    known: dict[Hashable, Value] = field(default_factory=dict)  # `_value`, of the present process
    varying: dict[int, tuple[str, ...]] = field(default_factory=dict)  # names that change, by id of the expression
    alike: dict[int, bool] = field(default_factory=dict)  # whether turns are alike, by id of the step
    told: dict[int, bool] = field(default_factory=dict)  # `is_told_by_values`, by id of the step
    asked: list[tuple[Question, Value]] = field(default_factory=list)  # of the present turn: expressions with `turn`
    turn: str = ""  # variable of the loop whose turn is made; none while `asked` is not needed
    together: bool = False  # whether equal processes are taken together
    labels: list[tuple[str, ...]] = field(default_factory=list)  # groups of collectives, for equal processes together

    def __post_init__(self) -> None:
        self.counts = self.application.counts()
        self.first = dict(zip(self.counts, accumulate(self.counts.values(), initial=0), strict=False))
        self.names = {label.name: tuple(sorted(set(_requests(label.program)))) for label in self.application.labels}
        self._actions = StepActions(
            compute=self._compute,
            message=self._message,
            collective=self._collective,
            disk=self._use_disk,
            repeat=self._repeat,
            branch=self._branch,
            set=self._set,
            loop=self._while,
            loose=self._loose,
        )

    @cached_property
    def fixed(self) -> frozenset[str]:
        """Names whose values a process never changes."""
        return frozenset((*self.application.numbers(), "index"))

    def stream(self) -> Stream:
        programs: dict[Program, int] = {}
        of_process = []
        numbers = self.application.numbers()
        for label in self.application.labels:
            same = not _looks_at_itself(label.program, label.name)
            number = 0
            for index in range(self.counts[label.name]):
                if index == 0 or not same:
                    where = program_place(self.application.where, label.name)
                    self.known = {}
                    process = _Process(label.name, index, index, _scope(numbers, index))
                    program = self.program(label.program, process, where)
                    number = programs.setdefault(program, len(programs))
                of_process.append(number)
        return Stream(self.application, tuple(programs), tuple(of_process), tuple(self.groups))

    def program(self, steps: Sequence[programs.Step], process: _Process, where: str) -> Program:
        return tuple(self._steps(None, steps, process, where))

    def _value(self, process: _Process, number: programs.Number, where: str) -> Value:
        """Return the value of an expression, which is kept for the same values of names in the same process."""
        if self.together or not isinstance(number, Expression):
            expression = Expression.of(number)
            return expression.value(process.values(expression), where)
        names = self.varying.get(id(number))
        if names is None:
            names = self.varying[id(number)] = tuple(sorted(number.names - self.fixed))
        scope, state = process.scope, process.state
        key = (id(number), *(scope[name] if name in scope else state.get(name) for name in names))
        if key not in self.known:
            if len(self.known) == _MOST_KEPT:
                self.known.clear()
            self.known[key] = number.value(process.values(number), where)
        if self.turn in names:
            self.asked.append(((number, where), self.known[key]))
        return self.known[key]

    def _whole(self, process: _Process, number: programs.Number, where: str) -> int:
        expression = Expression.of(number)
        return expression.whole(process.values(expression), where)

    def _bytes(self, process: _Process, number: programs.Number, where: str) -> int:
        """Return a size rounded up to whole bytes."""
        value = self._value(process, number, where)
        if isinstance(value, Progression):
            raise value.split_all()
        if value < 0:
            raise _below_zero(number, where, "bytes")
        return ceil(value)

    def _steps(
        self, owner: programs.Step | None, steps: Sequence[programs.Step], process: _Process, where: str
    ) -> Iterator[Instruction]:
        """Yield the instructions of the steps inside ``owner``, whose place for error messages is ``where``."""
        for step, place in programs.numbered(owner, steps, where):
            for child in self._actions.do(process, step, place):
                self._count(place)
                yield child

    def _count(self, where: str) -> None:
        self.made += 1
        if self.made > self.most:
            raise self._too_many(where)

    def _too_many(self, where: str) -> TooManyInstructions:
        remedy = "Take fewer processes, or fewer turns of loops"
        return TooManyInstructions(where, f"more than {self.most} instructions", remedy)

    def _compute(self, process: _Process, step: programs.Compute, where: str) -> Iterable[Instruction]:
        if step.size is not None:
            process = replace(process, scope={**process.scope, "size": self._value(process, step.size, where)})
        operations = self._value(process, step.operations, where)
        if operations < 0:
            raise _below_zero(step.operations, where, "operations")
        return (Compute(cast(float, operations), where=where),)

    def _use_disk(
        self, process: _Process, step: programs.ReadDisk | programs.WriteDisk, where: str
    ) -> Iterable[Instruction]:
        return (Disk(isinstance(step, programs.WriteDisk), self._bytes(process, step.bytes, where), where=where),)

    def _branch(self, process: _Process, step: programs.If, where: str) -> Iterator[Instruction]:
        if bool(self._value(process, step.condition, where)):
            return self._steps(step, step.steps, process, where)
        return self._steps(step, step.otherwise, process, where)

    def _repeat(self, process: _Process, step: programs.Repeat, where: str) -> Iterator[Instruction]:
        """Yield equal consecutive turns as a loop, and other turns one after the other."""
        times = self._whole(process, step.times, where)
        if id(step) not in self.alike:
            self.alike[id(step)] = turns_are_alike(step)
        if self.alike[id(step)]:
            inner = process.within(step.variable, 0)
            if times:
                yield from _loop(tuple(self._steps(step, step.steps, inner, where)), times, where)
        else:
            if times > self.most:
                raise self._too_many(where)
            yield from _loops(self._turns(process, step, times, where), where)

    def _set(self, process: _Process, step: programs.Set, where: str) -> Iterable[Instruction]:
        self._count(where)
        process.state[step.name] = self._value(process, step.value, where)
        return ()

    def _while(self, process: _Process, step: programs.While, where: str) -> Iterator[Instruction]:
        return _loops(self._turns_while(process, step, where), where)

    def _turns_while(self, process: _Process, step: programs.While, where: str) -> Iterator[Program]:
        """Yield the instructions of each turn of a loop whose condition is tested before or after each turn."""
        bound = None if step.at_most is None else most_turns(self._value(process, step.at_most, where), where)
        for turn in range(MOST_OPEN_TURNS + 1 if bound is None else bound):
            inner = process.within(step.variable, turn)
            if not step.until and not self._value(inner, step.condition, where):
                return
            if turn == MOST_OPEN_TURNS and bound is None:
                problem = f"{Expression.of(step.condition).text!r} has not ended the loop after {turn} turns"
                raise UserError(where, problem, "Set what it tests, or bound the loop, for example at_most = 1000")
            self._count(where)
            yield tuple(self._steps(step, step.steps, inner, where))
            if step.until and self._value(inner, step.condition, where):
                return

    def _turns(self, process: _Process, step: programs.Repeat, times: int, where: str) -> Iterator[Program]:
        """Yield the instructions of each turn; a turn whose expressions have the values of another one is not made."""
        if id(step) not in self.told:
            self.told[id(step)] = not self.together and is_told_by_values(step)
        known = Turns()
        for turn in range(times):
            inner = process.within(step.variable, turn)
            body = known.find(partial(self._value, inner)) if self.told[id(step)] else None
            if body is None:
                self.asked, self.turn = [], str(step.variable) if self.told[id(step)] else ""
                body = tuple(self._steps(step, step.steps, inner, where))
                self.turn = ""
                if self.told[id(step)]:
                    known.keep(self.asked, body)
            yield body

    def _message(self, process: _Process, step: programs.Send | programs.Receive, where: str) -> Iterator[Instruction]:
        partner = step.to if isinstance(step, programs.Send) else step.sender
        for first, count in self._partners(process, step, partner, where):
            if isinstance(step, programs.Receive):
                yield Receive(self.first[partner] + first, count, self._request(step.request), where=where)
            else:
                size_bytes = self._bytes(process, step.bytes, where)
                waits = not self._value(process, step.buffered, where)
                request = self._request(step.request) if waits else NONE
                burst = 1 if waits or step.at is not None else self.counts[partner] - (partner == process.label)
                yield Send(self.first[partner] + first, count, size_bytes, waits, request, burst, where=where)

    def _request(self, name: str) -> int:
        return self.requests.setdefault(name, len(self.requests)) if name else NONE

    def _loose(
        self, process: _Process, step: programs.ReceiveAny | programs.Reply | programs.Wait, where: str
    ) -> Iterable[Instruction]:
        if isinstance(step, programs.ReceiveAny):
            label = list(self.counts).index(step.sender) if step.sender else NONE
            return (ReceiveAny(label, where=where),)
        if isinstance(step, programs.Reply):
            waits = not self._value(process, step.buffered, where)
            return (Reply(self._bytes(process, step.bytes, where), waits, where=where),)
        names = step.requests or self.names[process.label]
        return (Wait(tuple(self._request(name) for name in names), where=where),)

    def _partners(
        self, process: _Process, step: programs.Send | programs.Receive, partner: str, where: str
    ) -> Iterator[tuple[int, int]]:
        """Yield the rows (first, count) of partners within their label, without the process itself."""
        count, itself = self.counts[partner], process.index if partner == process.label else None
        if step.at is not None:
            at = self._value(process, step.at, where)
            if isinstance(at, Progression) and not at.whole:
                raise at.split_all()
            if (not isinstance(at, Progression) and at != int(at)) or at < 0 or at >= count or at == itself:
                named = at.first if isinstance(at, Progression) else at
                problem = f"process {process.first} of {process.label} names process {named:g} of {partner}, "
                text = Expression.of(step.at).defined_text
                remedy = "Count from 0, and name another process"
                raise UserError(inside(where, f", expression {text!r}"), f"{problem}which has {count}", remedy)
            yield cast(int, at if isinstance(at, Progression) else int(at)), 1
        elif itself is None:
            yield from ((0, count),) * (count > 0)
        elif isinstance(itself, Progression):
            raise itself.split_all()
        else:
            yield from (
                (row, number)
                for row, number in ((0, process.first), (process.first + 1, count - process.first - 1))
                if number
            )

    def _collective(self, process: _Process, step: programs.Collective, where: str) -> Iterable[Instruction]:
        members = members_of(step, self.application)
        if process.label not in members:
            raise UserError(where, f"{process.label} calls it but does not take part", "Name it in `among` too")
        if step.split is None:
            size, group = self._group(members)
        else:
            ranks, group = self._part(step.split, process, members[0], where)
            size = len(ranks)
        given_bytes, root = 0, 0
        if isinstance(step, programs.AllToAll | programs.AllReduce | programs.AllGather | programs.Rooted):
            given_bytes = self._bytes(process, step.bytes, where)
        if isinstance(step, programs.Rooted) and step.split is not None:
            root = self._whole(process, step.at, where)
            if root >= size:
                raise UserError(where, f"no process {root} of {size} split processes", "Count from 0")
        elif isinstance(step, programs.Rooted):
            label = step.root_label(self.application)
            index = self._whole(process, step.at, where)
            if index >= self.counts[label]:
                problem = f"no process {index} of {label}, which has {self.counts[label]}"
                raise UserError(where, problem, "Count from 0")
            root = sum(self.counts[member] for member in members[: members.index(label)]) + index
        # The step has the whole buffer; MPI counts each process's part.
        parts = size if step.block in ("scatter", "gather", "allgather") else 1
        return (Collective(step.block, group, root, ceil(given_bytes / parts), given_bytes, where=where),)

    def _part(self, split: programs.Number, process: _Process, label: str, where: str) -> tuple[tuple[int, ...], int]:
        """Return the processes of the label with the same split number, and the number of their group."""
        expression = Expression.of(split)
        if unknown := sorted(expression.names - process.scope.keys()):
            problem = f"a split by {unknown[0]}, which steps set for one process only"
            raise UserError(where, problem, "Use index, variables and turns")
        turns = tuple((name, process.scope[name]) for name in sorted(expression.names - {"index"}))
        key = (label, id(split), turns)
        if key not in self.parts:
            by_place: dict[float, list[int]] = {}
            for index in range(self.counts[label]):
                number = _value(expression, _scope(process.scope, index), where)
                by_place.setdefault(number, []).append(self.first[label] + index)
            self.parts[key] = {number: tuple(ranks) for number, ranks in by_place.items()}
        ranks = self.parts[key][_value(expression, process.scope, where)]
        return ranks, self.groups.setdefault(ranks, len(self.groups))

    def _group(self, members: tuple[str, ...]) -> tuple[int, int]:
        """Return the number of processes of the labels, and the number of their group."""
        if members not in self.members:
            if self.together:
                number = len(self.labels)
                self.labels.append(members)
            else:
                ranks = tuple(self.first[label] + i for label in members for i in range(self.counts[label]))
                number = self.groups.setdefault(ranks, len(self.groups))
            self.members[members] = sum(self.counts[label] for label in members), number
        return self.members[members]


def _loops(turns: Iterable[Program], where: str) -> Iterator[Instruction]:
    """Yield equal consecutive turns as a loop, and other turns one after the other."""
    for body, alike in groupby(turns):
        yield from _loop(body, len(list(alike)), where)


def _loop(body: Program, times: int, where: str) -> Program:
    return (Loop(times, body, where=where),) if body and times > 1 else body


def _requests(steps: Sequence[programs.Step]) -> Iterator[str]:
    """Yield the names of the requests of sends and receives, in order and with repetitions."""
    for step in steps:
        if isinstance(step, programs.Send | programs.Receive) and step.request:
            yield step.request
        yield from _requests(inner_steps(step))


def _scope(values: Mapping[str, Value], index: int) -> Mapping[str, Value]:
    """Return the scope of a single process with these values."""
    return {**values, "index": index, SHARED: cast(Value, {})}


def _value(number: programs.Number, scope: Mapping[str, Value], where: str) -> float:
    """Return the value of an expression for one process, which is always a number."""
    value = Expression.of(number).value(scope, where)
    if isinstance(value, Progression):
        raise value.split_all()
    return value


def _below_zero(number: programs.Number, where: str, what: str) -> UserError:
    text = Expression.of(number).defined_text
    return UserError(inside(where, f", expression {text!r}"), "below 0", f"Give 0 or more {what}")


def _looks_at_itself(steps: Sequence[programs.Step], label: str) -> bool:
    """Return whether the processes of the label may have different instructions."""
    for step in steps:
        if any("index" in expression.names for expression in step.expressions()):
            return True
        if isinstance(step, programs.Send | programs.Receive) and label == (
            step.to if isinstance(step, programs.Send) else step.sender
        ):
            return True
        if _looks_at_itself(inner_steps(step), label):
            return True
    return False
