"""Processes that have the same program, place and history: one value, however many they are."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import ceil

from platforms.errors import UserError
from predictor.blocks.application import Compute, Number
from predictor.blocks.evaluation.pairs import Pairs
from predictor.blocks.evaluation.profile import Profile, interleaved, join
from predictor.blocks.evaluation.progression import Part, Progression
from predictor.blocks.expressions import Expression, Value
from predictor.blocks.machines.machine import Group


@dataclass(eq=False)
class Cohort:
    """Processes of one group that have done the same so far."""

    group: Group
    first: int  # member of the label
    stride: int
    count: int
    clock: Profile
    pc: int = 0
    loops: tuple[tuple[int, int, int], ...] = ()  # that they are in: place of its instruction, turn, turns in all
    scope: dict[str, Value] = field(default_factory=dict)  # the application's numbers, loops' variables, index
    pairs: Pairs | None = None  # of the message that they wait for; several of a single process are dealt with in order
    partners: tuple[tuple[int, int], ...] = ()  # still to come in this step: first and count
    times: int = 1  # how often it does what it does, in loops that are run but once

    @property
    def label(self) -> str:
        return self.group.label

    @property
    def awaited(self) -> Pairs:
        """``pairs`` of those that do wait for a message."""
        if self.pairs is None:
            raise ValueError(f"{self.label} waits for no message")
        return self.pairs

    @property
    def ordered(self) -> bool:
        return self.pairs is not None and self.count == 1 and self.pairs.count > 1

    @property
    def position(self) -> tuple[int, ...]:
        """Where in the program, and in which turn of each loop: ascending as they go on."""
        return (*(number for begin, turn, _ in self.loops for number in (begin, turn)), self.pc)

    def part(self, part: Part, clock: Profile | None = None) -> Cohort:
        """Some of them (of a cohort whose pairs are not ordered)."""
        made = Cohort(
            self.group,
            self.first + self.stride * part.first,
            self.stride * part.stride,
            part.count,
            self.clock.part(part.first, part.stride, part.count) if clock is None else clock,
            self.pc,
            self.loops,
            dict(self.scope),
            None if self.pairs is None else self.pairs.part(part),
            self.partners,
            self.times,
        )
        made.scope["index"] = Progression.of(made.first, made.stride, made.count)
        return made


def reunited(cohorts: list[Cohort]) -> list[Cohort]:
    """Cohorts that are at one place, as few as possible.

    Two become one where their members are every other one, or those that follow, and their clocks lie on one line.
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
    """One cohort of two, of which ``one`` has the first member; None where that is not possible."""
    if one.loops != other.loops or one.times != other.times:  # they have other numbers of turns
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
    """Bytes, whole ones, the same for all of the cohort."""
    value = Expression.of(expression).value(cohort.scope, where)
    if isinstance(value, Progression):
        raise value.split_all()
    return checked_bytes(value, expression, where)


def checked_bytes(value: float, expression: Number, where: str) -> int:
    """Whole bytes of an expression's value.  Raises UserError below 0."""
    if value < 0:
        text = Expression.of(expression).text
        raise UserError(f"{where}, expression {text!r}", f"{value:g} bytes", "Give 0 or more")
    return ceil(value)


def check_operations(operations: float | Progression, step: Compute, where: str) -> None:
    """Raises UserError below 0."""
    if operations < 0:
        text = Expression.of(step.operations).text
        raise UserError(f"{where}, expression {text!r}", "below 0", "Give 0 or more operations")
