"""Translate an application of blocks to instructions, with one rank per process (validation/blocks/blockprogram)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from math import ceil

from platforms.errors import UserError
from platforms.system import System
from platforms.system.scheduler import Schedule
from predictor.base import OutOfRange
from predictor.blocks.application import (
    AllToAll,
    Application,
    Collective,
    Compute,
    If,
    Number,
    ReadDisk,
    Receive,
    Repeat,
    Rooted,
    Send,
    Step,
    WriteDisk,
    members_of,
    numbered,
)
from predictor.blocks.constants import check_constants
from predictor.blocks.evaluation.program import StepActions
from predictor.blocks.expressions import Expression, Value
from predictor.blocks.processes.progression import Progression
from validation.blocks.blockprogram.instructions import MOST_BYTES, BlockProgram, DiskOf

MOST_RANKS = 16_384  # most ranks that SMPI starts
MOST_LINES = 2_000_000  # most instructions


def block_program(application: Application, system: System, schedule: Schedule) -> BlockProgram:
    """Return the program whose ranks are the processes, label after label in the application's order, then by index.

    Raises:
        UserError: If MPI cannot run the application, for example because a message has more than 2 GiB.
        OutOfRange: If the application uses a disk and the system has none.
    """
    ranks = sum(application.counts().values())
    if ranks > MOST_RANKS:
        problem = f"{ranks} processes, but a simulation has one rank for each"
        raise UserError(application.where, problem, f"Simulate at most {MOST_RANKS}: --count LABEL=N")
    check_constants(application)
    return _Writer(application, system, schedule).program()


@dataclass(frozen=True)
class _Process:
    """A process whose instructions are written."""

    label: str
    index: int  # within the label
    scope: Mapping[str, Value]  # the application's numbers, loop variables and index


@dataclass
class _Writer:
    """Writes the instructions, and collects the groups and disks that they refer to."""

    application: Application
    system: System
    schedule: Schedule
    counts: dict[str, int] = field(init=False)
    numbers: dict[str, float] = field(init=False)
    first: dict[str, int] = field(init=False)  # rank of process 0 of each label
    groups: dict[tuple[int, ...], int] = field(default_factory=dict)
    disks: dict[DiskOf, int] = field(default_factory=dict)
    largest_bytes: int = 0
    lines: int = 0

    def __post_init__(self) -> None:
        self.counts, self.numbers = self.application.counts(), self.application.numbers()
        self.first = {label: sum(list(self.counts.values())[:i]) for i, label in enumerate(self.counts)}
        self._actions = StepActions(
            compute=self._compute,
            message=self._message,
            collective=self._collective,
            disk=self._use_disk,
            repeat=self._repeat,
            branch=self._branch,
        )

    def program(self) -> BlockProgram:
        programs: dict[str, int] = {}
        of_rank = []
        for label in self.application.labels:
            same = not _looks_at_itself(label.program, label.name)
            text = ""
            for index in range(self.counts[label.name]):
                if index == 0 or not same:
                    where = f"{self.application.where}, label {label.name}, step "
                    process = _Process(label.name, index, {**self.numbers, "index": index})
                    text = "\n".join((*self._steps(None, label.program, process, where), "end"))
                of_rank.append(programs.setdefault(text, len(programs)))
        return BlockProgram(
            name=self.application.name,
            programs=tuple(programs),
            program_of_rank=tuple(of_rank),
            groups=tuple(self.groups),
            disks=tuple(self.disks),
            largest_bytes=self.largest_bytes,
        )

    def _steps(self, owner: Step | None, steps: Sequence[Step], process: _Process, where: str) -> Iterator[str]:
        """Yield the instructions of the steps inside ``owner``, whose place for error messages is ``where``."""
        for step, place in numbered(owner, steps, where):
            for line in self._actions.do(process, step, place):
                self.lines += 1
                if self.lines > MOST_LINES:
                    problem = f"more than {MOST_LINES} instructions"
                    raise UserError(place, problem, "Simulate fewer processes, or fewer turns of loops")
                yield line

    def _compute(self, process: _Process, step: Compute, where: str) -> Iterator[str]:
        scope = process.scope
        if step.size is not None:
            scope = {**scope, "size": _value(step.size, scope, where)}
        yield f"compute {_value(step.operations, scope, where):.17g}"

    def _use_disk(self, process: _Process, step: ReadDisk | WriteDisk, where: str) -> Iterator[str]:
        what = "read" if isinstance(step, ReadDisk) else "write"
        number = self.disks.setdefault(self._disk(process), len(self.disks))
        yield f"{what} {number} {ceil(_value(step.bytes, process.scope, where))}"

    def _branch(self, process: _Process, step: If, where: str) -> Iterator[str]:
        if _value(step.condition, process.scope, where):
            yield from self._steps(step, step.steps, process, where)
        else:
            yield from self._steps(step, step.otherwise, process, where)

    def _repeat(self, process: _Process, step: Repeat, where: str) -> Iterator[str]:
        """Write equal consecutive turns as a loop, and other turns one after the other."""
        times = Expression.of(step.times).whole(process.scope, where)
        if step.variable is None:
            turns = [(list(self._steps(step, step.steps, process, where)), times)] if times else []
        else:
            scopes = ({**process.scope, step.variable: turn} for turn in range(times))
            made = (list(self._steps(step, step.steps, replace(process, scope=scope), where)) for scope in scopes)
            turns = [(body, len(list(alike))) for body, alike in groupby(made)]
        for body, count in turns:
            if body and count > 1:
                yield f"repeat {count}"
                yield from body
                yield "again"
            else:
                yield from body

    def _message(self, process: _Process, step: Send | Receive, where: str) -> Iterator[str]:
        scope = process.scope
        partner = step.to if isinstance(step, Send) else step.sender
        count = self.counts[partner]
        rows = [(0, count)]
        if step.at is not None:
            rows = [(Expression.of(step.at).whole(scope, where), 1)]
            if rows[0][0] >= count:
                raise UserError(where, f"no process {rows[0][0]} of {partner}, which has {count}", "Count from 0")
        elif partner == process.label:
            rows = [(0, process.index), (process.index + 1, count - process.index - 1)]
        for first, number in rows:
            if number and isinstance(step, Receive):
                yield f"receive {self.first[partner] + first} {number}"
            elif number and isinstance(step, Send):
                what = "post" if _value(step.buffered, scope, where) else "send"
                size_bytes = self._bytes(_value(step.bytes, scope, where), where)
                yield f"{what} {self.first[partner] + first} {number} {size_bytes}"

    def _bytes(self, value: float, where: str, blocks: int = 1) -> int:
        """Return a size in whole bytes, and note the buffer that ``blocks`` blocks of this size need."""
        size_bytes = ceil(value)
        if not 0 <= size_bytes * blocks <= MOST_BYTES:
            raise UserError(where, f"{size_bytes * blocks} bytes in one message", f"Give 0 to {MOST_BYTES}")
        self.largest_bytes = max(self.largest_bytes, size_bytes * blocks)
        return size_bytes

    def _collective(self, process: _Process, step: Collective, where: str) -> Iterator[str]:
        scope = process.scope
        members = members_of(step, self.application)
        ranks = tuple(self.first[label] + i for label in members for i in range(self.counts[label]))
        group = self.groups.setdefault(ranks, len(self.groups))
        size_bytes = _value(step.bytes, scope, where) if isinstance(step, AllToAll | Rooted) else 0.0
        root = 0
        if isinstance(step, Rooted):
            index = Expression.of(step.at).whole(scope, where)
            root = ranks.index(self.first[step.root_label(self.application)] + index)
        if step.block in ("scatter", "gather"):  # the step has the root's whole buffer; MPI counts each rank's part
            size_bytes = ceil(size_bytes / len(ranks))
        blocks = len(ranks) if step.block in ("scatter", "gather", "alltoall") else 1
        yield f"{step.block} {group} {self._bytes(size_bytes, where, blocks)} {root}"

    def _disk(self, process: _Process) -> DiskOf:
        unit_group, number = self.schedule.place(process.label, process.index)
        found = self.system.disks_for(unit_group)
        if found is None:
            raise OutOfRange(f"system {self.system.name}", "it has no disks", "Give a node `disks`")
        server, disk = found
        number = number if server.node is unit_group.node else 0
        name = server.node.disk_name(number, disk)
        host = server.node.host_name(number, server.node.units[0])
        return DiskOf(host, name, disk.read_latency_s, disk.write_latency_s)


def _value(number: Number, scope: Mapping[str, Value], where: str) -> float:
    """Return the value of an expression for one process, which is always a number."""
    value = Expression.of(number).value(scope, where)
    if isinstance(value, Progression):
        raise value.split_all()
    return value


def _looks_at_itself(steps: Sequence[Step], label: str) -> bool:
    """Return whether the processes of the label may have different instructions."""
    for step in steps:
        if any("index" in expression.names for expression in step.expressions()):
            return True
        if isinstance(step, Send | Receive) and label == (step.to if isinstance(step, Send) else step.sender):
            return True
        if isinstance(step, ReadDisk | WriteDisk):  # each process uses the disk of its own node
            return True
        if isinstance(step, Repeat | If) and _looks_at_itself(step.steps, label):
            return True
        if isinstance(step, If) and _looks_at_itself(step.otherwise, label):
            return True
    return False
