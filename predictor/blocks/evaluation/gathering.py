"""Collectives: cohorts wait for each other and go on together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field

from platforms.errors import UserError
from predictor.blocks.application import Application, Collective, Rooted, members_of
from predictor.blocks.evaluation.cohort import Cohort, Note, whole_bytes
from predictor.blocks.evaluation.profile import Profile
from predictor.blocks.expressions import Expression
from predictor.blocks.machines.collectives import collective_time
from predictor.blocks.machines.machine import Group, Machine
from predictor.blocks.parts import SENDING, WAITING
from predictor.blocks.processes.progression import Progression


@dataclass(frozen=True)
class Call:
    """A participant's call of a collective."""

    step: Collective
    size_bytes: int
    root: int  # index of the root within its label
    where: str  # place of the step, for error messages


@dataclass(eq=False)
class _Gathering:
    """A collective that some of its participants have reached."""

    call: Call  # of the first participant
    cohorts: list[Cohort] = field(default_factory=list)
    members: int = 0  # processes that have reached the collective


class Gatherings:
    """All collectives of an evaluation."""

    def __init__(self, application: Application, machine: Machine, add: Callable[[Cohort], None], note: Note):
        """Take the function ``add``, which is called with every cohort that leaves a collective."""
        self._application, self._machine, self._add, self._note = application, machine, add, note
        self._counts = application.counts()
        self._gatherings: dict[tuple[str, ...], _Gathering] = {}

    def join(self, cohort: Cohort, step: Collective, where: str) -> None:
        """Let a cohort enter a collective; when the last participant enters, all go on."""
        size_bytes = whole_bytes(step.bytes, cohort, where) if hasattr(step, "bytes") else 0
        root = Expression.of(step.at).whole(cohort.scope, where) if isinstance(step, Rooted) else 0
        members = members_of(step, self._application)
        if cohort.label not in members:
            raise UserError(where, f"{cohort.label} calls it but does not take part", "Name it in `among` too")
        call = Call(step, size_bytes, root, where)
        gathering = self._gatherings.setdefault(members, _Gathering(call))
        check_agreed(self._application, call, gathering.call)
        gathering.cohorts.append(cohort)
        gathering.members += cohort.count
        if gathering.members == sum(self._counts[name] for name in members):
            del self._gatherings[members]
            self._let_go(gathering, members)

    def _let_go(self, gathering: _Gathering, members: Sequence[str]) -> None:
        call = gathering.call
        groups = [group for group in self._machine.groups if group.label in members and group.count]
        root = root_group(self._application, groups, call)
        took_s = collective_time(self._machine, call.step.block, call.size_bytes, groups, root)
        end_s = max(cohort.clock.most() for cohort in gathering.cohorts) + took_s
        for cohort in gathering.cohorts:
            self._note(cohort, WAITING, cohort.count * (end_s - took_s) - cohort.clock.total())
            self._note(cohort, SENDING, cohort.count * took_s)
        alike: dict[tuple[Group, Hashable], list[Cohort]] = defaultdict(list)
        for cohort in gathering.cohorts:
            alike[cohort.group, (cohort.pc, cohort.loops)].append(cohort)
        for (group, _), cohorts in alike.items():
            if len(cohorts) > 1 and sum(cohort.count for cohort in cohorts) == group.count:  # the group is whole again
                whole = cohorts[0]
                whole.first, whole.stride, whole.count = group.first, group.stride, group.count
                whole.scope["index"] = Progression.of(group.first, group.stride, group.count)
                cohorts = [whole]
            for cohort in cohorts:
                cohort.clock = Profile.constant(cohort.count, end_s)
                cohort.pc += 1
                self._add(cohort)

    def waiting(self) -> Iterator[tuple[tuple[Hashable, ...], Cohort]]:
        """Yield every waiting cohort, after a key of the collective that it waits in."""
        for members in sorted(self._gatherings):
            gathering = self._gatherings[members]
            call = gathering.call
            for cohort in sorted(gathering.cohorts, key=lambda one: (one.label, one.group.first, one.first)):
                yield ("gathers", members, call.where, call.size_bytes, call.root), cohort

    def check_done(self) -> None:
        """Check that no cohort waits in a collective.

        Raises:
            UserError: If a cohort still waits.
        """
        for gathering in self._gatherings.values():
            here = gathering.cohorts[0]
            problem = f"process {here.first} of {here.label} waits for others that never call this collective"
            raise UserError(gathering.call.where, problem, "Let all processes of its labels call it")


def check_agreed(application: Application, mine: Call, theirs: Call) -> None:
    """Check that two participants call the same collective.

    Raises:
        UserError: If the collectives, their bytes or their roots differ.
    """
    if _agreed(mine, application) != _agreed(theirs, application):
        members = ", ".join(members_of(mine.step, application))
        problem = f"not the same collective as at {theirs.where}, which other processes of {members} call"
        raise UserError(mine.where, problem, "Let all call the same collective, with the same bytes and root")


def root_group(application: Application, groups: Sequence[Group], call: Call) -> Group:
    """Return the group with the root of a collective, or the first group if the collective has no root.

    Args:
        application: The application, for its labels.
        groups: Groups of the processes that take part.
        call: The call of the collective.

    Raises:
        UserError: If the label has no process of this index.
    """
    if not isinstance(call.step, Rooted):
        return groups[0]
    label = call.step.root_label(application)
    for group in groups:
        if group.label == label and call.root in group.members:
            return group
    problem = f"no process {call.root} of {label}, which has {application.counts()[label]}"
    raise UserError(call.where, problem, "Count from 0")


def _agreed(call: Call, application: Application) -> tuple[Hashable, ...]:
    """Return the values that all participants of a collective have to agree on."""
    root_label = call.step.root_label(application) if isinstance(call.step, Rooted) else None
    return call.step.block, call.size_bytes, call.root, root_label
