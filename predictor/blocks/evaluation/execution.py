"""Runs an application's programs on a machine of block times, equal processes together.

Processes that have the same program, place and history are one cohort: first member, stride, count, and a profile of
their clocks.  A cohort falls apart where its members answer a condition differently or meet different partners.

What the blocks mean: a computation takes its time.  A message begins when both its send and its receive have been
reached, and takes its time; the receiver is busy until its end, and so is the sender unless it is buffered.  Messages
from one process to another keep their order.  Who sends to or receives from several does so in their order.  A
collective begins when all have come, and lets all go at its end.  Since every receive names its sender, the order in
which cohorts are looked at does not matter.  Only this is seen of contention: messages of a cohort that begin at the
same moment share the links that they have in common, and so do those that one process sends at once; and all that use
a disk from the same moment on share it.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from heapq import heappop, heappush

from predictor.blocks.application import (
    Application,
    Collective,
    Compute,
    If,
    ReadDisk,
    Receive,
    Repeat,
    Send,
    Step,
    WriteDisk,
)
from predictor.blocks.evaluation.cohort import Cohort, check_operations, reunited, whole_bytes
from predictor.blocks.evaluation.disks import Disks
from predictor.blocks.evaluation.exchange import Exchange
from predictor.blocks.evaluation.gathering import Gatherings
from predictor.blocks.evaluation.profile import Profile
from predictor.blocks.evaluation.program import Instruction, flat, follow
from predictor.blocks.evaluation.progression import Progression, Split
from predictor.blocks.evaluation.steady import Standing, State, Steady
from predictor.blocks.expressions import Expression
from predictor.blocks.machines.machine import Group, Machine

_Position = tuple[tuple[int, ...], int]  # in the program, and number of the group


@dataclass(frozen=True)
class Ended:
    """Processes that have done all, and when."""

    group: Group
    clock: Profile


class Execution:
    """One evaluation.  ``run`` may be called once."""

    def __init__(self, application: Application, machine: Machine):
        self._application, self._machine = application, machine
        self._numbers = application.numbers()
        self._code = {label.name: flat(application, label.name) for label in application.labels}
        self._runnable: dict[_Position, list[Cohort]] = {}
        self._positions: list[_Position] = []  # a heap of its keys
        self._number = {group: number for number, group in enumerate(machine.groups)}
        self._exchange = Exchange(machine, application.counts(), self._code, self._add)
        self._gatherings = Gatherings(application, machine, self._add)
        self._disks = Disks(machine, self._add)
        self._steady = Steady(self._code, len(machine.groups))
        self.ended: list[Ended] = []
        self.skipped = 0  # periods of turns that were alike
        self.compute_s: dict[Group, float] = dict.fromkeys(machine.groups, 0.0)  # of all its processes together

    def run(self) -> None:
        """Until all have ended.  Raises UserError for a program that comes to no end, or leaves messages behind."""
        for group in self._machine.groups:
            if group.count:
                cohort = Cohort(group, group.first, group.stride, group.count, Profile.constant(group.count, 0.0))
                cohort.scope = {**self._numbers, "index": Progression.of(group.first, group.stride, group.count)}
                self._add(cohort)
        while True:
            while self._runnable:
                self._advance_first()
            if not self._exchange.match() and not self._disks.let_go():
                break
        self._gatherings.check_done()
        self._exchange.check_done()

    def _add(self, cohort: Cohort) -> None:
        key = cohort.position, self._number[cohort.group]
        if key not in self._runnable:
            self._runnable[key] = []
            heappush(self._positions, key)
        self._runnable[key].append(cohort)

    def _skip(self) -> None:
        """Turns that repeat, at once."""
        going = [cohort for cohorts in self._runnable.values() for cohort in cohorts]
        going.sort(key=lambda cohort: (self._number[cohort.group], cohort.first))
        standing = [self._standing(("goes on",), cohort) for cohort in going]
        for where, cohort in (*self._exchange.waiting(), *self._gatherings.waiting(), *self._disks.standing()):
            standing.append(self._standing(where, cohort))
        for where, offer in self._exchange.offered():
            place = (*where, offer.pairs, offer.size_bytes, self._number[offer.group], offer.traffic, offer.where)
            standing.append(Standing(place, (), offer.times, offer))
        periods = self._steady.look(State(standing, self.compute_s))
        if periods:
            self.skipped += periods
            self._runnable, self._positions = {}, []
            for cohort in going:
                self._add(cohort)

    def _standing(self, where: tuple[Hashable, ...], cohort: Cohort) -> Standing:
        loops = tuple((begin, times) for begin, _, times in cohort.loops)
        place = (
            *where, self._number[cohort.group], cohort.first, cohort.stride, cohort.count, cohort.pc, cohort.times,
            loops, cohort.pairs, cohort.partners,
        )  # fmt: skip
        return Standing(place, tuple(turn for _, turn, _ in cohort.loops), cohort.clock, cohort)

    # --- one instruction of the cohorts that are at one place ---

    def _advance_first(self) -> None:
        """Of those that are least advanced, so that others can join them again."""
        if self._steady.due:
            self._skip()
        for cohort in reunited(self._runnable.pop(heappop(self._positions))):
            self._advance(cohort)

    def _advance(self, cohort: Cohort) -> None:
        code = self._code[cohort.label]
        if cohort.pc == len(code):
            self.ended.append(Ended(cohort.group, cohort.clock))
            return
        try:
            if self._do(cohort, code[cohort.pc]):
                self._add(cohort)
        except Split as split:
            for part in split.parts:
                self._advance(cohort.part(part))

    def _do(self, cohort: Cohort, instruction: Instruction) -> bool:
        """One instruction; False where the cohort now waits.  A Split leaves the cohort as it was."""
        step, where = instruction.step, instruction.where
        if instruction.kind == "block":
            return self._block(cohort, step, where)
        answer = None
        if isinstance(step, If):
            answer = int(bool(Expression.of(step.condition).value(cohort.scope, where)))
        elif instruction.kind == "loop" and isinstance(step, Repeat):
            answer = Expression.of(step.times).whole(cohort.scope, where)
            self._steady.check_entered(instruction, answer)
        if follow(cohort, instruction, answer) and cohort.first == cohort.group.first:
            self._steady.turned(self._number[cohort.group], cohort)
        return True

    def _block(self, cohort: Cohort, step: Step | None, where: str) -> bool:
        if isinstance(step, Compute):
            self._compute(cohort, step, where)
        elif isinstance(step, Send | Receive):
            return self._exchange.begin(cohort, step, where)
        elif isinstance(step, Collective):
            self._gatherings.join(cohort, step, where)
            return False
        elif isinstance(step, ReadDisk | WriteDisk):
            self._disks.join(cohort, step.block, whole_bytes(step.bytes, cohort, where))
            return False
        cohort.pc += 1
        return True

    def _compute(self, cohort: Cohort, step: Compute, where: str) -> None:
        scope = cohort.scope
        if step.size is not None:
            scope = {**scope, "size": Expression.of(step.size).value(scope, where)}
        operations = Expression.of(step.operations).value(scope, where)
        check_operations(operations, step, where)
        if isinstance(operations, Progression):
            first_s, last_s = (
                self._machine.compute_s(cohort.group, one) for one in (operations.first, operations.last)
            )
            step_s = (last_s - first_s) / (cohort.count - 1)
        else:
            first_s = last_s = self._machine.compute_s(cohort.group, operations)
            step_s = 0.0
        cohort.clock = cohort.clock.plus(cohort.times * first_s, cohort.times * step_s)
        self.compute_s[cohort.group] += cohort.times * cohort.count * (first_s + last_s) / 2
