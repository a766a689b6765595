"""What a program runs on, as plain values: hosts in clusters, and the routes between hosts.

SI units.  The values come from SimGrid itself (``platforms.read``), for our own platforms and any other alike.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from platforms.errors import PlatformError, nearest


@dataclass(frozen=True)
class Power:
    """What a host takes, in W, as SimGrid's energy plugin has it: idle_w, or epsilon_w + load (full_w - epsilon_w).

    >>> Power(idle_w=4.0, full_w=24.0, epsilon_w=4.0).at_load(0.5)
    14.0
    """

    idle_w: float  # switched on, nothing to do, >= 0
    full_w: float  # every core busy, >= idle_w
    epsilon_w: float  # the limit of a load that goes to zero; equal to idle_w where the file names two values

    def at_load(self, share: float) -> float:
        """W with ``share`` of the cores busy, 0 to 1."""
        return self.idle_w if share <= 0 else self.epsilon_w + share * (self.full_w - self.epsilon_w)


@dataclass(frozen=True)
class PState:
    """A frequency level of a host, as SimGrid has it."""

    speed_flops: float  # of one core, flop/s
    power: Power | None  # None: the platform gives no watts


@dataclass(frozen=True)
class Host:
    """A node of the platform, at the frequency level that runs begin with."""

    name: str
    speed_flops: float  # of one core, flop/s, > 0
    cores: int  # >= 1
    power: Power | None = None  # None: the platform gives no watts
    pstates: tuple[PState, ...] = ()  # all its levels, that of the start included, in the file's order; (): only one
    memory_Bps: float | None = None  # byte/s between its cores and its memory; None: the platform does not say

    @property
    def node_flops(self) -> float:
        """Speed of all cores together, flop/s."""
        return self.speed_flops * self.cores


@dataclass(frozen=True)
class Cluster:
    """Hosts of one leaf zone and of one kind, in the order in which the platform declares them."""

    name: str
    hosts: tuple[Host, ...]  # at least one

    @property
    def speed_flops(self) -> float:
        """Speed of one core of every host here, flop/s."""
        return self.hosts[0].speed_flops

    @property
    def cores(self) -> int:
        """Cores of every host here."""
        return self.hosts[0].cores


@dataclass(frozen=True)
class Link:
    """A link of a route, as one direction of it sees an idle network."""

    name: str
    bandwidth_Bps: float  # byte/s, > 0
    latency_s: float  # one way, >= 0
    sharing: str  # "shared", "fatpipe", "splitduplex", "wifi" or "nonlinear", SimGrid's sharing policies


@dataclass(frozen=True)
class Route:
    """The way of a message from one host to another, before any factor of a network model."""

    source: str
    destination: str
    latency_s: float  # the sum over the links, plus what a Vivaldi zone adds
    links: tuple[Link, ...]  # in the order in which SimGrid lists them; empty where a zone has none

    @property
    def bandwidth_Bps(self) -> float:
        """byte/s of the narrowest link; infinite without links."""
        return min((link.bandwidth_Bps for link in self.links), default=float("inf"))

    @property
    def link_names(self) -> tuple[str, ...]:
        return tuple(link.name for link in self.links)


@dataclass(frozen=True)
class Change:
    """What a profile of the platform file does to a host or a link in the course of a simulation."""

    kind: str  # "speed", "bandwidth", "latency", or "state": on or off
    resource: str  # "host" or "link"
    name: str  # of the host or link
    from_s: float  # simulated time of the first change, >= 0; of a latency, a time up to which it has happened
    share: float | None = None  # of its speed that a host has at the start, where that is not all of it

    def __str__(self) -> str:
        if self.kind == "state":
            return f"{self.resource} {self.name!r} is switched off or on from {self.from_s:g} s"
        if self.share is not None:
            return f"host {self.name!r} has {100 * self.share:.3g} % of its speed at the start"
        return f"the {self.kind} of {self.resource} {self.name!r} changes from {self.from_s:g} s"


@dataclass(frozen=True)
class Platform:
    """A platform that SimGrid has loaded.  Two platforms of one content hash are the same platform."""

    name: str  # for tables and messages: the scenario, or the file's name
    path: Path  # absolute: the file that SimGrid is given
    # SHA-256, hexadecimal: of the file, the profiles that it names, and clusters that are not its zones.
    content_hash: str
    clusters: tuple[Cluster, ...]
    network: str | None = None  # the named network of a generated platform; None: the file defines its own
    options: tuple[tuple[str, str], ...] = ()  # SimGrid options in the file's <config>, which SimGrid honours by itself
    changes: tuple[Change, ...] = ()  # over time, each resource once for each kind, by time
    _by_name: dict[str, tuple[Host, Cluster]] = field(init=False, repr=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        index = {host.name: (host, cluster) for cluster in self.clusters for host in cluster.hosts}
        object.__setattr__(self, "_by_name", index)

    @cached_property
    def hosts(self) -> tuple[Host, ...]:
        """All hosts, cluster by cluster."""
        return tuple(host for cluster in self.clusters for host in cluster.hosts)

    def host(self, name: str) -> Host:
        """Raises PlatformError, with near matches, for a name that is not a host."""
        return self._find(name)[0]

    def cluster_of(self, host_name: str) -> Cluster:
        """The cluster of a host.  Raises PlatformError for a name that is not a host."""
        return self._find(host_name)[1]

    def changes_for(self, host_names: Iterable[str]) -> tuple[Change, ...]:
        """Those that a run on these hosts may notice: of the hosts, and of any link."""
        used = set(host_names) if self.changes else set()
        return tuple(one for one in self.changes if one.resource == "link" or one.name in used)

    def __contains__(self, host_name: object) -> bool:
        return host_name in self._by_name

    def _find(self, name: str) -> tuple[Host, Cluster]:
        try:
            return self._by_name[name]
        except KeyError:
            raise PlatformError(f"platform {self.name!r}", f"no host {name!r}", nearest(name, self._by_name)) from None
