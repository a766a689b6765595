"""Random grids for testing models on platforms that were not selected; equal seeds give equal grids."""

from __future__ import annotations

import math
from dataclasses import dataclass

from platforms.errors import PlatformError
from platforms.grids.grid import MOST_CLUSTERS, MOST_NODES, Grid, GridCluster, WanLink, Wire, wan_ends

_MOST = {"clusters": MOST_CLUSTERS["mesh"], "nodes": MOST_NODES}


@dataclass(frozen=True)
class Ranges:
    """Smallest and largest values of a random grid.

    Counts and speeds are drawn uniformly; bandwidths and latencies uniformly in their logarithm.
    """

    clusters: tuple[int, int] = (2, 5)
    nodes: tuple[int, int] = (2, 12)  # of each cluster
    speed_flops: tuple[float, float] = (20e9, 100e9)  # of each cluster's nodes
    bandwidth_Bps: tuple[float, float] = (0.0125e9, 1.25e9)  # of each cluster's node links, and of each WAN link
    wan_latency_s: tuple[float, float] = (50e-6, 10e-3)  # of each WAN link
    node_latency_s: tuple[float, float] = (50e-6, 50e-6)
    backbone_Bps: tuple[float, float] = (1.25e9, 1.25e9)

    def __post_init__(self) -> None:
        for name, (low, high) in vars(self).items():
            if not 0 < low <= high < math.inf:
                raise PlatformError(f"random platforms, {name}", f"{low} to {high}", "Give 0 < smallest <= largest")
            if name in _MOST and not (isinstance(low, int) and isinstance(high, int) and high <= _MOST[name]):
                remedy = f"Give whole numbers of at most {_MOST[name]}"
                raise PlatformError(f"random platforms, {name}", f"{low} to {high}", remedy)


def random_grid(seed: int, number: int, ranges: Ranges | None = None) -> Grid:
    """Return grid ``number`` of the sequence of ``seed``; it does not depend on grids drawn before.

    ``ranges`` is None for the default ranges.
    """
    # Imported here because it is slow to import.
    import numpy as np

    ranges = ranges or Ranges()
    draw = np.random.default_rng([seed, number])

    def count(low_high: tuple[int, int]) -> int:
        return int(draw.integers(low_high[0], low_high[1], endpoint=True))

    def log(low_high: tuple[float, float]) -> float:
        return float(np.exp(draw.uniform(*np.log(low_high))))

    clusters = []
    for i in range(1, count(ranges.clusters) + 1):
        nodes, speed_flops = count(ranges.nodes), float(draw.uniform(*ranges.speed_flops))
        node = Wire(log(ranges.bandwidth_Bps), log(ranges.node_latency_s))
        clusters.append(GridCluster(f"c{i}", nodes, speed_flops, node, Wire(log(ranges.backbone_Bps), node.latency_s)))
    links = tuple(
        WanLink(*ends, Wire(log(ranges.bandwidth_Bps), log(ranges.wan_latency_s)))
        for ends in wan_ends("mesh", [cluster.name for cluster in clusters])
    )
    return Grid(f"random-{seed}-{number}", "random", tuple(clusters), "mesh", links)
