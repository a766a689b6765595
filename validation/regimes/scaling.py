"""The same grid with a network that is so many times as fast."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from platforms.errors import PlatformError
from platforms.grid import Grid, Wire


@dataclass(frozen=True)
class Step:
    """What the two sides of a run are multiplied by.

    A run is computation that goes as 1 / efficiency and messages that go as 1 / network speed, and SimGrid's model of
    them has no time of its own: all that a step changes of the shape of a run is the ratio of the two.
    """

    network: float = 1.0  # bandwidths times this, latencies divided by it
    efficiency: float = 1.0  # the share of the nodes' speed that the kernel sustains, times this

    def __post_init__(self) -> None:
        for name, value in (("network", self.network), ("efficiency", self.efficiency)):
            if not 0 < value < math.inf:
                raise PlatformError(f"scale of the {name}", f"{value} is not positive", "Give a positive number")

    @property
    def ratio(self) -> float:
        """How much faster the network has become beside the computation."""
        return self.network / self.efficiency


def scaled(grid: Grid, factor: float) -> Grid:
    """Every bandwidth times ``factor`` > 0 and every latency divided by it; options, speeds and the name stay.

    The name of its network becomes ``NAME x FACTOR``.
    """
    if factor == 1:
        return grid
    clusters = tuple(
        replace(one, node=_scaled(one.node, factor), backbone=_scaled(one.backbone, factor)) for one in grid.clusters
    )
    links = tuple(replace(link, wire=_scaled(link.wire, factor)) for link in grid.wan_links)
    return replace(grid, network=f"{grid.network} x {factor:g}", clusters=clusters, wan_links=links)


def _scaled(wire: Wire, factor: float) -> Wire:
    return Wire(wire.bandwidth_Bps * factor, wire.latency_s / factor)
