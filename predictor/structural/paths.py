"""A measured network as arrays: the time of a single message between two hosts, and the links on its path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


@dataclass(frozen=True)
class PlaceOfLinks:
    """The indices of the links.

    The order is: from each host; to each host; inside each cluster; out of each cluster in either direction; from each
    cluster to each cluster; between each two clusters in both directions together.
    """

    hosts: int
    clusters: int

    @property
    def count(self) -> int:
        """Number of links."""
        return 2 * self.hosts + 2 * self.clusters + 2 * self.clusters**2

    def inside(self, cluster: int) -> int:
        """Return the link that messages inside, into and out of a cluster share."""
        return 2 * self.hosts + cluster

    def outside(self, cluster: int) -> int:
        """Return the link that messages into and out of a cluster share."""
        return 2 * self.hosts + self.clusters + cluster

    def one_way(self, source: int, destination: int) -> int:
        """Return the link of messages from one cluster to another."""
        return 2 * self.hosts + (2 + source) * self.clusters + destination

    def both_ways(self, cluster: int, other: int) -> int:
        """Return the link that messages between two clusters share in both directions."""
        return 2 * self.hosts + (2 + self.clusters + min(cluster, other)) * self.clusters + max(cluster, other)


class Paths(NamedTuple):
    """The network between hosts in clusters, for the sizes of one schedule."""

    cluster: np.ndarray  # i4, by host
    row: np.ndarray  # i4, clusters x clusters: the kind of path between different hosts
    self_row: np.ndarray  # i4, by cluster: the kind of path from a host to itself
    latency_s: np.ndarray  # f8, rows x sizes
    amount_bytes: np.ndarray  # f8, rows x sizes: amount that crosses the links
    bound_Bps: np.ndarray  # f8, by row: upper bound of one flow's rate
    penalty: np.ndarray  # f8, by row: flows share links in proportion to 1 / penalty
    capacity_Bps: np.ndarray  # f8, by link (PlaceOfLinks)
    back: np.ndarray  # f8, by cluster: use of the opposite direction of its hosts' links, as a share of the rate
    self_shares: np.ndarray  # bool, by cluster: whether messages of a host to itself use its links


def no_paths(cluster: np.ndarray, sizes: int) -> Paths:
    """Return empty paths for a number of sizes, for hosts that send nothing, from the cluster of each host."""
    clusters = int(cluster.max()) + 1
    rows, none = np.zeros((clusters, clusters), np.int32), np.zeros((1, sizes))
    links = np.full(PlaceOfLinks(len(cluster), clusters).count, np.inf)
    alone = np.zeros(clusters)
    return Paths(cluster, rows, rows[0], none, none, np.ones(1), np.ones(1), links, alone, np.ones(clusters, bool))
