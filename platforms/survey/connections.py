"""Latency and bandwidth within and between the parts of a platform, from the routes of a sample of their hosts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

from platforms.model.platform import Cluster, Platform, Route
from platforms.survey.survey import Pair, Survey


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
