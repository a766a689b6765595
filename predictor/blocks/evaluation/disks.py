"""Disk blocks: processes that begin at the same moment share the disk and the route to it.

A disk serves all processes at the same rate (processor sharing).  Of blocks with sizes s_j that begin together, the one
of size s_i is finished when sum_j min(s_j, s_i) bytes have been moved.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from predictor.blocks.evaluation.cohort import Cohort
from predictor.blocks.evaluation.line import moments
from predictor.blocks.machines.machine import DiskSharing, Group, Machine, on_one_node
from predictor.blocks.parts import DISK, Ledger
from predictor.blocks.processes.pairs import Pairs, united
from predictor.blocks.processes.progression import Part
from predictor.blocks.stream.instructions import Disk


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
