"""Classes of processes with equal placement and instructions, and cohorts of those with equal history as well."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from predictor.blocks.evaluation.line import Line, followed, interleaved
from predictor.blocks.machines.machine import Group
from predictor.blocks.progression import Number, Part, Progression, Split, in_fewest
from predictor.blocks.stream.expand import Together
from predictor.blocks.stream.instructions import Compute, Instruction, Loop, Program, executed, only_computes


@dataclass(frozen=True, slots=True)
class Turn(Instruction):
    """The end of a loop's body: another turn begins after the instruction ``begin``, or the loop ends."""

    begin: int


@dataclass(frozen=True, eq=False)
class Class:
    """The members ``first``, ``first + stride``, ... of a group, which have the same instructions."""

    number: int
    group: Group
    first: int  # index within the label
    stride: int
    count: int
    code: Sequence[Instruction]  # the body of a loop follows it, up to its Turn


def classes_of(together: Together, groups: Sequence[Group]) -> list[Class]:
    """Return the classes of the processes of all groups.

    A class is split where its processes answer a condition differently, or have numbers that do not grow by equal
    steps.

    Raises:
        UserError: If an expression has no valid value, or there are too many instructions.
    """
    classes: list[Class] = []
    for group in groups:
        if group.count:
            for part, program in _programs(together, group, Part(0, 1, group.count)):
                first, stride = group.first + group.stride * part.first, group.stride * part.stride
                classes.append(Class(len(classes), group, first, stride, part.count, _flat(program)))
    return classes


def _programs(together: Together, group: Group, part: Part) -> Iterator[tuple[Part, Program]]:
    """Yield the parts of a part of a group that have the same instructions, and these."""
    first = group.first + group.stride * part.first
    index = Progression.of(first, group.stride * part.stride, part.count)
    try:
        program = together.program(group.label, index, first)
    except Split as split:
        for inner in split.parts:
            yield from _programs(together, group, part.within(inner))
    else:
        yield part, program


def _flat(program: Program) -> list[Instruction]:
    """Return the instructions in a row; loops that only compute become computations."""
    code: list[Instruction] = []

    def append(instructions: Program) -> None:
        for instruction in instructions:
            if not isinstance(instruction, Loop):
                code.append(instruction)
            elif only_computes(instruction.body):
                for inner, times in executed((instruction,)):
                    if isinstance(inner, Compute):
                        code.append(Compute(inner.operations * times, where=inner.where))
            else:
                begin = len(code)
                code.append(instruction)
                append(instruction.body)
                code.append(Turn(begin, where=instruction.where))

    append(program)
    return code


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
