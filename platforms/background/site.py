"""Platforms with background load: their clusters, the links between them, and the platform under a drawn load."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from platforms.background.statement import Draw
from platforms.errors import PlatformError
from platforms.grids.grid import Grid, WanLink
from platforms.grids.xml import Profile, add_profile, number_text, platform_xml
from platforms.model.platform import Link, Platform, Route
from platforms.read.content import loadable, profiles
from platforms.read.read import kept_file, read_platform
from platforms.read.routes import routes_between
from platforms.survey import survey

_HALVES = ("_UP", "_DOWN")  # ends of SimGrid's names of the two directions of a duplex link


@dataclass(frozen=True)
class SiteCluster:
    """A cluster of a platform."""

    name: str
    host_names: tuple[str, ...]
    cores: int  # of a host


@dataclass(frozen=True)
class SiteLink:
    """A wide-area link of a platform; both directions of a duplex link are one."""

    name: str  # the id in the file
    bandwidth_Bps: float
    latency_s: float
    duplex: bool
    pairs: frozenset[tuple[str, str]]  # names of the clusters whose messages cross it

    @property
    def hub_of(self) -> str | None:
        """The cluster that all of several pairs have in common, or None if there is none."""
        common = frozenset.intersection(*map(frozenset, self.pairs))
        return next(iter(common)) if len(common) == 1 else None


@dataclass(frozen=True)
class Site:
    """A platform in a file, with its reduced wide-area links."""

    platform: Platform
    clusters: tuple[SiteCluster, ...]
    wan_links: tuple[SiteLink, ...]
    quiet: Mapping[str, SiteLink]  # the wide-area links by name, without load
    _known: dict[tuple[str, str], Route] = field(default_factory=dict, repr=False, compare=False)

    @property
    def name(self) -> str:
        """The name of the platform."""
        return self.platform.name

    def routes(self, pairs: Iterable[tuple[str, str]]) -> list[Route]:
        """Return the routes of these pairs of hosts over the reduced wide-area links."""
        asked = list(pairs)
        lacking = [pair for pair in dict.fromkeys(asked) if pair not in self._known]
        if lacking:
            self._known.update(zip(lacking, routes_between(self.platform, lacking), strict=True))
        left = {link.name: link for link in self.wan_links if link != self.quiet[link.name]}
        return [_over(self._known[pair], left) if left else self._known[pair] for pair in asked]

    def loaded(self, bandwidth: Mapping[str, float], latency: Mapping[str, float]) -> Site:
        """Return the site with these shares of the bandwidths and these factors of the latencies, by link."""
        left = tuple(
            replace(
                link,
                bandwidth_Bps=link.bandwidth_Bps * bandwidth[link.name],
                latency_s=link.latency_s * latency[link.name],
            )
            for link in self.wan_links
        )
        return replace(self, wan_links=left)

    def crossed(self, here: str, there: str) -> Iterator[SiteLink]:
        """Yield the wide-area links that messages between two clusters cross."""
        pair = _pair(here, there)
        yield from (link for link in self.wan_links if pair in link.pairs)

    def written(self, shares: Sequence[Profile]) -> Platform:
        """Return the platform of a file with these links, and with these profiles of its hosts."""
        # Imported here because it is slow to import.
        from lxml import etree

        tree = etree.parse(str(loadable(self.platform)), etree.XMLParser(resolve_entities=False, no_network=True))
        of_id = {element.get("id"): element for element in tree.iter("link")}
        for link in self.wan_links:
            of_id[link.name].set("bandwidth", f"{number_text(link.bandwidth_Bps)}Bps")
            of_id[link.name].set("latency", f"{number_text(link.latency_s)}s")
        zone = next(tree.getroot().iter("zone"))
        for profile in shares:
            add_profile(zone, profile)
        return read_platform(kept_file(etree.tostring(tree, xml_declaration=True, encoding="UTF-8")), self.name)


def _over(route: Route, left: Mapping[str, SiteLink]) -> Route:
    """Return a route over reduced links, given by name."""
    links, added_s = [], 0.0
    for link in route.links:
        link_left = left.get(_id_of(link))
        if link_left is not None:
            added_s += link_left.latency_s - link.latency_s
            link = replace(link, bandwidth_Bps=link_left.bandwidth_Bps, latency_s=link_left.latency_s)
        links.append(link)
    return replace(route, links=tuple(links), latency_s=route.latency_s + added_s)


def _id_of(link: Link) -> str:
    """Return the name of a link without its direction."""
    for half in _HALVES:
        if link.name.endswith(half):
            return link.name.removesuffix(half)
    return link.name


def _pair(here: str, there: str) -> tuple[str, str]:
    return (here, there) if here <= there else (there, here)


def site_of(platform: Platform, patterns: Sequence[str] = ()) -> Site:
    """Return the site of a platform.

    Its wide-area links are those that messages between clusters cross and messages inside clusters do not, in the
    sample of routes examined by platforms.show, without the link of a host that is a cluster by itself; or those whose
    names fit a pattern, such as ``renater-*``.

    Raises:
        PlatformError: The platform is compiled or changes by itself, a pattern fits no link, or the file does not
            declare a wide-area link.
    """
    _check_file(platform)
    inside, between = _crossed(platform)
    shared_links = _without_own(platform, [name for name in between if name not in inside])
    if patterns:
        for pattern in patterns:
            if not any(fnmatchcase(name, pattern) for name in between):
                problem = f"links: no link between clusters fits {pattern!r}"
                known = ", ".join(list(between)[:8]) or "none"
                raise PlatformError(f"platform {platform.name}", problem, f"Links between them: {known}")
        shared_links = [name for name in between if any(fnmatchcase(name, pattern) for pattern in patterns)]
    _check_declared(platform, shared_links)
    links = tuple(
        SiteLink(name, link.bandwidth_Bps, link.latency_s, link.name != name, frozenset(between[name][1]))
        for name in shared_links
        for link in [between[name][0]]
    )
    clusters = tuple(SiteCluster(cluster.name, tuple(host.name for host in cluster.hosts), cluster.cores)
                     for cluster in platform.clusters)  # fmt: skip
    return Site(platform, clusters, links, {link.name: link for link in links})


def _crossed(platform: Platform) -> tuple[set[str], dict[str, tuple[Link, set[tuple[str, str]]]]]:
    """Return the links inside clusters, and those between clusters with the pairs of clusters that cross them."""
    inside: set[str] = set()
    links: dict[str, Link] = {}
    pairs: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for (a, b), route in survey(platform).routes.items():
        here, there = platform.cluster_of(a).name, platform.cluster_of(b).name
        for link in route.links if route is not None else ():
            if here == there:
                inside.add(_id_of(link))
            else:
                links.setdefault(_id_of(link), link)
                pairs[_id_of(link)].add(_pair(here, there))
    return inside, {name: (link, pairs[name]) for name, link in links.items()}


def _without_own(platform: Platform, bridged: Sequence[str]) -> list[str]:
    """Return the links without those of hosts that are clusters by themselves and whose messages cross others too."""
    alone = {cluster.hosts[0].name for cluster in platform.clusters if len(cluster.hosts) == 1}
    private = set()
    for (source, _), route in survey(platform).routes.items():
        names = [name for name in map(_id_of, route.links) if name in bridged] if route is not None else []
        if source in alone and names:
            private |= {names[0]} if len(names) > 1 else set()
    return [name for name in bridged if name not in private] or list(bridged)


def _check_file(platform: Platform) -> None:
    """Raise PlatformError if the load cannot be written into the platform's file."""
    where = f"platform {platform.name}"
    if platform.path.suffix == ".so":
        raise PlatformError(where, "a compiled platform, into which no load can be written", "Give one in XML")
    if platform.changes or profiles(loadable(platform)):
        problem = "its file has profiles of its own, which the drawn load would replace"
        raise PlatformError(where, problem, "Remove them from the file")


def _check_declared(platform: Platform, names: Sequence[str]) -> None:
    """Raise PlatformError if the file has no zone, or lacks a <link> of one of these names."""
    # Imported here because it is slow to import.
    from lxml import etree

    root = etree.parse(str(loadable(platform)), etree.XMLParser(resolve_entities=False, no_network=True)).getroot()
    where = f"platform {platform.name}"
    if root.find("zone") is None:
        raise PlatformError(where, "no <zone> in which profiles of hosts can stand", "Put all of it into a <zone>")
    declared = {element.get("id") for element in root.iter("link")}
    for name in names:
        if name not in declared:
            problem = f"the wide-area link {name} is no <link> of the file, so that its load cannot be written"
            raise PlatformError(where, problem, "Name others with links = [...] in [wan] of the background file")


Loadable = Grid | Site


def loaded_grid(grid: Loadable, draw: Draw) -> Loadable:
    """Return the grid or site with its wide-area links reduced by a draw; the load of nodes is not included."""
    if isinstance(grid, Site):
        return grid.loaded(draw.bandwidth, draw.latency)

    def left(link: WanLink) -> WanLink:
        wire = replace(
            link.wire,
            bandwidth_Bps=link.wire.bandwidth_Bps * draw.bandwidth[link.name],
            latency_s=link.wire.latency_s * draw.latency[link.name],
        )
        return replace(link, wire=wire)

    return replace(grid, wan_links=tuple(map(left, grid.wan_links)))


def loaded_platform(grid: Loadable, draw: Draw) -> Platform:
    """Return the platform of a grid or site under a drawn load: profiles of its nodes, and narrower wide-area links.

    Its file is kept in the cache folder under its content hash.  The links keep their load for the whole run, because
    SimGrid 3.32 loses messages that are on a link whose bandwidth a profile changes.
    """
    profiles = [Profile(host, tuple(node.dates()), node.period_s) for host, node in draw.nodes.items()]
    loaded = loaded_grid(grid, draw)
    if isinstance(loaded, Site):
        return loaded.written(profiles)
    # It has no named network, so that nothing takes it for the quiet grid: what routes show is not all of it.
    return read_platform(kept_file(platform_xml(loaded, profiles)), grid.name)
