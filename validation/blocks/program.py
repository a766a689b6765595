"""Write the instructions of an application as a program of SMPI, with one rank per process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from platforms.errors import UserError
from platforms.system import System
from platforms.system.scheduler import Schedule
from predictor.blocks.application import Application
from predictor.blocks.graph.disks import Disks
from predictor.blocks.graph.stretch import stretches_of
from predictor.blocks.stream import instructions as stream
from predictor.blocks.stream.expand import expand
from validation.blocks.blockprogram.instructions import MOST_BYTES, BlockProgram, DiskOf

_IN_BLOCKS = ("scatter", "gather", "allgather", "alltoall")  # collectives whose size is that of one process's part
MOST_RANKS = 16_384  # most ranks that SMPI starts


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
    return _Writer(expand(application), system, schedule).program()


@dataclass
class _Writer:
    """Writes the instructions, and collects the disks that they refer to."""

    expanded: stream.Stream
    system: System
    schedule: Schedule
    disks: dict[DiskOf, int] = field(default_factory=dict)
    largest_bytes: int = 0
    stretch: float = 1.0  # factor on computations (predictor.blocks.graph.stretch)

    def program(self) -> BlockProgram:
        """Return the program."""
        stretches = stretches_of(self.expanded, self.schedule)
        texts: dict[tuple[int, int | None, float], str] = {}  # by program, disk of the process if any, and stretch
        programs: dict[str, int] = {}
        of_rank = []
        uses_disk = [
            any(isinstance(one, stream.Disk) for one, _ in stream.executed(program))
            for program in self.expanded.programs
        ]
        for rank, number in enumerate(self.expanded.program_of):
            disk = self._disk(rank) if uses_disk[number] else None
            key = number, disk, stretches[rank]
            if key not in texts:
                self.stretch = stretches[rank]
                texts[key] = "\n".join((*self._lines(self.expanded.programs[number], disk), "end"))
            text = texts[key]
            of_rank.append(programs.setdefault(text, len(programs)))
        return BlockProgram(
            name=self.expanded.application.name,
            programs=tuple(programs),
            program_of_rank=tuple(of_rank),
            labels=tuple(self.expanded.application.counts().values()),
            groups=self.expanded.groups,
            disks=tuple(self.disks),
            largest_bytes=self.largest_bytes,
        )

    def _lines(self, program: stream.Program, disk: int | None) -> Iterator[str]:
        """Yield the lines of a program whose process uses the disk of this number."""
        for one in program:
            if isinstance(one, stream.Loop):
                yield f"repeat {one.times}"
                yield from self._lines(one.body, disk)
                yield "again"
            elif isinstance(one, stream.Disk):
                yield f"{'write' if one.writes else 'read'} {disk} {one.size_bytes}"
            else:
                yield _LINES[type(one)](self, one)

    def _compute(self, one: stream.Compute) -> str:
        return f"compute {one.operations * self.stretch:.17g}"

    def _send(self, one: stream.Send) -> str:
        size_bytes = self._bytes(one.size_bytes, one.where)
        if one.request != stream.NONE:
            return f"begin-send {one.first} {one.count} {size_bytes} {one.request}"
        return f"{'send' if one.waits else 'post'} {one.first} {one.count} {size_bytes}"

    def _receive(self, one: stream.Receive) -> str:
        if one.request != stream.NONE:
            return f"begin-receive {one.first} {one.count} {one.request}"
        return f"receive {one.first} {one.count}"

    def _receive_any(self, one: stream.ReceiveAny) -> str:
        return f"receive-any {one.label}"

    def _reply(self, one: stream.Reply) -> str:
        return f"{'reply' if one.waits else 'post-reply'} {self._bytes(one.size_bytes, one.where)}"

    def _wait(self, one: stream.Wait) -> str:
        return " ".join(map(str, ("wait", len(one.requests), *one.requests)))

    def _collective(self, one: stream.Collective) -> str:
        blocks = len(self.expanded.groups[one.group]) if one.block in _IN_BLOCKS else 1
        return f"{one.block} {one.group} {self._bytes(one.size_bytes, one.where, blocks)} {one.root}"

    def _bytes(self, size_bytes: int, where: str, blocks: int = 1) -> int:
        """Return a size, and note the buffer that ``blocks`` blocks of this size need."""
        if size_bytes * blocks > MOST_BYTES:
            raise UserError(where, f"{size_bytes * blocks} bytes in one message", f"Give 0 to {MOST_BYTES}")
        self.largest_bytes = max(self.largest_bytes, size_bytes * blocks)
        return size_bytes

    def _disk(self, rank: int) -> int:
        """Return the number of a process's disk."""
        server = Disks(self.expanded, self.system, self.schedule).server(rank)
        made = DiskOf(server.host, server.name, server.disk.read_latency_s, server.disk.write_latency_s)
        return self.disks.setdefault(made, len(self.disks))


_LINES: dict[type[stream.Instruction], Callable[..., str]] = {
    stream.Compute: _Writer._compute,
    stream.Send: _Writer._send,
    stream.Receive: _Writer._receive,
    stream.ReceiveAny: _Writer._receive_any,
    stream.Reply: _Writer._reply,
    stream.Wait: _Writer._wait,
    stream.Collective: _Writer._collective,
}
