"""Distances between the hosts of a cluster, by ping-pongs of one byte between all of them.

In most clusters every pair is equally far.  In a fat tree, a torus or a dragonfly some
pairs have more switches between them, which the latency shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, zip_longest

import numpy as np

from predictor.network.loads import tournament

MOST_HOSTS = 64  # of a cluster whose pairs are all measured: their number grows with the square
MOST_DISTANCES = 8  # of a cluster: latencies that differ more are not those of a few kinds of paths
ALIKE = 0.02  # relative: exact latencies that differ by less are the same
_SCATTERS = 20.0  # noisy latencies are the same within this multiple of the scatter of the ping-pongs
_LEAST_HOSTS = 3

Pair = tuple[str, str]


def rounds_of_pairs(hosts: Mapping[str, Sequence[str]]) -> list[list[Pair]]:
    """Return all pairs of hosts of each cluster whose distances can be told apart, in rounds without a common host.

    Args:
        hosts: The hosts in use by cluster.
    """
    rounds = [tournament(members) for members in hosts.values() if _LEAST_HOSTS <= len(members) <= MOST_HOSTS]
    return [[pair for pairs in together for pair in pairs] for together in zip_longest(*rounds, fillvalue=[])]


@dataclass(frozen=True)
class Distances:
    """The distances between the hosts of a cluster."""

    hosts: tuple[str, ...]
    latency_s: np.ndarray  # hosts x hosts: one way, of a message of one byte
    kind: np.ndarray  # hosts x hosts: number of the pair's distance, 0 for the nearest pairs; -1 from a host to itself

    @property
    def count(self) -> int:
        """The number of different distances."""
        return int(self.kind.max()) + 1

    @property
    def few(self) -> bool:
        """Pairs differ, and are of few kinds."""
        return 1 < self.count <= MOST_DISTANCES

    def kind_of(self, a: str, b: str) -> int:
        """Return the number of the distance between two hosts."""
        return int(self.kind[self.hosts.index(a), self.hosts.index(b)])

    def typical_s(self, kind: int) -> float:
        """Return the latency of a kind of pairs, s."""
        return float(np.median(self.latency_s[self.kind == kind]))

    def pair_of(self, kind: int) -> Pair:
        """Return the first pair of a kind."""
        a, b = np.argwhere(self.kind == kind)[0]
        return self.hosts[a], self.hosts[b]


def distances(
    hosts: Mapping[str, Sequence[str]], latency_s: Mapping[frozenset[str], float], scatter: float
) -> dict[str, Distances]:
    """Return the distances inside each cluster of which all pairs were measured.

    Args:
        hosts: The hosts in use by cluster.
        latency_s: The measured latencies.
        scatter: The median relative error of ping-pongs around their lines; 0 in simulation.
    """
    by_cluster = {}
    for c, members in hosts.items():
        pairs = [(i, j, frozenset((a, b))) for (i, a), (j, b) in combinations(enumerate(members), 2)]
        if len(members) >= _LEAST_HOSTS and all(pair in latency_s for *_, pair in pairs):
            table = np.zeros((len(members), len(members)))
            for i, j, pair in pairs:
                table[i, j] = table[j, i] = latency_s[pair]
            by_cluster[c] = Distances(tuple(members), table, _kinds(table, max(ALIKE, _SCATTERS * scatter)))
    return by_cluster


def _kinds(latency_s: np.ndarray, alike: float) -> np.ndarray:
    """Return the number of each latency's kind: a new kind begins where the next latency is clearly larger."""
    above = ~np.eye(len(latency_s), dtype=bool)
    values = np.unique(latency_s[above])
    begins = values[1:] > values[:-1] * (1 + alike)
    number = np.concatenate([[0], np.cumsum(begins)])
    kinds = np.full(latency_s.shape, -1)
    kinds[above] = number[np.searchsorted(values, latency_s[above])]
    return kinds
