"""What messages cross, and how these links are called: ``platforms.system.xml`` writes what is said here.

Every way goes up from one unit to the least level that holds both, and down to the other.
"""

from __future__ import annotations

from itertools import pairwise

from platforms.grid import WanLink, Wire
from platforms.platform import Link
from platforms.system.model import Level, Node, System, UnitGroup, Way


def way(system: System, here: UnitGroup, i: int, there: UnitGroup, j: int) -> Way:
    """See System.way.  Raises IndexError for a unit that a group does not have."""
    for group, number in ((here, i), (there, j)):
        if not 0 <= number < group.units:
            raise IndexError(f"unit {number} of {group.name}, which has {group.units}")
    if here.node is there.node and i == j:
        kind, name = ("unit", here.name) if here.unit is there.unit else ("node", here.node.name)
        return Way(kind, name, within_node(here, i, there))
    if here.lan is there.lan:
        return Way("lan", here.lan.name, _within(here, i, there, j))
    up, down = _path(system.top, here.lan), _path(system.top, there.lan)
    shared = sum(one is other for one, other in zip(up, down, strict=False))  # levels that hold both, the top first
    links = _leaving(here, i)
    for level, below in reversed(list(pairwise(up))[shared:]):
        links += hub_link(level, below, forward=True)
    meeting = up[shared - 1]
    links += between(meeting, up[shared], down[shared])
    for level, below in list(pairwise(down))[shared:]:
        links += hub_link(level, below, forward=False)
    return Way("wan", meeting.name, links + _entering(there, j))


def between(level: Level, first: Level, second: Level) -> tuple[Link, ...]:
    """The links of a WAN between two levels that it joins."""
    if level.shape == "star":
        return hub_link(level, first, forward=True) + hub_link(level, second, forward=False)
    link, forward = mesh_link(level, first, second)
    return (link.as_crossed(forward=forward), *entry(second))


def hub_link(level: Level, below: Level, *, forward: bool) -> tuple[Link, ...]:
    """From a level up to the hub of the star above it (``forward``), or down."""
    link = star_link(level, below).as_crossed(forward=forward)
    return (link,) if forward else (link, *entry(below))


def star_link(level: Level, below: Level) -> WanLink:
    return next(link for link in level.links if link.first == below.zone)


def mesh_link(level: Level, first: Level, second: Level) -> tuple[WanLink, bool]:
    """The link of a mesh between two of its levels, and whether it leads from the first to the second."""
    ends = {(link.first, link.second): link for link in level.links}
    forward = (first.zone, second.zone) in ends
    return ends[(first.zone, second.zone) if forward else (second.zone, first.zone)], forward


def entry(level: Level) -> tuple[Link, ...]:
    """What a message crosses as it comes in, beside the link that it comes by: the fabric, where it is the LAN's."""
    shared = None if level.alone else switch(level)
    return () if shared is None else (shared,)


def switch(lan: Level) -> Link | None:
    """What all messages between nodes of a LAN cross; None where its switch blocks nobody.  A lone group has one."""
    if lan.alone:
        return backbone(lan)
    if lan.fabric is None:
        return None
    return Link(f"{lan.name}_fabric", lan.fabric.bandwidth_Bps, lan.fabric.latency_s, "shared")


def backbone(lan: Level) -> Link:
    """The switch of a lone group, as clusters of ``platforms.grid`` have it.

    Where it blocks nobody, both directions of every node's link fit into it at once.
    """
    node = lan.nodes[0]
    wire = lan.fabric or Wire(2 * node.count * node.link.bandwidth_Bps, 0.0)
    return Link(f"{node.name}_backbone", wire.bandwidth_Bps, wire.latency_s, "shared")


def is_zone(lan: Level, node: Node) -> bool:
    """Whether a group is one zone of the platform file, a cluster; else each of its nodes is a zone."""
    return node.plain and (lan.alone or lan.fabric is None)


def port(lan: Level, *, into: bool) -> Link:
    """Between a group that is a zone and the switch it shares with others: a link that limits nobody.

    SimGrid wants a link in every route.  Every message may have the fastest node's bandwidth, whatever else is on it.
    """
    fastest = max(node.link.bandwidth_Bps for node in lan.nodes)
    return Link(f"{lan.name}_switch_{'in' if into else 'out'}", fastest, 0.0, "fatpipe")


def within_node(here: UnitGroup, i: int, there: UnitGroup) -> tuple[Link, ...]:
    """From a unit of a node to a unit of the same node, or to itself."""
    if here.unit is not there.unit:
        return bus_link(here, i, "UP") + bus_link(there, i, "DOWN")
    memory = here.node.memory
    if memory is not None:
        unit = "" if here.node.single else f"_{here.unit.name}"
        name = f"{here.node.link_name(i)}{unit}_loopback"  # as <cluster> calls it
        return (Link(name, memory.bandwidth_Bps, memory.latency_s, "fatpipe"),)
    if here.unit.bus is not None:
        return bus_link(here, i, "UP") + bus_link(here, i, "DOWN")
    shared = (backbone(here.lan),) if here.lan.alone else ()
    return (node_link(here, i, "UP"), *shared, node_link(here, i, "DOWN"))


def hub_zone(level: Level) -> str:
    """The zone of the switch or hub that a level's parts hang on."""
    return f"{level.name}_hub"


def node_zone(node: Node, number: int) -> str:
    """The zone of one node, where it is one."""
    return f"{node.name}-{number}_node"


def _within(here: UnitGroup, i: int, there: UnitGroup, j: int) -> tuple[Link, ...]:
    if here.node is there.node and is_zone(here.lan, here.node):
        shared = (backbone(here.lan),) if here.lan.alone else ()
        return (node_link(here, i, "UP"), *shared, node_link(there, j, "DOWN"))
    return _leaving(here, i) + _entering(there, j)


def _leaving(group: UnitGroup, i: int) -> tuple[Link, ...]:
    """From a unit to its LAN's switch."""
    lan = group.lan
    up = (*bus_link(group, i, "UP"), node_link(group, i, "UP"))
    if is_zone(lan, group.node):
        return (*up, backbone(lan) if lan.alone else port(lan, into=True))
    return (*up, *entry(lan))


def _entering(group: UnitGroup, j: int) -> tuple[Link, ...]:
    """From its LAN's switch to a unit."""
    lan = group.lan
    down = (node_link(group, j, "DOWN"), *bus_link(group, j, "DOWN"))
    if is_zone(lan, group.node):
        return (backbone(lan) if lan.alone else port(lan, into=False), *down)
    return down


def node_link(group: UnitGroup, i: int, direction: str) -> Link:
    """A direction of the link between a node and its LAN's switch: "UP" or "DOWN"."""
    node = group.node
    return Link(f"{node.link_name(i)}_{direction}", node.link.bandwidth_Bps, node.link.latency_s, "shared")


def bus_link(group: UnitGroup, i: int, direction: str) -> tuple[Link, ...]:
    """A direction of the bus between a unit and its node: "UP" or "DOWN"; () where there is none."""
    bus = group.unit.bus
    if bus is None:
        return ()
    return (Link(f"{group.node.bus_name(i, group.unit)}_{direction}", bus.bandwidth_Bps, bus.latency_s, "shared"),)


def _path(top: Level, lan: Level) -> tuple[Level, ...]:
    """The levels from the top down to a LAN."""
    if top is lan:
        return (top,)
    for below in top.levels:
        found = _path(below, lan)
        if found:
            return (top, *found)
    return ()
