"""Choose the parts that a picture of a platform shows: clusters, hosts if there are few, or whole zones."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from platforms.model.platform import Host, Platform, Route
from platforms.picture.link_graph import LinkGraph, Span, link_graph
from platforms.survey import (
    Connection,
    Group,
    Survey,
    bandwidth_text,
    connections,
    count_text,
    groups_of,
    latency_text,
    range_text,
    speed_text,
)

MOST_PARTS = 40
_MOST_HOSTS_OF_ONE = 64  # a single cluster of up to this many hosts is drawn host by host
_MOST_HOSTS = 24  # so are zones that are several clusters, if they have at most this many hosts together
_MOST_NAMED_HOSTS = 24
_FEW_PARTS = 12  # with more parts, a property common to all is written only once
_MOST_DISTANCES = 15
_MOST_OF_A_MESH = 45
_MOST_SPANS = 200
_LONGEST_NAME = 26


@dataclass(frozen=True)
class Part:
    """A box of the picture."""

    name: str  # "" for hosts that are too many to be named
    lines: tuple[str, ...]  # text below the name
    zones: tuple[str, ...]  # enclosing zones, from the root down
    hosts: tuple[str, ...]


@dataclass(frozen=True)
class Hub:
    """A vertex that replaces lines between all pairs of parts when there are too many lines to be distinguished."""

    vertex: int
    lines: tuple[str, str]
    latency_s: float  # the largest of the replaced lines
    bandwidth_Bps: float  # the largest of the replaced lines; infinite if they have no links


@dataclass(frozen=True)
class Parts:
    """The parts of a picture and the links between them."""

    parts: tuple[Part, ...]
    graph: LinkGraph
    notes: tuple[str, ...]  # what is combined, left out, or common to all parts
    hub: Hub | None = None


def parts_of(platform: Platform, survey: Survey) -> Parts:
    """Return at most MOST_PARTS groups, or _MOST_HOSTS_OF_ONE hosts, with the links between them."""
    if 1 < len(platform.hosts) <= _MOST_HOSTS_OF_ONE and len(platform.clusters) == 1:
        return _hosts_of_one(platform, survey)
    return _parts(*_groups(platform, survey))


def _hosts_of_one(platform: Platform, survey: Survey) -> Parts:
    """Return the hosts of a single cluster, or the whole cluster if its links are too many to be distinguished."""
    whole = [
        _parts(tuple(_host_part(host, survey, named=named) for host in platform.hosts), survey, notes)
        for named, notes in ((True, []), (False, [f"Each square is a host: {_kind(platform.hosts[0])}"]))
    ]
    graph = whole[0].graph
    if len(graph.buses) > 2 or len(graph.spans) > _MOST_SPANS:
        routing = next(zone.routing for _, zone in survey.root.walk() if zone.hosts)
        parts, survey, notes = _groups(platform, survey)
        return _parts(parts, survey, [*notes, f"Its {survey.links:,} links (zone of kind {routing}) are not drawn"])
    dense = len(graph.spans) > 1.5 * len(platform.hosts)
    return whole[dense or len(platform.hosts) > _MOST_NAMED_HOSTS]


def _parts(parts: tuple[Part, ...], survey: Survey, notes: list[str]) -> Parts:
    routes = _routes(parts, survey)
    beside_s = [route.latency_s - sum(link.latency_s for link in route.links) for route in routes if route.links]
    if beside_s and max(beside_s) > 1e-9:  # coordinates of a Vivaldi zone
        between = range_text(max(min(beside_s), 0.0), max(beside_s), latency_text)
        notes = [*notes, f"Beside the latencies of links, by distance: {between}"]
    return _with_hub(Parts(parts, link_graph(_index(parts), routes), tuple(notes)))


def _groups(platform: Platform, survey: Survey) -> tuple[tuple[Part, ...], Survey, list[str]]:
    groups = groups_of(platform, survey, MOST_PARTS)
    within = connections(groups, survey)
    notes = []
    if any(len(group.clusters) > 1 for group in groups):
        notes.append(f"Too many clusters to be drawn one by one: {count_text(len(groups), 'box', 'boxes')}")
    inside = [_inside_text(within.get((group.name, group.name))) for group in groups]
    said = {text for text in inside if text}
    alike = len(said) == 1 and len(groups) > _FEW_PARTS
    if alike:
        notes.append(f"Inside each cluster of several hosts: {said.pop()}")
    short = len(groups) > _FEW_PARTS
    one_by_one = _told_by_host(groups)
    parts: list[Part] = []
    for group, text in zip(groups, inside, strict=True):
        if group.zones in one_by_one:
            parts += [_host_part(host, survey, named=True) for cluster in group.clusters for host in cluster.hosts]
        else:
            parts.append(_group_part(group, "" if alike else text, short=short))
    return tuple(parts), survey, notes


def _told_by_host(groups: tuple[Group, ...]) -> set[tuple[str, ...]]:
    """Return the zones that are several clusters because their hosts differ; names of these clusters mean nothing."""
    clusters = Counter(group.zones for group in groups)
    several = {zones for zones, count in clusters.items() if count > 1}
    hosts = sum(group.hosts for group in groups if group.zones in several)
    return several if hosts <= _MOST_HOSTS else set()


def _inside_text(inside: Connection | None) -> str:
    """Return bandwidth and latency between hosts of one group as text; "" for one host or without routes."""
    if inside is None or inside.latency_s is None or inside.bandwidth_Bps is None:
        return ""
    rate = range_text(inside.bandwidth_Bps.low, inside.bandwidth_Bps.high, bandwidth_text)
    return f"{rate}, {range_text(inside.latency_s.low, inside.latency_s.high, latency_text)}"


def _with_hub(shown: Parts) -> Parts:
    """Replace many latencies by distance, or a mesh of many links, by one vertex."""
    graph = shown.graph
    apart = [span for span in graph.spans if not span.links and span.latency_s > 0]
    meshed = [span for span in graph.spans if span.links and max(span.first, span.second) < graph.parts]
    ends = len({end for span in meshed for end in (span.first, span.second)})
    if len(apart) > _MOST_DISTANCES:
        gone, head = apart, "latency by distance"
    elif len(meshed) > _MOST_OF_A_MESH and len(meshed) == ends * (ends - 1) // 2:
        gone, head = meshed, f"a link for each of {len(meshed)} pairs"
    else:
        return shown
    latencies_s = [span.latency_s for span in gone]
    rates_Bps = [span.bandwidth_Bps for span in gone]
    text = range_text(min(latencies_s), max(latencies_s), latency_text)
    if gone is meshed:
        text = f"{range_text(min(rates_Bps), max(rates_Bps), bandwidth_text)}, {text}"
    hub = Hub(graph.vertices[-1] + 1, (head, text), max(latencies_s), max(rates_Bps))
    around = sorted({end for span in gone for end in (span.first, span.second)})
    replaced = set(map(id, gone))
    spans = tuple(span for span in graph.spans if id(span) not in replaced)
    spans += tuple(Span(end, hub.vertex, ()) for end in around)
    graph = LinkGraph(graph.parts, spans, graph.buses, (*graph.vertices, hub.vertex))
    return replace(shown, graph=graph, hub=hub)


def _index(parts: tuple[Part, ...]) -> dict[str, int]:
    return {host: i for i, part in enumerate(parts) for host in part.hosts}


def _routes(parts: tuple[Part, ...], survey: Survey) -> list[Route]:
    """Return the routes between hosts that are parts of their own or belong to the sample of their cluster."""
    shown = {name for names in survey.inside for name in names}
    shown.update(part.hosts[0] for part in parts if len(part.hosts) == 1)
    return [
        route for (a, b), route in survey.routes.items() if route is not None and a != b and a in shown and b in shown
    ]


def _host_part(host: Host, survey: Survey, *, named: bool) -> Part:
    lines = (_kind(host),) if named else ()
    return Part(_shortened(host.name) if named else "", lines, survey.path_of_host[host.name], (host.name,))


def _kind(host: Host) -> str:
    cores = f"{host.cores} cores of " if host.cores > 1 else ""
    return f"{cores}{speed_text(host.speed_flops)}"


def _group_part(group: Group, inside: str, *, short: bool) -> Part:
    hosts = tuple(host.name for cluster in group.clusters for host in cluster.hosts)
    cores = sorted({cluster.cores for cluster in group.clusters})
    speeds = sorted({cluster.speed_flops for cluster in group.clusters})
    count = count_text(len(hosts), "host")
    if len(group.clusters) > 1:
        count = f"{count_text(len(group.clusters), 'cluster')}, {count}"
    if cores != [1]:
        count += f" of {range_text(cores[0], cores[-1], str)} cores"
    speed = range_text(speeds[0], speeds[-1], speed_text)
    lines = [f"{count}, {speed}"] if short and len(group.clusters) == 1 else [count, speed]
    if inside:
        lines.append(f"inside: {inside}")
    return Part(_shortened(group.name), tuple(lines), group.zones, hosts)


def _shortened(name: str) -> str:
    """Return a name; a long one without its middle."""
    if len(name) <= _LONGEST_NAME:
        return name
    tail = _LONGEST_NAME // 3
    return f"{name[: _LONGEST_NAME - tail - 1]}…{name[-tail:]}"
