"""Unusual properties of a platform that may surprise users who run programs on it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from platforms.model.platform import Platform
from platforms.survey import Connection, Survey, common_path, count_text, isolated_hosts, speed_text

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
