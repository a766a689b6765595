"""Collectives: cohorts wait for each other and go on together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

from platforms.errors import UserError
from predictor.blocks.evaluation.cohort import Cohort
from predictor.blocks.evaluation.profile import Profile
from predictor.blocks.machines.collectives import check_agreed, collective_time
from predictor.blocks.machines.machine import Group, Machine
from predictor.blocks.parts import SENDING, WAITING, Ledger
from predictor.blocks.processes.progression import Progression
from predictor.blocks.stream.instructions import Collective


class Gatherings:
    """All collectives of an evaluation."""

    def __init__(
        self,
        machine: Machine,
        counts: Mapping[str, int],
        labels: Sequence[tuple[str, ...]],
        resume: Callable[[Cohort], None],
        spent: Ledger,
    ):
        """Create the collectives.

        Args:
            machine: The machine, for their times.
            counts: Number of processes of each label.
            labels: Labels of each group of collectives; more are added during the evaluation.
            resume: Called with every cohort that leaves a collective.
            spent: Ledger of the processes' times.
        """
        self._machine, self._counts, self._labels, self._resume = machine, counts, labels, resume
        self._spent = spent
        self._here: dict[int, list[tuple[Cohort, Collective]]] = defaultdict(list)  # by group of processes

    def join(self, cohort: Cohort, call: Collective) -> None:
        """Let a cohort enter a collective; when the last participant enters, all go on."""
        here, labels = self._here[call.group], self._labels[call.group]
        here.append((cohort, call))
        check_agreed(labels, call, here[0][1])
        if sum(one.count for one, _ in here) == sum(self._counts[label] for label in labels):
            del self._here[call.group]
            self._let_go(here, call)

    def _let_go(self, here: list[tuple[Cohort, Collective]], call: Collective) -> None:
        cohorts = [one for one, _ in here]
        groups = [one for one in self._machine.groups if one.label in self._labels[call.group] and one.count]
        root = self._root_group(groups, call)
        begin_s = max(cohort.clock.most() for cohort in cohorts)
        took_s = collective_time(self._machine, call.block, call.given_bytes, groups, root)
        end_s = begin_s + took_s
        for cohort, own in here:
            waited_s = cohort.count * begin_s - cohort.clock.total()
            self._spent.note(cohort.label, own.where, WAITING, waited_s)
            self._spent.note(cohort.label, own.where, SENDING, cohort.count * took_s)
        alike: dict[Hashable, list[Cohort]] = defaultdict(list)
        for cohort in cohorts:
            alike[cohort.group, cohort.pc, cohort.loops].append(cohort)
        for together in alike.values():
            whole, group = together[0], together[0].group
            if len(together) > 1 and sum(cohort.count for cohort in together) == group.count:  # it is whole again
                whole.first, whole.stride, whole.count = group.first, group.stride, group.count
                whole.scope["index"] = Progression.of(group.first, group.stride, group.count)
                together = [whole]
            for cohort in together:
                cohort.clock, cohort.todo = Profile.constant(cohort.count, end_s), ()
                self._resume(cohort)

    def _root_group(self, groups: list[Group], call: Collective) -> Group:
        """Return the group with the root of a collective; without a root, that of the first process."""
        place = call.root
        for label in self._labels[call.group]:
            if place < self._counts[label]:
                return next(one for one in groups if one.label == label and place in one.members)
            place -= self._counts[label]
        raise ValueError(f"{call.where}: no process {call.root}")

    def standing(self) -> Iterator[tuple[tuple[Hashable, ...], Cohort]]:
        """Yield every waiting cohort, after a key of the collective that it waits in."""
        for group in sorted(self._here):
            here = sorted(self._here[group], key=lambda one: (one[0].group.label, one[0].group.first, one[0].first))
            for cohort, call in here:
                yield ("gathers", call, call.where, call.given_bytes), cohort

    def check_done(self) -> None:
        """Check that no cohort waits in a collective.

        Raises:
            UserError: If a cohort still waits.
        """
        for here in self._here.values():
            cohort, call = here[0]
            problem = f"process {cohort.first} of {cohort.group.label} waits for others that never call this collective"
            raise UserError(call.where, problem, "Let all processes of its labels call it")
