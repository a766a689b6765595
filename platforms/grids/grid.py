"""A grid as a value: clusters of equal nodes, joined by wide-area links.  ``grids.xml`` writes it for SimGrid."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from platforms.errors import PlatformError
from platforms.model.frequency import Frequencies
from platforms.model.platform import Link, Power, PState, Route

# Power of a node per flop/s of all its cores.  The authors of the grid scenarios publish 20 W dynamic and 4 W static
# power for a node of 40 Gflop/s, and 25 W and 5 W for 50 Gflop/s: both are proportional to the speed.
DYNAMIC_W_PER_FLOPS = 0.5e-9
STATIC_W_PER_FLOPS = 0.1e-9

WAN_SHAPES = ("mesh", "star")
MOST_CLUSTERS = {"mesh": 500, "star": 100_000}  # in a mesh, each pair has a link and a route in the platform file
MOST_NODES = 1_000_000  # in a cluster, and in the grid; SimGrid cannot simulate more
MOST_CORES = 1_000_000  # in a node; SimGrid cannot simulate more
SPEED_RANGE_FLOPS = (1e3, 1e18)
ROOT_ZONE = "grid"  # name of the grid's zone in the platform file, where names of zones and hosts are unique
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


@dataclass(frozen=True)
class Wire:
    """Bandwidth and latency of a link; the name of the link follows from its place in the grid."""

    bandwidth_Bps: float  # byte/s, > 0
    latency_s: float  # one way, >= 0


@dataclass(frozen=True)
class GridCluster:
    """Equal nodes, each with its own full-duplex link to a shared backbone."""

    name: str
    nodes: int  # >= 1
    speed_flops: float  # of one core, flop/s, > 0; at the highest frequency
    node: Wire
    backbone: Wire
    cores: int = 1  # of a node
    power: Power | None = None  # of a node at the highest frequency; None: see default_power
    frequencies: Frequencies | None = None  # None: the nodes have one level
    frequency_hz: float | None = None  # the level at which the nodes run; None: the highest
    memory_Bps: float | None = None  # byte/s between a node's cores and its memory, > 0; None: not known

    @property
    def node_power(self) -> Power:
        """Power of a node at the highest frequency, W."""
        return self.power or default_power(self.speed_flops * self.cores)

    @property
    def pstates(self) -> tuple[PState, ...]:
        """The frequency levels of a node in SimGrid's order.

        The level at which the node runs comes first, because SimGrid starts with it; the others follow from the highest
        to the lowest.
        """
        return tuple(PState(speed_flops, power) for speed_flops, power in self._states())

    @property
    def powers(self) -> tuple[Power, ...]:
        """Power of a node at each of its levels, W, in the order of ``pstates``."""
        return tuple(power for _, power in self._states())

    @property
    def host_names(self) -> tuple[str, ...]:
        """Names of the cluster's hosts, which are name-0, name-1, ..."""
        return tuple(f"{self.name}-{i}" for i in range(self.nodes))

    def _states(self) -> list[tuple[float, Power]]:
        """Return the speed of a core, flop/s, and the power of a node, W, at each level."""
        if self.frequencies is None:
            return [(self.speed_flops, self.node_power)]
        running_hz = self.frequency_hz or self.frequencies.max_hz
        others_hz = (level_hz for level_hz in self.frequencies.levels_hz if level_hz != running_hz)
        return [
            (
                self.speed_flops / self.frequencies.slowdown(level_hz),
                self.frequencies.power(self.node_power, level_hz),
            )
            for level_hz in (running_hz, *others_hz)
        ]


@dataclass(frozen=True)
class WanLink:
    """A wide-area link between two clusters (mesh), or between a cluster and the hub (star: ``second`` is None)."""

    first: str
    second: str | None
    wire: Wire
    duplex: bool = False  # True: each direction has the full bandwidth; False: both directions share it

    @property
    def name(self) -> str:
        """Name of the link in the platform file."""
        return f"wan_{self.first}_{self.second or 'hub'}"

    def as_crossed(self, *, forward: bool) -> Link:
        """Return the link as it appears in a route; ``forward`` is the direction away from the first cluster."""
        half = f"_{'UP' if forward else 'DOWN'}" if self.duplex else ""  # SimGrid's names of the two directions
        return Link(f"{self.name}{half}", self.wire.bandwidth_Bps, self.wire.latency_s, "shared")


@dataclass(frozen=True)
class Grid:
    """Clusters and the wide-area links between them.

    Raises:
        PlatformError: The values do not describe a grid that SimGrid can simulate.
    """

    name: str
    network: str
    clusters: tuple[GridCluster, ...]
    wan_shape: str  # "mesh": a link per pair of clusters; "star": a link per cluster to a hub
    wan_links: tuple[WanLink, ...]  # exactly the links that the shape needs
    options: tuple[tuple[str, str], ...] = ()  # SimGrid options, written into the platform's <config>

    def __post_init__(self) -> None:
        where = f"grid {self.name!r}"
        if not self.clusters:
            raise PlatformError(where, "no clusters", "Give at least one")
        for cluster in self.clusters:
            _check_cluster(cluster, f"{where}, cluster {cluster.name!r}")
        nodes = sum(cluster.nodes for cluster in self.clusters)
        if nodes > MOST_NODES:
            raise PlatformError(where, f"{nodes} nodes", f"Give at most {MOST_NODES} in all")
        names = [ROOT_ZONE, *(cluster.name for cluster in self.clusters)]
        names += [host for cluster in self.clusters for host in cluster.host_names]
        if len(set(names)) != len(names):
            twice = Counter(names).most_common(1)[0][0]
            raise PlatformError(where, f"the name {twice!r} is used twice", "Rename a cluster")
        if self.wan_shape not in WAN_SHAPES:
            raise PlatformError(where, f"no WAN shape {self.wan_shape!r}", f"Known: {', '.join(WAN_SHAPES)}")
        ends = [(link.first, link.second) for link in self.wan_links]
        if sorted(ends, key=str) != sorted(wan_ends(self.wan_shape, [c.name for c in self.clusters]), key=str):
            raise PlatformError(where, f"its WAN links are not those of a {self.wan_shape}", "Give each exactly once")
        for link in self.wan_links:
            _check_wire(link.wire, f"{where}, link {link.name}")

    def at(self, frequencies_hz: Sequence[float | None]) -> "Grid":
        """Return the same grid with the clusters at these frequencies; None means the highest.

        Raises:
            PlatformError: A frequency is not a level of its cluster.
        """
        pairs = zip(self.clusters, frequencies_hz, strict=True)
        return replace(self, clusters=tuple(replace(cluster, frequency_hz=hz) for cluster, hz in pairs))

    def routes(self, pairs: Iterable[tuple[str, str]]) -> list[Route]:
        """Return the routes of these pairs of hosts (source, destination), as SimGrid computes them.

        No SimGrid process is started, so that thousands of grids can be examined.
        """
        cluster_of = {host: cluster for cluster in self.clusters for host in cluster.host_names}
        up, down = (_host_links(cluster_of, direction) for direction in ("UP", "DOWN"))
        inner: dict[tuple[str, str], tuple[Link, ...]] = {}  # by clusters: the links that all their routes share
        routes_found = []
        for a, b in pairs:
            here, there = cluster_of[a], cluster_of[b]
            ends = here.name, there.name
            if ends not in inner:
                inner[ends] = self._between(here, there)
            links = (up[a], *inner[ends], down[b])
            routes_found.append(Route(a, b, sum([link.latency_s for link in links]), links))
        return routes_found

    def _between(self, here: GridCluster, there: GridCluster) -> tuple[Link, ...]:
        """Return the links between two nodes of these clusters, without those of the nodes."""
        if here is there:
            return (_backbone(here),)
        wide = [link.as_crossed(forward=forward) for link, forward in self.wan_route(here.name, there.name)]
        return (_backbone(here), *wide, _backbone(there))

    def wan_route(self, first: str, second: str) -> tuple[tuple[WanLink, bool], ...]:
        """Return the wide-area links between two clusters, in order from the first to the second.

        Each link comes with True if it is crossed forward, that is from its own first cluster to its second cluster or
        to the hub.
        """
        by_ends = {(link.first, link.second): link for link in self.wan_links}
        if self.wan_shape == "star":
            return (by_ends[first, None], True), (by_ends[second, None], False)
        forward = (first, second) in by_ends
        return ((by_ends[(first, second) if forward else (second, first)], forward),)


def _host_links(cluster_of: Mapping[str, GridCluster], direction: str) -> dict[str, Link]:
    """Return the link of each host in a direction, by host."""
    return {
        host: Link(
            f"{cluster.name}_link_{host.rpartition('-')[2]}_{direction}",
            cluster.node.bandwidth_Bps,
            cluster.node.latency_s,
            "shared",
        )
        for host, cluster in cluster_of.items()
    }


def _backbone(cluster: GridCluster) -> Link:
    return Link(f"{cluster.name}_backbone", cluster.backbone.bandwidth_Bps, cluster.backbone.latency_s, "shared")


def default_power(node_flops: float) -> Power:
    """Return the power of a node whose cores have this speed together, flop/s.

    A node of 40 Gflop/s takes 4 W when idle and 24 W at full load; both are proportional to the speed.
    """
    idle_w = STATIC_W_PER_FLOPS * node_flops
    return Power(idle_w, idle_w + DYNAMIC_W_PER_FLOPS * node_flops, epsilon_w=idle_w)


def wan_ends(shape: str, clusters: list[str]) -> list[tuple[str, str | None]]:
    """Return the ends of the wide-area links that a shape needs, in order; a single cluster needs none.

    Raises:
        PlatformError: There are more than MOST_CLUSTERS clusters.
    """
    if len(clusters) < 2:
        return []
    if len(clusters) > MOST_CLUSTERS[shape]:
        problem = f"{len(clusters)} clusters or levels, each joined to all others in a {shape}"
        raise PlatformError(f"WAN of shape {shape!r}", problem, f"Give at most {MOST_CLUSTERS[shape]}")
    return [(name, None) for name in clusters] if shape == "star" else list(combinations(clusters, 2))


def _check_cluster(cluster: GridCluster, where: str) -> None:
    if not _NAME.fullmatch(cluster.name):
        raise PlatformError(where, "not a name that SimGrid can use", "Use letters, digits, '_', '-' and '.'")
    if not 1 <= cluster.nodes <= MOST_NODES:
        raise PlatformError(where, f"{cluster.nodes} nodes", f"Give at least 1 and at most {MOST_NODES}")
    if not 1 <= cluster.cores <= MOST_CORES:
        raise PlatformError(where, f"{cluster.cores} cores per node", f"Give at least 1 and at most {MOST_CORES}")
    if not SPEED_RANGE_FLOPS[0] <= cluster.speed_flops <= SPEED_RANGE_FLOPS[1]:
        low, high = SPEED_RANGE_FLOPS
        raise PlatformError(where, f"speed is {cluster.speed_flops} flop/s", f"Give one from {low:g} to {high:g}")
    if cluster.frequency_hz is not None:
        if cluster.frequencies is None:
            remedy = "Give its frequencies too: max_ghz, min_ghz, step_ghz"
            raise PlatformError(where, f"{cluster.frequency_hz / 1e9:g} GHz, but its levels are not known", remedy)
        if cluster.frequency_hz not in cluster.frequencies.levels_hz:
            cluster.frequencies.level_hz(cluster.frequency_hz, where)  # raises if the frequency is near no level
            raise PlatformError(
                where, f"{cluster.frequency_hz} Hz is near a level, but is not one", "Give the level itself"
            )
    power = cluster.node_power
    if not 0 <= power.idle_w <= power.epsilon_w <= power.full_w < math.inf:
        raise PlatformError(where, f"{power.idle_w} W idle and {power.full_w} W at full load", "Give 0 <= idle <= full")
    if cluster.memory_Bps is not None and not 0 < cluster.memory_Bps < math.inf:
        raise PlatformError(where, f"memory bandwidth is {cluster.memory_Bps} byte/s", "Give a positive one")
    _check_wire(cluster.node, f"{where}, node links")
    _check_wire(cluster.backbone, f"{where}, backbone")


def _check_wire(wire: Wire, where: str) -> None:
    if not 0 < wire.bandwidth_Bps < math.inf:
        raise PlatformError(where, f"bandwidth is {wire.bandwidth_Bps} byte/s", "Give a positive one")
    if not 0 <= wire.latency_s < math.inf:
        raise PlatformError(where, f"latency is {wire.latency_s} s", "Give 0 or more")
