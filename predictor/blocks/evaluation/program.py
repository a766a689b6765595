"""Programs as flat lists of instructions, in which loops and conditions are jumps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from predictor.blocks.application import Application, Compute, If, Repeat, Step, numbered
from predictor.blocks.evaluation.cohort import Cohort
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


def follow(cohort: Cohort, instruction: Instruction, answer: int | None) -> bool:
    """Let a cohort do an instruction that is not a block; return whether another turn of a loop has begun.

    ``answer`` is the condition of a branch, or the number of turns of a loop; it is ignored for others.
    """
    step = instruction.step
    if instruction.kind == "branch":
        cohort.pc = cohort.pc + 1 if answer else instruction.target
    elif instruction.kind == "jump":
        cohort.pc = instruction.target
    elif instruction.kind == "loop":
        if answer:
            cohort.times *= answer if instruction.lonely else 1
            cohort.loops += ((cohort.pc, answer - 1 if instruction.lonely else 0, answer),)
            _count(cohort, step, 0)
        cohort.pc = cohort.pc + 1 if answer else instruction.target
    else:
        begin, turn, turns = cohort.loops[-1]
        if turn + 1 < turns:
            cohort.loops = (*cohort.loops[:-1], (begin, turn + 1, turns))
            cohort.pc = instruction.target
            _count(cohort, step, turn + 1)
            return True
        cohort.loops = cohort.loops[:-1]
        cohort.times //= turns if instruction.lonely else 1
        if isinstance(step, Repeat) and step.variable:
            cohort.scope.pop(step.variable, None)
        cohort.pc += 1
    return False


def _count(cohort: Cohort, step: Step | None, turn: int) -> None:
    if isinstance(step, Repeat) and step.variable:
        cohort.scope[step.variable] = turn


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
