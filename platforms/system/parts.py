"""Parts of a system of levels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from platforms.grids.grid import WanLink, Wire
from platforms.model.platform import Link, Power
from platforms.system.database import DiskArray, NetworkHardware

YEAR_S = 365.25 * 86400
ANY = "*"  # the label of slots that take processes of any label


@dataclass(frozen=True)
class OperationTimes:
    """Measured times of an operation on a unit by the number of its threads, Table 1 of Proficz and Czarnul.

    A thread takes ``core_s`` for an operation while each has a core of its own, ``thread_s`` up to the number of
    hardware threads, and ``beyond_s + beyond_each_s`` times the threads if there are more.
    """

    core_s: float  # T_min, > 0
    thread_s: float  # T_low; core_s where there are no hardware threads
    beyond_s: float  # T_hi
    beyond_each_s: float  # K_hi

    def slowdown(self, threads: int, *, cores: int, hardware_threads: int) -> float:
        """Return the time of an operation relative to a core of its own."""
        if threads <= cores:
            return 1.0
        time_s = self.thread_s if threads <= hardware_threads else self.beyond_s + self.beyond_each_s * threads
        return time_s / self.core_s


@dataclass(frozen=True)
class ThreadWatts:
    """Measured power of a unit with more threads than cores, Table 1 of Proficz and Czarnul.

    A unit takes ``base_w + each_w`` times the threads up to the number of hardware threads, and never more than
    ``most_w``, which it takes with more threads.
    """

    base_w: float  # PW_hi
    each_w: float  # KW_hi
    most_w: float  # PW_max

    def at(self, threads: int, *, hardware_threads: int) -> float:
        """Return the power in W with this number of threads, which is above the number of cores."""
        return self.most_w if threads > hardware_threads else min(self.most_w, self.base_w + self.each_w * threads)


@dataclass(frozen=True)
class ComputeUnit:
    """Processors of a node that share memory: the CPUs of its sockets, or one GPU."""

    name: str  # unique in its node, such as "cpu" or "gpu2"
    kind: str  # "cpu" or "gpu"
    processor: str  # name in the hardware database
    speed_flops: float  # of one core, flop/s; a GPU counts as one core
    cores: int = 1
    threads: int = 1  # hardware threads, >= cores
    power: Power | None = None  # of the unit
    bus: Wire | None = None  # between the unit and the node; None: the unit is at the end of the node's network link
    slots: tuple[tuple[str, int], ...] = ()  # (label, most processes of it on the unit); ANY: all labels together
    price_usd: float | None = None
    thread_slowdown: float | None = None  # of a thread while all hardware threads are busy; None: not known
    failures_per_year: float | None = None  # of its processors; None: not known
    operation: OperationTimes | None = None  # measured times of an operation; None: operations run at the speed
    thread_watts: ThreadWatts | None = None  # measured watts above one thread per core; None: those of full load

    @property
    def unit_flops(self) -> float:
        """Speed of all cores together, flop/s."""
        return self.speed_flops * self.cores

    def slowdown(self, threads: int) -> float:
        """Return the time of a thread's computation relative to a core of its own.

        With more threads than cores each takes its share of the cores, as in SimGrid.  Measured times of an operation
        replace this, and so does ``thread_slowdown``: this factor up to the number of hardware threads, and in
        proportion to the threads beyond.
        """
        if threads <= self.cores:
            return 1.0
        if self.operation is not None:
            return self.operation.slowdown(threads, cores=self.cores, hardware_threads=self.threads)
        if self.thread_slowdown is None or self.threads == self.cores:
            return threads / self.cores
        return self.thread_slowdown * max(1.0, threads / self.threads)

    @property
    def measured_share(self) -> float | None:
        """Share of the peak speed at which operations of a measured time run; None: no such time is known."""
        return None if self.operation is None else 1 / (self.speed_flops * self.operation.core_s)

    def power_w(self, threads: int) -> float | None:
        """Return the power with this number of busy threads, W; None: it is not known."""
        if self.power is None:
            return None
        if threads > self.cores and self.thread_watts is not None:
            return max(self.power.full_w, self.thread_watts.at(threads, hardware_threads=self.threads))
        return self.power.at_load(min(1.0, threads / self.cores))


@dataclass(frozen=True)
class Node:
    """A group of ``count`` equal nodes of a LAN."""

    name: str  # of the group; its hosts are called name-0, name-1, ..., or name-0-unit with several units per node
    count: int  # >= 1
    units: tuple[ComputeUnit, ...]
    link: Wire  # to the switch, each direction
    memory: Wire | None = None  # crossed by messages of a host to itself; None: they cross the link up and down
    disks: tuple[DiskArray, ...] = ()
    own_failures_per_year: float | None = None  # of a node, instead of the sum of its parts

    @property
    def failures_per_year(self) -> float | None:
        """Failures of one node in a year, those of its processors and disks together; None: some are not known."""
        if self.own_failures_per_year is not None:
            return self.own_failures_per_year
        parts = [*(unit.failures_per_year for unit in self.units), *(disk.failures_per_year for disk in self.disks)]
        known = [part for part in parts if part is not None]
        return sum(known) if len(known) == len(parts) else None

    @property
    def single(self) -> bool:
        """True if a node is one host, that is a single unit at the end of the node's link."""
        return len(self.units) == 1 and self.units[0].bus is None

    @property
    def plain(self) -> bool:
        """True if the nodes of this group can be written as one <cluster>."""
        return self.single and (self.memory is None or not self.disks)

    def host_name(self, number: int, unit: ComputeUnit) -> str:
        """Return the name of the host of a unit of node ``number``, 0 to count - 1."""
        return f"{self.name}-{number}" if self.single else f"{self.name}-{number}-{unit.name}"

    def link_name(self, number: int) -> str:
        """Return SimGrid's name of the node's link without _UP and _DOWN."""
        return f"{self.name}_link_{number}"

    def bus_name(self, number: int, unit: ComputeUnit) -> str:
        """Return SimGrid's name of a unit's bus without _UP and _DOWN."""
        return f"{self.name}_bus_{number}_{unit.name}"

    def disk_name(self, number: int, disk: DiskArray) -> str:
        """Return SimGrid's name of a disk of node ``number``."""
        return f"{self.name}-{number}-{disk.name}"


@dataclass(frozen=True)
class Level:
    """A LAN, which contains nodes, or a WAN, which contains other levels."""

    name: str
    kind: str  # "lan" or "wan"
    levels: tuple[Level, ...] = ()
    nodes: tuple[Node, ...] = ()
    shape: str = "star"  # of a WAN: "star", each level has a link to a hub; "mesh", each pair of levels has one
    links: tuple[WanLink, ...] = ()  # of a WAN: exactly the links that the shape needs
    fabric: Wire | None = None  # of a LAN: shared by all messages through its switch; None: the switch limits nothing
    hardware: NetworkHardware | None = None  # of a LAN: its kind in the hardware database; None: only values are given

    @property
    def alone(self) -> bool:
        """True if the level is a LAN with one group of single-host nodes, as in ``platforms.grids.grid``."""
        return len(self.nodes) == 1 and self.nodes[0].plain

    @property
    def zone(self) -> str:
        """The level's name in the platform file and in names of links; it is its only group's name, else its own."""
        return self.nodes[0].name if self.alone else self.name

    def all_levels(self) -> Iterator[Level]:
        """Yield this level and the levels below it, in order."""
        yield self
        for level in self.levels:
            yield from level.all_levels()

    def lans(self) -> Iterator[Level]:
        """Yield the LANs at and below this level, in order."""
        if self.kind == "lan":
            yield self
        for level in self.levels:
            yield from level.lans()


@dataclass(frozen=True)
class UnitGroup:
    """The equal units of one kind on all nodes of a group; unit i is on node i."""

    lan: Level
    node: Node
    unit: ComputeUnit

    @property
    def name(self) -> str:
        """Name of the node group, followed by the unit's name if a node has several units."""
        return self.node.name if self.node.single else f"{self.node.name}.{self.unit.name}"

    @property
    def units(self) -> int:
        """Number of units."""
        return self.node.count

    def host(self, number: int) -> str:
        """Return the name of the host of unit ``number``, 0 to units - 1."""
        return self.node.host_name(number, self.unit)


@dataclass(frozen=True)
class LinkPath:
    """The links that a message crosses from one unit to another, before any correction factor of a network model."""

    kind: str  # the lowest level that contains both: "unit" (a unit to itself), "node", "lan" or "wan"
    level: str  # name of that level
    links: tuple[Link, ...]

    @property
    def latency_s(self) -> float:
        """Sum of the links' latencies, s."""
        return sum(link.latency_s for link in self.links)

    @property
    def bandwidth_Bps(self) -> float:
        """Bandwidth of the narrowest link, byte/s."""
        return min(link.bandwidth_Bps for link in self.links)
