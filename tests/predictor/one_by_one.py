"""Shared by the tests of the evaluations of blocks: a machine, and an evaluation too simple to be wrong."""

from collections import defaultdict, deque
from dataclasses import dataclass
from math import ceil

from predictor.blocks.application import members_of
from predictor.blocks.machines.machine import ALONE, ALONE_AT_DISK, MessageLoad
from predictor.blocks.programs import Compute, If, ReadDisk, Receive, Repeat, Send, WriteDisk


@dataclass(frozen=True)
class ToyMachine:
    """A machine whose costs differ by group, block and size."""

    groups: tuple
    name: str = "toy"
    failure_rate_per_s: float | None = None

    def speed(self, group):
        return 1.0 + 0.5 * self.groups.index(group)

    def compute_s(self, group, operations):
        return operations / self.speed(group)

    def message_s(self, source, target, size_bytes, *, same_node=False, traffic=ALONE):
        latency_s = 0.25 if same_node else 1.0 + 0.125 * self.groups.index(source) + 0.0625 * self.groups.index(target)
        return latency_s + 0.01 * size_bytes * traffic.burst

    def collective_s(self, block, size_bytes, members, root):
        return len(block) + 0.02 * size_bytes * sum(group.count for group in members)

    def disk_server(self, group):
        return None

    def disk_s(self, group, block, size_bytes, *, sharing=ALONE_AT_DISK):
        return 2.0 + 0.05 * size_bytes


class OneByOne:
    """A simple and slow evaluation that the evaluation of cohorts has to agree with.

    Every process is a generator that yields the event it waits for and is resumed when the event has happened.
    """

    def __init__(self, application, machine):
        self.application, self.machine = application, machine
        self.counts, self.numbers = application.counts(), application.numbers()
        self.group = {(g.label, m): g for g in machine.groups for m in g.members}
        self.clock = dict.fromkeys(self.group, 0.0)
        self.compute_s = defaultdict(float)
        self.queues = defaultdict(deque)  # of messages, by (sender, receiver)

    def run(self):
        """Return the time at which each process ends, by (label, member)."""
        waiting = {}
        for label, index in self.group:
            program = self.application.label(label).program
            waiting[label, index] = self.steps((label, index), program, {**self.numbers, "index": index})
        wants = {process: next(generator, None) for process, generator in waiting.items()}
        moved = True
        while moved:
            moved = False
            for process in wants:
                if wants[process] is not None and wants[process][0] == "collective":
                    self.collect(wants[process], wants)
                if wants[process] is not None and self.met(process, wants[process]):
                    moved = True
                    wants[process] = next(waiting[process], None)
        assert all(want is None for want in wants.values()), "deadlock"
        assert not any(self.queues.values()), "a message is left"
        return self.clock

    def steps(self, me, steps, scope):
        for step in steps:
            yield from self.step(me, step, scope)

    def step(self, me, step, scope):
        def value(expression):
            return expression.value(scope, "here")

        if isinstance(step, Repeat):
            for turn in range(int(value(step.times))):
                yield from self.steps(me, step.steps, {**scope, step.variable: turn} if step.variable else scope)
        elif isinstance(step, If):
            yield from self.steps(me, step.steps if value(step.condition) else step.otherwise, scope)
        elif isinstance(step, Compute):
            inner = scope if step.size is None else {**scope, "size": value(step.size)}
            took_s = self.machine.compute_s(self.group[me], step.operations.value(inner, "here"))
            self.clock[me] += took_s
            self.compute_s[self.group[me]] += took_s
        elif isinstance(step, ReadDisk | WriteDisk):
            block = "disk_read" if isinstance(step, ReadDisk) else "disk_write"
            self.clock[me] += self.machine.disk_s(self.group[me], block, ceil(value(step.bytes)))
        elif isinstance(step, Send):
            others = self.others(me, step.to, None if step.at is None else value(step.at))
            for other in others:
                message = [self.clock[me], ceil(value(step.bytes)), len(others) if step.at is None else 1, False]
                self.queues[me, other].append(message)
                if not value(step.buffered):
                    message[2] = 1
                    yield ("sent", message)
        elif isinstance(step, Receive):
            for other in self.others(me, step.sender, None if step.at is None else value(step.at)):
                yield ("receive", other)
        else:
            yield ("collective", step, ceil(value(step.bytes)) if hasattr(step, "bytes") else 0)

    def others(self, me, label, at):
        if at is not None:
            return [(label, int(at))]
        return [(label, i) for i in range(self.counts[label]) if (label, i) != me]

    def met(self, me, want):
        if want[0] == "sent":
            if want[1][3] is not False:
                self.clock[me] = want[1][3]
                return True
        elif want[0] == "receive":
            queue = self.queues[want[1], me]
            if queue:
                message = queue.popleft()
                source, target = self.group[want[1]], self.group[me]
                same = source.node(want[1][1]) == target.node(me[1])
                traffic = MessageLoad(burst=message[2])
                took_s = self.machine.message_s(source, target, message[1], same_node=same, traffic=traffic)
                self.clock[me] = message[3] = max(self.clock[me], message[0]) + took_s
                return True
        elif want[0] == "let go":
            self.clock[me] = want[1]
            return True
        return False

    def collect(self, want, wants):
        step, size_bytes = want[1:]
        members = members_of(step, self.application)
        processes = [process for process in self.group if process[0] in members]
        at = [wants[process] for process in processes]
        if all(one is not None and one[0] == "collective" and one[1] == step for one in at):
            groups = [g for g in self.machine.groups if g.label in members]
            end_s = max(self.clock[process] for process in processes)
            end_s += self.machine.collective_s(step.block, size_bytes, groups, groups[0])
            for process in processes:
                wants[process] = ("let go", end_s)
