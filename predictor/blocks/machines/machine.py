"""Interface of machines: the costs of an application's blocks where its processes are placed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import astuple, dataclass
from typing import Protocol, overload

from predictor.blocks.processes.progression import Number, Progression


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
