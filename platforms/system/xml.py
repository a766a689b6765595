"""Write a system as a SimGrid platform file with nested zones.

A LAN with one group of single-unit nodes is a <cluster>, whose size is a range of numbers.  In any other LAN a switch
joins clusters and nodes, and each node with several units (or on a shared fabric) is a zone of its own.  Such a LAN has
SimGrid's Dijkstra routing, because XML cannot express Star routing, and Full routing needs a route for each pair.
SimGrid's start-up time grows with the square of the number of such zones: about 1 s for 1,000 nodes of two units.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, product
from typing import TYPE_CHECKING

from platforms.grids.grid import WanLink, Wire
from platforms.grids.xml import HEADER, number_text, wire_attributes
from platforms.model.platform import Link
from platforms.system.model import System
from platforms.system.parts import ComputeUnit, Level, Node, UnitGroup
from platforms.system.ways import (
    backbone,
    between,
    bus_link,
    hub_link,
    hub_zone,
    is_zone,
    node_link,
    node_zone,
    port,
    switch,
    within_node,
)

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_Links = tuple[Link, ...]
_Joint = tuple[tuple[str, str], tuple[str, str], _Links, _Links]  # zones, gateways, links there and back


def system_xml(system: System) -> bytes:
    """Return the platform file of a system, for SimGrid 3.32 to 4.1.  Equal systems give equal bytes.

    Hosts, links and routes are the same as those of ``System.routes``.
    """
    # Imported here because it is slow to import.
    from lxml import etree

    root = etree.Element("platform", version="4.1")
    if system.options:
        config = _sub(root, "config")
        for key, value in sorted(system.options):
            _sub(config, "prop", id=key, value=value)
    _level(root, system.top)
    return HEADER + etree.tostring(root, pretty_print=True)


def _level(parent: Element, level: Level) -> str:
    """Add the zone of a level; return its gateway (a router or host), or "" for a mesh."""
    if level.kind == "lan":
        return _cluster(parent, level, level.nodes[0]) if level.alone else _lan(parent, level)
    return _star(parent, level) if level.shape == "star" else _mesh(parent, level)


def _star(parent: Element, level: Level) -> str:
    zone = _sub(parent, "zone", id=level.zone, routing="DijkstraCache")
    hub = _hub(zone, level)
    gateways = [_level(zone, below) for below in level.levels]
    for link in level.links:
        _wan_link(zone, link)
    for below, gateway in zip(level.levels, gateways, strict=True):
        up, down = (hub_link(level, below, forward=forward) for forward in (True, False))
        _joined(zone, (below.zone, hub_zone(level)), (gateway, hub), up, down)
    return hub


def _mesh(parent: Element, level: Level) -> str:
    zone = _sub(parent, "zone", id=level.zone, routing="Full")
    gateways = [_level(zone, below) for below in level.levels]
    for link in level.links:
        _wan_link(zone, link)
    for (first, gateway), (second, other) in combinations(zip(level.levels, gateways, strict=True), 2):
        there, back = between(level, first, second), between(level, second, first)
        _joined(zone, (first.zone, second.zone), (gateway, other), there, back)
    return ""


def _lan(parent: Element, lan: Level) -> str:
    zone = _sub(parent, "zone", id=lan.zone, routing="DijkstraCache")
    hub = _hub(zone, lan)
    fabric = switch(lan)
    if fabric is not None:
        _sub(zone, "link", id=fabric.name, **wire_attributes(_wire(fabric)))
    clusters = [node for node in lan.nodes if is_zone(lan, node)]
    if clusters:
        for into in (True, False):
            _unlimited(zone, port(lan, into=into))
    routes: list[_Joint] = []  # SimGrid requires routes after all zones
    for node in lan.nodes:
        if node in clusters:
            gateway = _cluster(zone, lan, node)
            there, back = (port(lan, into=True),), (port(lan, into=False),)
            routes.append(((node.name, hub_zone(lan)), (gateway, hub), there, back))
            continue
        for number in range(node.count):
            gateway = _node(zone, lan, node, number)
            group = UnitGroup(lan, node, node.units[0])
            up = (node_link(group, number, "UP"), *((fabric,) if fabric is not None else ()))
            down = (node_link(group, number, "DOWN"),)
            routes.append(((node_zone(node, number), hub_zone(lan)), (gateway, hub), up, down))
    for route in routes:
        _joined(zone, *route)
    return hub


def _cluster(parent: Element, lan: Level, node: Node) -> str:
    """Add a zone with all nodes of a group of single units: a <cluster>, or host by host if they have disks."""
    router = f"{node.name}-{node.name}_router"  # SimGrid's name of the router: prefix, id, "_router", suffix
    if node.disks:
        _host_by_host(parent, lan, node, router)
        return router
    unit = node.units[0]
    attributes = {
        "id": node.name, "prefix": f"{node.name}-", "suffix": "", "radical": f"0-{node.count - 1}", **_speed(unit),
        **wire_attributes(node.link, "bw", "lat"),
    }  # fmt: skip
    if lan.alone:
        attributes |= wire_attributes(_wire(backbone(lan)), "bb_bw", "bb_lat")
    if node.memory is not None:
        attributes |= wire_attributes(node.memory, "loopback_bw", "loopback_lat")
    _watts(_sub(parent, "cluster", **attributes), unit)
    return router


def _host_by_host(parent: Element, lan: Level, node: Node, router: str) -> None:
    zone = _sub(parent, "zone", id=node.name, routing="Cluster")
    unit = node.units[0]
    for number in range(node.count):
        _host(zone, node, number, unit)
        name = node.link_name(number)
        _duplex(zone, name, node.link)
        _sub(zone, "host_link", id=node.host_name(number, unit), up=f"{name}_UP", down=f"{name}_DOWN")
    if lan.alone:
        shared = backbone(lan)
        _sub(zone, "backbone", id=shared.name, **wire_attributes(_wire(shared)))
    _sub(zone, "router", id=router)


def _node(parent: Element, lan: Level, node: Node, number: int) -> str:
    """Add the zone of one node; return its gateway: the unit without a bus, or a router if all units have one."""
    zone = _sub(parent, "zone", id=node_zone(node, number), routing="Full")
    for unit in node.units:
        _host(zone, node, number, unit)
        if unit.bus is not None:
            _duplex(zone, node.bus_name(number, unit), unit.bus)
    _duplex(zone, node.link_name(number), node.link)
    units = [UnitGroup(lan, node, unit) for unit in node.units]
    if node.memory is not None:
        for group in units:
            _unlimited(zone, *within_node(group, number, group))
    root = next((group for group in units if group.unit.bus is None), None)
    gateway = f"{node_zone(node, number)}_router" if root is None else root.host(number)
    if root is None:
        _sub(zone, "router", id=gateway)
    for first_unit, other in product(units, repeat=2):
        _route(
            zone, "route", within_node(first_unit, number, other), src=first_unit.host(number), dst=other.host(number)
        )
    if root is None:
        for group in units:
            up, down = (bus_link(group, number, way) for way in ("UP", "DOWN"))
            _route(zone, "route", up, src=group.host(number), dst=gateway)
            _route(zone, "route", down, src=gateway, dst=group.host(number))
    return gateway


def _hub(parent: Element, level: Level) -> str:
    """Add a zone that contains only a router, because zone routes lead from zone to zone."""
    router = f"{level.name}_hub_router"
    _sub(_sub(parent, "zone", id=hub_zone(level), routing="Full"), "router", id=router)
    return router


def _joined(
    zone: Element, ends: tuple[str, str], gateways: tuple[str, str], there: Iterable[Link], back: Iterable[Link]
) -> None:
    """Add the routes between two zones, in both directions."""
    for (src, dst), (gw_src, gw_dst), links in ((ends, gateways, there), (ends[::-1], gateways[::-1], back)):
        _route(zone, "zoneRoute", links, src=src, dst=dst, gw_src=gw_src, gw_dst=gw_dst)


def _route(zone: Element, tag: str, links: Iterable[Link], **ends: str) -> None:
    route = _sub(zone, tag, **ends, symmetrical="NO")
    for link in links:
        _sub(route, "link_ctn", id=link.name)


def _wan_link(zone: Element, link: WanLink) -> None:
    if link.duplex:
        _duplex(zone, link.name, link.wire)
    else:
        _sub(zone, "link", id=link.name, **wire_attributes(link.wire))


def _duplex(zone: Element, name: str, wire: Wire) -> None:
    _sub(zone, "link", id=name, **wire_attributes(wire), sharing_policy="SPLITDUPLEX")


def _unlimited(zone: Element, link: Link) -> None:
    _sub(zone, "link", id=link.name, **wire_attributes(_wire(link)), sharing_policy="FATPIPE")


def _host(zone: Element, node: Node, number: int, unit: ComputeUnit) -> None:
    host = _sub(zone, "host", id=node.host_name(number, unit), **_speed(unit))
    _watts(host, unit)
    for disk in node.disks if unit is node.units[0] else ():
        element = _sub(
            host, "disk", id=node.disk_name(number, disk),
            read_bw=f"{number_text(disk.read_Bps)}Bps", write_bw=f"{number_text(disk.write_Bps)}Bps",
        )  # fmt: skip
        for name, latency_s in (("read_latency_s", disk.read_latency_s), ("write_latency_s", disk.write_latency_s)):
            _sub(element, "prop", id=name, value=number_text(latency_s))


def _speed(unit: ComputeUnit) -> dict[str, str]:
    return {"speed": f"{number_text(unit.speed_flops / 1e9)}Gf", "core": str(unit.cores)}


def _watts(element: Element, unit: ComputeUnit) -> None:
    """Add Idle:Epsilon:AllCores in W, in the form that SimGrid's energy plugin reads."""
    power = unit.power
    if power is not None:
        watts = ":".join(map(number_text, (power.idle_w, power.epsilon_w, power.full_w)))
        _sub(element, "prop", id="wattage_per_state", value=watts)


def _wire(link: Link) -> Wire:
    return Wire(link.bandwidth_Bps, link.latency_s)


def _sub(parent: Element, tag: str, **attributes: str) -> Element:
    # Imported here because it is slow to import.
    from lxml import etree

    return etree.SubElement(parent, tag, attributes)
