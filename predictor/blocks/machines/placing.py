"""From a schedule on a system to groups of equal processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from predictor.blocks.machines.machine import Group

if TYPE_CHECKING:
    from platforms.system import Node, System, UnitGroup
    from platforms.system.scheduler import Placed, Schedule


@dataclass(frozen=True)
class _Load:
    """Consecutive units with as many processes each, or on each of their nodes."""

    group: UnitGroup
    first: int
    units: int
    threads: int


def groups_of(system: System, schedule: Schedule, *, whole_nodes: bool = False) -> tuple[Group, ...]:
    """The groups of a schedule: by label in the order of its counts, then by first member.

    ``whole_nodes``: their threads are those of all units of a node together.
    """
    loads = [_Load(load.group, load.first, load.units, load.threads) for load in schedule.loads()]
    if whole_nodes:
        loads = list(_of_whole_nodes(loads))
    first_nodes = node_numbers(system)
    groups = []
    for label, rows in schedule.placed.items():
        own = [group for row in rows for group in _groups(label, row, loads, first_nodes)]
        groups += sorted(own, key=lambda group: group.first)
    return tuple(groups)


def node_numbers(system: System) -> dict[int, int]:
    """Number of the first node of every group of nodes (by its ``id``), nodes counted over the whole system."""
    nodes = [node for lan in system.top.lans() for node in lan.nodes]
    return {
        id(node): first for node, first in zip(nodes, accumulate((n.count for n in nodes), initial=0), strict=False)
    }


def _of_whole_nodes(loads: Sequence[_Load]) -> Iterator[_Load]:
    """Cut where any unit of the nodes has other processes: unit i of each kind is on node i."""
    by_node: dict[int, list[_Load]] = {}
    for load in loads:
        by_node.setdefault(id(load.group.node), []).append(load)
    for here in by_node.values():
        cuts = sorted({0} | {load.first + load.units for load in here})
        for first, end in pairwise(cuts):
            covering = [load for load in here if load.first <= first < load.first + load.units]
            threads = sum(load.threads for load in covering)
            yield from (_Load(load.group, first, end - first, threads) for load in covering)


def _groups(label: str, row: Placed, loads: Sequence[_Load], first_nodes: dict[int, int]) -> Iterator[Group]:
    """A row of units, cut where the units have other processes besides."""
    for load in loads:
        first, end = max(row.first, load.first), min(row.first + row.units, load.first + load.units)
        if load.group is row.group and first < end:
            yield from _of_units(label, row, first, end - first, load.threads, first_nodes[_node_key(row)] + first)


def _node_key(row: Placed) -> int:
    node: Node = row.group.node
    return id(node)


def _of_units(label: str, row: Placed, first: int, units: int, threads: int, first_node: int) -> Iterator[Group]:
    """The processes on these units: as one group where their members follow each other, else one for each turn."""
    index = row.index + (first - row.first) * row.unit_step
    place: dict[str, Any] = {"threads": threads, "unit": row.group.name, "first_node": first_node, "first_unit": first}
    count = units * row.per_unit
    if row.per_unit == 1:
        yield Group(label, index, row.unit_step or 1, count, 1, **place)
    elif units == 1 or row.unit_step == row.per_unit * row.process_step:
        yield Group(label, index, row.process_step, count, row.per_unit, **place)
    elif row.process_step == units * row.unit_step:
        yield Group(label, index, row.unit_step, count, row.per_unit, cyclic=True, **place)
    else:
        for turn in range(row.per_unit):
            yield Group(label, index + turn * row.process_step, row.unit_step, units, 1, **place)
