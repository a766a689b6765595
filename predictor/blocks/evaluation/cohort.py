"""Cohorts: processes with the same program, placement and history, stored as one value whatever their number."""

from __future__ import annotations

from dataclasses import dataclass, replace

from predictor.blocks.evaluation.profile import Profile, interleaved, join
from predictor.blocks.machines.machine import Group
from predictor.blocks.processes.progression import Part
from predictor.blocks.stream.instructions import Class


@dataclass(eq=False)
class Cohort:
    """Processes of one class that have done the same so far."""

    kind: Class
    part: Part  # their places in the class
    clock: Profile
    pc: int = 0  # index of the next instruction
    loops: tuple[tuple[int, int, int], ...] = ()  # enclosing loops: index of the instruction, turn, number of turns
    met: int = 0  # partners of the present instruction whose messages have begun

    @property
    def group(self) -> Group:
        """The group of the processes."""
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
    def position(self) -> tuple[int, ...]:
        """Position in the program and in the turns of its loops; it grows as the processes advance."""
        return (*(number for begin, turn, _ in self.loops for number in (begin, turn)), self.pc)

    def cut(self, part: Part, clock: Profile | None = None) -> Cohort:
        """Return a part of the cohort, with these clocks or its own."""
        if clock is None:
            clock = self.clock.part(part.first, part.stride, part.count)
        return replace(self, part=self.part.within(part), clock=clock)


def reunited(cohorts: list[Cohort]) -> list[Cohort]:
    """Join cohorts of a class at the same position into as few as possible.

    Two cohorts become one if their members alternate or follow each other, and their clocks lie on one line.
    """
    waiting = sorted(cohorts, key=lambda cohort: cohort.part.first, reverse=True)
    done: list[Cohort] = []
    while waiting:
        one = waiting.pop()
        if done and (whole := _both(done[-1], one)) is not None:
            done.pop()
            waiting.append(whole)
        else:
            done.append(one)
    return done


def _both(one: Cohort, other: Cohort) -> Cohort | None:
    """Join two cohorts, of which ``one`` has the first member; return None if that is impossible."""
    here, there = one.part, other.part
    distance = there.first - here.first
    if here.count == there.count == 1 or (
        here.count - there.count in (0, 1)
        and (here.stride == there.stride or there.count == 1)
        and here.stride == 2 * distance
    ):
        stride, clock = distance, interleaved(one.clock, other.clock)
    elif distance == here.stride * here.count and (here.stride == there.stride or there.count == 1):
        stride, clock = here.stride, join((one.clock, other.clock))
    else:
        return None
    if clock is None or len(clock.pieces) > 1:
        return None
    return replace(one, part=Part(here.first, stride, here.count + there.count), clock=clock)
