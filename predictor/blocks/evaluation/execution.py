"""Run an application's programs with the block times of a machine, equal processes together.

Processes with the same placement and the same instructions form a class.  Those of them with the same history form a
cohort, which is stored as its first place in the class, stride, count and the line of its clocks.  A cohort is split
where its members meet different partners or their clocks leave a line, and cohorts at one position are joined again.

Blocks have these semantics.  A computation takes its own time.  A message begins when both its send and its receive
have been reached, and takes its own time.  The receiver is busy until the message ends; so is the sender, unless the
message is buffered.  Messages between the same two processes keep their order.  A process that sends to several
processes, or receives from several, does so in the order of their indices.  A collective begins when all participants
have reached it, and all leave it at its end.  Since every receive names its sender, the result does not depend on the
order in which cohorts are evaluated.

Contention is modelled in three cases only: messages of one step between two groups that begin at the same moment share
their common links; so do messages that one process sends at the same moment; and processes that begin to use a disk at
the same moment share the disk.

Disk blocks: processes that begin at the same moment share the disk and the route to it.

A disk serves all processes at the same rate (processor sharing).  Of blocks with sizes s_j that begin together, the one
of size s_i is finished when sum_j min(s_j, s_i) bytes have been moved.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush

import numpy as np

from platforms.errors import UserError
from predictor.blocks.application import Application
from predictor.blocks.evaluation.cohort import Cohort, Turn, classes_of, reunited
from predictor.blocks.evaluation.exchange import Exchange
from predictor.blocks.evaluation.line import Line, moments
from predictor.blocks.evaluation.steady import Steady
from predictor.blocks.machines.machine import DiskSharing, Group, Machine, check_agreed, collective_time, on_one_node
from predictor.blocks.parts import COMPUTING, DISK, SENDING, WAITING, Ledger
from predictor.blocks.progression import Pairs, Part, united
from predictor.blocks.steps import check_together
from predictor.blocks.stream.expand import Together
from predictor.blocks.stream.instructions import Collective, Compute, Disk, Loop, Receive, Send


@dataclass(frozen=True)
class _Users:
    """Processes of a group that begin a disk block of the same size at the same moment."""

    group: Group
    members: range  # indices within the label
    size_bytes: int

    @cached_property
    def nodes(self) -> range:
        """Range from the first node to the last node with one of the processes."""
        group, members = self.group, self.members
        if group.cyclic and len(members) > 1:
            return group.nodes
        return range(group.node(members[0]), group.node(members[-1]) + 1)

    @cached_property
    def on_one_node(self) -> int:
        """Number of processes on the busiest node."""
        return on_one_node(self.group, self.members.step, len(self.members))


class Disks:
    """The disks of an evaluation."""

    def __init__(self, machine: Machine, go_on: Callable[[Cohort], None], spent: Ledger):
        """Take the machine and ``go_on``, which is called with every cohort that has finished its disk block."""
        self._machine, self._go_on, self._spent = machine, go_on, spent
        self._server: dict[object, Hashable] = {}  # by group
        self.waiting: list[tuple[Cohort, Disk]] = []

    def join(self, cohort: Cohort, disk: Disk) -> None:
        """Let the cohort wait until every cohort that may share its disk has arrived."""
        if cohort.group not in self._server:
            self._server[cohort.group] = self._machine.disk_server(cohort.group)
        self.waiting.append((cohort, disk))

    def standing(self) -> Iterator[tuple[Hashable, Cohort]]:
        """Yield every waiting cohort, after what it waits for."""
        return (("disk", cohort) for cohort, _ in self.waiting)

    def let_go(self) -> bool:
        """Serve all waiting cohorts; return False if there are none."""
        waiting, self.waiting = self.waiting, []
        alike: dict[tuple[str, Hashable], list[tuple[Cohort, Disk]]] = defaultdict(list)
        for cohort, disk_use in waiting:
            alike[disk_use.block, self._server[cohort.group]].append((cohort, disk_use))
        for uses in alike.values():
            for together in moments(uses, lambda use: use[0].clock):
                for (cohort, disk_use), sharing in zip(together, _sharing(together), strict=True):
                    took_s = self._machine.disk_s(cohort.group, disk_use.block, disk_use.size_bytes, sharing=sharing)
                    self._spent.note(cohort.group.label, disk_use.where, DISK, cohort.count * took_s)
                    cohort.clock = cohort.clock.plus(took_s)
                    cohort.pc += 1
                    self._go_on(cohort)
        return bool(waiting)


def _sharing(uses: Sequence[tuple[Cohort, Disk]]) -> list[DiskSharing]:
    """Return the sharing of each use, for uses that begin together."""
    if not uses[0][0].clock.at_once:
        return [DiskSharing()]
    users = _users(uses)
    sizes = np.array([user.size_bytes for user in users], float)
    moved = _until_done(sizes, np.array([len(user.members) for user in users], float))
    sharing = [
        DiskSharing(node / size, all_of_them / size) if size else DiskSharing()
        for size, node, all_of_them in zip(sizes.tolist(), _on_nodes(users), moved.tolist(), strict=True)
    ]
    of_first = {
        (user.group, user.size_bytes, user.members[0]): share for user, share in zip(users, sharing, strict=True)
    }
    rows = [pair for pair in zip(users, sharing, strict=True) if len(pair[0].members) > 1]

    def of(group: Group, size_bytes: int, first: int) -> DiskSharing:
        if (group, size_bytes, first) in of_first:
            return of_first[group, size_bytes, first]
        here = (
            share
            for user, share in rows
            if (user.group, user.size_bytes) == (group, size_bytes) and first in user.members
        )
        return next(here)

    return [of(cohort.group, use.size_bytes, cohort.first) for cohort, use in uses]


def _users(uses: Sequence[tuple[Cohort, Disk]]) -> list[_Users]:
    """Return the processes of all uses, in as few rows as possible."""
    alike: dict[tuple[Group, int], list[Pairs]] = defaultdict(list)
    for cohort, use in uses:
        alike[cohort.group, use.size_bytes].append(
            Pairs(cohort.first, cohort.stride, cohort.first, cohort.stride, cohort.count)
        )
    return [
        _Users(group, _range(Part(row.source, row.source_step, row.count)), size_bytes)
        for (group, size_bytes), rows in alike.items()
        for row in united(rows)
    ]


def _range(part: Part) -> range:
    stride = part.stride or 1
    return range(part.first, part.first + stride * part.count, stride)


def _until_done(sizes: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return sum_j n_j min(s_j, s_i) for each i, bytes; n_j is the number of processes with size s_j."""
    order = np.argsort(sizes, kind="stable")
    ordered, number = sizes[order], counts[order]
    smaller, larger = np.cumsum(number * ordered), number.sum() - np.cumsum(number)
    until = np.empty(len(sizes))
    until[order] = smaller + larger * ordered
    return until


def _on_nodes(users: Sequence[_Users]) -> list[float]:
    """Return for each row of users the sum of ``_until_done`` over the users of its busiest node, bytes."""
    lone: dict[int, list[_Users]] = defaultdict(list)  # by node
    wide = []
    for user in users:
        if len(user.nodes) == 1:
            lone[user.nodes.start].append(user)
        else:
            wide.append(user)
    rows = []
    for user in users:
        here = user.nodes
        wider = [other for other in wide if other.nodes.start < here.stop and here.start < other.nodes.stop]
        on_each = [lone[node] for node in (lone if len(lone) < len(here) else here) if node in here and node in lone]
        amounts = [_moved_until(user, others) for others in on_each]
        size_bytes = user.on_one_node * user.size_bytes
        rows.append(size_bytes + _moved_until(user, wider) + max(amounts, default=0.0))
    return rows


def _moved_until(users: _Users, others: Sequence[_Users]) -> float:
    return float(sum(o.on_one_node * min(o.size_bytes, users.size_bytes) for o in others if o is not users))


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


_Position = tuple[tuple[int, ...], int]  # position in the program, and number of the class


class Execution:
    """One evaluation of an application on a machine.  ``run`` may be called only once."""

    def __init__(self, application: Application, machine: Machine):
        check_together(application)
        self._machine = machine
        together = Together(application)
        self._classes = classes_of(together, machine.groups)
        self._runnable: dict[_Position, list[Cohort]] = {}
        self._positions: list[_Position] = []  # a heap of the keys of _runnable
        self.spent = spent = Ledger()
        self._exchange = Exchange(machine, together.first, self._add, spent)
        self._gatherings = Gatherings(machine, application.counts(), together.labels, self._add, spent)
        self._disks = Disks(machine, self._add, spent)
        self._steady = Steady(len(self._classes))
        self.ended: list[Cohort] = []
        self.skipped = 0  # periods of identical turns that were not evaluated one by one
        self.compute_s: dict[Group, float] = dict.fromkeys(machine.groups, 0.0)  # summed over the group's processes

    def run(self) -> None:
        """Run until all processes have ended.

        Raises:
            UserError: If a program does not end, or leaves a message unreceived.
        """
        for cohort in self._classes:
            self._add(Cohort(cohort, Part(0, 1, cohort.count), Line(cohort.count, 0.0)))
        while True:
            while self._runnable:
                self._advance_first()
            if not self._exchange.match() and not self._disks.let_go():
                break
        self._gatherings.check_done()
        self._exchange.check_done()

    def _add(self, cohort: Cohort) -> None:
        key = cohort.position, cohort.kind.number
        if key not in self._runnable:
            self._runnable[key] = []
            heappush(self._positions, key)
        self._runnable[key].append(cohort)

    def _skip(self) -> None:
        """Skip the turns that repeat earlier ones, if there are any."""
        going = [cohort for cohorts in self._runnable.values() for cohort in cohorts]
        standing = [(None, cohort) for cohort in going]
        waiting = (*self._exchange.standing(), *self._gatherings.standing(), *self._disks.standing())
        periods = self._steady.look((*standing, *waiting), (self.compute_s, self.spent.sums_s))
        if periods:
            self.skipped += periods
            self._runnable, self._positions = {}, []
            for cohort in going:
                self._add(cohort)

    def _advance_first(self) -> None:
        """Do one instruction of the cohorts that are furthest behind, so that other cohorts can join them again."""
        if self._steady.due:
            self._skip()
        for cohort in reunited(self._runnable.pop(heappop(self._positions))):
            if cohort.pc == len(cohort.kind.code):
                self.ended.append(cohort)
            elif self._do(cohort):
                self._add(cohort)

    def _do(self, cohort: Cohort) -> bool:
        """Do one instruction; return False if the cohort now waits."""
        instruction = cohort.instruction
        if isinstance(instruction, Send | Receive):
            return self._exchange.begin(cohort, instruction)
        if isinstance(instruction, Collective):
            self._gatherings.join(cohort, instruction)
            return False
        if isinstance(instruction, Disk):
            self._disks.join(cohort, instruction)
            return False
        if isinstance(instruction, Compute):
            self._compute(cohort, instruction)
        elif isinstance(instruction, Loop):
            cohort.loops += ((cohort.pc, 0, instruction.times),)
        elif isinstance(instruction, Turn):
            begin, turn, times = cohort.loops[-1]
            cohort.loops = cohort.loops[:-1]
            if turn + 1 < times:
                cohort.loops += ((begin, turn + 1, times),)
                cohort.pc = begin
                if cohort.part.first == 0:
                    self._steady.turned(cohort, instruction.where)
        else:
            raise TypeError(f"{instruction.where}: {instruction!r} cannot be evaluated for equal processes together")
        cohort.pc += 1
        return True

    def _compute(self, cohort: Cohort, compute: Compute) -> None:
        first, step = cohort.row(compute.operations)
        first_s = last_s = self._machine.compute_s(cohort.group, float(first))
        if step:
            last_s = self._machine.compute_s(cohort.group, float(first + step * (cohort.count - 1)))
        cohort.clock = cohort.clock.plus(first_s, (last_s - first_s) / max(1, cohort.count - 1))
        took_s = cohort.count * (first_s + last_s) / 2
        self.compute_s[cohort.group] += took_s
        self.spent.note(cohort.group.label, compute.where, COMPUTING, took_s)
