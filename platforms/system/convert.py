"""Systems as platforms: by name, as a Platform that SimGrid loads, and converted to and from grids."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from platforms.errors import PlatformError, UserError
from platforms.grids.grid import Grid, GridCluster
from platforms.grids.scenario import is_system_file, named_grid, names_file, read_grid
from platforms.grids.xml import platform_xml
from platforms.model.platform import Cluster, Platform
from platforms.read.read import kept_file, materialise, read_platform
from platforms.system.description import read_system
from platforms.system.model import System
from platforms.system.parts import ANY, ComputeUnit, Level, Node
from platforms.system.ways import backbone, is_zone
from platforms.system.xml import system_xml

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


MOST_NODE_ZONES = 3_000  # in a LAN; the time of SimGrid's start-up grows with the square of their number


def platform_file(system: System) -> bytes:
    """Return the SimGrid platform file of a system; if the system is a grid, the platform file of that grid.

    Raises:
        PlatformError: A LAN has more than MOST_NODE_ZONES nodes that are zones of their own.
    """
    grid = as_grid(system)
    for lan in system.top.lans():
        zones = sum(node.count for node in lan.nodes if not is_zone(lan, node))
        if zones > MOST_NODE_ZONES:
            raise PlatformError(
                f"system {system.name!r}, lan {lan.name!r}",
                f"{zones} nodes of several units, or on a shared fabric: too many for SimGrid to load",
                f"Give at most {MOST_NODE_ZONES}; nodes of one unit each may be many more",
            )
    return system_xml(system) if grid is None else platform_xml(grid)


def materialise_system(system: System) -> Platform:
    """Return the platform of a system.

    Each group of equal units is a cluster, in the order of the system.
    """
    platform = read_platform(kept_file(platform_file(system)), system.name)
    clusters = tuple(
        Cluster(group.name, tuple(platform.host(group.host(i)) for i in range(group.units))) for group in system.groups
    )
    return replace(platform, clusters=clusters, network=None if _more_than_routes(system) else system.network)


def _more_than_routes(system: System) -> bool:
    """Return whether runs may depend on more than routes; if so, equal routes do not imply equal runs."""
    return any(group.node.disks for group in system.groups)


def materialise_file(path: str | Path, network: str | None = None) -> Platform:
    """Return the platform of a scenario file or system file; ``network`` replaces the network of a scenario."""
    if not is_system_file(path):
        return materialise(read_grid(path, network))
    return materialise_system(system_named(str(path), network=network))


def grid_of_file(path: str, hardware: Iterable[str | Path]) -> Grid:
    """Return the grid that is the same machine as the system in a file.

    Raises:
        UserError: No grid describes the system, or a file is wrong.
    """
    system = system_named(path, hardware=hardware)
    grid = as_grid(system)
    if grid is None:
        problem = "not a grid of clusters, each of a single kind of node with one compute unit"
        raise UserError(f"system {system.name!r}", problem, "Use a command that takes any platform")
    return grid


def platform_of_file(path: str, hardware: Iterable[str | Path]) -> Platform:
    """Return the platform of the system in a file, with further hardware files."""
    return materialise_system(system_named(path, hardware=hardware))


def content_of_file(path: str, hardware: Iterable[str | Path]) -> bytes:
    """Return the SimGrid platform file of the system in a file, with further hardware files."""
    return platform_file(system_named(path, hardware=hardware))


def system_named(text: str, *, network: str | None = None, hardware: Iterable[str | Path] = ()) -> System:
    """Return a system from a system file, from a scenario file, or from a scenario's name.

    Args:
        text: The name of the file or scenario.
        network: Replaces the network of a scenario.
        hardware: Further hardware files, for a system file.

    Raises:
        PlatformError: The file is wrong, the name is unknown, or an argument does not fit it.
    """
    hardware = tuple(hardware)
    if text.endswith(".xml"):
        problem = "a platform file of SimGrid has no slots for processes"
        raise PlatformError(text, problem, "Describe it as a system in TOML (docs/platforms/platform-files.md)")
    if names_file(text) and is_system_file(text):
        if network is not None:
            raise PlatformError(f"network {network!r}", "does not go with a system file", "Write it into the file")
        return read_system(text, hardware)
    if hardware:
        raise PlatformError(f"hardware {hardware[0]}", "does not go with a scenario", "Name a system file")
    return of_grid(read_grid(text, network) if names_file(text) else named_grid(text, network))
