"""A measured network under the load of a draw.

The messages were measured on the quiet grid.  What a draw leaves of the wide-area links is applied to the grid's
description: latencies grow as those of the routes do, and no flow gets more than what is left of a link.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import permutations
from typing import TYPE_CHECKING

from platforms.background.site import Loadable, Site
from predictor.base import OutOfRange

if TYPE_CHECKING:  # it imports NumPy, which is slow to import
    from predictor.dpgraph.network import NetworkModel


@dataclass(frozen=True)
class Stretch:
    """Change of the way between two clusters."""

    latency: float  # latency of the loaded route over that of the quiet one, >= 1
    rate: float  # bandwidth of the quiet route over that of the loaded one, >= 1

    @property
    def most(self) -> float:
        """The larger of both, as no message becomes slower by more."""
        return max(self.latency, self.rate)


def stretches(quiet: Loadable, loaded: Loadable) -> dict[tuple[str, str], Stretch]:
    """Return the change of the way between each two clusters, in both directions.

    The grids differ in their wide-area links only; the second one has slower ones.
    """
    names = [cluster.name for cluster in quiet.clusters]
    hosts = {cluster.name: cluster.host_names[0] for cluster in quiet.clusters}
    pairs = list(permutations(names, 2))
    before, after = (grid.routes([(hosts[a], hosts[b]) for a, b in pairs]) for grid in (quiet, loaded))
    return {
        pair: Stretch(
            latency=new.latency_s / old.latency_s if old.latency_s > 0 else 1.0,
            rate=old.bandwidth_Bps / new.bandwidth_Bps,
        )
        for pair, old, new in zip(pairs, before, after, strict=True)
    }


def loaded_network(network: NetworkModel, quiet: Loadable, loaded: Loadable) -> NetworkModel:
    """Return a network measured on the quiet grid, with the capacities of the loaded one.

    A link of which the measurement showed no limit gets what is left of its declared bandwidth, in the proportion in
    which the measured rate of a message stands to the bandwidth of its route.

    Raises:
        OutOfRange: Wide-area links lead to a hub and have two directions, which the measured network does not separate.
    """
    # Imported here because it is slow to import.
    import numpy as np

    if _has_duplex_hub(quiet):
        problem = "the measurement does not separate the two directions of links to a hub"
        raise OutOfRange(f"dpgraph on {quiet.name}", problem, "Use dpgraph:known, or links without directions")
    cluster_of = {host: cluster.name for cluster in quiet.clusters for host in cluster.host_names}
    changed = stretches(quiet, loaded)
    ways, capacity, timing = dict(network.ways), dict(network.capacity_Bps), network.timing
    rows, slower = list(range(len(timing.latency_s))), [1.0] * len(timing.latency_s)
    added: dict[tuple[int, tuple[str, str]], int] = {}  # the row of a class of paths between two clusters
    between = [(a, b) for a, b in network.ways if cluster_of[a] != cluster_of[b]]
    for (a, b), route in zip(between, quiet.routes(between), strict=True):
        way, ends = network.ways[a, b], (cluster_of[a], cluster_of[b])
        by = changed[ends]
        if (way.timing_class, ends) not in added:
            added[way.timing_class, ends] = len(rows)
            rows.append(way.timing_class)
            slower.append(by.latency)
        share = min(1.0, way.bound_Bps / route.bandwidth_Bps)  # of the links' bandwidth that a flow gets
        ways[a, b] = replace(
            way,
            timing_class=added[way.timing_class, ends],
            bound_Bps=min(way.bound_Bps, share * route.bandwidth_Bps / by.rate),
            penalty=way.penalty * by.latency,
        )
        for name, left_Bps in _shared_links(loaded, *ends):
            if name in capacity:
                capacity[name] = min(capacity[name], share * left_Bps)
    latency_s = timing.latency_s[rows] * np.array(slower)[:, None]
    timing = replace(timing, latency_s=latency_s, factor=timing.factor[rows])
    return replace(network, ways=ways, capacity_Bps=capacity, timing=timing)


def _has_duplex_hub(quiet: Loadable) -> bool:
    """Return whether a wide-area link with two directions leads from a cluster to several others."""
    if isinstance(quiet, Site):
        return any(link.duplex and link.hub_of is not None for link in quiet.wan_links)
    return quiet.wan_shape == "star" and any(link.duplex for link in quiet.wan_links)


def _shared_links(loaded: Loadable, here: str, there: str) -> Iterator[tuple[str, float]]:
    """Yield the wide-area links between two clusters by their names in a measured network, and their bandwidths."""
    if isinstance(loaded, Site):
        for crossed_link in loaded.crossed(here, there):
            if crossed_link.hub_of is not None:
                yield f"out of {crossed_link.hub_of}", crossed_link.bandwidth_Bps
            yield f"{here} to {there}", crossed_link.bandwidth_Bps
            yield "{} and {}".format(*sorted((here, there))), crossed_link.bandwidth_Bps
        return
    for link, _ in loaded.wan_route(here, there):
        if link.second is None:
            yield f"out of {link.first}", link.wire.bandwidth_Bps
        elif link.duplex:
            yield f"{here} to {there}", link.wire.bandwidth_Bps
        else:
            yield "{} and {}".format(*sorted((here, there))), link.wire.bandwidth_Bps
