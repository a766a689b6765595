"""Convert systems to grids and grids to systems, so that equal machines have equal platform files."""

from __future__ import annotations

from dataclasses import replace

from platforms.grids.grid import Grid, GridCluster
from platforms.system.model import System
from platforms.system.parts import ANY, ComputeUnit, Level, Node
from platforms.system.ways import backbone

UNKNOWN = "unknown"  # the processor of a unit of which only the speed is known


def as_grid(system: System) -> Grid | None:
    """Return the grid that is the same machine as a system, or None if a grid cannot describe the system.

    A grid is a single LAN or a WAN of LANs, each of which is one group of single-unit nodes of known power without
    disks or memory links.  The grid has the same routes, speeds and power, so that equal machines share simulated runs.
    """
    lans = (system.top,) if system.top.kind == "lan" else system.top.levels
    if not all(lan.alone and _is_cluster(lan.nodes[0]) for lan in lans):
        return None
    clusters = tuple(_cluster(lan) for lan in lans)
    return Grid(system.name, system.network, clusters, system.top.shape, system.top.links, system.options)


def of_grid(grid: Grid) -> System:
    """Return a grid as a system; each node takes as many processes of any label as it has cores."""
    lans = tuple(
        Level(cluster.name, "lan", nodes=(_node(cluster),), fabric=cluster.backbone) for cluster in grid.clusters
    )
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
