"""The time of a run as a function of the remaining capacity of its nodes and wide-area links, from a fitted model.

A measured network under the load of a draw.

The messages were measured on the quiet grid.  What a draw leaves of the wide-area links is applied to the grid's
description: latencies grow as those of the routes do, and no flow gets more than what is left of a link.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import TYPE_CHECKING, Protocol

from apps.spec.target import Target
from platforms.background.site import Loadable, Site, loaded_grid
from platforms.background.statement import Draw
from predictor.base import Model, OutOfRange, Prediction
from predictor.dpgraph.predictors import GraphModel

if TYPE_CHECKING:
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


TimeOf = Callable[[tuple[float, ...]], float]  # by rank the share of its host's speed; the time of the whole run, s


class Response(Protocol):
    """A model's answer to load."""

    @property
    def waits(self) -> int:
        """Rough number of times that the nodes wait for one another during a run; 1 means at its end only."""

    def under(self, draw: Draw) -> TimeOf:
        """Return the time of the run as a function of the shares of its nodes, on the links of this draw.

        Raises:
            OutOfRange: The model cannot follow the load.
        """


def response(model: Model, target: Target, grid: Loadable, quiet: Prediction) -> Response:
    """Return how a fitted model answers to load.

    Args:
        model: The model, fitted to evidence on the quiet grid.
        target: The target on the quiet grid.
        grid: The quiet grid.
        quiet: The model's prediction there.

    Raises:
        OutOfRange: The model's prediction has no computation of each node apart from the messages.
    """
    if isinstance(model, GraphModel):
        return GraphResponse(model, target, grid)
    if quiet.loads is None or "comm_s" not in quiet.parts:
        problem = "its predictions do not say how long each node computes, and how long the messages take"
        raise OutOfRange(f"predictor on {target}", problem, "Use hcf, hcf:constant, dpgraph or dpgraph:known")
    return AdditiveResponse(target, grid, quiet)


@dataclass(frozen=True)
class AdditiveResponse:
    """Computation of the slowest node plus messages, as HCF adds them: eq. (6) and (8) of its paper.

    Each node's computation is divided by the share of its speed.  All messages become slower as those between the two
    clusters whose way has changed most.
    """

    target: Target
    grid: Loadable
    quiet: Prediction

    @property
    def waits(self) -> int:
        """One in each iteration, because the model knows no messages."""
        return self.target.iterations if self.target.problem.iterative else 1

    def under(self, draw: Draw) -> TimeOf:
        """Return the time as a function of the shares."""
        loads, platform = self.quiet.loads or {}, self.target.platform
        ranks = Counter(self.target.placement)
        alone_s = [loads[host].core_s / min(ranks[host], platform.host(host).cores) for host in self.target.placement]
        used = {platform.cluster_of(host).name for host in ranks}
        changed = stretches(self.grid, loaded_grid(self.grid, draw))
        most = max((by.most for ends, by in changed.items() if used.issuperset(ends)), default=1.0)
        comm_s = self.quiet.parts["comm_s"] * most

        def time_of(shares: tuple[float, ...]) -> float:
            return comm_s + max(time_s / share for time_s, share in zip(alone_s, shares, strict=True))

        return time_of


@dataclass(frozen=True)
class GraphResponse:
    """The recorded program, evaluated again with other speeds on a loaded network."""

    model: GraphModel
    target: Target
    grid: Loadable

    @property
    def waits(self) -> int:
        """Number of messages of a process; 1 without iterations, because all messages may then be at the end."""
        if not self.target.problem.iterative:
            return 1
        sections = self.model.sections(self.target)
        recorded = max(1, sections.iterations)
        return sections.program().nmessages * self.target.iterations // (recorded * self.target.nranks)

    def under(self, draw: Draw) -> TimeOf:
        """Return the time as a function of the shares."""
        # Imported here because it is slow to import.
        from predictor.dpgraph.evaluate import estimate

        target, loaded = self.target, loaded_grid(self.grid, draw)
        sections = self.model.sections(target)
        if self.model.measures(target):
            network = loaded_network(self.model.network(target), self.grid, loaded)
        else:
            network = self.model.network(target, loaded.routes)
        hosts = [target.platform.host(host) for host in target.placement]
        cores = [host.cores for host in hosts]

        def time_of(shares: tuple[float, ...]) -> float:
            s_per_flop = [1 / (host.speed_flops * share) for host, share in zip(hosts, shares, strict=True)]
            return estimate(sections, target.iterations, network, target.placement, s_per_flop, cores).time_s

        return time_of


def shares_between(draw: Draw, placement: Sequence[str], from_s: float, until_s: float) -> tuple[float, ...]:
    """Return the mean share of each rank's host between two moments."""
    means = {
        host: draw.nodes[host].mean(from_s, until_s) if host in draw.nodes else 1.0 for host in dict.fromkeys(placement)
    }
    return tuple(means[host] for host in placement)
