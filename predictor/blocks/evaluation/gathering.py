"""Collectives: cohorts wait for each other and go on together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

from platforms.errors import UserError
from predictor.blocks.evaluation.cohort import Cohort
from predictor.blocks.evaluation.line import Line
from predictor.blocks.machines.collectives import check_agreed, collective_time
from predictor.blocks.machines.machine import Group, Machine
from predictor.blocks.parts import SENDING, WAITING, Ledger
from predictor.blocks.processes.progression import Part
from predictor.blocks.stream.instructions import Collective


class Gatherings:
    """All collectives of an evaluation."""

    def __init__(
        self,
        machine: Machine,
        counts: Mapping[str, int],
        labels: Sequence[tuple[str, ...]],
        go_on: Callable[[Cohort], None],
        spent: Ledger,
    ):
        """Create the collectives.

        Args:
            machine: The machine, for their times.
            counts: Number of processes of each label.
            labels: Labels of each group of collectives.
            go_on: Called with every cohort that leaves a collective.
            spent: Ledger of the processes' times.
        """
        self._machine, self._counts, self._labels, self._go_on = machine, counts, labels, go_on
        self._spent = spent
        self._here: dict[int, list[tuple[Cohort, Collective]]] = defaultdict(list)  # by group of processes

    def join(self, cohort: Cohort, call: Collective) -> None:
        """Let a cohort enter a collective; when the last participant enters, all go on."""
        here, labels = self._here[call.group], self._labels[call.group]
        here.append((cohort, call))
        check_agreed(labels, call, here[0][1])
        if sum(arrival.count for arrival, _ in here) == sum(self._counts[label] for label in labels):
            del self._here[call.group]
            self._let_go(here, call)

    def _let_go(self, here: list[tuple[Cohort, Collective]], call: Collective) -> None:
        groups = [group for group in self._machine.groups if group.label in self._labels[call.group] and group.count]
        root = self._root_group(groups, call)
        begin_s = max(cohort.clock.most for cohort, _ in here)
        took_s = collective_time(self._machine, call.block, call.given_bytes, groups, root)
        alike: dict[Hashable, list[Cohort]] = defaultdict(list)
        for cohort, collective in here:
            label, count = cohort.group.label, cohort.count
            self._spent.note(label, collective.where, WAITING, count * begin_s - cohort.clock.total)
            self._spent.note(label, collective.where, SENDING, count * took_s)
            cohort.clock = Line(count, begin_s + took_s)
            cohort.pc += 1
            alike[cohort.kind, cohort.position].append(cohort)
        for together in alike.values():
            whole = together[0].kind.count
            if sum(cohort.count for cohort in together) == whole:  # the class is whole again
                together = [together[0].cut(Part(0, 1, 1))]
                together[0].part, together[0].clock = Part(0, 1, whole), Line(whole, begin_s + took_s)
            for cohort in together:
                self._go_on(cohort)

    def _root_group(self, groups: list[Group], call: Collective) -> Group:
        """Return the group with the root of a collective; without a root, that of the first process."""
        place = call.root
        for label in self._labels[call.group]:
            if place < self._counts[label]:
                return next(group for group in groups if group.label == label and place in group.members)
            place -= self._counts[label]
        raise ValueError(f"{call.where}: no process {call.root}")

    def standing(self) -> Iterator[tuple[Hashable, Cohort]]:
        """Yield every waiting cohort, after what it waits for."""
        return (("gathers", cohort) for here in self._here.values() for cohort, _ in here)

    def check_done(self) -> None:
        """Check that no cohort waits in a collective.

        Raises:
            UserError: If a cohort still waits.
        """
        for here in self._here.values():
            cohort, call = here[0]
            problem = f"process {cohort.first} of {cohort.group.label} waits for others that never call this collective"
            raise UserError(call.where, problem, "Let all processes of its labels call it")
