"""Grids with a scaled network speed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from platforms.errors import PlatformError
from platforms.grids.grid import Grid, Wire


@dataclass(frozen=True)
class Step:
    """Scale factors of network speed and efficiency.

    The computation of a run is proportional to 1 / efficiency and its messages to 1 / network speed.  SimGrid's model
    has no other time scale, so only the ratio of the two factors changes the shape of a run.
    """

    network: float = 1.0  # bandwidths are multiplied and latencies divided by this
    efficiency: float = 1.0  # the efficiency of the kernels is multiplied by this

    def __post_init__(self) -> None:
        for name, value in (("network", self.network), ("efficiency", self.efficiency)):
            if not 0 < value < math.inf:
                raise PlatformError(f"scale of the {name}", f"{value} is not positive", "Give a positive number")

    @property
    def ratio(self) -> float:
        """Factor by which the network becomes faster relative to the computation."""
        return self.network / self.efficiency


def scaled(grid: Grid, factor: float) -> Grid:
    """Return the grid with bandwidths multiplied and latencies divided by ``factor`` > 0.

    Options, speeds and the name of the grid stay; the name of its network becomes ``NAME x FACTOR``.
    """
    if factor == 1:
        return grid
    clusters = tuple(
        replace(cluster, node=_scaled(cluster.node, factor), backbone=_scaled(cluster.backbone, factor))
        for cluster in grid.clusters
    )
    links = tuple(replace(link, wire=_scaled(link.wire, factor)) for link in grid.wan_links)
    return replace(grid, network=f"{grid.network} x {factor:g}", clusters=clusters, wan_links=links)


def slowed(grid: Grid, factor: float) -> Grid:
    """Return the grid with the speed of its nodes multiplied by ``factor`` > 0; its name stays."""
    if factor == 1:
        return grid
    clusters = tuple(replace(cluster, speed_flops=cluster.speed_flops * factor) for cluster in grid.clusters)
    return replace(grid, clusters=clusters)


def _scaled(wire: Wire, factor: float) -> Wire:
    return Wire(wire.bandwidth_Bps * factor, wire.latency_s / factor)
