"""Steps of programs: blocks of computation and communication, loops, conditions, and calls of named steps."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import ClassVar, Protocol

from platforms.errors import UserError
from predictor.blocks.expressions import Expression, processes
from predictor.blocks.places import called_place, inner_place, step_place

Number = Expression | str | float  # accepted wherever a step needs a number
_ASSIGNMENT = re.compile(r"\s*([A-Za-z_]\w*)\s*([-+*/]?)=(?!=)(.+)", re.DOTALL)


@dataclass(frozen=True)
class Step:
    """A step of a program: a block, or a loop or condition that contains steps."""

    def __post_init__(self) -> None:
        for name in self._numbers():
            if getattr(self, name) is not None:
                object.__setattr__(self, name, Expression.of(getattr(self, name)))

    def _numbers(self) -> Iterator[str]:
        return (declared.name for declared in fields(self) if declared.type.startswith("Number"))

    def expressions(self) -> Iterator[Expression]:
        """Yield the step's own expressions, without those of the steps in it."""
        return (getattr(self, name) for name in self._numbers() if getattr(self, name) is not None)


@dataclass(frozen=True)
class Compute(Step):
    """A computation block.

    ``operations``, >= 0, may use the name ``size``, the size of the input, if that is given.  ``efficiency`` is the
    share of the peak speed that the computation reaches; None: the label's.
    """

    operations: Number
    size: Number | None = None
    efficiency: Number | None = None


@dataclass(frozen=True)
class Send(Step):
    """A message to the process ``at`` of a label, or to each of its members in their order, except the sender itself.

    The step lasts until the message has arrived.  With ``buffered`` (which may be an expression such as
    "bytes < 65536", where ``bytes`` is the size) the sender goes on at once, and messages to several members are in
    flight at the same time.  With ``request``, a name for ``Wait``, it goes on at once too, and waits later; it does
    not wait for buffered messages.
    """

    to: str
    bytes: Number
    at: Number | None = None
    buffered: Number = False
    request: str = ""


@dataclass(frozen=True)
class Receive(Step):
    """The next message from the process ``at`` of a label, or one from each of its members in their order.

    If ``at`` is the name ``nobody``, which ``neighbour`` gives beyond the end of a grid, there is no message; the same
    holds for a send.
    """

    sender: str
    at: Number | None = None
    request: str = ""  # a name for Wait: the receive is posted, and the process goes on at once


@dataclass(frozen=True)
class ReceiveAny(Step):
    """The first message to come from any process of a label, or of all labels."""

    sender: str = ""  # a label; empty: all labels


@dataclass(frozen=True)
class Reply(Step):
    """A message to the process whose message the latest ``ReceiveAny`` has received; as ``Send`` otherwise."""

    bytes: Number
    buffered: Number = False


@dataclass(frozen=True)
class Wait(Step):
    """Wait for all sends and receives with these requests (empty: with any); there may be none."""

    requests: tuple[str, ...] = ()


@dataclass(frozen=True)
class Collective(Step):
    """A collective operation of all members of the labels ``among`` (empty: all labels), which leave it together.

    With ``split``, it is one of those processes of a single label for which the number is the same as for the caller;
    the root ``at`` is then counted among them.
    """

    block = ""  # a name in predictor.blocks.names.COLLECTIVES or REDUCTIONS

    among: tuple[str, ...] = ()
    split: Number | None = None


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
class AllReduce(Collective):
    """The vectors of ``bytes`` of all processes are combined; each has the result."""

    block = "allreduce"

    bytes: Number = 0


@dataclass(frozen=True)
class AllGather(Collective):
    """The equal parts of ``bytes`` that the processes have are put together; each has the whole."""

    block = "allgather"

    bytes: Number = 0


@dataclass(frozen=True)
class Rooted(Collective):
    """A collective with a root."""

    bytes: Number = 0
    root: str = ""  # label of the root; empty: the first label that takes part
    at: Number = 0  # index of the root within its label

    def root_label(self, application: Labelled) -> str:
        """Return the label of the root."""
        if self.root:
            return self.root
        return next(label.name for label in application.labels if not self.among or label.name in self.among)


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
class Reduce(Rooted):
    """The vectors of ``bytes`` of all processes are combined; the root has the result."""

    block = "reduce"


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

    @property
    def always(self) -> bool:
        """True if the condition is the constant True."""
        return Expression.of(self.condition).text == "True"


@dataclass(frozen=True)
class While(Step):
    """A loop that goes on as long as the condition holds before a turn, at most ``at_most`` turns.

    Without ``at_most`` the condition has to end it.
    """

    until: ClassVar[bool] = False  # whether the loop ends when the condition holds after a turn, and not before one

    condition: Number
    at_most: Number | None = None
    steps: tuple[Step, ...] = ()
    variable: str | None = None  # names the turn, from 0


@dataclass(frozen=True)
class RepeatUntil(While):
    """A loop that ends when the condition holds after a turn; it has at least one, unless ``at_most`` is 0."""

    until: ClassVar[bool] = True


@dataclass(frozen=True)
class Set(Step):
    """Give a name a value, which the process keeps until a later step gives it another one."""

    name: str
    value: Number

    @staticmethod
    def of(text: object) -> Set:
        """Return the step of an assignment, such as ``left = n`` or ``left -= chunk``.

        Raises:
            UserError: If the text is not an assignment.
        """
        match = _ASSIGNMENT.fullmatch(text) if isinstance(text, str) else None
        if match is None:
            remedy = 'Write for example "left = n", or "left -= chunk"; += *= /= are known too'
            raise UserError(f"set {text!r}", "not an assignment", remedy)
        name, sign, value = match[1], match[2], match[3].strip()
        return Set(name, Expression.of(f"{name} {sign} ({value})" if sign else value))


@dataclass(frozen=True)
class NamedSteps:
    """Steps with a name, which programs and other named steps call; parameters stand for expressions of the caller."""

    name: str
    parameters: tuple[str, ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Call(Step):
    """The named steps, with a value for each of their parameters."""

    name: str
    arguments: Mapping[str, Number] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        made = {}
        for name, value in self.arguments.items():
            made[name] = Expression.of(value)
        object.__setattr__(self, "arguments", made)

    def expressions(self) -> Iterator[Expression]:
        """Yield the arguments."""
        return (Expression.of(value) for value in self.arguments.values())


@dataclass(frozen=True)
class Inline(If):
    """Steps in the place of another step, as a condition that holds for all processes or for some.

    Attributes:
        prefix: Text between the place of the step and the number of each of these steps, in error messages; empty:
            there is only one, and it has the place itself.
    """

    prefix: str = ""


@dataclass(frozen=True)
class Label:
    """Processes with the same program, and their number.

    Attributes:
        name: The name of the label.
        count: Number of processes; for processes in a grid, their product is the default.
        program: The steps of each process.
        grid: Numbers of processes along the axes of a Cartesian grid; empty: the processes have none.
        periodic: For each axis, whether its last process is followed by its first one; empty: on no axis.
        efficiency: Share of the peak speed that the computations reach, above 0 and at most 1, or one for each
            processor by its name in the hardware database; None: 1.
        measured: Share of the peak speed at which operations of a measured time run, which replaces all efficiencies of
            the label and of its steps, or 0 for processes without such a time; None: there is no such time.
    """

    name: str
    count: Number | None
    program: tuple[Step, ...]
    grid: tuple[Number, ...] = ()
    periodic: tuple[bool, ...] = ()
    efficiency: Number | Mapping[str, Number] | None = field(default=None, hash=False)
    measured: Expression | None = None

    def __post_init__(self) -> None:
        grid = tuple(Expression.of(extent) for extent in self.grid)
        object.__setattr__(self, "grid", grid)
        object.__setattr__(self, "periodic", tuple(self.periodic) or (False,) * len(grid))
        if len(self.periodic) != len(grid):
            problem = f"{len(self.periodic)} values of periodic for {len(grid)} axes"
            raise UserError(f"label {self.name}", problem, "Give one for each axis")
        if self.count is None and not grid:
            raise UserError(f"label {self.name}", "neither a count nor a grid", "Give one of them")
        object.__setattr__(self, "count", processes(grid) if self.count is None else Expression.of(self.count))
        if isinstance(self.efficiency, Mapping):
            by_processor = {name: Expression.of(value) for name, value in self.efficiency.items()}
            object.__setattr__(self, "efficiency", by_processor)
        elif self.efficiency is not None:
            object.__setattr__(self, "efficiency", Expression.of(self.efficiency))


class Labelled(Protocol):
    """Anything with labels, such as an application."""

    @property
    def labels(self) -> tuple[Label, ...]:
        """The labels."""


def numbered(step: Step | None, steps: Sequence[Step], where: str) -> Iterator[tuple[Step, str]]:
    """Yield some steps with their places, for error messages.

    Args:
        step: The step that contains them; None: they are a program.
        steps: The steps.
        where: The place of the step, or the place of the program.
    """
    if isinstance(step, Inline):
        if not step.prefix:
            yield from ((inner, where) for inner in steps)
            return
        where = called_place(where, step.prefix)
    elif isinstance(step, If):
        where = inner_place(where, "else" if steps is step.otherwise else "then")
    elif step is not None:
        where = inner_place(where, "do")
    yield from ((inner, step_place(where, number)) for number, inner in enumerate(steps, 1))


def all_steps(owner: Step | None, steps: Sequence[Step], where: str) -> Iterator[tuple[Step, str]]:
    """Yield the steps and those inside them, with their places."""
    for step, place in numbered(owner, steps, where):
        yield step, place
        for inner in (getattr(step, "steps", ()), getattr(step, "otherwise", ())):
            yield from all_steps(step, inner, place)


def names_set(steps: Sequence[Step]) -> frozenset[str]:
    """Return the names that the steps, or steps inside them, give a value."""
    return frozenset(step.name for step, _ in all_steps(None, steps, "") if isinstance(step, Set))
