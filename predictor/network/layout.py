"""The hosts in use, cluster by cluster, and the kinds of paths between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from platforms.model.platform import Platform

Pair = tuple[str, str]


@dataclass(frozen=True)
class HostsByCluster:
    """The hosts in use, cluster by cluster."""

    hosts: dict[str, tuple[str, ...]]  # by cluster

    @property
    def classes(self) -> dict[tuple[str, str], Pair]:
        """Two hosts for each kind of path, with key (c, c) in a cluster and (c, d) between two clusters."""
        pairs = {(name, name): (hosts[0], hosts[1]) for name, hosts in self.hosts.items() if len(hosts) > 1}
        for c, d in combinations(self.hosts, 2):
            pairs[c, d] = (self.hosts[c][0], self.hosts[d][0])
        return pairs

    @property
    def series(self) -> dict[tuple[str, str] | str, Pair]:
        """The two hosts of the ping-pongs of each class of paths and, from a host to itself, of each cluster.

        The first class is the reference, which shows the effects of sizes.
        """
        selves = ((c, (hosts[0], hosts[0])) for c, hosts in self.hosts.items())
        return dict([*self.classes.items(), *selves])


def layout(platform: Platform, placement: Sequence[str]) -> HostsByCluster:
    """Return the hosts of a placement by cluster, in the platform's order."""
    used = set(placement)
    by_cluster = {c.name: tuple(h.name for h in c.hosts if h.name in used) for c in platform.clusters}
    return HostsByCluster({name: hosts for name, hosts in by_cluster.items() if hosts})
