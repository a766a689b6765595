"""A label's program as a flat list of instructions: loops and conditions become jumps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from predictor.blocks.application import Application, Compute, If, Repeat, Step
from predictor.blocks.expressions import Expression, Value


@dataclass(frozen=True)
class Instruction:
    """What a process does next."""

    kind: str  # "block"; "loop": enter it, or go to `target`; "next": once more from `target`; "branch"; "jump"
    step: Step | None
    where: str  # for complaints
    target: int = 0  # place of the instruction that is jumped to
    alike: bool = False  # of a loop: nothing in it uses its variable
    lonely: bool = False  # and besides it only computes


class Walker(Protocol):
    """Who goes through a program."""

    pc: int
    loops: tuple[tuple[int, int, int], ...]  # that it is in: place of its instruction, turn, turns in all
    scope: dict[str, Value]
    times: int  # how often it does what it does, in loops that are run but once


def follow(walker: Walker, instruction: Instruction, answer: int | None) -> bool:
    """Does an instruction that is no block; whether another turn of a loop has begun.

    ``answer``: of a branch, its condition; of a loop, the number of its turns; else not looked at.
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
    """The program of a label; who has done its last instruction has ended."""
    code: list[Instruction] = []
    _append(code, application.label(label).program, f"{application.where}, label {label}, step ")
    return code


def _append(code: list[Instruction], steps: Sequence[Step], where: str) -> None:
    for number, step in enumerate(steps, 1):
        here = f"{where}{number}"
        if isinstance(step, Repeat):
            begin = len(code)
            code.append(Instruction("loop", step, here))
            _append(code, step.steps, f"{here}.")
            kind = {"alike": _alike(step), "lonely": _alike(step) and _only_computes(step.steps)}
            code.append(Instruction("next", step, here, begin + 1, **kind))
            code[begin] = Instruction("loop", step, here, len(code), **kind)
        elif isinstance(step, If):
            branch = len(code)
            code.append(Instruction("branch", step, here))
            _append(code, step.steps, f"{here}.")
            if step.otherwise:
                jump = len(code)
                code.append(Instruction("jump", None, here))
                code[branch] = Instruction("branch", step, here, len(code))
                _append(code, step.otherwise, f"{here}.else.")
                code[jump] = Instruction("jump", None, here, len(code))
            else:
                code[branch] = Instruction("branch", step, here, len(code))
        else:
            code.append(Instruction("block", step, here))


def _alike(loop: Repeat) -> bool:
    return loop.variable is None or not any(loop.variable in one.names for one in _expressions(loop.steps))


def _expressions(steps: Sequence[Step]) -> Iterator[Expression]:
    """All that are in them."""
    for step in steps:
        yield from step.expressions()
        yield from _expressions(_inner(step))


def _only_computes(steps: Sequence[Step]) -> bool:
    return all(isinstance(step, Compute | If | Repeat) and _only_computes(_inner(step)) for step in steps)


def _inner(step: Step) -> tuple[Step, ...]:
    return (*getattr(step, "steps", ()), *getattr(step, "otherwise", ()))
