"""What an application's blocks cost where its processes are placed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Protocol, overload

from predictor.blocks.evaluation.progression import Number, Progression


@dataclass(frozen=True)
class Group:
    """Members ``first``, ``first + stride``, ... of a label, on equal units of nodes that follow each other.

    ``per_unit`` of them on each unit: the first ones on the first unit, and so on; or, with ``cyclic``, one on each
    unit before any gets a second one.  Several groups may have processes on one unit, or on units of one node.
    """

    label: str
    first: int
    stride: int
    count: int
    per_unit: int
    threads: int  # processes on each of the units, those of other groups included; for a model of nodes: on each node
    unit: str  # kind of unit, of the machine
    first_node: int  # number of the node of the first unit, over the whole machine
    first_unit: int = 0  # number of the first unit among those of its kind
    cyclic: bool = False

    @property
    def units(self) -> int:
        return -(-self.count // self.per_unit)

    @property
    def members(self) -> range:
        return range(self.first, self.first + self.stride * self.count, self.stride)

    @overload
    def node(self, member: int) -> int: ...

    @overload
    def node(self, member: Progression | Number) -> Progression | Number: ...

    def node(self, member: Progression | Number) -> Progression | Number:
        """Number of a member's node."""
        place = (member - self.first) // self.stride
        return self.first_node + (place % self.units if self.cyclic else place // self.per_unit)

    def on_node(self, number: int) -> range:
        """The members on that node."""
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
class Traffic:
    """How many messages are under way at the same time, this one included."""

    out: int = 1  # from the sender's node
    into: int = 1  # to the receiver's node
    together: int = 1  # between nodes of these groups at all
    burst: int = 1  # from this very sender, which does not wait for them; `out` has them too


ALONE = Traffic()


@dataclass(frozen=True)
class DiskSharing:
    """What a disk moves from the moment at which a process begins until its block is done, over that block's bytes.

    1 where the process is alone, n where it is one of n alike.
    """

    node: float = 1.0  # for processes of its own node
    together: float = 1.0  # for all that use the same server


ALONE_AT_DISK = DiskSharing()


class Machine(Protocol):
    """Times in s, never negative.  Raises OutOfRange for what it does not know."""

    @property
    def name(self) -> str:
        """For a reader."""

    @property
    def groups(self) -> tuple[Group, ...]:
        """By label in the application's order, and then by first member: everyone is in one."""

    @property
    def failure_rate_per_s(self) -> float | None:
        """Of a node; None: not known."""

    @property
    def others_idle_w(self) -> float:
        """W of the units without a process on nodes in use."""

    def compute_s(self, group: Group, operations: float) -> float:
        """Of a process of the group; proportional to ``operations``."""

    def message_s(
        self, source: Group, target: Group, size_bytes: int, *, same_node: bool = False, traffic: Traffic = ALONE
    ) -> float:
        """From the moment at which both are ready until it has come.  On one node ``traffic.out`` messages are."""

    def collective_s(self, block: str, size_bytes: int, members: Sequence[Group], root: Group) -> float:
        """Of predictor.blocks.model.COLLECTIVES, from the moment at which all are ready."""

    def disk_server(self, group: Group) -> Hashable:
        """Whose disk the group uses; None: each of its nodes has its own."""

    def disk_s(self, group: Group, block: str, size_bytes: int, *, sharing: DiskSharing = ALONE_AT_DISK) -> float:
        """``disk_read`` or ``disk_write``."""

    def power_w(self, group: Group, threads: int) -> float:
        """Of a unit of the group, with so many processes computing on it; for a model of nodes: of a node."""
