"""The values that describe a system of levels; they are checked when a System is created.

Each node is connected to its LAN's switch by its own full-duplex link.  One of its compute units, usually the first
CPU, is at the end of that link; units with a bus are connected through it.  Wide-area links join LANs to a hub (star)
or in pairs (mesh).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from platforms.errors import PlatformError, nearest
from platforms.model.platform import Route
from platforms.system.checks import check_system
from platforms.system.database import DiskArray
from platforms.system.parts import Level, LinkPath, UnitGroup
from platforms.system.ways import level_of, way


@dataclass(frozen=True)
class System:
    """One or several machines and the networks between them.

    Raises:
        PlatformError: The values do not describe a system that SimGrid can simulate.
    """

    name: str
    top: Level
    options: tuple[tuple[str, str], ...] = ()  # SimGrid options of its networks
    network: str = "system"  # name of its networks in the records of runs
    source: str = ""

    def __post_init__(self) -> None:
        check_system(self.name, self.top)

    @cached_property
    def groups(self) -> tuple[UnitGroup, ...]:
        """All groups of units, in the order of the file, that is LAN by LAN, node group by node group, unit by unit."""
        return tuple(UnitGroup(lan, node, unit) for lan in self.top.lans() for node in lan.nodes for unit in node.units)

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return sum(node.count for lan in self.top.lans() for node in lan.nodes)

    @cached_property
    def group_by_name(self) -> dict[str, UnitGroup]:
        """All groups of units, by name."""
        return {group.name: group for group in self.groups}

    def find(self, host: str) -> tuple[UnitGroup, int]:
        """Return the group of a host's unit and the unit's number in that group.

        Raises:
            PlatformError: There is no such host.
        """
        for group in self._groups_by_length:
            rest = host.removeprefix(f"{group.node.name}-")
            if rest != host:
                number = rest if group.node.single else rest.removesuffix(f"-{group.unit.name}")
                if number.isdecimal() and int(number) < group.units and group.host(int(number)) == host:
                    return group, int(number)
        first = (group.host(0) for group in self.groups)
        raise PlatformError(f"system {self.name!r}", f"no host {host!r}", nearest(host, first))

    def way(self, here: UnitGroup, i: int, there: UnitGroup, j: int) -> LinkPath:
        """Return the links that a message crosses from unit ``i`` of one group to unit ``j`` of another or the same.

        Raises:
            IndexError: A group has no such unit.
        """
        return way(self.top, here, i, there, j)

    def level_of(self, groups: Iterable[UnitGroup]) -> Level:
        """Return the lowest level that contains all groups of units."""
        return level_of(self.top, [group.lan for group in groups])

    def routes(self, pairs: Iterable[tuple[str, str]]) -> list[Route]:
        """Return the routes of these pairs of hosts (source, destination), as SimGrid computes them.

        SimGrid may list the links of a route in another order.  No SimGrid process is started.
        """
        ways = [(a, b, self.way(*self.find(a), *self.find(b))) for a, b in pairs]
        return [Route(a, b, route.latency_s, route.links) for a, b, route in ways]

    def disks_for(self, group: UnitGroup) -> tuple[UnitGroup, DiskArray] | None:
        """Return the disk that a process on such a unit uses, and the group of units whose nodes have it.

        It is a disk of the unit's own node, else the first disk of its LAN, else the first of the system; None if the
        system has no disks.
        """
        others = [other_group for other_group in self.groups if other_group.lan is group.lan] + list(self.groups)
        for candidate in [group, *others]:
            if candidate.node.disks:
                return candidate, candidate.node.disks[0]
        return None

    @cached_property
    def _groups_by_length(self) -> list[UnitGroup]:
        return sorted(self.groups, key=lambda group: -len(group.node.name))
