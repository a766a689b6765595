"""Convert a system to a Platform: its XML file is kept in the cache folder and is loaded by SimGrid."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from platforms.errors import PlatformError, UserError
from platforms.grids.grid import Grid
from platforms.grids.scenario import is_system_file, read_grid
from platforms.grids.xml import platform_xml
from platforms.model.platform import Cluster, Platform
from platforms.read.read import kept_file, materialise, read_platform
from platforms.system.grids import as_grid
from platforms.system.model import System
from platforms.system.named import system_named
from platforms.system.ways import is_zone
from platforms.system.xml import system_xml

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
