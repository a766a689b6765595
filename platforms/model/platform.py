"""Platforms as plain values: hosts in clusters, and the routes between hosts.

All values are in SI units.  They come from SimGrid itself (``platforms.read.read``), for generated and for
users' own platforms.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from platforms.errors import PlatformError, nearest


@dataclass(frozen=True)
class Power:
    """Power of a host in W, as in SimGrid's energy plugin: idle_w, or epsilon_w + load (full_w - epsilon_w).

    >>> Power(idle_w=4.0, full_w=24.0, epsilon_w=4.0).at_load(0.5)
    14.0
    """

    idle_w: float  # switched on without load, >= 0
    full_w: float  # every core busy, >= idle_w
    epsilon_w: float  # limit as the load approaches zero; equal to idle_w if the file gives only two values

    def at_load(self, share: float) -> float:
        """Return the power in W while a ``share`` of the cores, 0 to 1, is busy."""
        return self.idle_w if share <= 0 else self.epsilon_w + share * (self.full_w - self.epsilon_w)


@dataclass(frozen=True)
class PState:
    """A frequency level of a host (SimGrid's pstate)."""

    speed_flops: float  # of one core, flop/s
    power: Power | None  # None: the platform gives no watts


@dataclass(frozen=True)
class KernelEfficiency:
    """Shares of the speed of a host's core that a kernel sustains, each in (0, 1]."""

    kernel: str
    alone: float  # on one core, while the others are idle
    busy: float  # on each core, while all compute


@dataclass(frozen=True)
class Host:
    """A node of the platform, at the frequency level at which runs begin."""

    name: str
    speed_flops: float  # of one core, flop/s, > 0
    cores: int  # >= 1
    power: Power | None = None  # None: the platform gives no watts
    pstates: tuple[PState, ...] = ()  # all levels, including the initial one, in the file's order; (): only one level
    memory_Bps: float | None = None  # byte/s between its cores and its memory; None: the platform gives no value
    efficiencies: tuple[KernelEfficiency, ...] = ()  # of kernels that were measured on it

    @property
    def node_flops(self) -> float:
        """Speed of all cores together, flop/s."""
        return self.speed_flops * self.cores


@dataclass(frozen=True)
class Cluster:
    """Hosts of one kind in one leaf zone, in the order in which the platform declares them."""

    name: str
    hosts: tuple[Host, ...]  # at least one

    @property
    def speed_flops(self) -> float:
        """Speed of one core, flop/s; the same for all hosts of the cluster."""
        return self.hosts[0].speed_flops

    @property
    def cores(self) -> int:
        """Number of cores per host; the same for all hosts of the cluster."""
        return self.hosts[0].cores


@dataclass(frozen=True)
class Link:
    """A link of a route in one direction, on an idle network."""

    name: str
    bandwidth_Bps: float  # byte/s, > 0
    latency_s: float  # one way, >= 0
    sharing: str  # SimGrid's sharing policy: "shared", "fatpipe", "splitduplex", "wifi" or "nonlinear"


@dataclass(frozen=True)
class Route:
    """The route of a message from one host to another, before any correction factor of a network model."""

    source: str
    destination: str
    latency_s: float  # the sum over the links, plus what a Vivaldi zone adds
    links: tuple[Link, ...]  # in the order in which SimGrid lists them; empty if the zone has no links

    @property
    def bandwidth_Bps(self) -> float:
        """Bandwidth of the narrowest link, byte/s; infinite without links."""
        return min((link.bandwidth_Bps for link in self.links), default=float("inf"))

    @property
    def link_names(self) -> tuple[str, ...]:
        """Names of the links, in the order of ``links``."""
        return tuple(link.name for link in self.links)


@dataclass(frozen=True)
class RouteTable:
    """The routes of many pairs: that of pair i crosses ``link[first[i]]`` to ``link[first[i + 1]]`` of ``links``."""

    latency_s: Sequence[float]  # by pair
    first: Sequence[int]  # pairs + 1
    link: Sequence[int]  # indices of ``links``, in the order of each route
    links: tuple[Link, ...]  # each once


@dataclass(frozen=True)
class Change:
    """A change of a host or a link during a simulation, caused by a profile of the platform file."""

    kind: str  # "speed", "bandwidth", "latency", or "state" (switched on or off)
    resource: str  # "host" or "link"
    name: str  # of the host or link
    from_s: float  # simulated time of the first change, >= 0; for a latency, a time by which it has happened
    share: float | None = None  # share of its speed that a host has at the start, if that is not the full speed

    def __str__(self) -> str:
        if self.kind == "state":
            return f"{self.resource} {self.name!r} is switched off or on from {self.from_s:g} s"
        if self.share is not None:
            return f"host {self.name!r} has {100 * self.share:.3g} % of its speed at the start"
        return f"the {self.kind} of {self.resource} {self.name!r} changes from {self.from_s:g} s"


@dataclass(frozen=True)
class Platform:
    """A platform that SimGrid has loaded.  Two platforms with the same content hash are the same platform."""

    name: str  # for tables and messages: the scenario, or the file's name
    path: Path  # absolute path of the file that SimGrid loads
    # Hexadecimal SHA-256 of the file, the profiles that it names, and the clusters if they are not its zones.
    content_hash: str
    clusters: tuple[Cluster, ...]
    network: str | None = None  # the named network of a generated platform; None: the file defines its own
    options: tuple[tuple[str, str], ...] = ()  # SimGrid options in the file's <config>, which SimGrid itself applies
    changes: tuple[Change, ...] = ()  # the first change of each kind of each resource, ordered by time
    kept: Path | None = field(default=None, compare=False)  # private copy for runs; None: they load ``path`` itself
    file_hash: str | None = field(default=None, compare=False)  # of the file alone, with its profiles; None: unknown
    _by_name: dict[str, tuple[Host, Cluster]] = field(init=False, repr=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        index = {host.name: (host, cluster) for cluster in self.clusters for host in cluster.hosts}
        object.__setattr__(self, "_by_name", index)

    @property
    def calibrated(self) -> bool:
        """True if the file itself says what a call of MPI costs, as a calibrated one does (options of SMPI)."""
        return any(name.startswith("smpi/") for name, _ in self.options)

    @cached_property
    def hosts(self) -> tuple[Host, ...]:
        """All hosts, cluster by cluster."""
        return tuple(host for cluster in self.clusters for host in cluster.hosts)

    def host(self, name: str) -> Host:
        """Return the host of this name.

        Raises:
            PlatformError: There is no such host; the message lists similar names.
        """
        return self._find(name)[0]

    def cluster_of(self, host_name: str) -> Cluster:
        """Return the cluster of a host.

        Raises:
            PlatformError: There is no such host.
        """
        return self._find(host_name)[1]

    def changes_for(self, host_names: Iterable[str]) -> tuple[Change, ...]:
        """Return the changes that may affect a run on these hosts: those of the hosts, and those of all links."""
        used = set(host_names) if self.changes else set()
        return tuple(change for change in self.changes if change.resource == "link" or change.name in used)

    def __contains__(self, host_name: object) -> bool:
        return host_name in self._by_name

    def _find(self, name: str) -> tuple[Host, Cluster]:
        try:
            return self._by_name[name]
        except KeyError:
            raise PlatformError(f"platform {self.name!r}", f"no host {name!r}", nearest(name, self._by_name)) from None
