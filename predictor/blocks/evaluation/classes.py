"""Classes of processes: equal placement and equal instructions, with numbers that grow by equal steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from predictor.blocks.machines.machine import Group
from predictor.blocks.processes.progression import Part, Progression, Split
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
