"""What a system must be for SimGrid to take it and for its names to be clear."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from platforms.errors import PlatformError
from platforms.grid import MOST_CORES, MOST_NODES, SPEED_RANGE_FLOPS, WAN_SHAPES, Wire, wan_ends

if TYPE_CHECKING:
    from platforms.hardware import DiskArray
    from platforms.system.model import ComputeUnit, Level, Node, System

KINDS = ("cpu", "gpu")
MOST_GROUPS = 1000  # of equal nodes; their names are compared pair by pair
_OF_A_LAN = ("hub", "hub_router", "switch_in", "switch_out", "fabric")  # as platforms.system.ways and xml name them
_NUMBERED = re.compile(r"\d+([-_]|$)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_USE_NAME = "Use letters, digits, '_', '-' and '.', a letter first"


def check_system(system: System) -> None:
    """Raises PlatformError naming the part for whatever is wrong with it."""
    where = f"system {system.name!r}"
    _check_level(system.top, where)
    groups = sum(len(lan.nodes) for lan in system.top.lans())
    if groups > MOST_GROUPS:
        raise PlatformError(where, f"{groups} groups of nodes", f"Give at most {MOST_GROUPS}")
    seen = set()
    for name in _names(system.top):
        if name in seen:
            raise PlatformError(where, f"the name {name!r} stands for two things", "Rename one")
        seen.add(name)
    _check_host_names(system, where)


def _check_level(level: Level, above: str) -> None:
    where = f"{above}, {level.kind} {level.name!r}"
    _check_name(level.name, where)
    if level.kind == "wan":
        _check_wan(level, where)
    else:
        if level.levels or not level.nodes:
            raise PlatformError(where, "a LAN holds nodes, and only nodes", "Give it at least one node")
        if level.fabric is not None:
            check_wire(level.fabric, f"{where}, fabric")
        for node in level.nodes:
            _check_node(node, f"{where}, node {node.name!r}")
    for below in level.levels:
        _check_level(below, above)


def _check_wan(level: Level, where: str) -> None:
    if level.nodes or len(level.levels) < 2:
        raise PlatformError(where, "a WAN joins levels, and holds nothing else", "Give it at least two LANs")
    if level.shape not in WAN_SHAPES:
        raise PlatformError(where, f"no shape {level.shape!r}", f"Known: {', '.join(WAN_SHAPES)}")
    if any(below.shape == "mesh" and below.levels for below in level.levels):
        raise PlatformError(where, "a mesh below another level has no place to be reached at", "Make it a star")
    ends = [(link.first, link.second) for link in level.links]
    if sorted(ends, key=str) != sorted(wan_ends(level.shape, [one.zone for one in level.levels]), key=str):
        raise PlatformError(where, f"its links are not those of a {level.shape}", "Give each exactly once")
    for link in level.links:
        check_wire(link.wire, f"{where}, link {link.name}")


def _check_node(node: Node, where: str) -> None:
    _check_name(node.name, where)
    if not 1 <= node.count <= MOST_NODES:
        raise PlatformError(where, f"{node.count} nodes", f"Give at least 1 and at most {MOST_NODES}")
    if not node.units:
        raise PlatformError(where, "no compute unit", "Give it a cpu or a gpu")
    names = [unit.name for unit in node.units]
    if len(set(names)) != len(names):
        raise PlatformError(where, "two units of one name", "Give each unit a name of its own")
    if sum(unit.bus is None for unit in node.units) > 1:
        raise PlatformError(where, "several units without a bus between them", "Give the node a bus")
    if len({disk.name for disk in node.disks}) != len(node.disks):
        raise PlatformError(where, "two disks of one name", "Give it once")
    check_wire(node.link, f"{where}, link")
    if node.memory is not None:
        check_wire(node.memory, f"{where}, memory")
    for unit in node.units:
        _check_unit(unit, f"{where}, unit {unit.name!r}")
    for disk in node.disks:
        _check_disk(disk, f"{where}, disk {disk.name!r}")


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
        check_wire(unit.bus, f"{where}, bus")
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
    """Raises PlatformError for a bandwidth that is not positive or a negative latency."""
    if not 0 < wire.bandwidth_Bps < math.inf:
        raise PlatformError(where, f"bandwidth is {wire.bandwidth_Bps} byte/s", "Give a positive one")
    if not 0 <= wire.latency_s < math.inf:
        raise PlatformError(where, f"latency is {wire.latency_s} s", "Give 0 or more")


def _check_name(name: str, where: str) -> None:
    if not _NAME.fullmatch(name):
        raise PlatformError(where, f"{name!r} is not a name that SimGrid can use", _USE_NAME)


def _names(level: Level) -> Iterator[str]:
    """All that the platform file calls by a name made of the level's or of a group's, but for what has a number."""
    yield level.zone
    if not level.alone:
        suffixes = ("hub", "hub_router") if level.kind == "wan" else _OF_A_LAN
        yield from (f"{level.name}_{suffix}" for suffix in suffixes)
        yield from (node.name for node in level.nodes)
    for below in level.levels:
        yield from _names(below)


def _check_host_names(system: System, where: str) -> None:
    """Two groups called a and a-1 could both have a host a-1-0, and one called a-1_node is a node's zone: refused
    where it happens, without listing hosts."""
    names = {node.name for lan in system.top.lans() for node in lan.nodes}
    zones = set(_names(system.top)) | {system.top.name}
    for lan in system.top.lans():
        for node in lan.nodes:
            for other in sorted(names | zones):
                number = other.removeprefix(f"{node.name}-")
                if number != other and _NUMBERED.match(number):
                    raise PlatformError(where, f"{other!r} may stand for two things", "Rename a group")
