"""Distances between the hosts of a cluster, by ping-pongs of one byte between all of them.

In most clusters every pair is equally far; then few pairs are measured.  In a fat tree, a torus or a dragonfly some
pairs have more switches between them, which the latency shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

MOST_HOSTS = 64  # of a cluster whose pairs are all measured: their number grows with the square
MOST_DISTANCES = 8  # of a cluster: latencies that differ more are not those of a few kinds of paths
ALIKE = 0.02  # relative: exact latencies that differ by less are the same
_SCATTERS = 20.0  # noisy latencies are the same within this multiple of the scatter of the ping-pongs
_LEAST_HOSTS = 3

Pair = tuple[str, str]


def first_pairs(hosts: Mapping[str, Sequence[str]]) -> list[Pair]:
    """Return the pairs whose latency is measured first: of the first host and all others, and of neighbours in order.

    Args:
        hosts: The hosts in use by cluster.
    """
    pairs: dict[Pair, None] = {}
    for members in hosts.values():
        if _LEAST_HOSTS <= len(members) <= MOST_HOSTS:
            pairs |= dict.fromkeys((members[0], other) for other in members[1:])
            pairs |= dict.fromkeys(pairwise(members))
    return list(pairs)


def further_pairs(
    hosts: Mapping[str, Sequence[str]], latency_s: Mapping[Pair, float], scatter: Mapping[str, float]
) -> list[Pair]:
    """Return all other pairs of the clusters whose first pairs differ.

    Args:
        hosts: The hosts in use by cluster.
        latency_s: The latencies of the first pairs.
        scatter: As for ``distances``.
    """
    pairs = []
    for c, members in hosts.items():
        first = np.array([latency_s[pair] for pair in combinations(members, 2) if pair in latency_s])
        if len(first) and first.max() > first.min() * (1 + _alike(c, scatter)):
            pairs += [pair for pair in combinations(members, 2) if pair not in latency_s]
    return pairs


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
    hosts: Mapping[str, Sequence[str]], latency_s: Mapping[Pair, float], scatter: Mapping[str, float]
) -> dict[str, Distances]:
    """Return the distances inside each cluster of which all pairs were measured.

    Args:
        hosts: The hosts in use by cluster.
        latency_s: The measured latencies.
        scatter: By cluster: the median relative error of its ping-pongs around their lines; 0 in simulation.
    """
    by_cluster = {}
    for c, members in hosts.items():
        if len(members) < _LEAST_HOSTS or not all(pair in latency_s for pair in combinations(members, 2)):
            continue
        table = np.zeros((len(members), len(members)))
        for (i, a), (j, b) in combinations(enumerate(members), 2):
            table[i, j] = table[j, i] = latency_s[a, b]
        by_cluster[c] = Distances(tuple(members), table, _kinds(table, _alike(c, scatter)))
    return by_cluster


def _alike(c: str, scatter: Mapping[str, float]) -> float:
    """Return the relative difference of latencies up to which they are the same."""
    return max(ALIKE, _SCATTERS * scatter.get(c, 0.0))


def _kinds(latency_s: np.ndarray, alike: float) -> np.ndarray:
    """Return the number of each latency's kind: a new kind begins where the next latency is clearly larger."""
    above = ~np.eye(len(latency_s), dtype=bool)
    values = np.unique(latency_s[above])
    begins = values[1:] > values[:-1] * (1 + alike)
    number = np.concatenate([[0], np.cumsum(begins)])
    kinds = np.full(latency_s.shape, -1)
    kinds[above] = number[np.searchsorted(values, latency_s[above])]
    return kinds
