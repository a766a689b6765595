"""Cohorts: processes with the same program, placement and history, stored as one value whatever their number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import ceil

from platforms.errors import UserError
from predictor.blocks.application import Compute, Number
from predictor.blocks.evaluation.profile import Profile, interleaved, join
from predictor.blocks.expressions import Expression, Value
from predictor.blocks.machines.machine import Group
from predictor.blocks.processes.pairs import Pairs
from predictor.blocks.processes.progression import Part, Progression


@dataclass(eq=False)
class Cohort:
    """Processes of one group that have done the same so far."""

    group: Group
    first: int  # index of the first process within the label
    stride: int
    count: int
    clock: Profile
    pc: int = 0
    loops: tuple[tuple[int, int, int], ...] = ()  # enclosing loops: index of the instruction, turn, number of turns
    scope: dict[str, Value] = field(default_factory=dict)  # the application's numbers, loop variables and index
    pairs: Pairs | None = None  # of the awaited message; several pairs of a single process are served in order
    partners: tuple[tuple[int, int], ...] = ()  # rows (first, count) of partners that remain in this step
    times: int = 1  # factor on each computation, from loops that are evaluated only once

    @property
    def label(self) -> str:
        """Label of the processes."""
        return self.group.label

    @property
    def awaited(self) -> Pairs:
        """The pairs of the awaited message; a ValueError is raised if the cohort waits for none."""
        if self.pairs is None:
            raise ValueError(f"{self.label} waits for no message")
        return self.pairs

    @property
    def ordered(self) -> bool:
        """True if the cohort is a single process that serves several partners in their order."""
        return self.pairs is not None and self.count == 1 and self.pairs.count > 1

    @property
    def position(self) -> tuple[int, ...]:
        """Position in the program and in the turns of its loops; it grows as the processes advance."""
        return (*(number for begin, turn, _ in self.loops for number in (begin, turn)), self.pc)

    def part(self, part: Part, clock: Profile | None = None) -> Cohort:
        """Return a part of the cohort, whose pairs must not be ordered.

        Args:
            part: The members of the part.
            clock: Their clocks; None: as in the cohort.
        """
        made = Cohort(
            group=self.group,
            first=self.first + self.stride * part.first,
            stride=self.stride * part.stride,
            count=part.count,
            clock=self.clock.part(part.first, part.stride, part.count) if clock is None else clock,
            pc=self.pc,
            loops=self.loops,
            scope=dict(self.scope),
            pairs=None if self.pairs is None else self.pairs.part(part),
            partners=self.partners,
            times=self.times,
        )
        made.scope["index"] = Progression.of(made.first, made.stride, made.count)
        return made


Note = Callable[[Cohort, int, float], None]  # notes a kind of time (predictor.blocks.parts) of a cohort at its step, s


def reunited(cohorts: list[Cohort]) -> list[Cohort]:
    """Join cohorts at the same position into as few as possible.

    Two cohorts become one if their members alternate or follow each other, and their clocks lie on one line.
    """
    waiting = sorted(cohorts, key=lambda cohort: cohort.first)
    done: list[Cohort] = []
    while waiting:
        one = waiting.pop(0)
        if done and (whole := _both(done[-1], one)) is not None:
            done.pop()
            waiting.insert(0, whole)
        else:
            done.append(one)
    return done


def _both(one: Cohort, other: Cohort) -> Cohort | None:
    """Join two cohorts, of which ``one`` has the first member; return None if that is impossible."""
    if one.loops != other.loops or one.times != other.times:  # their loops have different numbers of turns
        return None
    distance = other.first - one.first
    if one.count == other.count == 1 or (
        one.count - other.count in (0, 1)
        and (one.stride == other.stride or other.count == 1)
        and one.stride == 2 * distance
    ):
        stride, clock = distance, interleaved(one.clock, other.clock)
    elif distance == one.stride * one.count and (one.stride == other.stride or other.count == 1):
        stride, clock = one.stride, join((one.clock, other.clock))
    else:
        return None
    if clock is None or len(clock.pieces) > 1:
        return None
    made = replace(one, stride=stride, count=one.count + other.count, clock=clock, scope=dict(one.scope))
    made.scope["index"] = Progression.of(made.first, made.stride, made.count)
    return made


def whole_bytes(expression: Number, cohort: Cohort, where: str) -> int:
    """Return a size in whole bytes that is the same for all members of the cohort; split the cohort otherwise."""
    value = Expression.of(expression).value(cohort.scope, where)
    if isinstance(value, Progression):
        raise value.split_all()
    return checked_bytes(value, expression, where)


def checked_bytes(value: float, expression: Number, where: str) -> int:
    """Return a size rounded up to whole bytes.

    Raises:
        UserError: If the size is below 0.
    """
    if value < 0:
        text = Expression.of(expression).text
        raise UserError(f"{where}, expression {text!r}", f"{value:g} bytes", "Give 0 or more")
    return ceil(value)


def check_operations(operations: float | Progression, step: Compute, where: str) -> None:
    """Check the operations of a computation block.

    Raises:
        UserError: If they are below 0.
    """
    if operations < 0:
        text = Expression.of(step.operations).text
        raise UserError(f"{where}, expression {text!r}", "below 0", "Give 0 or more operations")
