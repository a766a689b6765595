"""Survey what a platform holds and what its hosts reach."""

from __future__ import annotations

import functools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, product
from pathlib import Path
from typing import Any, TypeVar

from platforms.model.platform import Cluster, Platform, Route
from platforms.read.content import loadable
from platforms.read.read import read_survey

Number = TypeVar("Number", int, float)
_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def bandwidth_text(bandwidth_Bps: float) -> str:
    """Return a bandwidth in bit/s with a prefix, or "unlimited" if it is infinite."""
    if math.isinf(bandwidth_Bps):
        return "unlimited"
    return _prefixed(bandwidth_Bps * 8, "bit/s")


def speed_text(speed_flops: float) -> str:
    """Return a speed in flop/s with a prefix."""
    return _prefixed(speed_flops, "flop/s")


def latency_text(latency_s: float) -> str:
    """Return a latency in s, ms, µs or ns."""
    for unit_s, unit in _TIMES:
        if latency_s >= unit_s * 0.9995:
            return f"{_digits(latency_s / unit_s)} {unit}"
    return "0 s" if latency_s == 0 else f"{latency_s:.3g} s"


def range_text(low: Number, high: Number, text: Callable[[Number], str]) -> str:
    """Return "low to high", each formatted by ``text``, or one text if both are the same."""
    first, last = text(low), text(high)
    return first if first == last else f"{first} to {last}"


def count_text(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, such as "1 host" or "12 hosts"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def _prefixed(value: float, unit: str) -> str:
    for size, prefix in _PREFIXES:
        if value >= size * 0.9995:
            return f"{_digits(value / size)} {prefix}{unit}"
    return f"{value:.3g} {unit}"


def _digits(value: float) -> str:
    """Return a number with three significant digits and without a power of ten."""
    text = f"{value:.3g}" if value < 1000 else f"{value:.0f}"
    return text


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


@dataclass(frozen=True)
class Group:
    """A cluster, or several clusters if a platform has too many to list each."""

    name: str  # of the cluster, of the zone, or of the first and the last cluster
    zones: tuple[str, ...]  # enclosing zones, from the root down
    clusters: tuple[Cluster, ...]

    @property
    def hosts(self) -> int:
        """Number of hosts."""
        return sum(len(cluster.hosts) for cluster in self.clusters)


@dataclass(frozen=True)
class Range:
    """The smallest, mean and largest of several values."""

    low: float
    mean: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Range:
        """Return the range of these values.

        Raises:
            ValueError: There are no values.
        """
        low, high = min(values), max(values)
        # Rounding must not put the mean outside the range; with an infinite bandwidth the mean is infinite.
        return cls(low, min(max(sum(values) / len(values), low), high), high)


@dataclass(frozen=True)
class Connection:
    """Latency and bandwidth between two groups, or within a group if ``first`` and ``second`` are the same.

    Latencies are one way in s; bandwidths are those of the narrowest link in byte/s.  Both hold on an idle network
    before any correction factor of a network model, and are None if no route of the sample exists.
    """

    first: str
    second: str
    looked_at: int  # examined ordered pairs of hosts
    missing: int  # number of these pairs without a route
    asymmetric: int  # unordered pairs whose two directions differ in latency, bandwidth or existence of a route
    latency_s: Range | None
    bandwidth_Bps: Range | None
    links: Range | None  # number of links of a route
    narrowest: str | None  # sharing policy of the narrowest link, "" for routes without links; None: routes differ


def groups_of(platform: Platform, survey: Survey, most: int) -> tuple[Group, ...]:
    """Return at most ``most`` groups: single clusters if there are few enough, else the clusters of each zone.

    Zones are merged from the leaves up until they are few enough.  If that leaves only one group, the groups are
    consecutive clusters instead.
    """
    whole = {cluster.name: (*common_path(cluster, survey), cluster.name) for cluster in platform.clusters}
    for depth in range(max(map(len, whole.values())), 0, -1):
        parts = defaultdict(list)
        for cluster in platform.clusters:
            parts[whole[cluster.name][:depth]].append(cluster)
        if len(parts) <= most and (len(parts) > 1 or len(platform.clusters) == 1):
            return tuple(_group(path, clusters, whole) for path, clusters in parts.items())
    number = -(-len(platform.clusters) // most)
    rows = [platform.clusters[i : i + number] for i in range(0, len(platform.clusters), number)]
    return tuple(_row(row, whole) for row in rows)


def _group(path: tuple[str, ...], clusters: list[Cluster], whole: Mapping[str, tuple[str, ...]]) -> Group:
    if len(clusters) == 1:  # the group keeps the name of its cluster
        path = whole[clusters[0].name]
        return Group(path[-1], path[:-1], tuple(clusters))
    return Group(path[-1], path, tuple(clusters))


def _row(clusters: tuple[Cluster, ...], whole: Mapping[str, tuple[str, ...]]) -> Group:
    names = clusters[0].name if len(clusters) == 1 else f"{clusters[0].name} to {clusters[-1].name}"
    return Group(names, _common([whole[cluster.name][:-1] for cluster in clusters]), clusters)


def common_path(cluster: Cluster, survey: Survey) -> tuple[str, ...]:
    """Return the zones that contain all hosts of a cluster, from the root down."""
    return _common({survey.path_of_host[host.name] for host in cluster.hosts})


def _common(paths: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the common beginning of all paths."""
    common = []
    for names in zip(*paths, strict=False):
        if len(set(names)) > 1:
            break
        common.append(names[0])
    return tuple(common)


def connections(groups: Sequence[Group], survey: Survey) -> dict[tuple[str, str], Connection]:
    """Return the connections by the names of two groups, in the order of the groups.

    Pairs of groups without an examined route are left out.
    """
    group_of = {host.name: i for i, group in enumerate(groups) for cluster in group.clusters for host in cluster.hosts}
    sampled = {name for names in survey.inside for name in names}
    by_groups: dict[tuple[int, int], dict[Pair, Route | None]] = defaultdict(dict)
    for (a, b), route in survey.routes.items():
        if a != b and a in sampled and b in sampled:  # leaves out routes that are only checked for existence
            i, j = sorted((group_of[a], group_of[b]))
            by_groups[i, j][a, b] = route
    return {
        (groups[i].name, groups[j].name): _connection(groups[i].name, groups[j].name, by_groups[i, j])
        for i, j in combinations_with_replacement(range(len(groups)), 2)
        if (i, j) in by_groups
    }


def _connection(first: str, second: str, routes: dict[tuple[str, str], Route | None]) -> Connection:
    routes_there = [route for route in routes.values() if route is not None]
    asymmetric = sum(a < b and _differ(route, routes.get((b, a))) for (a, b), route in routes.items())
    common = (first, second, len(routes), len(routes) - len(routes_there), asymmetric)
    if not routes_there:
        return Connection(*common, None, None, None, None)
    narrow = {_narrowest_sharing(route) for route in routes_there}
    return Connection(
        *common,
        Range.of([route.latency_s for route in routes_there]),
        Range.of([route.bandwidth_Bps for route in routes_there]),
        Range.of([len(route.links) for route in routes_there]),
        narrow.pop() if len(narrow) == 1 else None,
    )


def _differ(there: Route | None, back: Route | None) -> bool:
    if there is None or back is None:
        return (there is None) != (back is None)
    return not (
        _close(there.latency_s, back.latency_s) and _close(there.bandwidth_Bps, back.bandwidth_Bps)
    )  # close, not equal: SimGrid adds the latencies in the order of the links


def _close(a: float, b: float) -> bool:
    return a == b or abs(a - b) <= 1e-9 * max(abs(a), abs(b))


def _narrowest_sharing(route: Route) -> str:
    narrowest = min(route.links, key=lambda link: link.bandwidth_Bps, default=None)
    return "" if narrowest is None else narrowest.sharing


def isolated_hosts(survey: Survey) -> tuple[str, ...]:
    """Return the hosts without any route to, or without any route from, the other hosts of the sample.

    Connection.missing counts the missing routes of other hosts.
    """
    out: dict[str, list[bool]] = defaultdict(list)
    back: dict[str, list[bool]] = defaultdict(list)
    for (a, b), route in survey.routes.items():
        if a != b:
            out[a].append(route is not None)
            back[b].append(route is not None)
    return tuple(host for host in out if not (any(out[host]) and any(back[host])))
