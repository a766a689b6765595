"""Systems that are grids, and grids as systems: one of the two writes the platform file."""

from __future__ import annotations

from dataclasses import replace

from platforms.grid import Grid, GridCluster
from platforms.system.model import ANY, ComputeUnit, Level, Node, System
from platforms.system.ways import backbone

UNKNOWN = "unknown"  # the processor of a unit that is known by its speed alone


def as_grid(system: System) -> Grid | None:
    """The same machine as ``platforms.grid`` has it; None where it is more than a grid.

    A grid is a lone LAN or a WAN of such, each a group of single-unit nodes whose watts are known, without disks or
    memory links.  Routes, speeds and watts are the same, so that equal machines share what has been simulated on them.
    """
    lans = (system.top,) if system.top.kind == "lan" else system.top.levels
    if not all(lan.alone and _is_cluster(lan.nodes[0]) for lan in lans):
        return None
    clusters = tuple(_cluster(lan) for lan in lans)
    return Grid(system.name, system.network, clusters, system.top.shape, system.top.links, system.options)


def of_grid(grid: Grid) -> System:
    """A grid as a system.  Each node takes processes of any label, as many as it has cores."""
    lans = tuple(Level(one.name, "lan", nodes=(_node(one),), fabric=one.backbone) for one in grid.clusters)
    if len(lans) == 1:
        top = lans[0]
    else:
        top = Level(_free_name(grid), "wan", levels=lans, shape=grid.wan_shape, links=grid.wan_links)
    return System(grid.name, top, grid.options, grid.network)


def _is_cluster(node: Node) -> bool:
    return not node.disks and node.memory is None and node.units[0].power is not None


def _cluster(lan: Level) -> GridCluster:
    (node,) = lan.nodes
    (unit,) = node.units
    shared = backbone(lan)
    wire = replace(node.link, bandwidth_Bps=shared.bandwidth_Bps, latency_s=shared.latency_s)
    return GridCluster(node.name, node.count, unit.speed_flops, node.link, wire, unit.cores, unit.power)


def _node(cluster: GridCluster) -> Node:
    running = cluster.pstates[0]
    unit = ComputeUnit(
        "cpu", "cpu", UNKNOWN, running.speed_flops, cluster.cores, cluster.cores, running.power,
        slots=((ANY, cluster.cores),),
    )  # fmt: skip
    return Node(cluster.name, cluster.nodes, (unit,), cluster.node)


def _free_name(grid: Grid) -> str:
    name = "wan"
    while any(cluster.name == name for cluster in grid.clusters):
        name += "_"
    return name
