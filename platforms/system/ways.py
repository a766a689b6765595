"""The links that messages cross in a system, and the names of these links; ``platforms.system.xml`` writes them.

Every message goes up from one unit to the lowest level that contains both units, and down to the other unit.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from platforms.grids.grid import WanLink, Wire
from platforms.model.platform import Link
from platforms.system.parts import Level, LinkPath, Node, UnitGroup


def way(top: Level, here: UnitGroup, i: int, there: UnitGroup, j: int) -> LinkPath:
    """Return the links between two units; see System.way.

    Raises:
        IndexError: A group has no such unit.
    """
    for group, number in ((here, i), (there, j)):
        if not 0 <= number < group.units:
            raise IndexError(f"unit {number} of {group.name}, which has {group.units}")
    if here.node is there.node and i == j:
        kind, name = ("unit", here.name) if here.unit is there.unit else ("node", here.node.name)
        return LinkPath(kind, name, within_node(here, i, there))
    if here.lan is there.lan:
        return LinkPath("lan", here.lan.name, _within(here, i, there, j))
    up, down = _path(top, here.lan), _path(top, there.lan)
    shared = sum(level is other for level, other in zip(up, down, strict=False))  # levels that contain both
    links = _leaving(here, i)
    for level, below in reversed(list(pairwise(up))[shared:]):
        links += hub_link(level, below, forward=True)
    meeting = up[shared - 1]
    links += between(meeting, up[shared], down[shared])
    for level, below in list(pairwise(down))[shared:]:
        links += hub_link(level, below, forward=False)
    return LinkPath("wan", meeting.name, links + _entering(there, j))


def between(level: Level, first: Level, second: Level) -> tuple[Link, ...]:
    """Return the links of a WAN between two levels that it joins."""
    if level.shape == "star":
        return hub_link(level, first, forward=True) + hub_link(level, second, forward=False)
    link, forward = mesh_link(level, first, second)
    return (link.as_crossed(forward=forward), *entry(second))


def hub_link(level: Level, below: Level, *, forward: bool) -> tuple[Link, ...]:
    """Return the links from a level up to the hub of the star above it (``forward``), or from the hub down to it."""
    link = star_link(level, below).as_crossed(forward=forward)
    return (link,) if forward else (link, *entry(below))


def star_link(level: Level, below: Level) -> WanLink:
    """Return the link of a star between its hub and a level below it."""
    return next(link for link in level.links if link.first == below.zone)


def mesh_link(level: Level, first: Level, second: Level) -> tuple[WanLink, bool]:
    """Return the link of a mesh between two of its levels, and whether it leads from the first to the second."""
    ends = {(link.first, link.second): link for link in level.links}
    forward = (first.zone, second.zone) in ends
    return ends[(first.zone, second.zone) if forward else (second.zone, first.zone)], forward


def entry(level: Level) -> tuple[Link, ...]:
    """Return the links that a message crosses in a level that it enters from above: the fabric of a LAN, if any."""
    shared = None if level.alone else switch(level)
    return () if shared is None else (shared,)


def switch(lan: Level) -> Link | None:
    """Return the link that all messages between nodes of a LAN share, or None if its switch limits nothing.

    A LAN with a single group of single-unit nodes always has such a link.
    """
    if lan.alone:
        return backbone(lan)
    if lan.fabric is None:
        return None
    return Link(f"{lan.name}_fabric", lan.fabric.bandwidth_Bps, lan.fabric.latency_s, "shared")


def backbone(lan: Level) -> Link:
    """Return the switch of a LAN with a single group, as clusters of ``platforms.grids.grid`` have it.

    If the switch shall limit nothing, its bandwidth is that of both directions of all nodes' links together.
    """
    node = lan.nodes[0]
    wire = lan.fabric or Wire(2 * node.count * node.link.bandwidth_Bps, 0.0)
    return Link(f"{node.name}_backbone", wire.bandwidth_Bps, wire.latency_s, "shared")


def is_zone(lan: Level, node: Node) -> bool:
    """Return whether a group is one zone of the platform file, a cluster; otherwise each of its nodes is a zone."""
    return node.plain and (lan.alone or lan.fabric is None)


def port(lan: Level, *, into: bool) -> Link:
    """Return the link between a group that is a zone and the switch that it shares with others.

    SimGrid requires a link in every route.  This one limits nothing: every message gets up to the bandwidth of the
    fastest node, regardless of other messages.
    """
    fastest = max(node.link.bandwidth_Bps for node in lan.nodes)
    return Link(f"{lan.name}_switch_{'in' if into else 'out'}", fastest, 0.0, "fatpipe")


def within_node(here: UnitGroup, i: int, there: UnitGroup) -> tuple[Link, ...]:
    """Return the links from a unit of a node to another unit of the same node, or to itself."""
    if here.unit is not there.unit:
        return bus_link(here, i, "UP") + bus_link(there, i, "DOWN")
    memory = here.node.memory
    if memory is not None:
        unit = "" if here.node.single else f"_{here.unit.name}"
        name = f"{here.node.link_name(i)}{unit}_loopback"  # the name that SimGrid gives it in a <cluster>
        return (Link(name, memory.bandwidth_Bps, memory.latency_s, "fatpipe"),)
    if here.unit.bus is not None:
        return bus_link(here, i, "UP") + bus_link(here, i, "DOWN")
    shared = (backbone(here.lan),) if here.lan.alone else ()
    return (node_link(here, i, "UP"), *shared, node_link(here, i, "DOWN"))


def hub_zone(level: Level) -> str:
    """Return the name of the zone of a level's switch or hub."""
    return f"{level.name}_hub"


def node_zone(node: Node, number: int) -> str:
    """Return the name of the zone of a node that is a zone of its own."""
    return f"{node.name}-{number}_node"


def _within(here: UnitGroup, i: int, there: UnitGroup, j: int) -> tuple[Link, ...]:
    if here.node is there.node and is_zone(here.lan, here.node):
        shared = (backbone(here.lan),) if here.lan.alone else ()
        return (node_link(here, i, "UP"), *shared, node_link(there, j, "DOWN"))
    return _leaving(here, i) + _entering(there, j)


def _leaving(group: UnitGroup, i: int) -> tuple[Link, ...]:
    """Return the links from a unit to its LAN's switch."""
    lan = group.lan
    up = (*bus_link(group, i, "UP"), node_link(group, i, "UP"))
    if is_zone(lan, group.node):
        return (*up, backbone(lan) if lan.alone else port(lan, into=True))
    return (*up, *entry(lan))


def _entering(group: UnitGroup, j: int) -> tuple[Link, ...]:
    """Return the links from its LAN's switch to a unit."""
    lan = group.lan
    down = (node_link(group, j, "DOWN"), *bus_link(group, j, "DOWN"))
    if is_zone(lan, group.node):
        return (backbone(lan) if lan.alone else port(lan, into=False), *down)
    return down


def node_link(group: UnitGroup, i: int, direction: str) -> Link:
    """Return one direction, "UP" or "DOWN", of the link between a node and its LAN's switch."""
    node = group.node
    return Link(f"{node.link_name(i)}_{direction}", node.link.bandwidth_Bps, node.link.latency_s, "shared")


def bus_link(group: UnitGroup, i: int, direction: str) -> tuple[Link, ...]:
    """Return one direction, "UP" or "DOWN", of the bus between a unit and its node; () if there is no bus."""
    bus = group.unit.bus
    if bus is None:
        return ()
    return (Link(f"{group.node.bus_name(i, group.unit)}_{direction}", bus.bandwidth_Bps, bus.latency_s, "shared"),)


def level_of(top: Level, lans: Iterable[Level]) -> Level:
    """Return the lowest level that contains all LANs."""
    shared: tuple[Level, ...] = ()
    for i, lan in enumerate(lans):
        path = _path(top, lan)
        shared = path if i == 0 else tuple(a for a, b in zip(shared, path, strict=False) if a is b)
    return shared[-1]


def _path(top: Level, lan: Level) -> tuple[Level, ...]:
    """Return the levels from the top down to a LAN."""
    if top is lan:
        return (top,)
    for below in top.levels:
        path = _path(below, lan)
        if path:
            return (top, *path)
    return ()
