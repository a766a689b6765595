"""Write a calibrated machine as a platform file of SimGrid.

Each cluster is a zone with a link up and down for every node.  A route between two clusters crosses the shared links
and an unshared link ("way") with the latency and the rate of a single flow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from apps.calibrate.machine.contention import Capacity, Sharing, cluster_pairs
from apps.calibrate.machine.fit import NetworkFit, Wire
from apps.calibrate.machine.rows import Kind, Node
from platforms.grids.xml import number_text, root_element, written_root
from platforms.model.platform import KernelEfficiency

if TYPE_CHECKING:
    from lxml.etree import _Element


@dataclass(frozen=True)
class CalibratedNode:
    """A node of the platform."""

    node: Node
    cores: int
    speed_flops: float  # of a core
    efficiencies: Sequence[KernelEfficiency] = ()
    memory_Bps: float | None = None  # between its cores and its memory; None: not known


def grid_file(
    nodes: Sequence[CalibratedNode],
    names: Sequence[str],
    network: NetworkFit,
    sharing: Sharing,
    options: Mapping[str, str],
    provenance: Sequence[str],
    properties: Mapping[str, str],
) -> bytes:
    """Return the content of the platform file.

    Args:
        nodes: In the order of the ranks.
        names: Of the clusters.
        network: Latencies, bandwidths and factors.
        sharing: Links that flows share.
        options: SimGrid's, for <config>.
        provenance: Lines that become comments.
        properties: Of the outermost zone.
    """
    # Imported here because it is slow to import.
    from lxml import etree

    hosts = {node.node.name for node in nodes}
    names = [f"{name}.zone" if name in hosts else name for name in names]  # hosts and zones need different names
    root = root_element(options, provenance)
    world = etree.SubElement(root, "zone", id="machine", routing="Full")
    for name, value in properties.items():
        etree.SubElement(world, "prop", id=name, value=value)
    wires = dict(network.wires)
    for cluster in range(len(names)):
        members = [node for node in nodes if node.node.cluster == cluster]
        _add_cluster(world, names[cluster], members, _ends(cluster, wires, sharing), network.local.get(cluster))
    _add_ways(world, names, wires, sharing)
    return written_root(root)


@dataclass(frozen=True)
class _Ends:
    """Links of a cluster's nodes."""

    node: Wire  # from a node to the router
    lone_Bps: float  # rate of a single flow between two nodes
    both_ways_Bps: float | None  # of a node's link, both ways together
    switch_Bps: float | None  # of all flows between different nodes
    outside: bool  # whether flows to and from other clusters also cross the switch


def _ends(cluster: int, wires: Mapping[Kind, Wire], sharing: Sharing) -> _Ends:
    """Return the links of a cluster's nodes, with the rate of its fastest flow; an only node's have no latency."""
    fastest_Bps = max(wire.bandwidth_Bps for kind, wire in wires.items() if cluster in kind)
    local_wire = wires.get((cluster, cluster), Wire(0.0, fastest_Bps))
    limits = sharing.nodes_both_ways_Bps.get(cluster), sharing.switches_Bps.get(cluster)
    return _Ends(
        Wire(local_wire.latency_s / 2, fastest_Bps), local_wire.bandwidth_Bps, *limits, cluster in sharing.outside
    )


def _add_cluster(
    world: _Element, name: str, members: Sequence[CalibratedNode], ends: _Ends, local: Wire | None
) -> None:
    """Add a zone with its nodes, a router, and their links and routes."""
    # Imported here because it is slow to import.
    from lxml import etree

    zone = etree.SubElement(world, "zone", id=name, routing="Full")
    for member in members:
        speed = f"{number_text(member.speed_flops / 1e9)}Gf"
        host = etree.SubElement(zone, "host", id=member.node.name, speed=speed, core=str(member.cores))
        if member.memory_Bps is not None:
            etree.SubElement(host, "prop", id="memory_bandwidth", value=number_text(member.memory_Bps))
        if member.efficiencies:
            shares = " ".join(f"{kept.kernel}={kept.alone:.4g}:{kept.busy:.4g}" for kept in member.efficiencies)
            etree.SubElement(host, "prop", id="kernel_efficiency", value=shares)
    router = f"{name}-router"
    etree.SubElement(zone, "router", id=router)
    for member in members:
        _link(zone, f"{member.node.name}-link", ends.node.bandwidth_Bps, ends.node.latency_s, "SPLITDUPLEX")
        if ends.both_ways_Bps is not None:
            _link(zone, f"{member.node.name}-both", ends.both_ways_Bps, 0.0, "SHARED")
        if local is not None:
            _link(zone, f"{member.node.name}-local", local.bandwidth_Bps, local.latency_s, "FATPIPE")
    switch: list[tuple[str, str | None]] = []
    if ends.lone_Bps < ends.node.bandwidth_Bps:
        _link(zone, f"{name}-way", ends.lone_Bps, 0.0, "FATPIPE")
        switch.append((f"{name}-way", None))
    if ends.switch_Bps is not None:
        _link(zone, f"{name}-switch", ends.switch_Bps, 0.0, "SHARED")
        switch.append((f"{name}-switch", None))
    for member in members:
        if local is not None:
            _route(zone, "route", member.node.name, member.node.name, [(f"{member.node.name}-local", None)])
        crossed = [(f"{name}-switch", None)] if ends.outside else []
        _route(zone, "route", member.node.name, router, [(f"{member.node.name}-link", "UP"), *crossed])
    both = ends.both_ways_Bps is not None
    for first, other in combinations(members, 2):
        links = [*_node_links(first, "UP", both), *switch, *_node_links(other, "DOWN", both)]
        _route(zone, "route", first.node.name, other.node.name, links)


def _node_links(node: CalibratedNode, direction: str, both: bool) -> list[tuple[str, str | None]]:
    """Return the links that a message crosses at one node; ``both``: the two directions share a limit."""
    name = node.node.name
    return [(f"{name}-link", direction), *([(f"{name}-both", None)] if both else [])]


def _add_ways(world: _Element, names: Sequence[str], wires: Mapping[Kind, Wire], sharing: Sharing) -> None:
    """Add the links between clusters, and the routes over them."""
    ends = {c: wires[c, c].latency_s / 2 if (c, c) in wires else 0.0 for c in range(len(names))}
    for kind, capacity in sharing.links.items():
        _shared(world, _link_name(kind, names, sharing.arrangement), capacity)
    ways = {kind: f"way-{names[kind[0]]}-{names[kind[1]]}" for kind in cluster_pairs(len(names))}
    for (first, other), way in ways.items():  # all links come before all routes
        wire = wires[first, other]
        _link(world, way, wire.bandwidth_Bps, max(0.0, wire.latency_s - ends[first] - ends[other]), "FATPIPE")
    for (first, other), way in ways.items():
        links: list[tuple[str, str | None]] = []
        for kind, direction in _crossed((first, other), sharing.arrangement):
            name = _link_name(kind, names, sharing.arrangement)
            links.append((name, direction))
            if sharing.links[kind].both_ways_Bps is not None:
                links.append((f"{name}-both", None))
        gateways = {"gw_src": f"{names[first]}-router", "gw_dst": f"{names[other]}-router"}
        _route(world, "zoneRoute", names[first], names[other], [*links, (way, None)], gateways)


def _crossed(kind: Kind, arrangement: str) -> list[tuple[Kind, str]]:
    if arrangement == "pairs":
        return [(kind, "UP")]
    if arrangement == "backbone":
        return [((0, 0), "UP")]
    return [((kind[0], kind[0]), "UP"), ((kind[1], kind[1]), "DOWN")]


def _link_name(kind: Kind, names: Sequence[str], arrangement: str) -> str:
    if arrangement == "backbone":
        return "backbone"
    return f"{names[kind[0]]}-uplink" if kind[0] == kind[1] else f"{names[kind[0]]}-{names[kind[1]]}"


def _shared(parent: _Element, name: str, capacity: Capacity) -> None:
    _link(parent, name, capacity.each_way_Bps, 0.0, "SPLITDUPLEX")
    if capacity.both_ways_Bps is not None:
        _link(parent, f"{name}-both", capacity.both_ways_Bps, 0.0, "SHARED")


def _link(parent: _Element, name: str, bandwidth_Bps: float, latency_s: float, policy: str) -> None:
    # Imported here because it is slow to import.
    from lxml import etree

    etree.SubElement(
        parent, "link", id=name, bandwidth=f"{number_text(bandwidth_Bps)}Bps", latency=f"{number_text(latency_s)}s",
        sharing_policy=policy,
    )  # fmt: skip


def _route(
    parent: _Element,
    tag: str,
    source: str,
    destination: str,
    links: Iterable[tuple[str, str | None]],
    more: Mapping[str, str] | None = None,
) -> None:
    # Imported here because it is slow to import.
    from lxml import etree

    route = etree.SubElement(parent, tag, {"src": source, "dst": destination, **(more or {})})
    for name, direction in links:
        etree.SubElement(route, "link_ctn", {"id": name, **({"direction": direction} if direction else {})})
