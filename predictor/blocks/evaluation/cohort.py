"""Cohorts: processes with the same program, placement and history, stored as one value whatever their number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from predictor.blocks.evaluation.classes import Class
from predictor.blocks.evaluation.line import Line, followed, interleaved
from predictor.blocks.machines.machine import Group
from predictor.blocks.processes.progression import Number, Part, Progression, in_fewest
from predictor.blocks.stream.instructions import Instruction


@dataclass(eq=False)
class Cohort:
    """Processes of one class that have done the same so far, and whose clocks lie on a line."""

    kind: Class
    part: Part  # their places in the class
    clock: Line
    pc: int = 0  # index of the next instruction
    loops: tuple[tuple[int, int, int], ...] = ()  # enclosing loops: index of the instruction, turn, number of turns
    met: int = 0  # partners of the present instruction whose messages have begun

    @property
    def group(self) -> Group:
        """Group of the processes."""
        return self.kind.group

    @property
    def count(self) -> int:
        """Number of processes."""
        return self.part.count

    @property
    def first(self) -> int:
        """Index of the first process within its label."""
        return self.kind.first + self.kind.stride * self.part.first

    @property
    def stride(self) -> int:
        """Difference of the indices of neighbours; 0 for a single process."""
        return self.kind.stride * self.part.stride if self.count > 1 else 0

    @property
    def members(self) -> range:
        """Indices of the processes within their label."""
        step = self.stride or 1
        return range(self.first, self.first + step * self.count, step)

    @property
    def position(self) -> tuple[int, ...]:
        """Position in the program and in the turns of its loops; it grows as the processes advance."""
        return (*(number for begin, turn, _ in self.loops for number in (begin, turn)), self.pc)

    @property
    def instruction(self) -> Instruction:
        """The next instruction."""
        return self.kind.code[self.pc]

    def row(self, number: Number) -> tuple[Number, Number]:
        """Return the value of a number of an instruction for the first process, and its growth to the next one."""
        if isinstance(number, Progression):
            return number.first + number.step * self.part.first, number.step * self.part.stride
        return number, 0

    def cut(self, part: Part, clock: Line | None = None) -> Cohort:
        """Return a part of the cohort, with these clocks or its own."""
        clock = self.clock.part(part) if clock is None else clock
        return Cohort(self.kind, self.part.within(part), clock, self.pc, self.loops, self.met)


def reunited(cohorts: Sequence[Cohort]) -> list[Cohort]:
    """Join cohorts of a class at the same position into as few as possible.

    Two cohorts become one if their members alternate or follow each other, and their clocks lie on one line.
    """
    return in_fewest(cohorts, lambda cohort: cohort.part, _both)


def _both(cohort: Cohort, other: Cohort) -> Cohort | None:
    """Join two cohorts, of which ``one`` has the first member; return None if that is impossible."""
    part = cohort.part.with_others(other.part)
    if part is None:
        return None
    alternate = cohort.count > 1 and part.stride < cohort.part.stride
    clock = interleaved(cohort.clock, other.clock) if alternate else followed(cohort.clock, other.clock)
    return None if clock is None else replace(cohort, part=part, clock=clock)
