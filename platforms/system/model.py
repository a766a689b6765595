"""The values of a system of levels, checked when made.

A node hangs on its LAN's switch by a full-duplex link of its own.  One of its compute units is at that link, usually
its first CPU; units with a bus are behind it.  LANs are joined by wide-area links, to a hub (star) or pair by pair
(mesh).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from platforms.errors import PlatformError, nearest
from platforms.grid import WanLink, Wire
from platforms.hardware import DiskArray
from platforms.platform import Link, Power, Route
from platforms.system.checks import check_system

ANY = "*"  # the label of slots that take any process


@dataclass(frozen=True)
class ComputeUnit:
    """Processors of a node that share memory: the CPUs of its sockets, or one GPU."""

    name: str  # within its node, such as "cpu" or "gpu2"
    kind: str  # "cpu" or "gpu"
    processor: str  # in the hardware database
    speed_flops: float  # of one core, flop/s; a GPU counts as one core
    cores: int = 1
    threads: int = 1  # that the hardware runs at once, >= cores
    power: Power | None = None  # of the unit
    bus: Wire | None = None  # between it and the node; None: it is where the node's network link ends
    slots: tuple[tuple[str, int], ...] = ()  # (label, processes of it that may run here); ANY: of any label, together
    price_usd: float | None = None

    @property
    def unit_flops(self) -> float:
        """Speed of all cores together, flop/s."""
        return self.speed_flops * self.cores


@dataclass(frozen=True)
class Node:
    """``count`` equal nodes of a LAN."""

    name: str  # of the group; its hosts are called name-0, name-1, ..., or name-0-unit where there are several units
    count: int  # >= 1
    units: tuple[ComputeUnit, ...]
    link: Wire  # to the switch, each direction
    memory: Wire | None = None  # what a message of a host to itself crosses; None: its way out and back in
    disks: tuple[DiskArray, ...] = ()

    @property
    def single(self) -> bool:
        """Whether a node is one host: a single unit, right at its link."""
        return len(self.units) == 1 and self.units[0].bus is None

    @property
    def plain(self) -> bool:
        """Whether nodes of this group can be written together, as a cluster."""
        return self.single and (self.memory is None or not self.disks)

    def host_name(self, number: int, unit: ComputeUnit) -> str:
        """The host of a unit of node ``number``, 0 to count - 1."""
        return f"{self.name}-{number}" if self.single else f"{self.name}-{number}-{unit.name}"

    def link_name(self, number: int) -> str:
        """SimGrid's name of the node's link, but for _UP and _DOWN."""
        return f"{self.name}_link_{number}"

    def bus_name(self, number: int, unit: ComputeUnit) -> str:
        return f"{self.name}_bus_{number}_{unit.name}"

    def disk_name(self, number: int, disk: DiskArray) -> str:
        return f"{self.name}-{number}-{disk.name}"


@dataclass(frozen=True)
class Level:
    """A LAN, which holds nodes, or a WAN, which holds other levels."""

    name: str
    kind: str  # "lan" or "wan"
    levels: tuple[Level, ...] = ()
    nodes: tuple[Node, ...] = ()
    shape: str = "star"  # of a WAN: "star", each level has a link to a hub; "mesh", each pair of levels has one
    links: tuple[WanLink, ...] = ()  # of a WAN: exactly those that the shape needs
    fabric: Wire | None = None  # of a LAN: what all messages through its switch share; None: it blocks nobody

    @property
    def alone(self) -> bool:
        """Whether it is a LAN of one group of nodes that are single hosts: a cluster as ``platforms.grid`` has it."""
        return len(self.nodes) == 1 and self.nodes[0].plain

    @property
    def zone(self) -> str:
        """Its name in the platform file and in the names of links: a lone group's, or its own."""
        return self.nodes[0].name if self.alone else self.name

    def lans(self) -> Iterator[Level]:
        """The LANs in and below it, in order."""
        if self.kind == "lan":
            yield self
        for level in self.levels:
            yield from level.lans()


@dataclass(frozen=True)
class UnitGroup:
    """The equal units of one kind over the nodes of a group; unit i is on node i."""

    lan: Level
    node: Node
    unit: ComputeUnit

    @property
    def name(self) -> str:
        return self.node.name if self.node.single else f"{self.node.name}.{self.unit.name}"

    @property
    def units(self) -> int:
        return self.node.count

    def host(self, number: int) -> str:
        """Name of the host of unit ``number``, 0 to units - 1."""
        return self.node.host_name(number, self.unit)


@dataclass(frozen=True)
class Way:
    """What a message crosses from one unit to another, before any factor of a network model."""

    kind: str  # the least level that holds both: "unit" (to oneself), "node", "lan" or "wan"
    level: str  # its name
    links: tuple[Link, ...]

    @property
    def latency_s(self) -> float:
        return sum(link.latency_s for link in self.links)

    @property
    def bandwidth_Bps(self) -> float:
        """byte/s of the narrowest link."""
        return min(link.bandwidth_Bps for link in self.links)


@dataclass(frozen=True)
class System:
    """A machine, or several, and what joins them.  Checked when made: raises PlatformError."""

    name: str
    top: Level
    options: tuple[tuple[str, str], ...] = ()  # SimGrid options that go with its networks
    network: str = "system"  # its kind, as the records of runs name it
    source: str = ""

    def __post_init__(self) -> None:
        check_system(self)

    @cached_property
    def groups(self) -> tuple[UnitGroup, ...]:
        """All units, in the order of the file: LAN by LAN, node group by node group, unit by unit."""
        return tuple(UnitGroup(lan, node, unit) for lan in self.top.lans() for node in lan.nodes for unit in node.units)

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return sum(node.count for lan in self.top.lans() for node in lan.nodes)

    @cached_property
    def group_by_name(self) -> dict[str, UnitGroup]:
        return {group.name: group for group in self.groups}

    def find(self, host: str) -> tuple[UnitGroup, int]:
        """The group of a host's unit, and the unit's number in it.  Raises PlatformError for an unknown host."""
        for group in self._groups_by_length:
            rest = host.removeprefix(f"{group.node.name}-")
            if rest != host:
                number = rest if group.node.single else rest.removesuffix(f"-{group.unit.name}")
                if number.isdecimal() and int(number) < group.units and group.host(int(number)) == host:
                    return group, int(number)
        first = (group.host(0) for group in self.groups)
        raise PlatformError(f"system {self.name!r}", f"no host {host!r}", nearest(host, first))

    def way(self, here: UnitGroup, i: int, there: UnitGroup, j: int) -> Way:
        """What a message crosses from unit ``i`` of one group to unit ``j`` of another, or of the same."""
        from platforms.system.ways import way

        return way(self, here, i, there, j)

    def routes(self, pairs: Iterable[tuple[str, str]]) -> list[Route]:
        """The routes of these pairs of hosts, source first, as SimGrid has them on the system's platform.

        SimGrid may list the links of a route in another order.  Without a process of SimGrid's.
        """
        ways = [(a, b, self.way(*self.find(a), *self.find(b))) for a, b in pairs]
        return [Route(a, b, one.latency_s, one.links) for a, b, one in ways]

    def disks_for(self, group: UnitGroup) -> tuple[UnitGroup, DiskArray] | None:
        """The disk that a process on this unit uses, and the units of its nodes: of its own node, else the first of
        its LAN, else the first of the system; None where there is none."""
        others = [one for one in self.groups if one.lan is group.lan] + list(self.groups)
        for one in [group, *others]:
            if one.node.disks:
                return one, one.node.disks[0]
        return None

    @cached_property
    def _groups_by_length(self) -> list[UnitGroup]:
        return sorted(self.groups, key=lambda group: -len(group.node.name))
