"""The description of a platform and its unusual properties: collected, as JSON, and as text for a terminal."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from platforms.model.platform import Cluster, Host, Platform, Power
from platforms.survey import (
    MOST_CLUSTERS,
    Connection,
    Group,
    Range,
    Survey,
    Zone,
    common_path,
    connections,
    count_text,
    groups_of,
    isolated_hosts,
    speed_text,
    survey,
)
from platforms.terminal.prose import folded_lines
from platforms.terminal.table import table_lines

_SHOWN = 3  # names in a sentence; ``Note.names`` has all


@dataclass(frozen=True)
class Note:
    """One unusual property, and everything that has it."""

    kind: str  # such as "single host"
    text: str
    names: tuple[str, ...]  # hosts, clusters, zones or links


def notes(platform: Platform, survey: Survey, between: Mapping[tuple[str, str], Connection]) -> list[Note]:
    """Return the notes on a platform; ``between`` are the connections of all clusters."""
    notes_found = [
        _without_route(platform, survey),
        _some_without_route(survey, between),
        _asymmetric(between),
        *_changes(platform),
        _wireless(survey),
        _without_links(survey),
        _single_hosts(platform),
        _split_zones(platform, survey),
        _slow_start(platform),
        _without_watts(platform),
        _disks(survey),
    ]
    return [note for note in notes_found if note is not None]


def some(names: Iterable[str]) -> str:
    """Return the first few names and the number of further ones, as text."""
    names = list(names)
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


def _without_route(platform: Platform, survey: Survey) -> Note | None:
    if len(platform.hosts) == 1:
        return Note("single host", "the platform has a single host: no message leaves it", (platform.hosts[0].name,))
    hosts = tuple(name for name in isolated_hosts(survey) if name in platform)
    if not hosts:
        return None
    return Note("no route", f"no route to or from any other host of the sample: {some(hosts)}", hosts)


def _some_without_route(survey: Survey, between: Mapping[tuple[str, str], Connection]) -> Note | None:
    isolated = set(isolated_hosts(survey))
    lacking = [pair for pair, connection in between.items() if connection.missing]
    if not lacking or isolated:
        return None
    names = [first if first == second else f"{first} and {second}" for first, second in lacking]
    return Note("no route", f"hosts without a route to each other, in or between: {some(names)}", tuple(names))


def _asymmetric(between: Mapping[tuple[str, str], Connection]) -> Note | None:
    names = [
        first if first == second else f"{first} and {second}"
        for (first, second), connection in between.items()
        if connection.asymmetric
    ]
    if not names:
        return None
    text = f"latency or bandwidth depend on the direction, in or between: {some(names)}"
    return Note("asymmetric", text, tuple(names))


def _changes(platform: Platform) -> list[Note]:
    by_kind = defaultdict(list)
    for change in platform.changes:
        by_kind[change.kind].append(change)
    return [
        Note(
            "profile",
            f"changes over time: {some(map(str, changes))}",
            tuple(change.name for change in changes),
        )
        for changes in by_kind.values()
    ]


def _wireless(survey: Survey) -> Note | None:
    routes = [route for route in survey.routes.values() if route is not None]
    names = {link.name for route in routes for link in route.links if link.sharing == "wifi"}
    if not names:
        return None
    text = f"Wi-Fi, whose bandwidth depends on the station and is not given here: {some(sorted(names))}"
    return Note("wifi", text, tuple(sorted(names)))


def _without_links(survey: Survey) -> Note | None:
    pairs = [pair for pair, route in survey.routes.items() if route is not None and not route.links]
    if not pairs:
        return None
    names = tuple(f"{a} to {b}" for a, b in pairs)
    text = f"latency but no links, so that the bandwidth is unlimited and not shared: {some(names)}"
    return Note("no links", text, names)


def _single_hosts(platform: Platform) -> Note | None:
    names = tuple(cluster.name for cluster in platform.clusters if len(cluster.hosts) == 1)
    if not names or len(platform.hosts) == 1:
        return None
    return Note("single host", f"{count_text(len(names), 'cluster')} of a single host: {some(names)}", names)


def _split_zones(platform: Platform, survey: Survey) -> Note | None:
    held = defaultdict(list)
    for cluster in platform.clusters:
        held[common_path(cluster, survey)[-1]].append(cluster)
    split = {zone: clusters for zone, clusters in held.items() if len(clusters) > 1}
    if not split:
        return None
    zone, clusters = next(iter(split.items()))
    more = f", as do {count_text(len(split) - 1, 'more zone')}" if len(split) > 1 else ""
    names = some(cluster.name for cluster in clusters)
    text = f"zone {zone} has hosts of several kinds and is several clusters: {names}{more}"
    return Note("several kinds", text, tuple(split))


def _slow_start(platform: Platform) -> Note | None:
    slow = [
        host for host in platform.hosts if host.pstates and host.speed_flops < max(p.speed_flops for p in host.pstates)
    ]
    if not slow:
        return None
    first = slow[0]
    best = speed_text(max(state.speed_flops for state in first.pstates))
    text = f"not at their highest level when a run begins: {some(host.name for host in slow)}"
    return Note("level", f"{text} ({speed_text(first.speed_flops)} of {best})", tuple(host.name for host in slow))


def _without_watts(platform: Platform) -> Note | None:
    names = tuple(cluster.name for cluster in platform.clusters if any(host.power is None for host in cluster.hosts))
    if not names or len(names) == len(platform.clusters):
        return None
    return Note("no watts", f"power is given for some clusters, but not for {some(names)}", names)


def _disks(survey: Survey) -> Note | None:
    zones = [zone for _, zone in survey.root.walk() if zone.disks]
    if not zones:
        return None
    count = count_text(sum(zone.disks for zone in zones), "disk")
    return Note("disks", f"{count}, which no kernel uses", tuple(zone.name for zone in zones))


@dataclass(frozen=True)
class Inspection:
    """A platform with the properties of a sample of its routes."""

    platform: Platform
    survey: Survey
    between: dict[tuple[str, str], Connection]  # within and between clusters
    notes: tuple[Note, ...]


def inspect(platform: Platform) -> Inspection:
    """Return the description of a platform.

    Raises:
        PlatformError: SimGrid cannot load the platform.
    """
    looked_at = survey(platform)
    clusters = groups_of(platform, looked_at, len(platform.clusters))
    between = connections(clusters, looked_at)
    return Inspection(platform, looked_at, between, tuple(notes(platform, looked_at, between)))


def zones_of(cluster: Cluster, looked_at: Survey) -> list[str]:
    """Return the names of the zones that directly contain the cluster's hosts, each once."""
    return list(dict.fromkeys(looked_at.path_of_host[host.name][-1] for host in cluster.hosts))


def as_json(inspection: Inspection) -> dict[str, Any]:
    """Return the complete description in SI units; infinite bandwidths are null."""
    platform, looked_at = inspection.platform, inspection.survey
    return {
        "name": platform.name,
        "file": str(platform.path),
        "content_hash": platform.content_hash,
        "network": platform.network,
        "options": dict(platform.options),
        "hosts": len(platform.hosts),
        "cores": sum(host.cores for host in platform.hosts),
        "links": looked_at.links,
        "clusters": [_cluster_json(cluster, looked_at) for cluster in platform.clusters],
        "zones": _zone_json(looked_at.root),
        "connections": [_connection_json(connection) for connection in inspection.between.values()],
        "sample": {
            "hosts_of_each_cluster_among_themselves": {
                cluster.name: len(names) for cluster, names in zip(platform.clusters, looked_at.inside, strict=True)
            },
            "hosts_of_each_cluster_towards_others": {
                cluster.name: len(names) for cluster, names in zip(platform.clusters, looked_at.across, strict=True)
            },
            "hosts_with_a_way_looked_for": looked_at.checked,
        },
        "changes": [asdict(change) for change in platform.changes],
        "notes": [asdict(note) for note in inspection.notes],
    }


def _cluster_json(cluster: Cluster, looked_at: Survey) -> dict[str, Any]:
    first = cluster.hosts[0]
    to_itself = looked_at.routes.get((first.name, first.name))
    return {
        "name": cluster.name,
        "zones": zones_of(cluster, looked_at),
        "hosts": [host.name for host in cluster.hosts],
        "cores": first.cores,
        "speed_flops": first.speed_flops,
        "levels": [{"speed_flops": p.speed_flops, "power": _power_json(p.power)} for p in first.pstates],
        "power": _power_json(first.power),
        "memory_Bps": first.memory_Bps,
        "to_itself": to_itself
        and {
            "latency_s": to_itself.latency_s,
            "bandwidth_Bps": _finite(to_itself.bandwidth_Bps),
            "links": list(to_itself.link_names),
        },
    }


def _power_json(power: Power | None) -> dict[str, Any] | None:
    return None if power is None else asdict(power)


def _zone_json(zone: Zone) -> dict[str, Any]:
    return {
        "name": zone.name,
        "routing": zone.routing,
        "hosts": len(zone.hosts),
        "routers": zone.routers,
        "disks": zone.disks,
        "zones": [_zone_json(child) for child in zone.children],
    }


def _connection_json(connection: Connection) -> dict[str, Any]:
    values = asdict(connection)
    if connection.bandwidth_Bps is not None:
        values["bandwidth_Bps"] = {key: _finite(value) for key, value in values["bandwidth_Bps"].items()}
    return values


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


_MOST_COLUMNS = 12  # in the wide tables of latency and bandwidth
_MOST_NARROW = 8
_MOST_CLUSTERS = 40  # lines in the table of clusters
_MOST_ZONES = 30  # lines in the table of zones


def as_text(inspection: Inspection, *, wide: bool = False) -> str:
    """Return tables in the units of data sheets: us, Gbit/s, Gflop/s; ``wide``: with levels and memory bandwidths."""
    platform, looked_at = inspection.platform, inspection.survey
    hosts, cores = len(platform.hosts), sum(host.cores for host in platform.hosts)
    network = f", network {platform.network}" if platform.network else ""
    head = [
        f"platform   {platform.name}{network}",
        f"file       {_from_here(platform.path)}",
        f"holds      {count_text(len(platform.clusters), 'cluster')}, {count_text(hosts, 'host')}, "
        f"{count_text(cores, 'core')}, {count_text(looked_at.links, 'link')}",
    ]
    head += [f"option     {key}:{value}" for key, value in platform.options]
    parts = ["\n".join(head), _clusters_text(platform, looked_at, wide=wide), _zones_text(looked_at.root)]
    groups = groups_of(platform, looked_at, _MOST_COLUMNS if wide else _MOST_NARROW)
    if len(platform.hosts) > 1:
        parts.append(_connections_text(groups, connections(groups, looked_at)))
        parts.append(_sample_text(platform, looked_at, groups))
    if inspection.notes:
        parts.append(
            "\n".join(["worth knowing", *folded_lines(f"  {note.kind}: {note.text}" for note in inspection.notes)])
        )
    return "\n\n".join(parts)


def _from_here(path: Path) -> Path:
    """Return the path relative to the current folder if it lies below it, else unchanged."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _clusters_text(platform: Platform, looked_at: Survey, *, wide: bool) -> str:
    powered = any(host.power for host in platform.hosts)
    remembered = wide and any(cluster.hosts[0].memory_Bps for cluster in platform.clusters)
    levelled = wide and any(cluster.hosts[0].pstates for cluster in platform.clusters)
    columns = ["cluster", "hosts", "cores", "Gflop/s"]
    columns += ["levels, Gflop/s"] * levelled + ["W idle", "W full"] * powered + ["memory GB/s"] * remembered
    rows = []
    for cluster in platform.clusters[:_MOST_CLUSTERS]:
        first = cluster.hosts[0]
        row = [cluster.name, str(len(cluster.hosts)), str(cluster.cores), _number(cluster.speed_flops / 1e9)]
        row += [_levels(first)] * levelled
        if powered:
            row += [_number(first.power.idle_w), _number(first.power.full_w)] if first.power else ["", ""]
        row += [_number(first.memory_Bps / 1e9) if first.memory_Bps else ""] * remembered
        rows.append([*row, _ends(cluster), ", ".join(zones_of(cluster, looked_at))])
    if all(row[-1] == row[0] for row in rows):  # each cluster is a zone
        lines = table_lines([[*columns, "host names"], *(row[:-1] for row in rows)], left=(0, len(columns)), wide=wide)
    else:
        lines = table_lines(
            [[*columns, "host names", "zone"], *rows], left=(0, len(columns), len(columns) + 1), wide=wide
        )
    if len(platform.clusters) > _MOST_CLUSTERS:
        lines.append(f"... {len(platform.clusters) - _MOST_CLUSTERS:,} more clusters: --json lists all")
    return "\n".join(lines)


def _levels(host: Host) -> str:
    speeds = [state.speed_flops / 1e9 for state in host.pstates]
    if len(speeds) <= 1:
        return ""
    return f"{len(speeds)}: {_number(min(speeds))}..{_number(max(speeds))}"


def _ends(cluster: Cluster) -> str:
    names = [host.name for host in cluster.hosts]
    return names[0] if len(names) == 1 else f"{names[0]} ... {names[-1]}" if len(names) > 2 else ", ".join(names)


def _zones_text(root: Zone) -> str:
    rows = [
        ["  " * depth + zone.name, zone.routing, str(len(zone.hosts)), str(zone.routers)] for depth, zone in root.walk()
    ]
    lines = table_lines([["zone", "routing", "hosts", "routers"], *rows[:_MOST_ZONES]], left=(0, 1))
    if len(rows) > _MOST_ZONES:
        lines.append(f"... {len(rows) - _MOST_ZONES:,} more zones: --json lists all")
    return "\n".join(lines)


def _connections_text(groups: Sequence[Group], between: Mapping[tuple[str, str], Connection]) -> str:
    tables = (("latency, us", "latency_s", 1e-6), ("bandwidth, Gbit/s", "bandwidth_Bps", 1e9 / 8))
    return "\n\n".join(_matrix(groups, between, *table) for table in tables)


def _matrix(
    groups: Sequence[Group], between: Mapping[tuple[str, str], Connection], title: str, value: str, unit: float
) -> str:
    """Return a table with a row and a column for each group, or one sentence if all values are equal."""

    def cell(first: str, second: str) -> str:
        connection = between.get((first, second)) or between.get((second, first))
        if connection is None:
            return "" if first == second else "?"  # a group of a single host has no connections within it
        if value == "bandwidth_Bps" and connection.narrowest == "wifi":
            return "Wi-Fi"
        span: Range | None = getattr(connection, value)
        return "no route" if span is None else _span(span, unit)

    names = [group.name for group in groups]
    rows = [[cell(first, second) for second in names] for first in names]
    values = {text for row in rows for text in row if text}
    if len(values) == 1:
        return f"{title}: {values.pop()} between any two hosts"
    return "\n".join(
        table_lines([[title, *names], *([name, *row] for name, row in zip(names, rows, strict=True))], left=(0,))
    )


def _sample_text(platform: Platform, looked_at: Survey, groups: Sequence[Group]) -> str:
    pairs = sum(a != b for a, b in looked_at.routes)
    hosts = len(platform.hosts)
    everything = pairs == hosts * (hosts - 1)
    lines = [
        "one way, of an idle network, before the factors of SimGrid's network model; bandwidth of the narrowest link; "
        + f"from the routes of all {pairs:,} pairs of hosts"
        if everything
        else "one way, of an idle network, before the factors of SimGrid's network model; bandwidth of the narrowest "
        f"link; from {pairs:,} of the {hosts * (hosts - 1):,} ordered pairs of hosts: up to "
        f"{max(map(len, looked_at.inside))} hosts of each cluster among themselves, "
        f"{max(map(len, looked_at.across))} towards other clusters",
    ]
    if any(len(group.clusters) > 1 for group in groups):
        lines.append("the tables combine clusters: --json lists each of them")
    if len(platform.clusters) > MOST_CLUSTERS:
        lines.append(f"between clusters: {MOST_CLUSTERS} of {len(platform.clusters):,}")
    return "\n".join(folded_lines(lines))


def _span(span: Range, unit: float) -> str:
    low, high = _number(span.low / unit), _number(span.high / unit)
    return low if low == high else f"{low}..{high}"


def _number(value: float) -> str:
    """Return a number with four significant digits, without a power of ten if that is readable."""
    if math.isinf(value):
        return "unlimited"
    return f"{value:.0f}" if 1e3 <= abs(value) < 1e7 else f"{value:.4g}"
