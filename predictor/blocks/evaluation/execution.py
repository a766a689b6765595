"""Run an application's programs with the block times of a machine, equal processes together.

Processes with the same program, placement and history form a cohort, which is stored as first member, stride, count and
a profile of the clocks.  A cohort is split when its members answer a condition differently or meet different partners.

Blocks have these semantics.  A computation takes its own time.  A message begins when both its send and its receive
have been reached, and takes its own time.  The receiver is busy until the message ends; so is the sender, unless the
message is buffered.  Messages between the same two processes keep their order.  A process that sends to several
processes, or receives from several, does so in the order of their indices.  A collective begins when all participants
have reached it, and all leave it at its end.  Since every receive names its sender, the result does not depend on the
order in which cohorts are evaluated.

Contention is modelled in three cases only: messages of one cohort that begin at the same moment share their common
links; so do messages that one process sends at the same moment; and processes that begin to use a disk at the same
moment share the disk.
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
    Repeat,
    WriteDisk,
)
from predictor.blocks.evaluation.cohort import Cohort, check_operations, reunited, whole_bytes
from predictor.blocks.evaluation.disks import Disks
from predictor.blocks.evaluation.exchange import Exchange
from predictor.blocks.evaluation.gathering import Gatherings
from predictor.blocks.evaluation.profile import Profile
from predictor.blocks.evaluation.program import Instruction, flat, follow
from predictor.blocks.evaluation.steady import Standing, State, Steady
from predictor.blocks.expressions import Expression
from predictor.blocks.machines.machine import Group, Machine
from predictor.blocks.parts import COMPUTING, Ledger
from predictor.blocks.processes.progression import Progression, Split
from predictor.blocks.steps import StepActions, check_together, refuse_loose

_Position = tuple[tuple[int, ...], int]  # position in the program, and number of the group


def _members(cohort: Cohort) -> range:
    step = cohort.stride or 1
    return range(cohort.first, cohort.first + step * cohort.count, step)


@dataclass(frozen=True)
class Ended:
    """Processes that have ended, and their end times."""

    group: Group
    clock: Profile
    members: range  # indices within the label


class Execution:
    """One evaluation of an application on a machine.  ``run`` may be called only once."""

    def __init__(self, application: Application, machine: Machine):
        check_together(application)
        self._application, self._machine = application, machine
        self._numbers = application.numbers()
        self._code = {label.name: flat(application, label.name) for label in application.labels}
        self._runnable: dict[_Position, list[Cohort]] = {}
        self._positions: list[_Position] = []  # a heap of the keys of _runnable
        self._number = {group: number for number, group in enumerate(machine.groups)}
        self.spent = Ledger()
        note = self._note
        self._exchange = Exchange(machine, counts=application.counts(), code=self._code, add=self._add, note=note)
        self._gatherings = Gatherings(application, machine, self._add, note)
        self._disks = Disks(machine, self._add, note)
        self._steady = Steady(self._code, len(machine.groups))
        self._actions = StepActions(
            compute=self._compute,
            message=self._exchange.begin,
            collective=self._gather,
            disk=self._use_disk,
            repeat=self._repeat,
            branch=self._branch,
            loose=refuse_loose,
        )
        self.ended: list[Ended] = []
        self.skipped = 0  # periods of identical turns that were not evaluated one by one
        self.compute_s: dict[Group, float] = dict.fromkeys(machine.groups, 0.0)  # summed over the group's processes

    def run(self) -> None:
        """Run until all processes have ended.

        Raises:
            UserError: If a program does not end, or leaves a message unreceived.
        """
        for group in self._machine.groups:
            if group.count:
                index = Progression.of(group.first, group.stride, group.count)
                self._add(
                    Cohort(
                        group=group,
                        first=group.first,
                        stride=group.stride,
                        count=group.count,
                        clock=Profile.constant(group.count, 0.0),
                        scope={**self._numbers, "index": index},
                    )
                )
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

    def _note(self, cohort: Cohort, kind: int, time_s: float) -> None:
        self.spent.note(cohort.label, self._code[cohort.label][cohort.pc].where, kind, time_s)

    def _skip(self) -> None:
        """Skip the turns that repeat earlier ones, if there are any."""
        going = [cohort for cohorts in self._runnable.values() for cohort in cohorts]
        going.sort(key=lambda cohort: (self._number[cohort.group], cohort.first))
        standing = [self._standing(("goes on",), cohort) for cohort in going]
        for where, cohort in (*self._exchange.waiting(), *self._gatherings.waiting(), *self._disks.standing()):
            standing.append(self._standing(where, cohort))
        for where, offer in self._exchange.offered():
            place = (*where, offer.pairs, offer.size_bytes, self._number[offer.group], offer.traffic, offer.where)
            standing.append(Standing(place, (), offer.times, offer))
        periods = self._steady.look(State(standing, self.compute_s, self.spent.sums_s))
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

    # --- one instruction of the cohorts at one position ---

    def _advance_first(self) -> None:
        """Advance the cohorts that are furthest behind, so that other cohorts can join them again."""
        if self._steady.due:
            self._skip()
        for cohort in reunited(self._runnable.pop(heappop(self._positions))):
            self._advance(cohort)

    def _advance(self, cohort: Cohort) -> None:
        code = self._code[cohort.label]
        if cohort.pc == len(code):
            self.ended.append(Ended(cohort.group, cohort.clock, _members(cohort)))
            return
        try:
            if self._do(cohort, code[cohort.pc]):
                self._add(cohort)
        except Split as split:
            for part in split.parts:
                self._advance(cohort.part(part))

    def _do(self, cohort: Cohort, instruction: Instruction) -> bool:
        """Do one instruction; return False if the cohort now waits.  A Split leaves the cohort unchanged."""
        if instruction.step is None:  # a jump
            return self._follow(cohort, instruction, None)
        return self._actions.do(cohort, instruction.step, instruction.where)

    def _follow(self, cohort: Cohort, instruction: Instruction, answer: int | None) -> bool:
        if follow(cohort, instruction, answer) and cohort.first == cohort.group.first:
            self._steady.turned(self._number[cohort.group], cohort)
        return True

    def _branch(self, cohort: Cohort, step: If, where: str) -> bool:
        answer = int(bool(Expression.of(step.condition).value(cohort.scope, where)))
        return self._follow(cohort, self._code[cohort.label][cohort.pc], answer)

    def _repeat(self, cohort: Cohort, step: Repeat, where: str) -> bool:
        instruction = self._code[cohort.label][cohort.pc]
        turns: int | None = None
        if instruction.kind == "loop":
            turns = Expression.of(step.times).whole(cohort.scope, where)
            self._steady.check_entered(instruction, turns)
        return self._follow(cohort, instruction, turns)

    def _gather(self, cohort: Cohort, step: Collective, where: str) -> bool:
        self._gatherings.join(cohort, step, where)
        return False

    def _use_disk(self, cohort: Cohort, step: ReadDisk | WriteDisk, where: str) -> bool:
        self._disks.join(cohort, step.block, whole_bytes(step.bytes, cohort, where))
        return False

    def _compute(self, cohort: Cohort, step: Compute, where: str) -> bool:
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
        took_s = cohort.times * cohort.count * (first_s + last_s) / 2
        self.compute_s[cohort.group] += took_s
        self._note(cohort, COMPUTING, took_s)
        cohort.pc += 1
        return True
