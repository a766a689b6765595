"""The measured network of ``structural``: a thrifty survey between some hosts of each cluster, as arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import permutations

import numpy as np

from apps.probes.network.measure import LateReceive
from apps.probes.plan import Measurement
from apps.spec.target import Target
from predictor.base import Evidence
from predictor.dpgraph.measured import fitted
from predictor.network.fit import NetworkFit, wide_area
from predictor.network.layout import HostsByCluster, layout
from predictor.network.survey import Survey
from predictor.structural.paths import Paths, PlaceOfLinks

MOST_HOSTS = 64  # measured hosts of a cluster; shared links that only more hosts can fill are not detected

# Protocols.  BUFFERED: the sender continues, the message waits for its receive.  EAGER: neither waits.  SYNCHRONOUS:
# both wait for the receiver.
BUFFERED, EAGER, SYNCHRONOUS = 0, 1, 2


def sampled(together: Target) -> Target:
    """Return a target on at most MOST_HOSTS hosts of each cluster, whose nodes are assumed to be alike."""
    kept: Counter[str] = Counter()
    hosts = []
    for host in together.placement:
        cluster = together.platform.cluster_of(host).name
        kept[cluster] += 1
        if kept[cluster] <= MOST_HOSTS:
            hosts.append(host)
    return replace(together, placement=tuple(hosts))


@dataclass(frozen=True, eq=False)
class MeasuredPaths:
    """A measured network between hosts of its clusters, which may be more than were measured."""

    fit: NetworkFit
    by_cluster: Mapping[str, Sequence[str]]  # the hosts, in the order of the clusters of the fit

    @property
    def hosts(self) -> tuple[str, ...]:
        """All hosts, grouped by cluster."""
        return tuple(host for members in self.by_cluster.values() for host in members)

    def on(self, hosts: Mapping[str, Sequence[str]]) -> MeasuredPaths:
        """Return the same network between other hosts of the same clusters, in the same order of clusters.

        Nodes of a cluster are alike, and the capacity of their shared links does not depend on their number.
        """
        return MeasuredPaths(self.fit, hosts)

    @cached_property
    def paths(self) -> Paths:
        """The paths without the effects of sizes."""
        return self.at(np.zeros(1))[0]

    def at(self, size_bytes: np.ndarray) -> tuple[Paths, np.ndarray]:
        """Return the paths and the protocol for some sizes.

        Args:
            size_bytes: The sizes of a schedule, ascending.
        """
        fit, clusters = self.fit, list(self.by_cluster)
        detached = size_bytes < fit.protocol.detached_below_bytes
        eager = size_bytes < fit.protocol.eager_below_bytes
        protocol = np.where(~detached, SYNCHRONOUS, np.where(eager, EAGER, BUFFERED)).astype(np.uint8)
        amount_bytes = size_bytes + fit.protocol.envelope_bytes
        segment = np.searchsorted(fit.timing.above_bytes, amount_bytes, side="left") - 1
        between = [[fit.row.get((c, d), fit.row.get((d, c), 0)) for d in clusters] for c in clusters]
        paths = Paths(
            cluster=np.repeat(np.arange(len(clusters), dtype=np.int32), [len(m) for m in self.by_cluster.values()]),
            row=np.array(between, np.int32),
            self_row=np.array([fit.row[c] for c in clusters], np.int32),
            latency_s=np.ascontiguousarray(fit.timing.latency_s[:, segment]),
            amount_bytes=np.ascontiguousarray(amount_bytes / fit.timing.factor[:, segment]),
            bound_Bps=np.array(fit.bound_Bps),
            penalty=np.array([fit.penalty[row] for row in range(len(fit.bound_Bps))]),
            capacity_Bps=self._capacity_Bps(),
            back=np.array([fit.back.get(c, 0.0) for c in clusters]),
            self_shares=np.array([fit.self_shares.get(c, True) for c in clusters]),
        )
        return paths, protocol

    def _capacity_Bps(self) -> np.ndarray:
        """Return the capacities in the order of PlaceOfLinks."""
        known, clusters = self.fit.capacity_Bps, list(self.by_cluster)
        at = PlaceOfLinks(len(self.hosts), len(clusters))
        made = np.full(at.count, np.inf)
        first = {c: self.fit.where.hosts[c][0] for c in clusters}
        for start, direction in ((0, "up"), (len(self.hosts), "down")):
            ends = [known[f"{direction} {first[c]}"] for c in clusters]
            made[start : start + len(self.hosts)] = np.repeat(ends, [len(m) for m in self.by_cluster.values()])
        for i, c in enumerate(clusters):
            made[at.inside(i)], made[at.outside(i)] = known[f"in {c}"], known.get(f"out of {c}", np.inf)
        for (i, c), (j, d) in permutations(enumerate(clusters), 2):
            way, _, both_ways = wide_area(c, d)
            made[at.one_way(i, j)], made[at.both_ways(i, j)] = known[way], known[both_ways]
        return made


def measured_paths(network: Evidence, sizes: Evidence | None = None) -> MeasuredPaths:
    """Return the measured network.

    Args:
        network: The first experiments of its survey.
        sizes: The further ones for the sizes of a program; None: there are none.

    Raises:
        OutOfRange: Its messages show no rate.
    """
    where = layout(network.request.target.platform, network.request.target.placement)
    results = [network.measurement, *([] if sizes is None else [sizes.measurement])]
    return _measured(tuple(where.hosts.items()), tuple(results), _sizes_of(sizes))


@lru_cache(maxsize=64)
def _measured(
    hosts: tuple[tuple[str, tuple[str, ...]], ...], results: tuple[Measurement, ...], sizes: frozenset[int]
) -> MeasuredPaths:
    """Return the measured network; programs on the same hosts share it, although their evidence differs."""
    where = HostsByCluster(dict(hosts))
    return MeasuredPaths(fitted(where, Survey(where, results, deep=False, sizes=sizes)), where.hosts)


def _sizes_of(sizes: Evidence | None) -> frozenset[int]:
    """Return the sizes that further experiments are about."""
    if sizes is None or sizes.request.plan is None:
        return frozenset()
    made = sizes.request.plan.experiments
    return frozenset(one.size_bytes if isinstance(one, LateReceive) else one[0].size_bytes for one in made)
