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

from predictor.blocks.application import Application, If, Repeat
from predictor.blocks.evaluation.cohort import Cohort, reunited
from predictor.blocks.evaluation.disks import Disks
from predictor.blocks.evaluation.exchange import Exchange, Side
from predictor.blocks.evaluation.gathering import Gatherings
from predictor.blocks.evaluation.profile import Profile
from predictor.blocks.evaluation.program import Instruction, flat, follow
from predictor.blocks.evaluation.steady import Standing, State, Steady
from predictor.blocks.expressions import Expression
from predictor.blocks.machines.machine import Group, Machine
from predictor.blocks.parts import COMPUTING, Ledger
from predictor.blocks.processes.progression import Progression, Split
from predictor.blocks.steps import check_together
from predictor.blocks.stream.expand import Resolver
from predictor.blocks.stream.instructions import Collective, Compute, Disk, Receive, Send

_Position = tuple[tuple[int, ...], int]  # position in the program, and number of the group


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
        self._machine, self._numbers = machine, application.numbers()
        self._resolver = resolver = Resolver(application)
        self._code = {label.name: flat(application, label.name) for label in application.labels}
        self._runnable: dict[_Position, list[Cohort]] = {}
        self._positions: list[_Position] = []  # a heap of the keys of _runnable
        self._number = {group: number for number, group in enumerate(machine.groups)}
        self.spent = spent = Ledger()
        self._exchange = Exchange(machine, resolver.first, self._resume, spent)
        self._gatherings = Gatherings(machine, application.counts(), resolver.labels, self._resume, spent)
        self._disks = Disks(machine, self._resume, spent)
        self._steady = Steady(self._code, len(machine.groups))
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
                clock = Profile.constant(group.count, 0.0)
                scope = {**self._numbers, "index": index}
                self._add(Cohort(group, group.first, group.stride, group.count, clock, scope=scope))
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
        """Skip the turns that repeat earlier ones, if there are any."""
        going = [cohort for cohorts in self._runnable.values() for cohort in cohorts]
        going.sort(key=lambda cohort: (self._number[cohort.group], cohort.first))
        standing = [self._standing(("goes on",), cohort) for cohort in going]
        for where, who in (*self._exchange.standing(), *self._gatherings.standing(), *self._disks.standing()):
            standing.append(self._standing(where, who))
        periods = self._steady.look(State(standing, self.compute_s, self.spent.sums_s))
        if periods:
            self.skipped += periods
            self._runnable, self._positions = {}, []
            for cohort in going:
                self._add(cohort)

    def _standing(self, where: tuple[Hashable, ...], who: Cohort | Side) -> Standing:
        if isinstance(who, Side):
            return Standing((*where, self._number[who.group]), (), who.times, who)
        loops = tuple((begin, times) for begin, _, times in who.loops)
        members = self._number[who.group], who.first, who.stride, who.count
        place = (*where, *members, who.pc, who.times, who.todo and (len(who.todo), who.met), loops)
        return Standing(place, tuple(turn for _, turn, _ in who.loops), who.clock, who)

    # --- one instruction of the cohorts at one position ---

    def _advance_first(self) -> None:
        """Advance the cohorts that are furthest behind, so that other cohorts can join them again."""
        if self._steady.due:
            self._skip()
        for cohort in reunited(self._runnable.pop(heappop(self._positions))):
            self._advance(cohort)

    def _advance(self, cohort: Cohort) -> None:
        code = self._code[cohort.group.label]
        if cohort.pc == len(code):
            self.ended.append(Ended(cohort.group, cohort.clock, _members(cohort)))
            return
        try:
            self._do(cohort, code[cohort.pc])
        except Split as split:
            for part in split.parts:
                self._advance(cohort.part(part))

    def _do(self, cohort: Cohort, one: Instruction) -> None:
        """Do one instruction.  A Split leaves the cohort unchanged."""
        step, where, answer = one.step, one.where, None
        if one.kind == "block" and step is not None:
            cohort.todo = self._resolver.instructions(cohort.group.label, cohort.first, cohort.scope, step, where)
            self._resume(cohort)
            return
        if isinstance(step, If):
            answer = int(bool(Expression.of(step.condition).value(cohort.scope, where)))
        elif isinstance(step, Repeat) and one.kind == "loop":
            answer = Expression.of(step.times).whole(cohort.scope, where)
            self._steady.check_entered(one, answer)
        if follow(cohort, one, answer) and cohort.first == cohort.group.first:
            self._steady.turned(self._number[cohort.group], cohort)
        self._add(cohort)

    def _resume(self, cohort: Cohort) -> None:
        """Let a cohort go on with the instructions of its block, and then to the next step."""
        while cohort.todo:
            one = cohort.todo[0]
            if isinstance(one, Send | Receive):
                if not self._exchange.begin(cohort, one):
                    return
            elif isinstance(one, Collective):
                self._gatherings.join(cohort, one)
                return
            elif isinstance(one, Disk):
                self._disks.join(cohort, one)
                return
            elif isinstance(one, Compute):
                self._compute(cohort, one)
            else:
                raise TypeError(f"{one.where}: {one!r} cannot be evaluated for equal processes together")
            cohort.todo, cohort.met = cohort.todo[1:], 0
        cohort.pc += 1
        self._add(cohort)

    def _compute(self, cohort: Cohort, one: Compute) -> None:
        operations, step_s = one.operations, 0.0
        if isinstance(operations, Progression):
            ends = operations.first, operations.last
            first_s, last_s = (self._machine.compute_s(cohort.group, float(end)) for end in ends)
            step_s = (last_s - first_s) / (cohort.count - 1)
        else:
            first_s = last_s = self._machine.compute_s(cohort.group, operations)
        cohort.clock = cohort.clock.plus(cohort.times * first_s, cohort.times * step_s)
        took_s = cohort.times * cohort.count * (first_s + last_s) / 2
        self.compute_s[cohort.group] += took_s
        self.spent.note(cohort.label, one.where, COMPUTING, took_s)


def _members(cohort: Cohort) -> range:
    step = cohort.stride or 1
    return range(cohort.first, cohort.first + step * cohort.count, step)
