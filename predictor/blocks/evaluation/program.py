"""Programs as flat lists of instructions, in which loops and conditions are jumps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from predictor.blocks.application import Application, Compute, If, Repeat, Step, numbered
from predictor.blocks.expressions import Value
from predictor.blocks.steps import inner_steps, turns_are_alike


@dataclass(frozen=True)
class Instruction:
    """An instruction of a flat program."""

    kind: str  # "block"; "loop": enter it, or go to `target`; "next": another turn from `target`; "branch"; "jump"
    step: Step | None
    where: str  # for error messages
    target: int = 0  # index of the instruction to jump to
    alike: bool = False  # for a loop: no expression in it uses its variable
    lonely: bool = False  # for a loop: it is alike and only computes


class Walker(Protocol):
    """A process, or a cohort, that goes through a program."""

    pc: int  # index of the next instruction
    loops: tuple[tuple[int, int, int], ...]  # enclosing loops: index of the instruction, turn, number of turns
    scope: dict[str, Value]
    times: int  # factor on each computation, from loops that are evaluated only once


def follow(walker: Walker, instruction: Instruction, answer: int | None) -> bool:
    """Do an instruction that is not a block.

    Args:
        walker: The process or cohort at the instruction.
        instruction: The instruction.
        answer: For a branch, its condition; for a loop, its number of turns; otherwise ignored.

    Returns:
        Whether another turn of a loop has begun.
    """
    step = instruction.step
    if instruction.kind == "branch":
        walker.pc = walker.pc + 1 if answer else instruction.target
    elif instruction.kind == "jump":
        walker.pc = instruction.target
    elif instruction.kind == "loop":
        if answer:
            walker.times *= answer if instruction.lonely else 1
            walker.loops += ((walker.pc, answer - 1 if instruction.lonely else 0, answer),)
            _count(walker, step, 0)
        walker.pc = walker.pc + 1 if answer else instruction.target
    else:
        begin, turn, turns = walker.loops[-1]
        if turn + 1 < turns:
            walker.loops = (*walker.loops[:-1], (begin, turn + 1, turns))
            walker.pc = instruction.target
            _count(walker, step, turn + 1)
            return True
        walker.loops = walker.loops[:-1]
        walker.times //= turns if instruction.lonely else 1
        if isinstance(step, Repeat) and step.variable:
            walker.scope.pop(step.variable, None)
        walker.pc += 1
    return False


def _count(walker: Walker, step: Step | None, turn: int) -> None:
    if isinstance(step, Repeat) and step.variable:
        walker.scope[step.variable] = turn


def flat(application: Application, label: str) -> list[Instruction]:
    """Return the program of a label; a process ends after the last instruction."""
    code: list[Instruction] = []
    _append(code, None, application.label(label).program, f"{application.where}, label {label}, step ")
    return code


def _append(code: list[Instruction], owner: Step | None, steps: Sequence[Step], where: str) -> None:
    for step, here in numbered(owner, steps, where):
        if isinstance(step, Repeat):
            begin = len(code)
            code.append(Instruction("loop", step, here))
            _append(code, step, step.steps, here)
            kind = {"alike": turns_are_alike(step), "lonely": turns_are_alike(step) and _only_computes(step.steps)}
            code.append(Instruction("next", step, here, begin + 1, **kind))
            code[begin] = Instruction("loop", step, here, len(code), **kind)
        elif isinstance(step, If) and step.always:
            _append(code, step, step.steps, here)
        elif isinstance(step, If):
            branch = len(code)
            code.append(Instruction("branch", step, here))
            _append(code, step, step.steps, here)
            if step.otherwise:
                jump = len(code)
                code.append(Instruction("jump", None, here))
                code[branch] = Instruction("branch", step, here, len(code))
                _append(code, step, step.otherwise, here)
                code[jump] = Instruction("jump", None, here, len(code))
            else:
                code[branch] = Instruction("branch", step, here, len(code))
        else:
            code.append(Instruction("block", step, here))


def _only_computes(steps: Sequence[Step]) -> bool:
    return all(isinstance(step, Compute | If | Repeat) and _only_computes(inner_steps(step)) for step in steps)
