"""Blocks of disks: who begins at the same moment shares the disk, and the way to it.

A disk serves all at the same rate.  With sizes s_j of those that begin together, the one of size s_i so is done when
sum_j min(s_j, s_i) bytes have been moved (processor sharing).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from predictor.blocks.evaluation.cohort import Cohort
from predictor.blocks.evaluation.profile import AT_ONCE
from predictor.blocks.machines.machine import DiskSharing, Machine
from predictor.blocks.machines.traffic import on_one_node


@dataclass(eq=False)
class DiskUse:
    """A cohort that reads or writes."""

    cohort: Cohort
    block: str
    size_bytes: int

    @property
    def start_s(self) -> float:
        return self.cohort.clock.least()

    @property
    def at_once(self) -> bool:
        """Whether its members begin at one moment."""
        most_s = self.cohort.clock.most()
        return most_s - self.start_s <= AT_ONCE * most_s

    @property
    def nodes(self) -> range:
        """From the first node with such a process to the last one."""
        group, last = self.cohort.group, self.cohort.first + self.cohort.stride * (self.cohort.count - 1)
        if group.cyclic and self.cohort.count > 1:
            return range(group.first_node, group.first_node + group.units)
        return range(group.node(self.cohort.first), group.node(last) + 1)

    @property
    def on_one_node(self) -> int:
        """Processes on its busiest node."""
        return on_one_node(self.cohort.group, self.cohort.stride, self.cohort.count)


class Disks:
    """All disks of an evaluation."""

    def __init__(self, machine: Machine, add: Callable[[Cohort], None]):
        """``add`` is given every cohort that can go on, past its block."""
        self._machine, self._add = machine, add
        self._server: dict[object, Hashable] = {}  # by group
        self.waiting: list[DiskUse] = []

    def join(self, cohort: Cohort, block: str, size_bytes: int) -> None:
        """The cohort waits until all are there that might share its disk."""
        if cohort.group not in self._server:
            self._server[cohort.group] = self._machine.disk_server(cohort.group)
        self.waiting.append(DiskUse(cohort, block, size_bytes))

    def standing(self) -> Iterator[tuple[tuple[Hashable, ...], Cohort]]:
        """Everybody who waits, and where."""
        for use in sorted(self.waiting, key=lambda one: (one.cohort.label, one.cohort.group.first, one.cohort.first)):
            yield (use.block, use.size_bytes), use.cohort

    def let_go(self) -> bool:
        """Serves all that wait; False where nobody does."""
        waiting, self.waiting = self.waiting, []
        alike: dict[tuple[str, Hashable], list[DiskUse]] = defaultdict(list)
        for use in waiting:
            alike[use.block, self._server[use.cohort.group]].append(use)
        for uses in alike.values():
            for together in _moments(uses):
                for use, sharing in zip(together, _sharing(together), strict=True):
                    cohort = use.cohort
                    took_s = self._machine.disk_s(cohort.group, use.block, use.size_bytes, sharing=sharing)
                    cohort.clock = cohort.clock.plus(took_s)
                    cohort.pc += 1
                    self._add(cohort)
        return bool(waiting)


def _moments(uses: Sequence[DiskUse]) -> Iterator[list[DiskUse]]:
    """Those that begin together; members of one cohort that do not are nobody's company."""
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
    """Of uses that begin together."""
    if len(uses) == 1 and not uses[0].at_once:
        return [DiskSharing()]
    sizes = np.array([use.size_bytes for use in uses], float)
    moved = _until_done(sizes, np.array([use.cohort.count for use in uses], float))
    on_node = _on_nodes(uses)
    return [
        DiskSharing(node / size, all_of_them / size) if size else DiskSharing()
        for size, node, all_of_them in zip(sizes.tolist(), on_node, moved.tolist(), strict=True)
    ]


def _until_done(sizes: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """sum_j n_j min(s_j, s_i) for each i, bytes."""
    order = np.argsort(sizes, kind="stable")
    ordered, number = sizes[order], counts[order]
    smaller, larger = np.cumsum(number * ordered), number.sum() - np.cumsum(number)
    found = np.empty(len(sizes))
    found[order] = smaller + larger * ordered
    return found


def _on_nodes(uses: Sequence[DiskUse]) -> list[float]:
    """The same sum over the processes of one node, the busiest that a use has."""
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
        found.append(use.on_one_node * use.size_bytes + others + max(amounts, default=0.0))
    return found


def _moved_until(use: DiskUse, others: Sequence[DiskUse]) -> float:
    return float(sum(one.on_one_node * min(one.size_bytes, use.size_bytes) for one in others))
