"""An application of blocks as instructions of one rank per process (apps/blockprogram)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import ceil

from apps.blockprogram.instructions import MOST_BYTES, BlockProgram, DiskOf
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
)
from predictor.blocks.evaluation.progression import Progression
from predictor.blocks.expressions import Expression, Value

MOST_RANKS = 16_384  # that SMPI starts
_MOST_LINES = 2_000_000


def block_program(application: Application, system: System, schedule: Schedule) -> BlockProgram:
    """The application's processes as ranks: label after label in the application's order, in each by index.

    Raises UserError for what MPI cannot do, such as a message of more than 2 GiB, and OutOfRange where a disk is used
    and the system has none.
    """
    ranks = sum(application.counts().values())
    if ranks > MOST_RANKS:
        problem = f"{ranks} processes, but a simulation has one rank for each"
        raise UserError(application.where, problem, f"Simulate at most {MOST_RANKS}: --count LABEL=N")
    return _Writer(application, system, schedule).program()


@dataclass
class _Writer:
    """Collects what the instructions refer to."""

    application: Application
    system: System
    schedule: Schedule
    counts: dict[str, int] = field(init=False)
    numbers: dict[str, float] = field(init=False)
    first: dict[str, int] = field(init=False)  # rank of a label's process 0
    groups: dict[tuple[int, ...], int] = field(default_factory=dict)
    disks: dict[DiskOf, int] = field(default_factory=dict)
    largest_bytes: int = 0
    lines: int = 0

    def __post_init__(self) -> None:
        self.counts, self.numbers = self.application.counts(), self.application.numbers()
        self.first = {label: sum(list(self.counts.values())[:i]) for i, label in enumerate(self.counts)}

    def program(self) -> BlockProgram:
        programs: dict[str, int] = {}
        of_rank = []
        for label in self.application.labels:
            same = not _looks_at_itself(label.program, label.name)
            text = ""
            for index in range(self.counts[label.name]):
                if index == 0 or not same:
                    where = f"{self.application.where}, label {label.name}, step "
                    scope: dict[str, Value] = {**self.numbers, "index": index}
                    text = "\n".join((*self._steps(label.program, (label.name, index), scope, where), "end"))
                of_rank.append(programs.setdefault(text, len(programs)))
        return BlockProgram(
            name=self.application.name,
            programs=tuple(programs),
            program_of_rank=tuple(of_rank),
            groups=tuple(self.groups),
            disks=tuple(self.disks),
            largest_bytes=self.largest_bytes,
        )

    def _steps(self, steps: Sequence[Step], me: tuple[str, int], scope: dict[str, Value], where: str) -> Iterator[str]:
        for number, step in enumerate(steps, 1):
            for line in self._step(step, me, scope, f"{where}{number}"):
                self.lines += 1
                if self.lines > _MOST_LINES:
                    problem = f"more than {_MOST_LINES} instructions"
                    raise UserError(f"{where}{number}", problem, "Simulate fewer processes, or fewer turns of loops")
                yield line

    def _step(self, step: Step, me: tuple[str, int], scope: dict[str, Value], where: str) -> Iterator[str]:
        if isinstance(step, Repeat):
            yield from self._repeat(step, me, scope, where)
        elif isinstance(step, If):
            if _value(step.condition, scope, where):
                yield from self._steps(step.steps, me, scope, f"{where}.")
            else:
                yield from self._steps(step.otherwise, me, scope, f"{where}.else.")
        elif isinstance(step, Compute):
            inner = scope if step.size is None else {**scope, "size": _value(step.size, scope, where)}
            yield f"compute {_value(step.operations, inner, where):.17g}"
        elif isinstance(step, Send | Receive):
            yield from self._message(step, me, scope, where)
        elif isinstance(step, ReadDisk | WriteDisk):
            what = "read" if isinstance(step, ReadDisk) else "write"
            number = self.disks.setdefault(self._disk(me), len(self.disks))
            yield f"{what} {number} {ceil(_value(step.bytes, scope, where))}"
        elif isinstance(step, Collective):
            yield self._collective(step, scope, where)

    def _repeat(self, step: Repeat, me: tuple[str, int], scope: dict[str, Value], where: str) -> Iterator[str]:
        """Turns that do the same are a loop; others follow each other."""
        times = Expression.of(step.times).whole(scope, where)
        if step.variable is None:
            turns = [(list(self._steps(step.steps, me, scope, f"{where}.")), times)] if times else []
        else:
            made = (
                list(self._steps(step.steps, me, {**scope, step.variable: turn}, f"{where}.")) for turn in range(times)
            )
            turns = [(body, len(list(alike))) for body, alike in groupby(made)]
        for body, count in turns:
            if body and count > 1:
                yield f"repeat {count}"
                yield from body
                yield "again"
            else:
                yield from body

    def _message(self, step: Send | Receive, me: tuple[str, int], scope: dict[str, Value], where: str) -> Iterator[str]:
        partner = step.to if isinstance(step, Send) else step.sender
        count = self.counts[partner]
        rows = [(0, count)]
        if step.at is not None:
            rows = [(Expression.of(step.at).whole(scope, where), 1)]
            if rows[0][0] >= count:
                raise UserError(where, f"no process {rows[0][0]} of {partner}, which has {count}", "Count from 0")
        elif partner == me[0]:
            rows = [(0, me[1]), (me[1] + 1, count - me[1] - 1)]
        for first, number in rows:
            if number and isinstance(step, Receive):
                yield f"receive {self.first[partner] + first} {number}"
            elif number and isinstance(step, Send):
                what = "post" if _value(step.buffered, scope, where) else "send"
                size_bytes = self._bytes(_value(step.bytes, scope, where), where)
                yield f"{what} {self.first[partner] + first} {number} {size_bytes}"

    def _bytes(self, value: float, where: str, blocks: int = 1) -> int:
        """Whole bytes; ``blocks`` of them need one buffer."""
        size_bytes = ceil(value)
        if not 0 <= size_bytes * blocks <= MOST_BYTES:
            raise UserError(where, f"{size_bytes * blocks} bytes in one message", f"Give 0 to {MOST_BYTES}")
        self.largest_bytes = max(self.largest_bytes, size_bytes * blocks)
        return size_bytes

    def _collective(self, step: Collective, scope: dict[str, Value], where: str) -> str:
        members = members_of(step, self.application)
        ranks = tuple(self.first[label] + i for label in members for i in range(self.counts[label]))
        group = self.groups.setdefault(ranks, len(self.groups))
        size_bytes = _value(step.bytes, scope, where) if isinstance(step, AllToAll | Rooted) else 0.0
        root = 0
        if isinstance(step, Rooted):
            index = Expression.of(step.at).whole(scope, where)
            root = ranks.index(self.first[step.root_label(self.application)] + index)
        if step.block in ("scatter", "gather"):  # the root's whole buffer is said, MPI counts what each has
            size_bytes = ceil(size_bytes / len(ranks))
        blocks = len(ranks) if step.block in ("scatter", "gather", "alltoall") else 1
        return f"{step.block} {group} {self._bytes(size_bytes, where, blocks)} {root}"

    def _disk(self, me: tuple[str, int]) -> DiskOf:
        unit_group, number = self.schedule.place(*me)
        found = self.system.disks_for(unit_group)
        if found is None:
            raise OutOfRange(f"system {self.system.name}", "it has no disks", "Give a node `disks`")
        server, disk = found
        number = number if server.node is unit_group.node else 0
        name = server.node.disk_name(number, disk)
        host = server.node.host_name(number, server.node.units[0])
        return DiskOf(host, name, disk.read_latency_s, disk.write_latency_s)


def _value(number: Number, scope: Mapping[str, Value], where: str) -> float:
    """Of one process, so that it is a number."""
    value = Expression.of(number).value(scope, where)
    if isinstance(value, Progression):
        raise value.split_all()
    return value


def _looks_at_itself(steps: Sequence[Step], label: str) -> bool:
    """Whether processes of the label do different things."""
    for step in steps:
        if any("index" in expression.names for expression in step.expressions()):
            return True
        if isinstance(step, Send | Receive) and label == (step.to if isinstance(step, Send) else step.sender):
            return True
        if isinstance(step, ReadDisk | WriteDisk):  # each its own node's
            return True
        if isinstance(step, Repeat | If) and _looks_at_itself(step.steps, label):
            return True
        if isinstance(step, If) and _looks_at_itself(step.otherwise, label):
            return True
    return False
