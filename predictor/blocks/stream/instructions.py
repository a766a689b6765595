"""Instructions of processes: all numbers are known, and processes are numbered over all labels.

Everything that runs or evaluates an application process by process reads these instructions: the simulation
(validation/blocks) and the graph (predictor/blocks/graph).  Instructions that do the same are equal; ``where``, the
place of the step for error messages, does not count.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from platforms.system.scheduler import Load, Schedule
from predictor.blocks.application import Application

NONE = -1  # instead of the number of a request or of a label


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction of one process."""

    where: str = field(compare=False, kw_only=True)  # place of the step, for error messages


@dataclass(frozen=True, slots=True)
class Compute(Instruction):
    """A computation."""

    operations: float  # >= 0


@dataclass(frozen=True, slots=True)
class Send(Instruction):
    """A message to each of ``count`` processes from ``first`` on, one after the other.

    With ``waits`` each message ends before the process goes on (MPI_Ssend).  Otherwise all begin at once, and the
    process waits for none of them (MPI_Isend), or, with ``waits`` and a request, in a later ``Wait`` (MPI_Issend).
    """

    first: int
    count: int  # >= 1
    size_bytes: int  # >= 0
    waits: bool
    request: int = NONE
    burst: int = field(default=1, compare=False)  # messages of the step, to other processes too; 1 if it waits for each


@dataclass(frozen=True, slots=True)
class Receive(Instruction):
    """The next message from each of ``count`` processes from ``first`` on, one after the other (MPI_Recv).

    With a request, all receives are posted at once (MPI_Irecv), and a later ``Wait`` waits for them.
    """

    first: int
    count: int  # >= 1
    request: int = NONE


@dataclass(frozen=True, slots=True)
class Wait(Instruction):
    """Wait for all messages that have begun with one of some requests and that are not finished (MPI_Waitall)."""

    requests: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ReceiveAny(Instruction):
    """The message that was sent first to this process by any process of a label (MPI_ANY_SOURCE)."""

    label: int  # number of the label; NONE: any label


@dataclass(frozen=True, slots=True)
class Reply(Instruction):
    """A message to the process whose message the latest ``ReceiveAny`` has received; ``waits`` as for ``Send``."""

    size_bytes: int  # >= 0
    waits: bool


@dataclass(frozen=True, slots=True)
class Collective(Instruction):
    """A collective of a group of processes."""

    block: str  # a name in predictor.blocks.names.COLLECTIVES or REDUCTIONS
    group: int  # index of Stream.groups
    root: int  # place of the root in the group; 0 if the collective has no root
    size_bytes: int  # MPI's count: the vector, or one process's block of a scatter, (all)gather or all-to-all
    given_bytes: int = field(default=0, compare=False)  # as in the step: the whole buffer of a scatter or (all)gather


@dataclass(frozen=True, slots=True)
class Disk(Instruction):
    """A block of a disk, which the placement of the process decides on."""

    writes: bool
    size_bytes: int  # >= 0

    @property
    def block(self) -> str:
        """Name of the block in predictor.blocks.names.COMMUNICATION."""
        return "disk_write" if self.writes else "disk_read"


@dataclass(frozen=True, slots=True)
class Loop(Instruction):
    """Instructions that are done ``times`` times."""

    times: int  # >= 2
    body: tuple[Instruction, ...]


Program = tuple[Instruction, ...]


@dataclass(frozen=True)
class Stream:
    """The instructions of all processes: label after label in the application's order, then by index.

    Processes that do the same share one program.
    """

    application: Application
    programs: tuple[Program, ...]  # distinct programs
    program_of: tuple[int, ...]  # index of each process's program
    groups: tuple[tuple[int, ...], ...]  # processes of each group of collectives, by place

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Label of each process."""
        return tuple(label for label, count in self.application.counts().items() for _ in range(count))

    @cached_property
    def indices(self) -> tuple[int, ...]:
        """Index of each process within its label."""
        return tuple(i for count in self.application.counts().values() for i in range(count))


def only_computes(program: Sequence[Instruction]) -> bool:
    """Return whether the instructions are only computations, in loops or not."""
    return all(isinstance(instruction, Compute) for instruction, _ in executed(program))


def executed(program: Sequence[Instruction]) -> Iterator[tuple[Instruction, int]]:
    """Yield each instruction that is not a loop, with the number of times that it is done."""
    for instruction in program:
        if isinstance(instruction, Loop):
            for inner, times in executed(instruction.body):
                yield inner, times * instruction.times
        else:
            yield instruction, 1


def stretches_of(stream: Stream, schedule: Schedule) -> list[float]:
    """Return the factor on each process's computations; 1 on units without hardware threads.

    SimGrid divides a unit's cores among its processes, without the gain of hardware threads.
    """
    loads = schedule.loads()
    if all(_stretch(load) == 1 for load in loads if load.threads):
        return [1.0] * len(stream.program_of)
    stretches = []
    for label, index in zip(stream.labels, stream.indices, strict=True):
        group, number = schedule.place(label, index)
        here = (load for load in loads if load.group is group and load.first <= number < load.first + load.units)
        stretches.append(_stretch(next(here)))
    return stretches


def _stretch(load: Load) -> float:
    """Return the time of computations with this load, relative to SimGrid's time."""
    unit = load.group.unit
    return unit.slowdown(load.threads) / max(1.0, load.threads / unit.cores)
