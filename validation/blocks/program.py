"""Write the instructions of an application as a program of SMPI, with one rank per process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from platforms.errors import UserError
from platforms.system import System
from platforms.system.scheduler import Schedule
from predictor.blocks.application import Application
from predictor.blocks.graph.disks import Disks
from predictor.blocks.stream import instructions as stream
from predictor.blocks.stream.expand import expand
from predictor.blocks.stream.instructions import stretches_of
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
    stretch: float = 1.0  # factor on computations (predictor.blocks.stream.instructions)

    def program(self) -> BlockProgram:
        """Return the program."""
        stretches = stretches_of(self.expanded, self.schedule)
        texts: dict[tuple[int, int | None, float], str] = {}  # by program, disk of the process if any, and stretch
        programs: dict[str, int] = {}
        of_rank = []
        uses_disk = [
            any(isinstance(instruction, stream.Disk) for instruction, _ in stream.executed(program))
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
        for instruction in program:
            if isinstance(instruction, stream.Loop):
                yield f"repeat {instruction.times}"
                yield from self._lines(instruction.body, disk)
                yield "again"
            elif isinstance(instruction, stream.Disk):
                yield f"{'write' if instruction.writes else 'read'} {disk} {instruction.size_bytes}"
            else:
                yield _LINES[type(instruction)](self, instruction)

    def _compute(self, compute: stream.Compute) -> str:
        return f"compute {compute.operations * self.stretch:.17g}"

    def _send(self, send: stream.Send) -> str:
        size_bytes = self._bytes(send.size_bytes, send.where)
        if send.request != stream.NONE:
            return f"begin-send {send.first} {send.count} {size_bytes} {send.request}"
        return f"{'send' if send.waits else 'post'} {send.first} {send.count} {size_bytes}"

    def _receive(self, receive: stream.Receive) -> str:
        if receive.request != stream.NONE:
            return f"begin-receive {receive.first} {receive.count} {receive.request}"
        return f"receive {receive.first} {receive.count}"

    def _receive_any(self, receive: stream.ReceiveAny) -> str:
        return f"receive-any {receive.label}"

    def _reply(self, reply: stream.Reply) -> str:
        return f"{'reply' if reply.waits else 'post-reply'} {self._bytes(reply.size_bytes, reply.where)}"

    def _wait(self, wait: stream.Wait) -> str:
        return " ".join(map(str, ("wait", len(wait.requests), *wait.requests)))

    def _collective(self, call: stream.Collective) -> str:
        blocks = len(self.expanded.groups[call.group]) if call.block in _IN_BLOCKS else 1
        return f"{call.block} {call.group} {self._bytes(call.size_bytes, call.where, blocks)} {call.root}"

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
