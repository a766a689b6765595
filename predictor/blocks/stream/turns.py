"""Turns of a loop that are made once, although the loop's expressions use the turn."""

from collections.abc import Callable, Sequence
from typing import Any

from predictor.blocks.parsing import Value
from predictor.blocks.programs import Collective, Compute, Number, Repeat, Set, Step, While
from predictor.blocks.steps import inner_steps, turns_are_alike
from predictor.blocks.stream.instructions import Program

Question = tuple[Number, str]  # an expression, and the place of its step for error messages


class Turns:
    """The turns that have been made, by the values of the expressions that they asked for.

    The answers to all questions so far decide which question a turn asks next, or what its instructions are.
    """

    def __init__(self) -> None:
        # A node is empty (not known), a program alone, or a question and the next nodes by its answer.
        self._root: list[Any] = []

    def find(self, answer: Callable[[Number, str], Value]) -> Program | None:
        """Return the instructions of a turn with these answers; None: no such turn has been made."""
        node = self._root
        while len(node) == 2:
            question, after = node
            node = after.get(answer(*question), ())
        return node[0] if node else None

    def keep(self, answers: Sequence[tuple[Question, Value]], program: Program) -> None:
        """Keep the instructions of a turn that has asked these questions and got these answers."""
        node = self._root
        for question, value in answers:
            if not node:
                node += [question, {}]
            node = node[1].setdefault(value, [])
        node[:] = [program]


def is_told_by_values(loop: Repeat) -> bool:
    """Return whether only computations, messages, disks and conditions use the turn of a loop, and no name is set."""
    return _told(loop.steps, str(loop.variable))


def _told(steps: Sequence[Step], variable: str) -> bool:
    for step in steps:
        if isinstance(step, Set | While) or (isinstance(step, Repeat) and not turns_are_alike(step)):
            return False
        direct = isinstance(step, Collective | Repeat) or (isinstance(step, Compute) and step.size is not None)
        if direct and any(variable in expression.names for expression in step.expressions()):
            return False
        if not _told(inner_steps(step), variable):
            return False
    return True
