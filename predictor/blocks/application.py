"""An application as blocks of computation and communication: labelled processes, each label with its program.

After the applications of MERPSYS (J. Proficz, P. Czarnul, "Performance and Power-Aware Modeling of MPI Applications for
Cluster Computing", section 3).  ``predictor/blocks/description.py`` reads one from TOML; in Python::

    Application(
        "master-slave",
        variables={"rounds": 10, "task_bytes": 2**20},
        labels=(
            Label("master", 1, (Repeat("rounds", (Send("slave", "task_bytes"), Receive("slave"))),)),
            Label("slave", 64, (Repeat("rounds", (Receive("master"), Compute("2e9"), Send("master", 8))),)),
        ),
    )

Numbers are expressions (predictor/blocks/expressions.py) of the variables, the labels (a label's name stands for its
number of processes) and ``index``, the process's number within its label, from 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace

from platforms.errors import UserError, nearest
from predictor.blocks.evaluation.progression import Progression
from predictor.blocks.expressions import FUNCTIONS, Expression

MOST_PROCESSES = 2**40  # of a label
_NAME = re.compile(r"[A-Za-z_]\w{0,40}")
_RESERVED = {"index", "and", "or", "not", "if", "else", "True", "False", "None", "in", "is", "lambda", *FUNCTIONS}
Number = Expression | str | float  # what may be given where a number is wanted


@dataclass(frozen=True)
class Step:
    """A block, or what holds blocks."""

    def __post_init__(self) -> None:
        for name in self._numbers():
            if getattr(self, name) is not None:
                object.__setattr__(self, name, Expression.of(getattr(self, name)))

    def _numbers(self) -> Iterator[str]:
        return (one.name for one in fields(self) if one.type.startswith("Number"))

    def expressions(self) -> Iterator[Expression]:
        """All that it has by itself."""
        return (getattr(self, name) for name in self._numbers() if getattr(self, name) is not None)


@dataclass(frozen=True)
class Compute(Step):
    """A computation block.  ``operations``, >= 0, may use ``size``, the input's, where that is given."""

    operations: Number
    size: Number | None = None


@dataclass(frozen=True)
class Send(Step):
    """A message to the process ``at`` of a label, or to each of its members (but not to oneself) in their order.

    It takes until the message has come; with ``buffered`` (an expression too, such as "bytes < 65536") the sender goes
    on at once, and the messages to several members travel at the same time.
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
    """All members of the labels ``among`` (none: of all labels) take part; they leave it together."""

    block = ""  # of predictor.blocks.model.COLLECTIVES

    among: tuple[str, ...] = ()


@dataclass(frozen=True)
class Barrier(Collective):
    """Everybody waits for all others."""

    block = "barrier"


@dataclass(frozen=True)
class AllToAll(Collective):
    """Each sends ``bytes`` to each."""

    block = "alltoall"

    bytes: Number = 0


@dataclass(frozen=True)
class Rooted(Collective):
    """One with a root."""

    bytes: Number = 0
    root: str = ""  # label; none: the first of those that take part
    at: Number = 0  # its index in there

    def root_label(self, application: Application) -> str:
        return self.root or members_of(self, application)[0]


@dataclass(frozen=True)
class Broadcast(Rooted):
    """``bytes`` from the root to all."""

    block = "bcast"


@dataclass(frozen=True)
class Scatter(Rooted):
    """``bytes`` at the root, an equal part of them to each."""

    block = "scatter"


@dataclass(frozen=True)
class Gather(Rooted):
    """An equal part of ``bytes`` from each, to the root."""

    block = "gather"


@dataclass(frozen=True)
class ReadDisk(Step):
    """``bytes`` from the disk of the own node, or else from a network disk."""

    block = "disk_read"

    bytes: Number


@dataclass(frozen=True)
class WriteDisk(Step):
    """``bytes`` to the disk of the own node, or else to a network disk."""

    block = "disk_write"

    bytes: Number


@dataclass(frozen=True)
class Repeat(Step):
    """The steps ``times`` times; ``variable`` counts from 0."""

    times: Number
    steps: tuple[Step, ...]
    variable: str | None = None


@dataclass(frozen=True)
class If(Step):
    """One or the other steps."""

    condition: Number
    steps: tuple[Step, ...]
    otherwise: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Label:
    """Equal processes: how many, and what each does."""

    name: str
    count: Number
    program: tuple[Step, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "count", Expression.of(self.count))


@dataclass(frozen=True)
class Application:
    """Labels and the variables that their programs use.  Checked when made: raises UserError naming the element."""

    name: str
    labels: tuple[Label, ...]
    variables: Mapping[str, Number] = field(default_factory=dict, hash=False)
    where: str = ""  # the file, for complaints

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
                raise UserError(where, f"the name {name!r} stands for two things", "Rename one")
        known = frozenset(names)
        for name, expression in variables.items():
            expression.check_names(known, f"{where}, variable {name}")
        for label in self.labels:
            Expression.of(label.count).check_names(known, f"{where}, label {label.name}, count")
            _check_steps(self, label.program, known | {"index"}, f"{where}, label {label.name}, step ")
        self.numbers()

    def label(self, name: str) -> Label:
        return next(label for label in self.labels if label.name == name)

    def numbers(self) -> dict[str, float]:
        """The value of every variable, and every label's count.  Raises UserError for those that have none."""
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
                raise UserError(where, f"defined by itself: {' by '.join((*open_names, name))}", "Give one a number")
            open_names.append(name)
            for other in sorted(definitions[name].names):
                find(other)
            open_names.pop()
            value = definitions[name].whole(found, where) if is_label else definitions[name].value(found, where)
            if isinstance(value, Progression):  # none is among the names
                raise value.split_all()
            if is_label and value > MOST_PROCESSES:
                raise UserError(where, f"{value} processes", f"Give at most {MOST_PROCESSES}")
            found[name] = value

        for name in definitions:
            find(name)
        return found

    def counts(self) -> dict[str, int]:
        """Processes of each label."""
        numbers = self.numbers()
        return {label.name: int(numbers[label.name]) for label in self.labels}

    def changed(
        self, *, counts: Mapping[str, Number] | None = None, variables: Mapping[str, Number] | None = None
    ) -> Application:
        """The same with other counts of labels and other values of variables.  Raises UserError for unknown names."""
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
    """The labels that take part, in the application's order."""
    return tuple(label.name for label in application.labels if not step.among or label.name in step.among)


def _check_steps(application: Application, steps: tuple[Step, ...], known: frozenset[str], where: str) -> None:
    """Every name in them, and every label; ``where``: what comes before a step's number."""
    for number, step in enumerate(steps, 1):
        _check_step(application, step, known, f"{where}{number}")


def _check_step(application: Application, step: Step, known: frozenset[str], where: str) -> None:
    if not isinstance(step, Step):
        raise UserError(where, f"{step!r} is no step", "Give one of predictor.blocks.application")
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
                raise UserError(where, f"{step.variable!r} cannot be a loop's variable", "Take a name that is free")
            inner = known | {step.variable}
        _check_steps(application, step.steps, inner, f"{where}.")
    elif isinstance(step, If):
        _check_steps(application, step.steps, known, f"{where}.")
        _check_steps(application, step.otherwise, known, f"{where}.else.")
