"""Disk blocks: processes that begin at the same moment share the disk and the route to it.

A disk serves all processes at the same rate (processor sharing).  Of blocks with sizes s_j that begin together, the one
of size s_i is finished when sum_j min(s_j, s_i) bytes have been moved.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from predictor.blocks.evaluation.cohort import Cohort
from predictor.blocks.evaluation.line import AT_ONCE
from predictor.blocks.machines.machine import DiskSharing, Machine
from predictor.blocks.machines.traffic import on_one_node
from predictor.blocks.parts import DISK, Ledger
from predictor.blocks.stream.instructions import Disk


@dataclass(eq=False)
class DiskUse:
    """A cohort in a disk block."""

    cohort: Cohort
    one: Disk

    @property
    def start_s(self) -> float:
        """Start of the first process, s."""
        return self.cohort.clock.least

    @property
    def at_once(self) -> bool:
        """True if all members begin at the same moment."""
        return self.cohort.clock.at_once

    @property
    def nodes(self) -> range:
        """Range from the first node to the last node with a process of the cohort."""
        group, last = self.cohort.group, self.cohort.first + self.cohort.stride * (self.cohort.count - 1)
        if group.cyclic and self.cohort.count > 1:
            return range(group.first_node, group.first_node + group.units)
        return range(group.node(self.cohort.first), group.node(last) + 1)

    @property
    def on_one_node(self) -> int:
        """Number of processes on the cohort's busiest node."""
        return on_one_node(self.cohort.group, self.cohort.stride, self.cohort.count)


class Disks:
    """The disks of an evaluation."""

    def __init__(self, machine: Machine, go_on: Callable[[Cohort], None], spent: Ledger):
        """Take the machine and ``go_on``, which is called with every cohort that has finished its disk block."""
        self._machine, self._go_on, self._spent = machine, go_on, spent
        self._server: dict[object, Hashable] = {}  # by group
        self.waiting: list[DiskUse] = []

    def join(self, cohort: Cohort, one: Disk) -> None:
        """Let the cohort wait until every cohort that may share its disk has arrived."""
        if cohort.group not in self._server:
            self._server[cohort.group] = self._machine.disk_server(cohort.group)
        self.waiting.append(DiskUse(cohort, one))

    def standing(self) -> Iterator[tuple[Hashable, Cohort]]:
        """Yield every waiting cohort, after what it waits for."""
        return (("disk", use.cohort) for use in self.waiting)

    def let_go(self) -> bool:
        """Serve all waiting cohorts; return False if there are none."""
        waiting, self.waiting = self.waiting, []
        alike: dict[tuple[str, Hashable], list[DiskUse]] = defaultdict(list)
        for use in waiting:
            alike[use.one.block, self._server[use.cohort.group]].append(use)
        for uses in alike.values():
            for together in _moments(uses):
                for use, sharing in zip(together, _sharing(together), strict=True):
                    cohort = use.cohort
                    took_s = self._machine.disk_s(cohort.group, use.one.block, use.one.size_bytes, sharing=sharing)
                    self._spent.note(cohort.group.label, use.one.where, DISK, cohort.count * took_s)
                    cohort.clock = cohort.clock.plus(took_s)
                    cohort.pc += 1
                    self._go_on(cohort)
        return bool(waiting)


def _moments(uses: Sequence[DiskUse]) -> Iterator[list[DiskUse]]:
    """Yield groups of uses that begin together; a cohort whose members begin at different moments is alone."""
    together: list[DiskUse] = []
    for use in sorted((one for one in uses if one.at_once), key=lambda one: one.start_s):
        if together and use.start_s - together[0].start_s > AT_ONCE * use.start_s:
            yield together
            together = []
        together.append(use)
    if together:
        yield together
    yield from ([use] for use in uses if not use.at_once)


def _sharing(uses: Sequence[DiskUse]) -> list[DiskSharing]:
    """Return the sharing of each use, for uses that begin together."""
    if len(uses) == 1 and not uses[0].at_once:
        return [DiskSharing()]
    sizes = np.array([use.one.size_bytes for use in uses], float)
    moved = _until_done(sizes, np.array([use.cohort.count for use in uses], float))
    on_node = _on_nodes(uses)
    return [
        DiskSharing(node / size, all_of_them / size) if size else DiskSharing()
        for size, node, all_of_them in zip(sizes.tolist(), on_node, moved.tolist(), strict=True)
    ]


def _until_done(sizes: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return sum_j n_j min(s_j, s_i) for each i, bytes; n_j is the number of processes with size s_j."""
    order = np.argsort(sizes, kind="stable")
    ordered, number = sizes[order], counts[order]
    smaller, larger = np.cumsum(number * ordered), number.sum() - np.cumsum(number)
    found = np.empty(len(sizes))
    found[order] = smaller + larger * ordered
    return found


def _on_nodes(uses: Sequence[DiskUse]) -> list[float]:
    """Return for each use the sum of ``_until_done`` over the processes of the use's busiest node, bytes."""
    lone: dict[int, list[DiskUse]] = defaultdict(list)  # by node
    wide = []
    for use in uses:
        if len(use.nodes) == 1:
            lone[use.nodes.start].append(use)
        else:
            wide.append(use)
    found = []
    for use in uses:
        here = use.nodes
        wider = [one for one in wide if one.nodes.start < here.stop and here.start < one.nodes.stop]
        on_each = [lone[node] for node in (lone if len(lone) < len(here) else here) if node in here and node in lone]
        amounts = [_moved_until(use, [one for one in others if one is not use]) for others in on_each]
        others = _moved_until(use, [one for one in wider if one is not use])
        found.append(use.on_one_node * use.one.size_bytes + others + max(amounts, default=0.0))
    return found


def _moved_until(use: DiskUse, others: Sequence[DiskUse]) -> float:
    return float(sum(one.on_one_node * min(one.one.size_bytes, use.one.size_bytes) for one in others))
