"""Latency and bandwidth within and between the parts of a platform, from the routes of a sample of their hosts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

from platforms.inspect.survey import Pair, Survey
from platforms.platform import Cluster, Platform, Route


@dataclass(frozen=True)
class Group:
    """A cluster, or several where a platform has too many to be told one by one."""

    name: str  # of the cluster, or of the zone, or of the first and the last cluster
    zones: tuple[str, ...]  # around it, from the root down
    clusters: tuple[Cluster, ...]

    @property
    def hosts(self) -> int:
        """How many."""
        return sum(len(cluster.hosts) for cluster in self.clusters)


@dataclass(frozen=True)
class Range:
    """The smallest, mean and largest of some values."""

    low: float
    mean: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Range:
        """Raises ValueError for none."""
        low, high = min(values), max(values)
        # An infinite bandwidth has an infinite mean; and rounding shall not put a mean outside.
        return cls(low, min(max(sum(values) / len(values), low), high), high)


@dataclass(frozen=True)
class Connection:
    """What messages meet between two groups, or within one: ``first`` and ``second`` are then the same.

    Latency in s, one way, and bandwidth in byte/s of the narrowest link, on an idle network and before any factor of a
    network model.  None where not one of the routes that were looked at exists.
    """

    first: str
    second: str
    looked_at: int  # ordered pairs of hosts
    missing: int  # of them, those that have no route
    asymmetric: int  # unordered pairs, of which one way has another latency or bandwidth than the other, or none
    latency_s: Range | None
    bandwidth_Bps: Range | None
    links: Range | None  # of a route
    narrowest: str | None  # sharing policy of its narrowest link, "" where routes have no links; None: not all alike


def groups_of(platform: Platform, survey: Survey, most: int) -> tuple[Group, ...]:
    """At most ``most`` groups: the clusters where there are few enough, else those of a zone together.

    Zones are merged from the leaves up, until they are few enough.  Where that leaves a single one, groups are clusters
    that follow one another.
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
    if len(clusters) == 1:  # under its own name
        path = whole[clusters[0].name]
        return Group(path[-1], path[:-1], tuple(clusters))
    return Group(path[-1], path, tuple(clusters))


def _row(clusters: tuple[Cluster, ...], whole: Mapping[str, tuple[str, ...]]) -> Group:
    names = clusters[0].name if len(clusters) == 1 else f"{clusters[0].name} to {clusters[-1].name}"
    return Group(names, _common([whole[cluster.name][:-1] for cluster in clusters]), clusters)


def common_path(cluster: Cluster, survey: Survey) -> tuple[str, ...]:
    """The zones that are around every host of a cluster, from the root down."""
    return _common({survey.path_of_host[host.name] for host in cluster.hosts})


def _common(paths: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """What all begin with."""
    common = []
    for names in zip(*paths, strict=False):
        if len(set(names)) > 1:
            break
        common.append(names[0])
    return tuple(common)


def connections(groups: Sequence[Group], survey: Survey) -> dict[tuple[str, str], Connection]:
    """By the names of two groups, in their order; pairs of which no route was looked at are left out."""
    group_of = {host.name: i for i, group in enumerate(groups) for cluster in group.clusters for host in cluster.hosts}
    sampled = {name for names in survey.inside for name in names}
    by_groups: dict[tuple[int, int], dict[Pair, Route | None]] = defaultdict(dict)
    for (a, b), route in survey.routes.items():
        if a != b and a in sampled and b in sampled:  # not those that are only checked for their existence
            i, j = sorted((group_of[a], group_of[b]))
            by_groups[i, j][a, b] = route
    return {
        (groups[i].name, groups[j].name): _connection(groups[i].name, groups[j].name, by_groups[i, j])
        for i, j in combinations_with_replacement(range(len(groups)), 2)
        if (i, j) in by_groups
    }


def _connection(first: str, second: str, routes: dict[tuple[str, str], Route | None]) -> Connection:
    found = [route for route in routes.values() if route is not None]
    asymmetric = sum(a < b and _differ(one, routes.get((b, a))) for (a, b), one in routes.items())
    common = (first, second, len(routes), len(routes) - len(found), asymmetric)
    if not found:
        return Connection(*common, None, None, None, None)
    narrow = {_narrowest_sharing(route) for route in found}
    return Connection(
        *common,
        Range.of([route.latency_s for route in found]),
        Range.of([route.bandwidth_Bps for route in found]),
        Range.of([len(route.links) for route in found]),
        narrow.pop() if len(narrow) == 1 else None,
    )


def _differ(there: Route | None, back: Route | None) -> bool:
    if there is None or back is None:
        return (there is None) != (back is None)
    return not (
        _close(there.latency_s, back.latency_s) and _close(there.bandwidth_Bps, back.bandwidth_Bps)
    )  # SimGrid adds the latencies in the order of the links


def _close(a: float, b: float) -> bool:
    return a == b or abs(a - b) <= 1e-9 * max(abs(a), abs(b))


def _narrowest_sharing(route: Route) -> str:
    narrowest = min(route.links, key=lambda link: link.bandwidth_Bps, default=None)
    return "" if narrowest is None else narrowest.sharing


def isolated_hosts(survey: Survey) -> tuple[str, ...]:
    """Hosts between which and all others that were looked at there is no route, in one direction or the other.

    Other hosts may lack some of their routes: Connection.missing counts those.
    """
    out: dict[str, list[bool]] = defaultdict(list)
    back: dict[str, list[bool]] = defaultdict(list)
    for (a, b), route in survey.routes.items():
        if a != b:
            out[a].append(route is not None)
            back[b].append(route is not None)
    return tuple(host for host in out if not (any(out[host]) and any(back[host])))
