"""Checks of the names, labels and calls in programs, before anything in them is evaluated."""

import re
from collections.abc import Mapping, Sequence
from keyword import iskeyword

from platforms.errors import UserError, inside, nearest
from predictor.blocks.expressions import Expression
from predictor.blocks.parsing import FUNCTIONS, place_name, place_of
from predictor.blocks.places import label_place, named_steps_place, step_place
from predictor.blocks.programs import (
    Call,
    Collective,
    Compute,
    If,
    Label,
    NamedSteps,
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
    all_steps,
    names_set,
    numbered,
)

_NAME = re.compile(r"[A-Za-z_]\w{0,40}")
_OLD_FUNCTIONS = set(FUNCTIONS) - {"part"}  # names of later functions may be names of variables too
RESERVED = {"index", "nobody", *_OLD_FUNCTIONS}  # beside the keywords of Python


class UnawaitedRequest(UserError):
    """A request for which no step waits."""


class UnknownRequest(UserError):
    """A step that waits for a request of no send or receive."""

    def __init__(self, where: str, problem: str, remedy: str, request: str):
        super().__init__(where, problem, remedy)
        self.request = request


class WrongArguments(UserError):
    """A call of named steps whose arguments are not their parameters."""

    def __init__(self, where: str, problem: str, remedy: str, steps: str):
        super().__init__(where, problem, remedy)
        self.steps = steps


def check_name(name: str, where: str) -> None:
    """Refuse what cannot be the name of a variable, a label or a parameter."""
    if not _NAME.fullmatch(name) or name in RESERVED or iskeyword(name):
        raise UserError(where, f"{name!r} cannot be a name", "Use letters, digits and _, and no reserved word")


def place_names(labels: Sequence[Label]) -> frozenset[str]:
    """Return the names, in expressions, of the functions of a place in the labels' grids."""
    extents = {len(label.grid) for label in labels if label.grid}
    made = {place_name("neighbour", count) for count in extents}
    return frozenset(made | {place_name("coordinate", 1)} if extents else made)


def check_labels(
    labels: Sequence[Label],
    named: Sequence[NamedSteps],
    known: frozenset[str],
    variables: Mapping[str, Expression],
    where: str,
) -> None:
    """Check all names and calls in the programs of the labels.

    Args:
        labels: The labels.
        named: The steps that programs call by a name.
        known: Names of variables and labels.
        variables: The variables, lists and functions that differ by process.
        where: The file, for error messages.
    """
    of_named = frozenset().union(*(names_set(steps.steps) for steps in named))
    for label in labels:
        here = label_place(where, label.name)
        for extent in label.grid:
            extent = Expression.of(extent)
            extent.check_names(known, inside(here, ", grid", "grid"))
            if differing := sorted(extent.names & variables.keys()):
                problem = f"{place_of(differing[0])} differs by process"
                raise UserError(inside(here, ", grid", "grid"), problem, "Use variables without index here")
        if label.count is not None:
            Expression.of(label.count).check_names(known, inside(here, ", count", "count"))
        names = known | {"index"} | place_names([label])
        by_processor = label.efficiency if isinstance(label.efficiency, Mapping) else {"": label.efficiency}
        for efficiency in by_processor.values():
            if efficiency is not None:
                Expression.of(efficiency).check_names(names, inside(here, ", efficiency", "efficiency"))
        by_name = {steps.name: steps for steps in named}
        checker = _Checker([label.name for label in labels], by_name, label.name, names)
        checker.check(
            None, label.program, names | names_set(label.program) | of_named, inside(here, ", step ", "program")
        )


def check_named_steps(
    named: Sequence[NamedSteps], labels: Sequence[Label], known: frozenset[str], states: frozenset[str], where: str
) -> None:  # fmt: skip
    """Check named steps: their names, parameters and steps, and that they do not call themselves.

    ``known`` has the names of variables and labels, and ``states`` those that steps set.
    """
    by_name = {steps.name: steps for steps in named}
    if len(by_name) < len(named):
        raise UserError(where, "two [steps] have the same name", "Rename one of them")
    for steps in named:
        here = named_steps_place(where, steps.name)
        check_name(steps.name, here)
        for parameter in steps.parameters:
            check_name(parameter, here)
            if parameter in known | states or steps.parameters.count(parameter) > 1:
                raise UserError(here, f"the name {parameter!r} is given twice", "Rename the parameter")
        names = known | {"index", *steps.parameters} | place_names(labels)
        checker = _Checker([label.name for label in labels], by_name, None, names)
        checker.check(None, steps.steps, names | states, inside(here, ", step ", "do"))
    for steps in named:
        _check_circle(steps, by_name, (), where)


def _check_circle(steps: NamedSteps, named: Mapping[str, NamedSteps], callers: tuple[str, ...], where: str) -> None:
    if steps.name in callers:
        circle = ", ".join((*callers[callers.index(steps.name) :], steps.name))
        raise UserError(named_steps_place(where, steps.name), f"they call themselves: {circle}", "Use a loop instead")
    for name in dict.fromkeys(_called(steps.steps)):
        _check_circle(named[name], named, (*callers, steps.name), where)


def _called(steps: Sequence[Step]) -> list[str]:
    names_called = [step.name for step in steps if isinstance(step, Call)]
    for step in steps:
        names_called += _called((*getattr(step, "steps", ()), *getattr(step, "otherwise", ())))
    return names_called


def check_requests(program: Sequence[Step], where: str) -> None:
    """Check that every request of a label's expanded program is waited for, and that no other is."""
    begun, waited = set[str](), set[str]()
    places: dict[str, str] = {}
    for step, place in all_steps(None, program, inside(where, ", step ", "program")):
        if isinstance(step, Send | Receive) and step.request:
            begun.add(step.request)
            places.setdefault(step.request, place)
        elif isinstance(step, Wait):
            waited |= set(step.requests) or {""}
            for name in step.requests:
                places.setdefault(name, place)
    for name in sorted(waited - begun - {""}):
        remedy = nearest(name, begun) if begun else 'Write for example request = "a" in a send or receive'
        raise UnknownRequest(places[name], f"no send or receive has the request {name!r}", remedy, name)
    if "" not in waited and begun - waited:
        name = min(begun - waited)
        raise UnawaitedRequest(places[name], f"nothing waits for the request {name!r}", f'Add {{ wait = "{name}" }}')


class _Checker:
    """Checks the steps of a program, or named steps."""

    def __init__(
        self, labels: Sequence[str], named: Mapping[str, NamedSteps], label: str | None, fixed: frozenset[str]
    ):
        """Take the names of all labels, the named steps, and the label of the program (None: of named steps).

        ``fixed`` has the names that no step sets.
        """
        self._labels, self._named, self._label, self._fixed = labels, named, label, fixed

    def check(self, owner: Step | None, steps: Sequence[Step], known: frozenset[str], where: str) -> None:
        """Check the steps inside ``owner``, whose place is ``where``; ``known`` has the names that they may use."""
        if owner is None:
            for number, step in enumerate(steps, 1):
                if not isinstance(step, Step):
                    place = step_place(where, number)
                    raise UserError(place, f"{step!r} is not a step", "Give a step of application.py")
        for step, place in numbered(owner, steps, where):
            self._check_step(step, known, place)

    def _check_step(self, step: Step, known: frozenset[str], where: str) -> None:
        here = known | {"size"} if isinstance(step, Compute) and step.size is not None else known
        here = here | {step.variable} if isinstance(step, While) and step.variable is not None else here
        sized = Expression.of(step.buffered) if isinstance(step, Send | Reply) else None
        for expression in step.expressions():
            expression.check_names(here | {"bytes"} if expression is sized else here, where)
        self._check_labels_of(step, where)
        if isinstance(step, Set):
            self._check_set(step, where)
        elif isinstance(step, Call):
            self._check_call(step, where)
        elif isinstance(step, Repeat | While):
            inner = known
            if step.variable is not None:
                variable = step.variable
                if not _NAME.fullmatch(variable) or variable in known | RESERVED or iskeyword(variable):
                    raise UserError(where, f"{variable!r} cannot be a loop's variable", "Choose an unused name")
                inner = known | {variable}
            self.check(step, step.steps, inner, where)
        elif isinstance(step, If):
            self.check(step, step.steps, known, where)
            self.check(step, step.otherwise, known, where)

    def _check_set(self, step: Set, where: str) -> None:
        check_name(step.name, where)
        if step.name in self._fixed or step.name in ("size", "bytes"):
            raise UserError(where, f"{step.name!r} has a meaning that no step changes", "Choose an unused name")

    def _check_labels_of(self, step: Step, where: str) -> None:
        named = {Send: ("to",), Receive: ("sender",), ReceiveAny: ("sender",)}.get(
            type(step), ("root",) if isinstance(step, Rooted) else ()
        )
        others = [getattr(step, key) for key in named if getattr(step, key)]
        among = step.among if isinstance(step, Collective) else ()
        for name in (*others, *among):
            if name not in self._labels:
                raise UserError(where, f"no label {name!r}", nearest(name, self._labels))
        if repeated := [name for name in among if among.count(name) > 1]:
            raise UserError(where, f"{repeated[0]} is named twice", "Name each label once")
        if isinstance(step, Rooted) and step.root and among and step.root not in among:
            raise UserError(where, f"its root {step.root} does not take part", "Name it in `among` too")
        if self._label is not None and among and self._label not in among:
            raise UserError(where, f"{self._label} calls it but does not take part", "Name it in `among` too")
        if isinstance(step, Collective) and step.split is not None and len(among or self._labels) > 1:
            raise UserError(where, "split among several labels", "Name one label in `among`")
        if isinstance(step, Rooted) and step.split is not None and step.root:
            raise UserError(where, "a root label of split processes", "Give only `at`, counted among them")

    def _check_call(self, step: Call, where: str) -> None:
        if step.name not in self._named:
            remedy = nearest(step.name, self._named) if self._named else f"Add [steps.{step.name}]"
            raise UserError(where, f"no steps {step.name!r}", remedy)
        wanted = self._named[step.name].parameters
        for name in step.arguments:
            if name not in wanted:
                remedy = nearest(name, wanted) if wanted else "They have none"
                raise WrongArguments(where, f"steps {step.name} have no parameter {name!r}", remedy, step.name)
        for name in wanted:
            if name not in step.arguments:
                remedy = f"Give it, for example {name} = 1"
                raise WrongArguments(where, f"steps {step.name} without {name!r}", remedy, step.name)
