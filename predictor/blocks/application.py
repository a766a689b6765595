"""Applications as blocks of computation and communication: labelled processes, each label with its program.

The applications follow those of MERPSYS (J. Proficz, P. Czarnul, "Performance and Power-Aware Modeling of MPI
Applications for Cluster Computing", section 3).  ``predictor/blocks/description.py`` reads them from TOML files; in
Python::

    Application(
        "master-slave",
        variables={"rounds": 10, "task_bytes": 2**20},
        labels=(
            Label("master", 1, (Repeat("rounds", (Send("slave", "task_bytes"), Receive("slave"))),)),
            Label("slave", 64, (Repeat("rounds", (Receive("master"), Compute("2e9"), Send("master", 8))),)),
        ),
    )

Numbers are expressions (predictor/blocks/expressions.py).  They may use the variables, the names of the labels (each
stands for the number of processes of the label) and ``index``, the number of the process within its label, from 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace

from platforms.errors import UserError, nearest
from predictor.blocks.expressions import FUNCTIONS, Expression
from predictor.blocks.processes.progression import Progression

MOST_PROCESSES = 2**40  # largest number of processes of a label
_NAME = re.compile(r"[A-Za-z_]\w{0,40}")
_RESERVED = {"index", "and", "or", "not", "if", "else", "True", "False", "None", "in", "is", "lambda", *FUNCTIONS}
Number = Expression | str | float  # accepted wherever a step needs a number


@dataclass(frozen=True)
class Step:
    """A step of a program: a block, or a loop or condition that contains steps."""

    def __post_init__(self) -> None:
        for name in self._numbers():
            if getattr(self, name) is not None:
                object.__setattr__(self, name, Expression.of(getattr(self, name)))

    def _numbers(self) -> Iterator[str]:
        return (one.name for one in fields(self) if one.type.startswith("Number"))

    def expressions(self) -> Iterator[Expression]:
        """Yield the step's own expressions, without those of the steps in it."""
        return (getattr(self, name) for name in self._numbers() if getattr(self, name) is not None)


@dataclass(frozen=True)
class Compute(Step):
    """A computation block.

    ``operations``, >= 0, may use the name ``size``, the size of the input, if that is given.
    """

    operations: Number
    size: Number | None = None


@dataclass(frozen=True)
class Send(Step):
    """A message to the process ``at`` of a label, or to each of its members in their order, except the sender itself.

    The step lasts until the message has arrived.  With ``buffered`` (which may be an expression such as
    "bytes < 65536") the sender goes on at once, and messages to several members are in flight at the same time.
    """

    to: str
    bytes: Number
    at: Number | None = None
    buffered: Number = False


@dataclass(frozen=True)
class Receive(Step):
    """The next message from the process ``at`` of a label, or one from each of its members in their order."""

    sender: str
    at: Number | None = None


@dataclass(frozen=True)
class Collective(Step):
    """A collective operation of all members of the labels ``among`` (empty: all labels), which leave it together."""

    block = ""  # a name in predictor.blocks.model.COLLECTIVES

    among: tuple[str, ...] = ()


@dataclass(frozen=True)
class Barrier(Collective):
    """Every process waits for all others."""

    block = "barrier"


@dataclass(frozen=True)
class AllToAll(Collective):
    """Each process sends ``bytes`` to each other process."""

    block = "alltoall"

    bytes: Number = 0


@dataclass(frozen=True)
class Rooted(Collective):
    """A collective with a root."""

    bytes: Number = 0
    root: str = ""  # label of the root; empty: the first label that takes part
    at: Number = 0  # index of the root within its label

    def root_label(self, application: Application) -> str:
        """Return the label of the root."""
        return self.root or members_of(self, application)[0]


@dataclass(frozen=True)
class Broadcast(Rooted):
    """The root sends ``bytes`` to all."""

    block = "bcast"


@dataclass(frozen=True)
class Scatter(Rooted):
    """The root divides ``bytes`` equally among all."""

    block = "scatter"


@dataclass(frozen=True)
class Gather(Rooted):
    """Each process sends an equal part of ``bytes`` to the root."""

    block = "gather"


@dataclass(frozen=True)
class ReadDisk(Step):
    """Read ``bytes`` from the disk of the process's own node, or from a network disk if the node has none."""

    block = "disk_read"

    bytes: Number


@dataclass(frozen=True)
class WriteDisk(Step):
    """Write ``bytes`` to the disk of the process's own node, or to a network disk if the node has none."""

    block = "disk_write"

    bytes: Number


@dataclass(frozen=True)
class Repeat(Step):
    """A loop that does the steps ``times`` times; ``variable`` names the turn, from 0."""

    times: Number
    steps: tuple[Step, ...]
    variable: str | None = None


@dataclass(frozen=True)
class If(Step):
    """A condition: ``steps`` if it is true, else ``otherwise``."""

    condition: Number
    steps: tuple[Step, ...]
    otherwise: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Label:
    """Processes with the same program, and their number."""

    name: str
    count: Number
    program: tuple[Step, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "count", Expression.of(self.count))


@dataclass(frozen=True)
class Application:
    """Labels, and the variables that their programs use.

    Raises:
        UserError: When the application is created and something in it is wrong; the error names the element.
    """

    name: str
    labels: tuple[Label, ...]
    variables: Mapping[str, Number] = field(default_factory=dict, hash=False)
    where: str = ""  # the file, for error messages

    def __post_init__(self) -> None:
        where = self.where or f"application {self.name!r}"
        object.__setattr__(self, "where", where)
        variables = {}
        for name, value in self.variables.items():
            try:
                variables[name] = Expression.of(value)
            except UserError as err:
                raise UserError(f"{where}, variable {name}, {err.where}", err.problem, err.remedy) from None
        object.__setattr__(self, "variables", variables)
        if not self.labels:
            raise UserError(where, "no labels", "Give at least one, with count and program")
        names = [*variables, *(label.name for label in self.labels)]
        for name in names:
            if not _NAME.fullmatch(name) or name in _RESERVED:
                raise UserError(where, f"{name!r} cannot be a name", "Use letters, digits and _, and no reserved word")
            if names.count(name) > 1:
                raise UserError(where, f"the name {name!r} is given twice", "Rename one of them")
        known = frozenset(names)
        for name, expression in variables.items():
            expression.check_names(known, f"{where}, variable {name}")
        for label in self.labels:
            Expression.of(label.count).check_names(known, f"{where}, label {label.name}, count")
            _check_steps(self, label.program, known | {"index"}, f"{where}, label {label.name}, step ")
        self.numbers()

    def label(self, name: str) -> Label:
        """Return the label of this name."""
        return next(label for label in self.labels if label.name == name)

    def numbers(self) -> dict[str, float]:
        """Return the value of every variable and the number of processes of every label, by name.

        Raises:
            UserError: If a variable or a count has no valid value.
        """
        found: dict[str, float] = {}
        open_names: list[str] = []
        given = (*self.variables.items(), *((label.name, label.count) for label in self.labels))
        definitions = {name: Expression.of(value) for name, value in given}

        def find(name: str) -> None:
            if name in found:
                return
            is_label = name not in self.variables
            where = f"{self.where}, {f'label {name}, count' if is_label else f'variable {name}'}"
            if name in open_names:
                circle = ", ".join((*open_names, name))
                raise UserError(where, f"defined in terms of itself: {circle}", "Give one of them a number")
            open_names.append(name)
            for other in sorted(definitions[name].names):
                find(other)
            open_names.pop()
            value = definitions[name].whole(found, where) if is_label else definitions[name].value(found, where)
            if isinstance(value, Progression):  # impossible: no name stands for a progression
                raise value.split_all()
            if is_label and value > MOST_PROCESSES:
                raise UserError(where, f"{value} processes", f"Give at most {MOST_PROCESSES}")
            found[name] = value

        for name in definitions:
            find(name)
        return found

    def counts(self) -> dict[str, int]:
        """Return the number of processes of each label."""
        numbers = self.numbers()
        return {label.name: int(numbers[label.name]) for label in self.labels}

    def changed(
        self, *, counts: Mapping[str, Number] | None = None, variables: Mapping[str, Number] | None = None
    ) -> Application:
        """Return a copy with other numbers of processes and other values of variables.

        Args:
            counts: Numbers of processes, by label.
            variables: Values, by variable.

        Raises:
            UserError: If a label or a variable is unknown.
        """
        counts, variables = counts or {}, variables or {}
        for kind, given, known in (
            ("label", counts, [label.name for label in self.labels]), ("variable", variables, list(self.variables)),
        ):  # fmt: skip
            for name in given:
                if name not in known:
                    raise UserError(self.where, f"no {kind} {name!r}", nearest(name, known) if known else "It has none")
        labels = tuple(replace(label, count=counts.get(label.name, label.count)) for label in self.labels)
        return replace(self, labels=labels, variables={**self.variables, **variables})


def members_of(step: Collective, application: Application) -> tuple[str, ...]:
    """Return the labels that take part in a collective, in the application's order."""
    return tuple(label.name for label in application.labels if not step.among or label.name in step.among)


def _check_steps(application: Application, steps: tuple[Step, ...], known: frozenset[str], where: str) -> None:
    """Check all names and labels in the steps; ``where`` is the text before a step's number in error messages."""
    for number, step in enumerate(steps, 1):
        _check_step(application, step, known, f"{where}{number}")


def _check_step(application: Application, step: Step, known: frozenset[str], where: str) -> None:
    if not isinstance(step, Step):
        raise UserError(where, f"{step!r} is not a step", "Give a step of predictor.blocks.application")
    here = known | {"size"} if isinstance(step, Compute) and step.size is not None else known
    for expression in step.expressions():
        expression.check_names(here, where)
    named = {Send: ("to",), Receive: ("sender",)}.get(type(step), ("root",) if isinstance(step, Rooted) else ())
    labels = [label.name for label in application.labels]
    others = [getattr(step, key) for key in named if getattr(step, key)]
    for name in (*others, *(step.among if isinstance(step, Collective) else ())):
        if name not in labels:
            raise UserError(where, f"no label {name!r}", nearest(name, labels))
    if isinstance(step, Rooted) and step.root and step.root not in members_of(step, application):
        raise UserError(where, f"its root {step.root} does not take part", "Name it in `among` too")
    if isinstance(step, Repeat):
        inner = known
        if step.variable is not None:
            if not _NAME.fullmatch(step.variable) or step.variable in _RESERVED or step.variable in known:
                raise UserError(where, f"{step.variable!r} cannot be a loop's variable", "Choose an unused name")
            inner = known | {step.variable}
        _check_steps(application, step.steps, inner, f"{where}.")
    elif isinstance(step, If):
        _check_steps(application, step.steps, known, f"{where}.")
        _check_steps(application, step.otherwise, known, f"{where}.else.")
