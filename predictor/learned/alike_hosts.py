"""The network of a generated grid between very many hosts: a way for each pair of clusters, whose hosts are alike.

The ways between three hosts of each cluster are read.  Every link on them belongs to one of both hosts, and its name
has the number of that host, or it is shared by all hosts of the two clusters.  So the way between any two hosts is
known without reading it: for millions of pairs, reading would take more memory than the evaluation.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from apps.spec.target import Target
from platforms.read.routes import routes_between
from predictor.dpgraph.instructions import Paths
from predictor.dpgraph.known import known_network
from predictor.dpgraph.network import NetworkModel

_READ = 3  # hosts of each cluster whose ways are read
_SHARED, _SOURCE, _DESTINATION = range(3)
Crossed = tuple[int, str]  # whose link it is; its name, which has {} in place of the number of its host


class _Way(NamedTuple):
    """The way from any host of a cluster to any of another, or of the same."""

    timing_class: int
    bound_Bps: float
    penalty: float
    links: tuple[tuple[Crossed, float], ...]  # with the bytes that one byte uses


class _Capacities(Mapping[str, float]):
    """Capacities of links: shared ones, then those of each host in turn."""

    def __init__(
        self, shared: Mapping[str, float], own: Sequence[Mapping[str, float]], hosts: Sequence[tuple[int, str]]
    ):
        self._shared, self._own, self._hosts = shared, own, hosts

    def __iter__(self) -> Iterator[str]:
        yield from self._shared
        for cluster, number in self._hosts:
            for name in self._own[cluster]:
                yield name.format(number)

    def __len__(self) -> int:
        return len(self._shared) + sum(len(self._own[cluster]) for cluster, _ in self._hosts)

    def __getitem__(self, name: str) -> float:
        if name in self._shared:
            return self._shared[name]
        for cluster, number in self._hosts:
            for pattern, capacity_Bps in self._own[cluster].items():
                if pattern.format(number) == name:
                    return capacity_Bps
        raise KeyError(name)


@dataclass(frozen=True)
class AlikeNetwork(NetworkModel):
    """A network between ranks of which each is on a host of its own, in clusters whose hosts are alike."""

    of_clusters: Mapping[tuple[int, int], _Way] = field(default_factory=dict)
    shared_Bps: Mapping[str, float] = field(default_factory=dict)
    own_Bps: Sequence[Mapping[str, float]] = ()  # by cluster: the links of a host
    cluster: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))  # by rank

    def paths_of(
        self, pairs: np.ndarray, nranks: int, placement: Sequence[str]
    ) -> tuple[np.ndarray, np.ndarray, Paths]:
        """Return the path of each of a program's pairs, the timing class of each path, and the paths."""
        source, destination = (part.astype(np.int32) for part in np.divmod(pairs, nranks))
        ways, own = list(self.of_clusters.values()), [list(names) for names in self.own_Bps]
        number = np.zeros((len(own), len(own)), np.int64)
        for at, ends in enumerate(self.of_clusters):
            number[ends] = at
        way_of_pair = number[self.cluster[source], self.cluster[destination]]
        shared = {name: at for at, name in enumerate(self.shared_Bps)}
        before = len(shared) + np.concatenate([[0], np.cumsum(np.array([len(names) for names in own])[self.cluster])])
        length = np.array([len(way.links) for way in ways])[way_of_pair]
        first = np.concatenate([[0], np.cumsum(length)])
        link, weight = np.empty(first[-1], np.int32), np.empty(first[-1])
        for at, (ends, way) in enumerate(self.of_clusters.items()):
            of_way = np.flatnonzero(way_of_pair == at)
            for place, ((whose, name), used) in enumerate(way.links):
                crossing = first[of_way] + place
                if whose == _SHARED:
                    link[crossing] = shared[name]
                else:
                    rank = (source if whose == _SOURCE else destination)[of_way]
                    link[crossing] = before[rank] + own[ends[whose - 1]].index(name)
                weight[crossing] = used
        capacity_Bps = np.empty(before[-1])
        capacity_Bps[: len(shared)] = list(self.shared_Bps.values())
        for cluster, names in enumerate(self.own_Bps):
            hosts = np.flatnonzero(self.cluster == cluster)
            for place, capacity in enumerate(names.values()):
                capacity_Bps[before[hosts] + place] = capacity
        columns = (np.array([getattr(way, name) for way in ways]) for name in ("bound_Bps", "penalty", "timing_class"))
        bound_Bps, penalty, timing_class = (column[way_of_pair] for column in columns)
        return (
            np.arange(len(pairs), dtype=np.int32),
            timing_class,
            Paths(bound_Bps, penalty, first, link, weight, capacity_Bps),
        )


def alike_network(target: Target, options: Mapping[str, str]) -> NetworkModel | None:
    """Return the network between the hosts of a target on a generated grid; None where hosts of a cluster may differ.

    Args:
        target: The target.
        options: As for ``known_network``; so are the errors.
    """
    platform, placement = target.platform, target.placement
    if platform.network is None or platform.changes or len(set(placement)) < len(placement):
        return None
    clusters: dict[str, int] = {}  # those that are used, numbered
    cluster = np.array([clusters.setdefault(platform.cluster_of(name).name, len(clusters)) for name in placement])
    chosen = _chosen(placement, cluster, len(clusters))
    if chosen is None:
        return None
    model = known_network(routes_between(platform, [(a, b) for a in chosen for b in chosen if a != b]), options)
    own = _own_links(model, chosen)
    of_clusters = None if own is None else _ways(model, chosen, own)
    if own is None or of_clusters is None:
        return None
    patterns = [own[name] for name in dict(zip(chosen.values(), chosen, strict=True)).values()]
    private = {name for host, names in own.items() for name in (pattern.format(_number(host)) for pattern in names)}
    shared = {name: capacity for name, capacity in model.capacity_Bps.items() if name not in private}
    hosts = list(zip(cluster.tolist(), map(_number, placement), strict=True))
    return AlikeNetwork(
        model.ways, _Capacities(shared, patterns, hosts), model.timing, model.protocol, polling=model.polling,
        of_clusters=of_clusters, shared_Bps=shared, own_Bps=patterns, cluster=cluster,
    )  # fmt: skip


def _chosen(placement: Sequence[str], cluster: np.ndarray, clusters: int) -> dict[str, int] | None:
    """Return the hosts whose ways are read and their clusters; None if a cluster has too few."""
    chosen: dict[str, int] = {}
    for number in range(clusters):
        ranks = np.flatnonzero(cluster == number)
        if len(ranks) < _READ:
            return None
        chosen |= {placement[rank]: number for rank in (ranks[0], ranks[len(ranks) // 2], ranks[-1])}
    return chosen


def _number(host: str) -> str:
    """Return the number at the end of a host's name."""
    return host[len(host.rstrip("0123456789")) :]


def _own_links(model: NetworkModel, chosen: Mapping[str, int]) -> dict[str, dict[str, float]] | None:
    """Return the links of each host, with {} for its number, and their capacities; None if hosts differ."""
    users: dict[str, list[set[str]]] = {}  # by link: the ends of the ways that cross it
    for ends, way in model.ways.items():
        for link in way.links:
            users.setdefault(link, []).append(set(ends))
    own: dict[str, dict[str, float]] = {host: {} for host in chosen}
    for link, of_ways in users.items():
        common: set[str] = set.intersection(*of_ways)
        if len(common) != 1:
            continue  # all share it, or it is between two hosts alone, which no pattern fits
        (host,) = common
        number = _number(host)
        if not number or number not in link or "{" in link:
            return None
        before, _, behind = link.rpartition(number)
        own[host][before + "{}" + behind] = model.capacity_Bps[link]
    of_cluster: dict[int, dict[str, float]] = {}
    alike = all(of_cluster.setdefault(chosen[host], links) == links for host, links in own.items())
    return own if alike else None


def _ways(
    model: NetworkModel, chosen: Mapping[str, int], own: Mapping[str, Mapping[str, float]]
) -> dict[tuple[int, int], _Way] | None:
    """Return the way between each two clusters, within one included; None if it differs from host to host."""
    found: dict[tuple[int, int], _Way] = {}
    names = {host: {pattern.format(_number(host)): pattern for pattern in links} for host, links in own.items()}
    private = {link for links in names.values() for link in links}
    for (a, b), way in model.ways.items():
        links = []
        for link, used in way.links.items():
            if link in names[a]:
                links.append(((_SOURCE, names[a][link]), used))
            elif link in names[b]:
                links.append(((_DESTINATION, names[b][link]), used))
            elif link in private:
                return None
            else:
                links.append(((_SHARED, link), used))
        made = _Way(way.timing_class, way.bound_Bps, way.penalty, tuple(links))
        if found.setdefault((chosen[a], chosen[b]), made) != made:
            return None
    return found
