"""Survey a platform of any size: its zones, and the routes between a sample of its hosts."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from typing import Any, TypeVar

from platforms.model.platform import Cluster, Platform, Route
from platforms.read.content import loadable
from platforms.read.read import read_survey

MOST_CLUSTERS = 48  # of more clusters, this many, evenly spaced, have routes between clusters examined
MOST_CHECKED = 2048  # hosts whose routes to and from the first host of their cluster are checked
# Number of clusters up to which the row applies, hosts sampled within each cluster, and towards other clusters.
_SAMPLES = ((8, 16, 4), (24, 8, 2), (math.inf, 6, 1))

T = TypeVar("T")
Pair = tuple[str, str]
Names = tuple[tuple[str, ...], ...]  # of hosts, cluster by cluster


@dataclass(frozen=True)
class Zone:
    """A SimGrid zone with its direct contents."""

    name: str
    routing: str  # such as "Full", "Floyd", "Star" (of a <cluster>), "FatTree", "Vivaldi", "Empty"
    hosts: tuple[str, ...]
    routers: int
    disks: int  # of its hosts
    children: tuple[Zone, ...]

    def walk(self) -> Iterator[tuple[int, Zone]]:
        """Yield the zone and all zones below it with their depth relative to it, parents first."""
        yield 0, self
        for child in self.children:
            for depth, zone in child.walk():
                yield depth + 1, zone


@dataclass(frozen=True)
class Survey:
    """A platform's zones, and the examined routes."""

    root: Zone
    links: int  # declared by the platform; the two directions of a duplex link count as two
    inside: tuple[tuple[str, ...], ...]  # sampled hosts of each cluster, for routes within the cluster
    across: tuple[tuple[str, ...], ...]  # sampled hosts of each cluster, for routes to other clusters; (): none
    checked: int  # hosts whose routes to and from the first host of their cluster were checked
    routes: dict[Pair, Route | None]  # None: SimGrid finds none

    @functools.cached_property
    def path_of_host(self) -> dict[str, tuple[str, ...]]:
        """Names of the zones that contain each host, from the root down."""
        paths: dict[str, tuple[str, ...]] = {}
        _collect_paths(self.root, (), paths)
        return paths


def survey(platform: Platform) -> Survey:
    """Return the zones and a sample of the routes of a platform.

    SimGrid is run once; later calls for an equal platform are answered from memory.  Routes are examined in both
    directions: between evenly spaced hosts of each cluster, between some of these and some of each other cluster (for
    at most MOST_CLUSTERS clusters), and between each host and the first one of its cluster.

    Raises:
        PlatformError: SimGrid cannot load the platform.
    """
    return _survey(loadable(platform), platform.content_hash, _Key(platform))


def evenly(things: Sequence[T], count: int) -> tuple[T, ...]:
    """Return ``count`` evenly spaced items including the first and the last, or all items if there are fewer."""
    if len(things) <= count:
        return tuple(things)
    if count == 1:
        return (things[0],)
    return tuple(things[round(i * (len(things) - 1) / (count - 1))] for i in range(count))


class _Key:
    """A cache key for a platform: two keys are equal if the platforms have the same clusters."""

    def __init__(self, platform: Platform):
        self.clusters = platform.clusters
        self._names = tuple((cluster.name, len(cluster.hosts), cluster.hosts[0].name) for cluster in self.clusters)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self._names == other._names

    def __hash__(self) -> int:
        return hash(self._names)


@functools.lru_cache(maxsize=8)
def _survey(path: Path, content_hash: str, key: _Key) -> Survey:
    _, among, towards = next(sample for sample in _SAMPLES if len(key.clusters) <= sample[0])
    inside = tuple(_sample(cluster, among) for cluster in key.clusters)
    looked_at = set(evenly(range(len(inside)), MOST_CLUSTERS))
    across = tuple(evenly(names, towards) if i in looked_at else () for i, names in enumerate(inside))
    hosts = [(cluster.hosts[0].name, host.name) for cluster in key.clusters for host in cluster.hosts]
    checked = evenly(hosts, MOST_CHECKED)
    tree, links, routes = read_survey(path, pairs := _pairs(inside, across, checked))
    return Survey(_zone(tree), links, inside, across, len(checked), dict(zip(pairs, routes, strict=True)))


def _sample(cluster: Cluster, count: int) -> tuple[str, ...]:
    """Return names of hosts: the first two, which are neighbours in most topologies, and evenly spaced others."""
    names = [host.name for host in cluster.hosts]
    return tuple(dict.fromkeys([*names[:2], *evenly(names, max(count - 1, 2))]))


def _pairs(inside: Names, across: Names, checked: Sequence[Pair]) -> list[Pair]:
    asked = [pair for names in inside for pair in product(names, names) if pair[0] != pair[1]]
    asked += [(names[0], names[0]) for names in inside]
    for some, others in combinations(across, 2):
        asked += [one_way for a, b in product(some, others) for one_way in ((a, b), (b, a))]
    asked += [one_way for a, b in checked if a != b for one_way in ((a, b), (b, a))]
    return list(dict.fromkeys(asked))


def _zone(tree: dict[str, Any]) -> Zone:
    children = tuple(map(_zone, tree["children"]))
    return Zone(tree["name"], tree["routing"], tuple(tree["hosts"]), tree["routers"], tree["disks"], children)


def _collect_paths(zone: Zone, above: tuple[str, ...], paths: dict[str, tuple[str, ...]]) -> None:
    here = (*above, zone.name)
    paths.update((host, here) for host in zone.hosts)
    for child in zone.children:
        _collect_paths(child, here, paths)
