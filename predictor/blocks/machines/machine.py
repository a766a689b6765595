"""Interface of machines: the costs of an application's blocks where its processes are placed, and of collectives.

Times of all collectives on a machine, those included for which machines have no times of their own.

As in SimGrid's MPI, a reduction is a gather of all vectors at the root, an allreduce is a reduction and a broadcast,
and in an allgather each process sends its part to every other one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from itertools import accumulate, pairwise
from math import ceil, gcd
from typing import Protocol, overload

from platforms.errors import UserError
from platforms.system import Node, System, UnitGroup
from platforms.system.scheduler import Placed, Schedule
from predictor.blocks.progression import Number, Pairs, Part, Progression, Split
from predictor.blocks.stream.instructions import Collective


@dataclass(frozen=True)
class Group:
    """Members ``first``, ``first + stride``, ... of a label, on equal units of consecutive nodes.

    Each unit has ``per_unit`` members: the first ones are on the first unit, and so on; or, with ``cyclic``, each unit
    gets one member before any unit gets a second one.  Several groups may have processes on one unit, or on units of
    one node.
    """

    label: str
    first: int
    stride: int
    count: int
    per_unit: int
    threads: int  # processes on each unit, other groups included; for a model of whole nodes: on each node
    unit: str  # name of the kind of unit
    first_node: int  # number of the first unit's node, counted over the whole machine
    first_unit: int = 0  # number of the first unit among the units of its kind
    cyclic: bool = False

    @property
    def units(self) -> int:
        """Number of units."""
        return -(-self.count // self.per_unit)

    @property
    def nodes(self) -> range:
        """Numbers of the units' nodes."""
        return range(self.first_node, self.first_node + self.units)

    @property
    def members(self) -> range:
        """Indices of the members within the label."""
        return range(self.first, self.first + self.stride * self.count, self.stride)

    @overload
    def node(self, member: int) -> int: ...

    @overload
    def node(self, member: Progression | Number) -> Progression | Number: ...

    def node(self, member: Progression | Number) -> Progression | Number:
        """Return the number of a member's node."""
        place = (member - self.first) // self.stride
        return self.first_node + (place % self.units if self.cyclic else place // self.per_unit)

    def on_node(self, number: int) -> range:
        """Return the members on the node of this number."""
        unit = number - self.first_node
        if not 0 <= unit < self.units:
            return range(0)
        places = range(unit, self.count, self.units)
        if not self.cyclic:
            places = range(unit * self.per_unit, min((unit + 1) * self.per_unit, self.count))
        return range(
            self.first + self.stride * places.start, self.first + self.stride * places.stop, self.stride * places.step
        )


@dataclass(frozen=True)
class Posted:
    """Receives that are posted before the sends ahead of them: all MPI_Irecv, then all MPI_Send, then all MPI_Wait.

    The messages of such an exchange are in flight together; the messages of one sender leave one after the other.
    """

    transfer_s: Callable[[Group, Group, int], float]  # time until the sender's next message can leave, s


@dataclass(frozen=True)
class MessageLoad:
    """Numbers of messages in flight at the same time, this one included."""

    out: int = 1  # messages from the sender's node
    into: int = 1  # messages to the receiver's node
    together: int = 1  # all messages between nodes of the two groups
    burst: int = 1  # messages from the same sender, which does not wait for them; `out` includes them

    def most(self, other: MessageLoad) -> MessageLoad:
        """Return the larger number of each kind."""
        return MessageLoad(*map(max, astuple(self), astuple(other)))


ALONE = MessageLoad()


@dataclass(frozen=True)
class DiskSharing:
    """Bytes that a disk moves from the start of a block to its end, relative to the bytes of the block.

    1 if the process is alone, n if it is one of n equal processes.
    """

    node: float = 1.0  # bytes for processes of the same node
    together: float = 1.0  # bytes for all processes that use the same server


ALONE_AT_DISK = DiskSharing()


class Machine(Protocol):
    """Costs of the blocks of processes that are placed on a machine.

    Times are in s and never negative.  The methods raise OutOfRange if they do not know a cost.
    """

    @property
    def name(self) -> str:
        """Name of the machine, for messages."""

    @property
    def whole_nodes(self) -> bool:
        """True if ``Group.threads`` and ``power_w`` are those of whole nodes, not of units."""

    @property
    def groups(self) -> tuple[Group, ...]:
        """Groups by label in the application's order, then by first member; every process is in one group."""

    @property
    def failure_rate_per_s(self) -> float | None:
        """Failure rate of a node, 1/s, or None if it is unknown."""

    @property
    def others_idle_w(self) -> float:
        """Idle power of the units without a process on nodes in use, W."""

    def compute_s(self, group: Group, operations: float) -> float:
        """Return the time of a computation by a process of the group, proportional to ``operations``."""

    def message_s(
        self, source: Group, target: Group, size_bytes: int, *, same_node: bool = False, traffic: MessageLoad = ALONE
    ) -> float:
        """Return the time of a message, from the moment at which both processes are ready until it has arrived.

        If ``same_node`` is true, ``traffic.out`` messages share the links of the node.
        """

    def collective_s(self, block: str, size_bytes: int, members: Sequence[Group], root: Group) -> float:
        """Return the time of a block of predictor.blocks.model.COLLECTIVES, from when all processes are ready."""

    def disk_server(self, group: Group) -> Hashable:
        """Return an identifier of the disk that the group uses; None: each node uses its own disk."""

    def disk_s(self, group: Group, block: str, size_bytes: int, *, sharing: DiskSharing = ALONE_AT_DISK) -> float:
        """Return the time of a block ``disk_read`` or ``disk_write``."""

    def power_w(self, group: Group, threads: int) -> float:
        """Return the power of a unit (or a node, for a model of nodes) with this number of computing processes, W."""


def collective_time(machine: Machine, block: str, size_bytes: int, members: Sequence[Group], root: Group) -> float:
    """Return the time of a collective, from when all processes are ready, s.

    Args:
        machine: The machine.
        block: A name in predictor.blocks.names.COLLECTIVES or REDUCTIONS.
        size_bytes: Bytes as in the steps of predictor.blocks.programs.
        members: Groups of the processes that take part.
        root: Group of the root; any of them for a collective without a root.

    Raises:
        OutOfRange: If the machine does not know the time.
    """
    processes = sum(group.count for group in members)
    if block in ("reduce", "allreduce"):
        gathered_s = machine.collective_s("gather", size_bytes * processes, members, root)
        return gathered_s + (machine.collective_s("bcast", size_bytes, members, root) if block == "allreduce" else 0.0)
    if block == "allgather":
        return machine.collective_s("alltoall", ceil(size_bytes / processes), members, root)
    return machine.collective_s(block, size_bytes, members, root)


def check_agreed(labels: Iterable[str], mine: Collective, theirs: Collective) -> None:
    """Check that two participants, which are processes of these labels, call the same collective.

    Raises:
        UserError: If the collectives, their bytes or their roots differ.
    """
    if (mine.block, mine.root, mine.given_bytes) != (theirs.block, theirs.root, theirs.given_bytes):
        members = ", ".join(labels)
        problem = f"not the same collective as at {theirs.where}, which other processes of {members} call"
        raise UserError(mine.where, problem, "Let all call the same collective, with the same bytes and root")


@dataclass(frozen=True)
class Relation:
    """A part of a row of pairs in which sender and receiver share a node in every pair, or in none."""

    part: Part
    same_node: bool
    traffic: MessageLoad  # if all messages of the row begin at the same moment


def relations(source: Group, target: Group, pairs: Pairs) -> Iterator[Relation]:
    """Yield the parts of the row; together they have every pair once."""
    whole = Part(0, 1, pairs.count)
    if source.first_node + source.units <= target.first_node or target.first_node + target.units <= source.first_node:
        yield Relation(whole, False, _traffic(source, target, pairs))
        return
    if source == target and pairs.source_step == pairs.target_step:
        yield from _shifted(source, pairs)
        return
    between = _traffic(source, target, pairs)
    for same_node, part in _parts(source, target, pairs, whole):
        yield Relation(part, same_node, _within_nodes(source, target, pairs.part(part)) if same_node else between)


def _parts(source: Group, target: Group, pairs: Pairs, part: Part) -> Iterator[tuple[bool, Part]]:
    """Yield parts of the row with the answer whether sender and receiver share a node."""
    here = pairs.part(part)
    sender = Progression.of(here.source, here.source_step, here.count)
    receiver = Progression.of(here.target, here.target_step, here.count)
    try:
        yield source.node(sender) == target.node(receiver), part
    except Split as split:
        for inner in split.parts:
            yield from _parts(source, target, pairs, part.within(inner))


def _shifted(group: Group, pairs: Pairs) -> Iterator[Relation]:
    """Yield the parts of a row whose senders and receivers have the same distance in every pair.

    On nodes with c consecutive places, the receiver of the sender at place p is on the same node if
    0 <= p mod c + distance < c.  p mod c takes every g-th value, where g is the greatest common divisor of the row's
    step and c.
    """
    c = group.per_unit
    distance = (pairs.target - pairs.source) // group.stride
    if group.cyclic:
        same_node = distance % group.units == 0
        traffic = _within_nodes(group, group, pairs) if same_node else _traffic(group, group, pairs)
        yield Relation(Part(0, 1, pairs.count), same_node, traffic)
        return
    first, step = (pairs.source - group.first) // group.stride, pairs.source_step // group.stride
    period = c // gcd(step, c) if step else 1
    stays = [0 <= (first + step * j) % c + distance < c for j in range(min(period, pairs.count))]
    nodes = -(-pairs.count // period)  # at least this many nodes have pairs of the row: one per period of the places
    for same_node in (True, False):
        count = stays.count(same_node)
        if not count:
            continue
        each = count if step < c else 1
        together = min(pairs.count, count * nodes)
        traffic = MessageLoad(each, each, together)
        if count == len(stays):
            yield Relation(Part(0, 1, pairs.count), same_node, traffic)
            continue
        for j in (j for j, stay in enumerate(stays) if stay == same_node):
            yield Relation(Part(j, period, -(-(pairs.count - j) // period)), same_node, traffic)


def _within_nodes(source: Group, target: Group, pairs: Pairs) -> MessageLoad:
    here = _traffic(source, target, pairs)
    return replace(here, out=max(here.out, here.into))


def _traffic(source: Group, target: Group, pairs: Pairs) -> MessageLoad:
    if pairs.count == 1:
        return ALONE
    out = on_one_node(source, pairs.source_step, pairs.count)
    return MessageLoad(out, on_one_node(target, pairs.target_step, pairs.count), pairs.count)


def on_one_node(group: Group, step: int, count: int) -> int:
    """Return the number of a row's members on the busiest node."""
    places = abs(step) // group.stride
    if places == 0:
        return count
    if group.cyclic:
        return -(-count // (group.units // gcd(places, group.units)))
    return min(count, max(1, group.per_unit // places))


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
