"""Run an application's programs with the block times of a machine, equal processes together.

Processes with the same placement and the same instructions form a class.  Those of them with the same history form a
cohort, which is stored as its first place in the class, stride, count and the line of its clocks.  A cohort is split
where its members meet different partners or their clocks leave a line, and cohorts at one position are joined again.

Blocks have these semantics.  A computation takes its own time.  A message begins when both its send and its receive
have been reached, and takes its own time.  The receiver is busy until the message ends; so is the sender, unless the
message is buffered.  Messages between the same two processes keep their order.  A process that sends to several
processes, or receives from several, does so in the order of their indices.  A collective begins when all participants
have reached it, and all leave it at its end.  Since every receive names its sender, the result does not depend on the
order in which cohorts are evaluated.

Contention is modelled in three cases only: messages of one step between two groups that begin at the same moment share
their common links; so do messages that one process sends at the same moment; and processes that begin to use a disk at
the same moment share the disk.
"""

from __future__ import annotations

from heapq import heappop, heappush

from predictor.blocks.application import Application
from predictor.blocks.evaluation.classes import Turn, classes_of
from predictor.blocks.evaluation.cohort import Cohort, reunited
from predictor.blocks.evaluation.disks import Disks
from predictor.blocks.evaluation.exchange import Exchange
from predictor.blocks.evaluation.gathering import Gatherings
from predictor.blocks.evaluation.line import Line
from predictor.blocks.evaluation.steady import Steady
from predictor.blocks.machines.machine import Group, Machine
from predictor.blocks.parts import COMPUTING, Ledger
from predictor.blocks.processes.progression import Part
from predictor.blocks.steps import check_together
from predictor.blocks.stream.expand import Together
from predictor.blocks.stream.instructions import Collective, Compute, Disk, Loop, Receive, Send

_Position = tuple[tuple[int, ...], int]  # position in the program, and number of the class


class Execution:
    """One evaluation of an application on a machine.  ``run`` may be called only once."""

    def __init__(self, application: Application, machine: Machine):
        check_together(application)
        self._machine = machine
        together = Together(application)
        self._classes = classes_of(together, machine.groups)
        self._runnable: dict[_Position, list[Cohort]] = {}
        self._positions: list[_Position] = []  # a heap of the keys of _runnable
        self.spent = spent = Ledger()
        self._exchange = Exchange(machine, together.first, self._add, spent)
        self._gatherings = Gatherings(machine, application.counts(), together.labels, self._add, spent)
        self._disks = Disks(machine, self._add, spent)
        self._steady = Steady(len(self._classes))
        self.ended: list[Cohort] = []
        self.skipped = 0  # periods of identical turns that were not evaluated one by one
        self.compute_s: dict[Group, float] = dict.fromkeys(machine.groups, 0.0)  # summed over the group's processes

    def run(self) -> None:
        """Run until all processes have ended.

        Raises:
            UserError: If a program does not end, or leaves a message unreceived.
        """
        for cohort in self._classes:
            self._add(Cohort(cohort, Part(0, 1, cohort.count), Line(cohort.count, 0.0)))
        while True:
            while self._runnable:
                self._advance_first()
            if not self._exchange.match() and not self._disks.let_go():
                break
        self._gatherings.check_done()
        self._exchange.check_done()

    def _add(self, cohort: Cohort) -> None:
        key = cohort.position, cohort.kind.number
        if key not in self._runnable:
            self._runnable[key] = []
            heappush(self._positions, key)
        self._runnable[key].append(cohort)

    def _skip(self) -> None:
        """Skip the turns that repeat earlier ones, if there are any."""
        going = [cohort for cohorts in self._runnable.values() for cohort in cohorts]
        standing = [(None, cohort) for cohort in going]
        waiting = (*self._exchange.standing(), *self._gatherings.standing(), *self._disks.standing())
        periods = self._steady.look((*standing, *waiting), (self.compute_s, self.spent.sums_s))
        if periods:
            self.skipped += periods
            self._runnable, self._positions = {}, []
            for cohort in going:
                self._add(cohort)

    def _advance_first(self) -> None:
        """Do one instruction of the cohorts that are furthest behind, so that other cohorts can join them again."""
        if self._steady.due:
            self._skip()
        for cohort in reunited(self._runnable.pop(heappop(self._positions))):
            if cohort.pc == len(cohort.kind.code):
                self.ended.append(cohort)
            elif self._do(cohort):
                self._add(cohort)

    def _do(self, cohort: Cohort) -> bool:
        """Do one instruction; return False if the cohort now waits."""
        instruction = cohort.instruction
        if isinstance(instruction, Send | Receive):
            return self._exchange.begin(cohort, instruction)
        if isinstance(instruction, Collective):
            self._gatherings.join(cohort, instruction)
            return False
        if isinstance(instruction, Disk):
            self._disks.join(cohort, instruction)
            return False
        if isinstance(instruction, Compute):
            self._compute(cohort, instruction)
        elif isinstance(instruction, Loop):
            cohort.loops += ((cohort.pc, 0, instruction.times),)
        elif isinstance(instruction, Turn):
            begin, turn, times = cohort.loops[-1]
            cohort.loops = cohort.loops[:-1]
            if turn + 1 < times:
                cohort.loops += ((begin, turn + 1, times),)
                cohort.pc = begin
                if cohort.part.first == 0:
                    self._steady.turned(cohort, instruction.where)
        else:
            raise TypeError(f"{instruction.where}: {instruction!r} cannot be evaluated for equal processes together")
        cohort.pc += 1
        return True

    def _compute(self, cohort: Cohort, compute: Compute) -> None:
        first, step = cohort.row(compute.operations)
        first_s = last_s = self._machine.compute_s(cohort.group, float(first))
        if step:
            last_s = self._machine.compute_s(cohort.group, float(first + step * (cohort.count - 1)))
        cohort.clock = cohort.clock.plus(first_s, (last_s - first_s) / max(1, cohort.count - 1))
        took_s = cohort.count * (first_s + last_s) / 2
        self.compute_s[cohort.group] += took_s
        self.spent.note(cohort.group.label, compute.where, COMPUTING, took_s)
