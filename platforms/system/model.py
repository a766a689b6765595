"""The values that describe a system of levels; they are checked when a System is created.

Each node is connected to its LAN's switch by its own full-duplex link.  One of its compute units, usually the first
CPU, is at the end of that link; units with a bus are connected through it.  Wide-area links join LANs to a hub (star)
or in pairs (mesh).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from platforms.errors import Place, PlatformError, inside, nearest
from platforms.grids.grid import MOST_CORES, MOST_NODES, SPEED_RANGE_FLOPS, WAN_SHAPES, Wire, wan_ends
from platforms.model.platform import Route
from platforms.system.database import DiskArray
from platforms.system.parts import ComputeUnit, Level, LinkPath, Node, UnitGroup
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


KINDS = ("cpu", "gpu")
MOST_GROUPS = 4000  # groups of equal nodes
_OF_A_LAN = ("hub", "hub_router", "switch_in", "switch_out", "fabric")  # name parts in platforms.system.ways and xml
_DASH_AND_NUMBER = re.compile(r"-(?=\d+([-_]|$))")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_USE_NAME = "Use letters, digits, '_', '-' and '.', a letter first"


class PartPlace(Place):
    """The place of a part of a system in memory: its keys are the kinds and names of the parts around it, and its own.

    Kinds are wan, lan, node, unit and disk.
    """


def check_system(name: str, top: Level) -> None:
    """Check a system.

    Raises:
        PlatformError: A value is wrong; the message names the part.
    """
    where = PartPlace(f"system {name!r}")
    _check_level(top, where)
    groups = sum(len(lan.nodes) for lan in top.lans())
    if groups > MOST_GROUPS:
        raise PlatformError(where, f"{groups} groups of nodes", f"Give at most {MOST_GROUPS}")
    seen = set()
    for part in _names(top):
        if part in seen:
            raise PlatformError(where, f"the name {part!r} is used twice", "Rename one")
        seen.add(part)
    _check_host_names(top, where)


def _check_level(level: Level, above: str) -> None:
    where = inside(above, f", {level.kind} {level.name!r}", level.kind, level.name)
    _check_name(level.name, where)
    if level.kind == "wan":
        _check_wan(level, where)
    else:
        if level.levels or not level.nodes:
            raise PlatformError(where, "a LAN must contain nodes, and nothing else", "Give it at least one node")
        if level.fabric is not None:
            check_wire(level.fabric, inside(where, ", fabric"))
        for node in level.nodes:
            _check_node(node, inside(where, f", node {node.name!r}", "node", node.name))
    for below in level.levels:
        _check_level(below, above)


def _check_wan(level: Level, where: str) -> None:
    if level.nodes or len(level.levels) < 2:
        raise PlatformError(where, "a WAN must contain at least two levels, and no nodes", "Give it at least two LANs")
    if level.shape not in WAN_SHAPES:
        raise PlatformError(where, f"no shape {level.shape!r}", f"Known: {', '.join(WAN_SHAPES)}")
    if any(below.shape == "mesh" and below.levels for below in level.levels):
        raise PlatformError(where, "a mesh below another level has no hub that a link could lead to", "Make it a star")
    ends = [(link.first, link.second) for link in level.links]
    if sorted(ends, key=str) != sorted(wan_ends(level.shape, [inner.zone for inner in level.levels]), key=str):
        raise PlatformError(where, f"its links are not those of a {level.shape}", "Give each exactly once")
    for link in level.links:
        check_wire(link.wire, inside(where, f", link {link.name}"))


def _check_node(node: Node, where: str) -> None:
    _check_name(node.name, where)
    if not 1 <= node.count <= MOST_NODES:
        raise PlatformError(where, f"{node.count} nodes", f"Give at least 1 and at most {MOST_NODES}")
    if not node.units:
        raise PlatformError(where, "no compute unit", "Give it a cpu or a gpu")
    names = [unit.name for unit in node.units]
    if len(set(names)) != len(names):
        raise PlatformError(where, "two units have the same name", "Give each unit a name of its own")
    if sum(unit.bus is None for unit in node.units) > 1:
        raise PlatformError(where, "several units without a bus between them", "Give the node a bus")
    if len({disk.name for disk in node.disks}) != len(node.disks):
        raise PlatformError(where, "two disks have the same name", "Give it once")
    check_wire(node.link, inside(where, ", link"))
    if node.memory is not None:
        check_wire(node.memory, inside(where, ", memory"))
    for unit in node.units:
        _check_unit(unit, inside(where, f", unit {unit.name!r}", "unit", unit.name))
    for disk in node.disks:
        _check_disk(disk, inside(where, f", disk {disk.name!r}", "disk", disk.name))


def _check_unit(unit: ComputeUnit, where: str) -> None:
    _check_name(unit.name, where)
    if unit.kind not in KINDS:
        raise PlatformError(where, f"no kind {unit.kind!r}", f"Known: {', '.join(KINDS)}")
    low, high = SPEED_RANGE_FLOPS
    if not low <= unit.speed_flops <= high:
        raise PlatformError(where, f"speed is {unit.speed_flops} flop/s", f"Give one from {low:g} to {high:g}")
    if not 1 <= unit.cores <= MOST_CORES:
        raise PlatformError(where, f"{unit.cores} cores", f"Give at least 1 and at most {MOST_CORES}")
    if unit.threads < unit.cores:
        raise PlatformError(where, f"{unit.threads} threads on {unit.cores} cores", "Give at least one for each")
    power = unit.power
    if power is not None and not 0 <= power.idle_w <= power.epsilon_w <= power.full_w < math.inf:
        raise PlatformError(where, f"{power.idle_w} W idle and {power.full_w} W at full load", "Give 0 <= idle <= full")
    if unit.bus is not None:
        check_wire(unit.bus, inside(where, ", bus"))
    for label, number in unit.slots:
        if number < 1:
            raise PlatformError(where, f"{number} slots for {label!r}", "Give at least 1, or leave the label out")


def _check_disk(disk: DiskArray, where: str) -> None:
    for what, value in (("read", disk.read_Bps), ("write", disk.write_Bps)):
        if not 0 < value < math.inf:
            raise PlatformError(where, f"{what} bandwidth is {value} byte/s", "Give a positive one")
    for what, value in (("read", disk.read_latency_s), ("write", disk.write_latency_s)):
        if not 0 <= value < math.inf:
            raise PlatformError(where, f"{what} latency is {value} s", "Give 0 or more")


def check_wire(wire: Wire, where: str) -> None:
    """Check bandwidth and latency of a link.

    Raises:
        PlatformError: The bandwidth is not positive and finite, or the latency is negative or infinite.
    """
    if not 0 < wire.bandwidth_Bps < math.inf:
        raise PlatformError(where, f"bandwidth is {wire.bandwidth_Bps} byte/s", "Give a positive one")
    if not 0 <= wire.latency_s < math.inf:
        raise PlatformError(where, f"latency is {wire.latency_s} s", "Give 0 or more")


def _check_name(name: str, where: str) -> None:
    if not _NAME.fullmatch(name):
        raise PlatformError(where, f"{name!r} is not a name that SimGrid can use", _USE_NAME)


def _names(level: Level) -> Iterator[str]:
    """Yield all names in the platform file that derive from names of levels and groups, except numbered ones."""
    yield level.zone
    if not level.alone:
        suffixes = ("hub", "hub_router") if level.kind == "wan" else _OF_A_LAN
        yield from (f"{level.name}_{suffix}" for suffix in suffixes)
        yield from (node.name for node in level.nodes)
    for below in level.levels:
        yield from _names(below)


def _check_host_names(top: Level, where: str) -> None:
    """Refuse names of groups whose hosts or zones could have the same name, without listing the hosts.

    Groups called a and a-1 could both have a host a-1-0, and a group called a-1_node could have the name of a node's
    zone.
    """
    groups = {node.name: number for number, node in enumerate(node for lan in top.lans() for node in lan.nodes)}
    for_two = [
        (groups[other[: dash.start()]], other)
        for other in {*groups, *_names(top), top.name}
        for dash in _DASH_AND_NUMBER.finditer(other)
        if other[: dash.start()] in groups
    ]
    if for_two:
        raise PlatformError(where, f"{min(for_two)[1]!r} may be the name of two things", "Rename a group")
