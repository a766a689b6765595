"""Run an application's programs with the block times of a machine, equal processes together.

Processes with the same placement and the same instructions form a class (predictor/blocks/stream).  Those of them with
the same history form a cohort, which is stored as first member, stride, count and a profile of the clocks.  A cohort is
split when its members meet different partners, and cohorts at one position are joined again.

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

from predictor.blocks.application import Application
from predictor.blocks.evaluation.cohort import Cohort, reunited
from predictor.blocks.evaluation.disks import Disks
from predictor.blocks.evaluation.exchange import Exchange, Side
from predictor.blocks.evaluation.gathering import Gatherings
from predictor.blocks.evaluation.profile import Profile
from predictor.blocks.evaluation.steady import Standing, State, Steady
from predictor.blocks.machines.machine import Group, Machine
from predictor.blocks.processes.progression import Part, Progression
from predictor.blocks.steps import check_together
from predictor.blocks.stream.expand import expand_classes
from predictor.blocks.stream.instructions import (
    Class,
    Collective,
    Compute,
    Disk,
    Instruction,
    Loop,
    Program,
    Receive,
    Send,
    executed,
    only_computes,
)

_Position = tuple[tuple[int, ...], int]  # position in the program, and number of the class


@dataclass(frozen=True, slots=True)
class _Turn(Instruction):
    """The end of a loop's body: another turn begins after the instruction ``begin``, or the loop ends."""

    begin: int


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
        self._machine = machine
        self._classes = expand_classes(application, machine.groups)
        self._number = {id(one): number for number, one in enumerate(self._classes.classes)}
        self._codes = [_flat(one.program) for one in self._classes.classes]
        self._runnable: dict[_Position, list[Cohort]] = {}
        self._positions: list[_Position] = []  # a heap of the keys of _runnable
        self._exchange = Exchange(machine, self._classes, self._add, at=self._at)
        self._gatherings = Gatherings(machine, self._classes, self._add)
        self._disks = Disks(machine, self._add)
        self._steady = Steady(len(self._codes))
        self.ended: list[Ended] = []
        self.skipped = 0  # periods of identical turns that were not evaluated one by one
        self.compute_s: dict[Group, float] = dict.fromkeys(machine.groups, 0.0)  # summed over the group's processes

    def run(self) -> None:
        """Run until all processes have ended.

        Raises:
            UserError: If a program does not end, or leaves a message unreceived.
        """
        for one in self._classes.classes:
            self._add(Cohort(one, Part(0, 1, one.count), Profile.constant(one.count, 0.0)))
        while True:
            while self._runnable:
                self._advance_first()
            if not self._exchange.match() and not self._disks.let_go():
                break
        self._gatherings.check_done()
        self._exchange.check_done()

    def _add(self, cohort: Cohort) -> None:
        key = cohort.position, self._number[id(cohort.kind)]
        if key not in self._runnable:
            self._runnable[key] = []
            heappush(self._positions, key)
        self._runnable[key].append(cohort)

    def _at(self, cohort: Cohort) -> Instruction:
        return self._codes[self._number[id(cohort.kind)]][cohort.pc]

    def _skip(self) -> None:
        """Skip the turns that repeat earlier ones, if there are any."""
        going = [cohort for cohorts in self._runnable.values() for cohort in cohorts]
        going.sort(key=lambda cohort: (self._number[id(cohort.kind)], cohort.part.first))
        standing = [self._standing(("goes on",), cohort) for cohort in going]
        for where, who in (*self._exchange.standing(), *self._gatherings.standing(), *self._disks.standing()):
            standing.append(self._standing(where, who))
        periods = self._steady.look(State(standing, self.compute_s))
        if periods:
            self.skipped += periods
            self._runnable, self._positions = {}, []
            for cohort in going:
                self._add(cohort)

    def _standing(self, where: tuple[Hashable, ...], who: Cohort | Side) -> Standing:
        if isinstance(who, Side):
            return Standing((*where, who.group), (), who.times, who)
        loops = tuple((begin, times) for begin, _, times in who.loops)
        place = (*where, self._number[id(who.kind)], who.part, who.pc, who.met, loops)
        return Standing(place, tuple(turn for _, turn, _ in who.loops), who.clock, who)

    # --- one instruction of the cohorts at one position ---

    def _advance_first(self) -> None:
        """Advance the cohorts that are furthest behind, so that other cohorts can join them again."""
        if self._steady.due:
            self._skip()
        key = heappop(self._positions)
        code = self._codes[key[1]]
        for cohort in reunited(self._runnable.pop(key)):
            if cohort.pc == len(code):
                self.ended.append(Ended(cohort.group, cohort.clock, _members(cohort)))
            elif self._do(cohort, code[cohort.pc]):
                self._add(cohort)

    def _do(self, cohort: Cohort, one: Instruction) -> bool:
        """Do one instruction; return False if the cohort now waits."""
        if isinstance(one, Send | Receive):
            return self._exchange.begin(cohort, one)
        if isinstance(one, Collective):
            self._gatherings.join(cohort, one)
            return False
        if isinstance(one, Disk):
            self._disks.join(cohort, one)
            return False
        if isinstance(one, Compute):
            self._compute(cohort, one)
        elif isinstance(one, Loop):
            cohort.loops += ((cohort.pc, 0, one.times),)
        elif isinstance(one, _Turn):
            begin, turn, times = cohort.loops[-1]
            cohort.loops = cohort.loops[:-1]
            if turn + 1 < times:
                cohort.loops += ((begin, turn + 1, times),)
                cohort.pc = begin
                if cohort.part.first == 0:
                    self._steady.turned(self._number[id(cohort.kind)], cohort, one.where)
        else:
            raise TypeError(f"{one.where}: {one!r} cannot be evaluated for equal processes together")
        cohort.pc += 1
        return True

    def _compute(self, cohort: Cohort, one: Compute) -> None:
        number, part, step_s = one.operations, cohort.part, 0.0
        first = last = number
        if isinstance(number, Progression):
            first = number.first + number.step * part.first
            last = first + number.step * part.stride * (part.count - 1)
        first_s = last_s = self._machine.compute_s(cohort.group, first)
        if last != first:
            last_s = self._machine.compute_s(cohort.group, last)
            step_s = (last_s - first_s) / (part.count - 1)
        cohort.clock = cohort.clock.plus(first_s, step_s)
        self.compute_s[cohort.group] += cohort.count * (first_s + last_s) / 2


def _members(cohort: Cohort) -> range:
    step = cohort.stride or 1
    return range(cohort.first, cohort.first + step * cohort.count, step)


def _flat(program: Program) -> list[Instruction]:
    """Return the instructions in a row; the body of a loop follows it, up to its end."""
    code: list[Instruction] = []

    def append(instructions: Program) -> None:
        for one in instructions:
            if not isinstance(one, Loop):
                code.append(one)
            elif only_computes(one.body):
                for inner, times in executed((one,)):
                    if isinstance(inner, Compute):
                        code.append(Compute(inner.operations * times, where=inner.where))
            else:
                begin = len(code)
                code.append(one)
                append(one.body)
                code.append(_Turn(begin, where=one.where))

    append(program)
    return code
