"""Grids and platforms under a drawn load."""

from __future__ import annotations

from dataclasses import replace

from platforms.background.draws import Draw
from platforms.background.site import Site
from platforms.grids.grid import Grid, WanLink
from platforms.grids.xml import Profile, platform_xml
from platforms.model.platform import Platform
from platforms.read.read import kept_file, read_platform

Loadable = Grid | Site


def loaded_grid(grid: Loadable, draw: Draw) -> Loadable:
    """Return the grid or site with its wide-area links reduced by a draw; the load of nodes is not included."""
    if isinstance(grid, Site):
        return grid.loaded(draw.bandwidth, draw.latency)

    def left(link: WanLink) -> WanLink:
        wire = replace(
            link.wire,
            bandwidth_Bps=link.wire.bandwidth_Bps * draw.bandwidth[link.name],
            latency_s=link.wire.latency_s * draw.latency[link.name],
        )
        return replace(link, wire=wire)

    return replace(grid, wan_links=tuple(map(left, grid.wan_links)))


def loaded_platform(grid: Loadable, draw: Draw) -> Platform:
    """Return the platform of a grid or site under a drawn load: profiles of its nodes, and narrower wide-area links.

    Its file is kept in the cache folder under its content hash.  The links keep their load for the whole run, because
    SimGrid 3.32 loses messages that are on a link whose bandwidth a profile changes.
    """
    profiles = [Profile(host, tuple(node.dates()), node.period_s) for host, node in draw.nodes.items()]
    loaded = loaded_grid(grid, draw)
    if isinstance(loaded, Site):
        return loaded.written(profiles)
    # It has no named network, so that nothing takes it for the quiet grid: what routes show is not all of it.
    return read_platform(kept_file(platform_xml(loaded, profiles)), grid.name)
