"""Groups of equal processes of a schedule on a system."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from predictor.blocks.machines.machine import Group

if TYPE_CHECKING:
    from platforms.system import Node, System, UnitGroup
    from platforms.system.scheduler import Placed, Schedule


@dataclass(frozen=True)
class _Load:
    """Consecutive units with the same number of processes on each, or on each of their nodes."""

    group: UnitGroup
    first: int
    units: int
    threads: int


def groups_of(system: System, schedule: Schedule, *, whole_nodes: bool = False) -> tuple[Group, ...]:
    """Return the groups of a schedule, by label in the schedule's order, then by first member.

    Args:
        system: The system.
        schedule: Placement of the processes on the system's units.
        whole_nodes: Whether ``Group.threads`` counts the processes on all units of a node together.
    """
    loads = [_Load(load.group, load.first, load.units, load.threads) for load in schedule.loads()]
    if whole_nodes:
        loads = list(_of_whole_nodes(loads))
    first_nodes = node_numbers(system)
    groups = []
    for label, rows in schedule.placed.items():
        label_groups = [group for row in rows for group in _groups(label, row, loads, first_nodes=first_nodes)]
        groups += sorted(label_groups, key=lambda group: group.first)
    return tuple(groups)


def covered(ranges: Iterable[range]) -> int:
    """Return the number of integers in the union of the ranges, which begin at 0 or above."""
    count, reached = 0, 0
    for places in sorted(ranges, key=lambda r: r.start):
        count += max(0, places.stop - max(places.start, reached))
        reached = max(reached, places.stop)
    return count


def node_numbers(system: System) -> dict[int, int]:
    """Return the number of the first node of every group of nodes, by its ``id``; nodes are counted system-wide."""
    nodes = [node for lan in system.top.lans() for node in lan.nodes]
    return {
        id(node): first for node, first in zip(nodes, accumulate((n.count for n in nodes), initial=0), strict=False)
    }


def _of_whole_nodes(loads: Sequence[_Load]) -> Iterator[_Load]:
    """Yield loads with the threads of whole nodes, cut where any unit's load changes; unit i is on node i."""
    by_node: dict[int, list[_Load]] = {}
    for load in loads:
        by_node.setdefault(id(load.group.node), []).append(load)
    for here in by_node.values():
        cuts = sorted({0} | {load.first + load.units for load in here})
        for first, end in pairwise(cuts):
            covering = [load for load in here if load.first <= first < load.first + load.units]
            threads = sum(load.threads for load in covering)
            yield from (_Load(load.group, first, end - first, threads) for load in covering)


def _groups(label: str, row: Placed, loads: Sequence[_Load], *, first_nodes: dict[int, int]) -> Iterator[Group]:
    """Yield the groups of a row of units, cut where the other processes on the units change."""
    for load in loads:
        first, end = max(row.first, load.first), min(row.first + row.units, load.first + load.units)
        if load.group is row.group and first < end:
            part = _Load(load.group, first, end - first, load.threads)
            yield from _of_units(label, row, part, first_node=first_nodes[_node_key(row)] + first)


def _node_key(row: Placed) -> int:
    node: Node = row.group.node
    return id(node)


def _of_units(label: str, row: Placed, part: _Load, *, first_node: int) -> Iterator[Group]:
    """Yield the processes on a part of a row: one group if their members have equal steps, else one for each round."""
    index = row.index + (part.first - row.first) * row.unit_step
    whole = Group(
        label=label,
        first=index,
        stride=row.unit_step,
        count=part.units * row.per_unit,
        per_unit=row.per_unit,
        threads=part.threads,
        unit=row.group.name,
        first_node=first_node,
        first_unit=part.first,
    )
    if row.per_unit == 1:
        yield replace(whole, stride=row.unit_step or 1)
    elif part.units == 1 or row.unit_step == row.per_unit * row.process_step:
        yield replace(whole, stride=row.process_step)
    elif row.process_step == part.units * row.unit_step:
        yield replace(whole, cyclic=True)
    else:
        for turn in range(row.per_unit):
            yield replace(whole, first=index + turn * row.process_step, count=part.units, per_unit=1)
