"""Cohorts: processes with the same program, placement and history, stored as one value whatever their number."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from predictor.blocks.evaluation.profile import Profile, interleaved, join
from predictor.blocks.machines.machine import Group
from predictor.blocks.parsing import Value
from predictor.blocks.processes.progression import Part, Progression
from predictor.blocks.stream.instructions import Program


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
    todo: Program = ()  # instructions of the present step that are not finished
    met: int = 0  # partners of the first of them whose messages have begun
    times: int = 1  # factor on each computation, from loops that are evaluated only once

    @property
    def label(self) -> str:
        """Label of the processes."""
        return self.group.label

    @property
    def position(self) -> tuple[int, ...]:
        """Position in the program and in the turns of its loops; it grows as the processes advance."""
        return (*(number for begin, turn, _ in self.loops for number in (begin, turn)), self.pc)

    def part(self, part: Part, clock: Profile | None = None) -> Cohort:
        """Return a part of the cohort.

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
            todo=self.todo,
            met=self.met,
            times=self.times,
        )
        made.scope["index"] = Progression.of(made.first, made.stride, made.count)
        return made


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
