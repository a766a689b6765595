"""Run an application's programs process by process, for programs in which nearly all processes differ.

``execution`` evaluates equal processes together, but in a grid of ranks, where each rank has its own neighbours and
sizes, each cohort has only one process.  The blocks have the same semantics and the same times here.  The one addition
is optional: receives that are posted ahead (Posted).

Contention is not modelled: messages with several members of a label, and disk blocks, each take the time that they take
alone.  Turns are run one by one, except in loops that only compute.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from platforms.errors import UserError
from predictor.blocks.application import (
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
    WriteDisk,
    members_of,
)
from predictor.blocks.evaluation.cohort import check_operations, checked_bytes
from predictor.blocks.evaluation.gathering import Call, check_agreed, root_group
from predictor.blocks.evaluation.program import Instruction, flat, follow
from predictor.blocks.expressions import Expression, Value
from predictor.blocks.machines.collectives import collective_time
from predictor.blocks.processes.progression import Progression
from predictor.blocks.steps import StepActions, check_together, refuse_loose

if TYPE_CHECKING:
    from predictor.blocks.machines.machine import Group, Machine, Posted

Place = tuple[str, int]  # label and member


@dataclass(eq=False)
class _Message:
    sent_s: float
    size_bytes: int
    done: bool = False


@dataclass(eq=False)
class _Process:
    """The state of a process."""

    place: Place
    group: Group
    code: list[Instruction]
    scope: dict[str, Value]
    known: dict[Hashable, float] = field(default_factory=dict)  # values by expression and its loop variables
    clock_s: float = 0.0
    sending_until_s: float = 0.0
    exchange_s: float | None = None  # start of the first send of the present exchange; None: not in an exchange
    pc: int = 0
    loops: tuple[tuple[int, int, int], ...] = ()  # enclosing loops: index of the instruction, turn, number of turns
    times: int = 1  # as in program.Walker
    partners: deque[Place] | None = None  # remaining partners of the present step; None: the step has not begun
    sends_last: bool = False  # whether the latest block was a send
    message: _Message | None = None  # sent message that the process waits for
    collective: bool = False  # whether the process waits in a collective


class ProcessByProcess:
    """One evaluation of an application on a machine.

    ``run`` may be called only once; afterwards ``ended_s`` and ``compute_s`` have a value for each process.
    """

    def __init__(self, application: Application, machine: Machine, *, posted: Posted | None = None):
        check_together(application)
        self._application, self._machine, self._posted = application, machine, posted
        self._counts = application.counts()
        numbers = application.numbers()
        codes = {label.name: flat(application, label.name) for label in application.labels}
        self._processes = {
            (group.label, member): _Process(
                (group.label, member), group, codes[group.label], {**numbers, "index": member}
            )
            for group in machine.groups
            for member in group.members
        }
        self._fixed = frozenset((*numbers, "index"))
        self._counted: dict[int, tuple[str, ...]] = {}  # names of the loop variables in each expression, by its id
        self._queues: dict[tuple[Place, Place], deque[_Message]] = defaultdict(deque)
        self._gathered: dict[tuple[str, ...], list[tuple[_Process, Call]]] = defaultdict(list)
        self._ready: deque[_Process] = deque(self._processes.values())
        self._actions = StepActions(
            compute=self._compute,
            message=self._exchange,
            collective=self._gather,
            disk=self._use_disk,
            repeat=self._repeat,
            branch=self._branch,
            loose=refuse_loose,
        )
        self.compute_s = dict.fromkeys(self._processes, 0.0)

    @property
    def ended_s(self) -> dict[Place, float]:
        """Time at which each process ends, s."""
        return {place: process.clock_s for place, process in self._processes.items()}

    def run(self) -> None:
        """Run until all processes have ended.

        Raises:
            UserError: If a process waits forever, or a message is never received.
        """
        while self._ready:
            process = self._ready.popleft()
            while process.pc < len(process.code) and self._do(process, process.code[process.pc]):
                pass
        for process in self._processes.values():
            if process.pc < len(process.code):
                problem = f"process {process.place[1]} of {process.place[0]} waits forever"
                raise UserError(process.code[process.pc].where, problem, "Check what the other processes do then")
        for (source, target), queue in self._queues.items():
            if queue:
                problem = f"process {target[1]} of {target[0]} never receives a message of {source[1]} of {source[0]}"
                raise UserError(self._application.where, problem, "Add the receive")

    def _value(self, process: _Process, expression: Number, where: str) -> float:
        number, scope = id(expression), process.scope
        counted = self._counted.get(number)
        if counted is None:
            counted = self._counted[number] = tuple(sorted(Expression.of(expression).names - self._fixed))
        key: Hashable = (number, *(scope[name] for name in counted)) if counted else number
        found = process.known.get(key)
        if found is None:
            value = Expression.of(expression).value(scope, where)
            if isinstance(value, Progression):  # impossible for a single process
                raise value.split_all()
            found = process.known[key] = value
        return found

    def _size(self, process: _Process, expression: Number, where: str) -> int:
        return checked_bytes(self._value(process, expression, where), expression, where)

    def _do(self, process: _Process, instruction: Instruction) -> bool:
        """Do one instruction; return False if the process now waits."""
        if instruction.step is None:  # a jump
            follow(process, instruction, None)
            return True
        return self._actions.do(process, instruction.step, instruction.where)

    def _branch(self, process: _Process, step: If, where: str) -> bool:
        follow(process, process.code[process.pc], int(bool(self._value(process, step.condition, where))))
        return True

    def _repeat(self, process: _Process, step: Repeat, where: str) -> bool:
        instruction = process.code[process.pc]
        turns: int | None = None
        if instruction.kind == "loop":
            turns = Expression.of(step.times).whole(process.scope, where)
        follow(process, instruction, turns)
        return True

    def _use_disk(self, process: _Process, step: ReadDisk | WriteDisk, where: str) -> bool:
        self._end_exchange(process)
        process.clock_s += self._machine.disk_s(process.group, step.block, self._size(process, step.bytes, where))
        process.pc += 1
        return True

    def _compute(self, process: _Process, step: Compute, where: str) -> bool:
        self._end_exchange(process)
        if step.size is None:
            operations = self._value(process, step.operations, where)
        else:
            scope = {**process.scope, "size": self._value(process, step.size, where)}
            of_size = Expression.of(step.operations).value(scope, where)
            if isinstance(of_size, Progression):
                raise of_size.split_all()
            operations = of_size
        check_operations(operations, step, where)
        took_s = process.times * self._machine.compute_s(process.group, operations)
        process.clock_s += took_s
        self.compute_s[process.place] += took_s
        process.pc += 1
        return True

    # --- messages ---

    def _note_exchange(self, process: _Process, step: Send | Receive) -> None:
        """Note that a send begins a new exchange, unless it follows another send."""
        if self._posted is None or process.partners is not None:
            return
        if isinstance(step, Send) and not process.sends_last:
            process.exchange_s = process.clock_s
        process.sends_last = isinstance(step, Send)

    @staticmethod
    def _end_exchange(process: _Process) -> None:
        """Note that a process is at a block that is not a message."""
        process.exchange_s, process.sends_last = None, False

    def _exchange(self, process: _Process, step: Send | Receive, where: str) -> bool:
        self._note_exchange(process, step)
        if process.partners is None:
            process.partners = self._partners(process, step, where)
        while process.partners:
            other = process.partners[0]
            done = (
                self._receive(process, other)
                if isinstance(step, Receive)
                else self._send(process, other, step, where=where)
            )
            if not done:
                return False
            process.partners.popleft()
        process.partners = None
        process.pc += 1
        return True

    def _partners(self, process: _Process, step: Send | Receive, where: str) -> deque[Place]:
        label = step.to if isinstance(step, Send) else step.sender
        if step.at is None:
            everyone = ((label, member) for member in range(self._counts[label]))
            return deque(place for place in everyone if place != process.place)
        member = self._value(process, step.at, where)
        if member != int(member) or not 0 <= member < self._counts[label] or (label, member) == process.place:
            problem = f"process {process.place[1]} of {process.place[0]} names process {member:g} of {label}, "
            problem += f"which has {self._counts[label]}"
            text = Expression.of(step.at).text
            raise UserError(f"{where}, expression {text!r}", problem, "Count from 0, and name another process")
        return deque([(label, int(member))])

    def _send(self, process: _Process, other: Place, step: Send, *, where: str) -> bool:
        if process.message is not None:  # it was sent, and the process waits for its end
            if not process.message.done:
                return False
            process.message = None
            return True
        message, receiver = _Message(process.clock_s, self._size(process, step.bytes, where)), self._processes[other]
        buffered = self._value(process, step.buffered, where)
        if self._posted is not None:
            message.sent_s = max(process.clock_s, process.sending_until_s)
            process.sending_until_s = message.sent_s + self._posted.transfer_s(
                process.group, receiver.group, message.size_bytes
            )
        self._queues[process.place, other].append(message)
        self._ready.append(receiver)
        if not buffered:
            process.message = message
        return bool(buffered)

    def _receive(self, process: _Process, other: Place) -> bool:
        queue, sender = self._queues[other, process.place], self._processes[other]
        if not queue:
            return False
        message = queue.popleft()
        ready_s = process.clock_s if process.exchange_s is None else process.exchange_s
        arrives_s = max(message.sent_s, ready_s) + self._message_s(sender, process, message)
        process.clock_s = max(process.clock_s, arrives_s)
        message.done = True
        if sender.message is message:
            sender.clock_s = process.clock_s
            self._ready.append(sender)
        return True

    def _message_s(self, sender: _Process, receiver: _Process, message: _Message) -> float:
        here, there = sender.group, receiver.group
        same_node = here.node(sender.place[1]) == there.node(receiver.place[1])
        return self._machine.message_s(here, there, message.size_bytes, same_node=same_node)

    # --- collectives ---

    def _gather(self, process: _Process, step: Collective, where: str) -> bool:
        """Let a process enter a collective; when the last participant enters, all go on."""
        self._end_exchange(process)
        if process.collective:  # it was resumed for another reason
            return False
        size_bytes = self._size(process, step.bytes, where) if hasattr(step, "bytes") else 0
        members = members_of(step, self._application)
        here = self._gathered[members]
        root_index = Expression.of(step.at).whole(process.scope, where) if isinstance(step, Rooted) else 0
        call = Call(step, size_bytes, root_index, where)
        if here:
            check_agreed(self._application, call, here[0][1])
        here.append((process, call))
        process.collective = True
        if len(here) < sum(self._counts[label] for label in members):
            return False
        del self._gathered[members]
        groups = [group for group in self._machine.groups if group.label in members and group.count]
        root = root_group(self._application, groups, call)
        begin_s = max(one.clock_s for one, _ in here)
        end_s = begin_s + collective_time(self._machine, step.block, size_bytes, groups, root)
        for one, _ in here:
            one.clock_s, one.collective = end_s, False
            one.pc += 1
            self._ready.append(one)
        return False
