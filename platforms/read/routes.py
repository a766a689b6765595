"""The routes of platforms, kept in memory; the part of a platform that a run uses; platforms with faster parts."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from platforms.errors import PlatformError
from platforms.grids.xml import number_text, root_element, written_root
from platforms.model.platform import Link, Platform, Route
from platforms.read.content import loadable
from platforms.read.read import kept_file, read_platform, read_routes

_MOST_ROUTE_HOSTS = 64  # of a platform whose routes are kept; its 4,096 routes are read in 0.2 s
_PLATFORMS_KEPT = 64


@dataclass(eq=False)
class _Known:
    """The routes of one platform that have been read so far."""

    routes: dict[tuple[str, str], Route] = field(default_factory=dict)
    reads: int = 0

    def lacks(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return the pairs whose routes have not been read."""
        return [pair for pair in dict.fromkeys(pairs) if pair not in self.routes]

    def read(self, platform: Platform, pairs: Sequence[tuple[str, str]]) -> None:
        """Read the routes of these pairs."""
        self.routes.update(zip(pairs, read_routes(platform, pairs), strict=True))


def routes_between(platform: Platform, pairs: Sequence[tuple[str, str]]) -> list[Route]:
    """Return the routes of these pairs of host names, as read_routes.

    The first request reads only its own pairs.  The second request reads all routes of the platform, because more
    requests are likely to follow.

    Raises:
        PlatformError: As read_routes.
    """
    if len(platform.hosts) > _MOST_ROUTE_HOSTS:
        return read_routes(platform, pairs)
    known = _known(loadable(platform), platform.content_hash)
    if known.lacks(pairs):
        known.reads += 1
        if known.reads == 2:
            names = [host.name for host in platform.hosts]
            with suppress(PlatformError):  # not every pair of hosts needs to have a route
                known.read(platform, [(a, b) for a in names for b in names])
        if lacking := known.lacks(pairs):
            known.read(platform, lacking)
    return [known.routes[pair] for pair in pairs]


@functools.lru_cache(maxsize=_PLATFORMS_KEPT)
def _known(path: Path, content_hash: str) -> _Known:
    return _Known()


# With more hosts there are too many pairs of hosts to compare their routes, and few runs would turn out to be equal.
_MOST_HOSTS = 16
_PARTS_KEPT = 4096


def part_hash(platform: Platform, hosts: Sequence[str]) -> str:
    """Return a hash of the part of the platform that affects a run on these hosts.

    Equal parts of different platforms have the same hash.  For up to 16 hosts of a generated platform, the hash covers
    the hosts, the links of all routes between them, and the SimGrid options.  Otherwise it covers the whole platform,
    because a user's own file may contain what routes do not show, such as availability profiles.
    """
    used = tuple(dict.fromkeys(hosts))
    if platform.network is None or len(used) > _MOST_HOSTS:
        return platform.content_hash
    return _hash_of(platform, used)


@functools.lru_cache(maxsize=_PARTS_KEPT)
def _hash_of(platform: Platform, used: tuple[str, ...]) -> str:
    routes = routes_between(platform, [(a, b) for a in used for b in used])
    seen = (platform.options, [platform.host(name) for name in used], [(r.latency_s, r.links) for r in routes])
    return hashlib.sha256(repr(seen).encode()).hexdigest()


MOST_HOSTS = 64  # they have 4,096 routes
_SHARING = {"shared": "SHARED", "splitduplex": "SHARED", "fatpipe": "FATPIPE"}  # each direction is a link of its own
_ZONE = "changed"


# A <cluster> describes all its hosts at once, so the file lists each host, link and route separately.
def changed_platform(
    platform: Platform,
    hosts: Sequence[str],
    *,
    faster_hosts: Mapping[str, float] | None = None,
    faster_links: Mapping[str, float] | None = None,
) -> Platform:
    """Return some hosts of a platform and the links between them, with changed speeds.

    Run times on these hosts are those of the platform; their power and their other frequencies are left out.

    Args:
        platform: The platform.
        hosts: The hosts to keep.
        faster_hosts: Factors of the speed of hosts, by name.
        faster_links: Factors of the bandwidth of links, by SimGrid's name of one direction; the latency is divided by
            them.

    Raises:
        PlatformError: There are more than MOST_HOSTS hosts, or the platform has what such a file cannot describe.
    """
    hosts = list(dict.fromkeys(hosts))
    where = f"platform {platform.name}"
    if len(hosts) > MOST_HOSTS:
        raise PlatformError(where, f"{len(hosts)} hosts are too many to change single ones", f"Use up to {MOST_HOSTS}")
    if platform.changes_for(hosts):
        raise PlatformError(where, "its speeds change over time", "Use a platform without profiles")
    routes = _routes(platform, hosts)
    links = {link.name: link for route in routes for link in route.links}
    _check(where, routes, links)
    # Imported here because it is slow to import.
    from lxml import etree

    root = root_element(dict(platform.options), ())
    zone = etree.SubElement(root, "zone", id=_ZONE, routing="Full")
    for name in hosts:
        host = platform.host(name)
        speed_flops = host.speed_flops * (faster_hosts or {}).get(name, 1.0)
        etree.SubElement(zone, "host", id=name, speed=f"{number_text(speed_flops)}f", core=str(host.cores))
    for name, link in links.items():
        factor = (faster_links or {}).get(name, 1.0)
        wire = {
            "bandwidth": f"{number_text(link.bandwidth_Bps * factor)}Bps",
            "latency": f"{number_text(link.latency_s / factor)}s",
        }
        etree.SubElement(zone, "link", {"id": name, **wire, "sharing_policy": _SHARING[link.sharing]})
    for route in routes:
        element = etree.SubElement(zone, "route", src=route.source, dst=route.destination, symmetrical="NO")
        for link in route.links:
            etree.SubElement(element, "link_ctn", id=link.name)
    return read_platform(kept_file(written_root(root)), platform.name)


def _routes(platform: Platform, hosts: Sequence[str]) -> list[Route]:
    routes = routes_between(platform, [(a, b) for a in hosts for b in hosts if a != b])
    with suppress(PlatformError):  # not every platform has routes from a host to itself
        routes += [route for route in routes_between(platform, [(host, host) for host in hosts]) if route.links]
    return routes


def _check(where: str, routes: Sequence[Route], links: Mapping[str, Link]) -> None:
    """Raise PlatformError for what links and routes in a file of their own cannot describe."""
    for link in links.values():
        if link.sharing not in _SHARING:
            raise PlatformError(where, f"link {link.name!r} is {link.sharing}", "Use a platform without such links")
    for route in routes:
        latency_s = sum(link.latency_s for link in route.links)
        if not route.links or abs(route.latency_s - latency_s) > 1e-9 * max(route.latency_s, 1e-9):
            what = f"the route from {route.source} to {route.destination} has latency beside that of its links"
            raise PlatformError(where, what, "Use a platform whose routes consist of links")
