"""Evaluate instructions process by process, for the descriptions of kernels, in which nearly all processes differ.

``execution`` evaluates equal processes together, but in a grid of ranks, where each rank has its own neighbours and
sizes, each class has only one process.  The blocks have the same semantics and the same times here.  The one addition
is optional: receives that are posted ahead (Posted).

Contention is not modelled: each message takes the time that it takes alone.  Disks are not known.  Turns are run one by
one, except in loops that only compute.
"""

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from platforms.errors import UserError
from predictor.blocks.application import Application
from predictor.blocks.machines.machine import Group, Machine, Posted, check_agreed, collective_time
from predictor.blocks.steps import check_together
from predictor.blocks.stream import instructions
from predictor.blocks.stream.expand import expand

Place = tuple[str, int]  # label and member
_MOST_INSTRUCTIONS = 50_000_000  # of all distinct processes; a few gigabytes


@dataclass(eq=False)
class _Message:
    sent_s: float
    size_bytes: int
    waits: bool  # whether the sender waits for its end


@dataclass(eq=False)
class _Process:
    """The state of a process."""

    number: int
    place: Place
    group: Group
    clock_s: float = 0.0
    compute_s: float = 0.0
    sending_until_s: float = 0.0
    exchange_s: float | None = None  # start of the first send of the present exchange; None: not in an exchange
    sends_last: bool = False  # whether the latest block was a send
    at: instructions.Instruction | None = None  # the present instruction; None: the process has ended
    expects: int | None = None  # the process whose message it waits for
    queues: defaultdict[int, deque[_Message]] = field(default_factory=lambda: defaultdict(deque))  # by sender

    def __str__(self) -> str:
        return f"process {self.place[1]} of {self.place[0]}"


class ProcessByProcess:
    """One evaluation of an application on a machine.

    ``run`` may be called only once; afterwards ``ended_s`` and ``compute_s`` have a value for each process.
    """

    def __init__(self, application: Application, machine: Machine, *, posted: Posted | None = None):
        check_together(application)
        self._application, self._machine, self._posted = application, machine, posted
        self._stream = stream = expand(application, most=_MOST_INSTRUCTIONS)
        group_of = {(group.label, member): group for group in machine.groups for member in group.members}
        places = zip(stream.labels, stream.indices, strict=True)
        self._processes = [_Process(number, place, group_of[place]) for number, place in enumerate(places)]
        self._labels = [dict.fromkeys(stream.labels[rank] for rank in ranks) for ranks in stream.groups]
        self._gathered: dict[int, list[tuple[_Process, instructions.Collective]]] = defaultdict(list)  # by group
        self._ready: deque[_Process] = deque()

    @property
    def ended_s(self) -> dict[Place, float]:
        """Time at which each process ends, s."""
        return {process.place: process.clock_s for process in self._processes}

    @property
    def compute_s(self) -> dict[Place, float]:
        """Computation time of each process, s."""
        return {process.place: process.compute_s for process in self._processes}

    def run(self) -> None:
        """Run until all processes have ended.

        Raises:
            UserError: If a process waits forever, or a message is never received.
        """
        stream = self._stream
        steps = [
            self._steps(process, stream.programs[stream.program_of[process.number]]) for process in self._processes
        ]
        self._ready.extend(self._processes)
        while self._ready:
            process = self._ready.popleft()
            if next(steps[process.number], True):
                process.at = None
        for process in self._processes:
            if process.at is not None:
                raise UserError(process.at.where, f"{process} waits forever", "Check what the other processes do then")
        for process in self._processes:
            for source, queue in process.queues.items():
                if queue:
                    problem = f"{process} never receives a message of {self._processes[source]}"
                    raise UserError(self._application.where, problem, "Add the receive")

    def _steps(self, process: _Process, program: instructions.Program) -> Iterator[bool]:
        """Do the instructions; yield False wherever the process waits until it is put among the ready ones."""
        for instruction in program:
            if isinstance(instruction, instructions.Loop) and not instructions.only_computes(instruction.body):
                for _ in range(instruction.times):
                    yield from self._steps(process, instruction.body)
                continue
            process.at = instruction
            if isinstance(instruction, instructions.Send | instructions.Receive):
                if self._posted is not None:
                    if isinstance(instruction, instructions.Send) and not process.sends_last:
                        process.exchange_s = process.clock_s
                    process.sends_last = isinstance(instruction, instructions.Send)
                for other in range(instruction.first, instruction.first + instruction.count):
                    if isinstance(instruction, instructions.Receive):
                        yield from self._receive(process, self._processes[other])
                    elif self._send(process, self._processes[other], instruction).waits:
                        yield False
                continue
            process.exchange_s, process.sends_last = None, False
            if isinstance(instruction, instructions.Collective):
                if not self._gather(process, instruction):
                    yield False
                continue
            for inner, times in instructions.executed((instruction,)):
                if not isinstance(inner, instructions.Compute):
                    raise TypeError(f"{inner.where}: {inner!r} cannot be evaluated process by process")
                took_s = self._machine.compute_s(process.group, times * inner.operations)
                process.clock_s += took_s
                process.compute_s += took_s

    def _send(self, process: _Process, other: _Process, send: instructions.Send) -> _Message:
        message = _Message(process.clock_s, send.size_bytes, send.waits)
        if self._posted is not None:
            message.sent_s = max(process.clock_s, process.sending_until_s)
            transfer_s = self._posted.transfer_s(process.group, other.group, send.size_bytes)
            process.sending_until_s = message.sent_s + transfer_s
        other.queues[process.number].append(message)
        if other.expects == process.number:
            other.expects = None
            self._ready.append(other)
        return message

    def _receive(self, process: _Process, sender: _Process) -> Iterator[bool]:
        queue = process.queues[sender.number]
        if not queue:
            process.expects = sender.number
            yield False
        message = queue.popleft()
        ready_s = process.clock_s if process.exchange_s is None else process.exchange_s
        here, there = sender.group, process.group
        same_node = here.node(sender.place[1]) == there.node(process.place[1])
        took_s = self._machine.message_s(here, there, message.size_bytes, same_node=same_node)
        process.clock_s = max(process.clock_s, max(message.sent_s, ready_s) + took_s)
        if message.waits:
            sender.clock_s = process.clock_s
            self._ready.append(sender)

    def _gather(self, process: _Process, call: instructions.Collective) -> bool:
        """Let a process enter a collective; return True if it is the last one, which lets all others go on."""
        here, ranks = self._gathered[call.group], self._stream.groups[call.group]
        here.append((process, call))
        labels = self._labels[call.group]
        check_agreed(labels, call, here[0][1])
        if len(here) < len(ranks):
            return False
        del self._gathered[call.group]
        groups = [group for group in self._machine.groups if group.label in labels and group.count]
        root = self._processes[ranks[call.root]].group
        took_s = collective_time(self._machine, call.block, call.given_bytes, groups, root)
        end_s = max(process_there.clock_s for process_there, _ in here) + took_s
        for process_there, _ in here:
            process_there.clock_s = end_s
        self._ready.extend(process_there for process_there, _ in here if process_there is not process)
        return True
