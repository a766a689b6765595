"""What is asked of a platform of any size to describe it: its zones, and the routes of a sample of its hosts."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path
from typing import Any, TypeVar

from platforms.platform import Cluster, Platform, Route
from platforms.read import read_survey

MOST_CLUSTERS = 48  # between more of them, pairs are those of as many, evenly from the first to the last
MOST_CHECKED = 2048  # hosts whose way to and from the first of their cluster is looked for
# Clusters up to which so many hosts of each are looked at, among themselves and towards the other clusters.
_SAMPLES = ((8, 16, 4), (24, 8, 2), (math.inf, 6, 1))

T = TypeVar("T")
Pair = tuple[str, str]
Names = tuple[tuple[str, ...], ...]  # of hosts, cluster by cluster


@dataclass(frozen=True)
class Zone:
    """A zone of SimGrid's, with what it holds itself."""

    name: str
    routing: str  # such as "Full", "Floyd", "Star" (of a <cluster>), "FatTree", "Vivaldi", "Empty"
    hosts: tuple[str, ...]
    routers: int
    disks: int  # of its hosts
    children: tuple[Zone, ...]

    def walk(self) -> Iterator[tuple[int, Zone]]:
        """The zone and all below it, each with its depth from here, parents first."""
        yield 0, self
        for child in self.children:
            for depth, zone in child.walk():
                yield depth + 1, zone


@dataclass(frozen=True)
class Survey:
    """A platform's zones, and the routes that have been looked at."""

    root: Zone
    links: int  # that the platform declares, both directions of a duplex link counted
    inside: tuple[tuple[str, ...], ...]  # hosts of each cluster between all of which routes were asked for
    across: tuple[tuple[str, ...], ...]  # hosts of each cluster with routes to those of all others; (): none
    checked: int  # hosts whose way to and from the first of their cluster was looked for
    routes: dict[Pair, Route | None]  # None: SimGrid finds none

    @functools.cached_property
    def path_of_host(self) -> dict[str, tuple[str, ...]]:
        """The names of the zones around each host, from the root down."""
        paths: dict[str, tuple[str, ...]] = {}
        _collect_paths(self.root, (), paths)
        return paths


def survey(platform: Platform) -> Survey:
    """Asks SimGrid once; later calls for an equal platform answer from memory.

    Routes are asked in both directions: between hosts of each cluster, evenly from its first to its last, between some
    of them and some of all other clusters (of MOST_CLUSTERS of them), and between every host and the first one of its
    cluster.  Raises PlatformError for what SimGrid cannot load.
    """
    return _survey(platform.path, platform.content_hash, _Key(platform))


def evenly(things: Sequence[T], count: int) -> tuple[T, ...]:
    """``count`` of them from the first to the last, or all."""
    if len(things) <= count:
        return tuple(things)
    if count == 1:
        return (things[0],)
    return tuple(things[round(i * (len(things) - 1) / (count - 1))] for i in range(count))


class _Key:
    """A platform that is equal to another of the same clusters."""

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
    """The first two, which are neighbours in most topologies, and others evenly to the last."""
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
