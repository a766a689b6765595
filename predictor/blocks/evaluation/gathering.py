"""Collectives: cohorts wait for each other, and go on together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from platforms.errors import UserError
from predictor.blocks.application import Application, Collective, Rooted, members_of
from predictor.blocks.evaluation.cohort import Cohort, whole_bytes
from predictor.blocks.evaluation.profile import Profile
from predictor.blocks.evaluation.progression import Progression
from predictor.blocks.expressions import Expression
from predictor.blocks.machines.machine import Group, Machine


@dataclass(eq=False)
class _Gathering:
    """A collective that some have come to."""

    step: Collective
    where: str
    size_bytes: int
    root: int
    cohorts: list[Cohort] = field(default_factory=list)
    members: int = 0


class Gatherings:
    """All collectives of an evaluation."""

    def __init__(self, application: Application, machine: Machine, add: Callable[[Cohort], None]):
        """``add`` is given every cohort that can go on, past the collective."""
        self._application, self._machine, self._add = application, machine, add
        self._counts = application.counts()
        self._gatherings: dict[tuple[str, ...], _Gathering] = {}

    def join(self, cohort: Cohort, step: Collective, where: str) -> None:
        """The cohort has come to a collective; the last to come lets all go on."""
        size_bytes = whole_bytes(step.bytes, cohort, where) if hasattr(step, "bytes") else 0
        root = Expression.of(step.at).whole(cohort.scope, where) if isinstance(step, Rooted) else 0
        members = members_of(step, self._application)
        if cohort.label not in members:
            raise UserError(where, f"{cohort.label} does not take part itself", "Name it in `among` too")
        gathering = self._gatherings.setdefault(members, _Gathering(step, where, size_bytes, root))
        mine, theirs = (step, size_bytes, root), (gathering.step, gathering.size_bytes, gathering.root)
        check_agreed(self._application, mine, theirs, where, gathering.where)
        gathering.cohorts.append(cohort)
        gathering.members += cohort.count
        if gathering.members == sum(self._counts[name] for name in members):
            del self._gatherings[members]
            self._let_go(gathering, members)

    def _let_go(self, gathering: _Gathering, members: Sequence[str]) -> None:
        step = gathering.step
        groups = [group for group in self._machine.groups if group.label in members and group.count]
        root = root_group(self._application, groups, step, gathering.root, gathering.where)
        took_s = self._machine.collective_s(step.block, gathering.size_bytes, groups, root)
        end_s = max(cohort.clock.most() for cohort in gathering.cohorts) + took_s
        alike: dict[tuple[Group, Hashable], list[Cohort]] = defaultdict(list)
        for cohort in gathering.cohorts:
            alike[cohort.group, (cohort.pc, cohort.loops)].append(cohort)
        for (group, _), cohorts in alike.items():
            if len(cohorts) > 1 and sum(cohort.count for cohort in cohorts) == group.count:  # all of it: one again
                whole = cohorts[0]
                whole.first, whole.stride, whole.count = group.first, group.stride, group.count
                whole.scope["index"] = Progression.of(group.first, group.stride, group.count)
                cohorts = [whole]
            for cohort in cohorts:
                cohort.clock = Profile.constant(cohort.count, end_s)
                cohort.pc += 1
                self._add(cohort)

    def waiting(self) -> Iterator[tuple[tuple[Hashable, ...], Cohort]]:
        """Everybody who waits for others, and where."""
        for members in sorted(self._gatherings):
            gathering = self._gatherings[members]
            for cohort in sorted(gathering.cohorts, key=lambda one: (one.label, one.group.first, one.first)):
                yield ("gathers", members, gathering.where, gathering.size_bytes, gathering.root), cohort

    def check_done(self) -> None:
        """Raises UserError where somebody still waits."""
        for gathering in self._gatherings.values():
            here = gathering.cohorts[0]
            problem = f"process {here.first} of {here.label} waits for others that never come to this collective"
            raise UserError(gathering.where, problem, "Let all of its labels call it")


Call = tuple[Collective, int, int]  # a collective, its bytes, and the root's index in its label


def check_agreed(application: Application, mine: Call, theirs: Call, where: str, others_where: str) -> None:
    """Raises UserError where those that meet call different collectives, or with other bytes or another root."""
    if _agreed(*mine, application) != _agreed(*theirs, application):
        members = ", ".join(members_of(mine[0], application))
        problem = f"another collective than at {others_where}, which others of {members} have come to"
        raise UserError(where, problem, "Let all call the same, with the same bytes and root")


def root_group(application: Application, groups: Sequence[Group], step: Collective, root: int, where: str) -> Group:
    """The group with the root of a collective; the first of those that take part, where it has none.

    ``groups``: of those that take part.  Raises UserError for an index that is not there.
    """
    if not isinstance(step, Rooted):
        return groups[0]
    label = step.root_label(application)
    for group in groups:
        if group.label == label and root in group.members:
            return group
    problem = f"no process {root} of {label}, which has {application.counts()[label]}"
    raise UserError(where, problem, "Count from 0")


def _agreed(step: Collective, size_bytes: int, root: int, application: Application) -> tuple[Hashable, ...]:
    """What all that take part in a collective have to agree on."""
    return step.block, size_bytes, root, step.root_label(application) if isinstance(step, Rooted) else None
