"""Background load that a file or ``presets.toml`` states: distributions, and the draws of one run."""

from __future__ import annotations

import functools
import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from platforms.errors import PlatformError, inside, known_names, matching
from platforms.files.checked_toml import CheckedTable, read_placed, read_toml
from platforms.model.platform import Route

if TYPE_CHECKING:  # slow to import
    import numpy as np

# The numbers of each kind, in the order of Distribution.numbers.
KINDS = {
    "constant": ("value",),
    "uniform": ("low", "high"),
    "beta": ("a", "b"),
    "lognormal": ("median", "sigma"),
    "load": ("mean",),
    "values": (),
}
MOST_VALUES = 10_000
_MOST_LOAD = 100.0


@dataclass(frozen=True)
class Quantity:
    """A quantity with a distribution, and the range of its values."""

    name: str
    low: float
    high: float


# Draws outside of the range are moved to its nearer end: a node that gives nothing would never end a run.
AVAILABILITY = Quantity("availability", 0.01, 1.0)  # share of a node's speed that is left to the program
BANDWIDTH = Quantity("bandwidth", 0.01, 1.0)  # share of a link's bandwidth that is left
LATENCY = Quantity("latency", 1.0, 100.0)  # factor of a link's latency


@dataclass(frozen=True)
class Distribution:
    """A distribution of independent values.

    The kind ``load`` describes availability: K other processes, Poisson distributed with this mean, compute on a node
    of c cores.  Each gets as much as one of the program's c processes, so that c / (c + K) is left.  On one core this
    is the sensor of the Network Weather Service, 1 / (load average + 1).
    """

    kind: str
    numbers: tuple[float, ...]  # as in KINDS; for ``values`` the values, which are equally likely
    quantity: Quantity

    def draw(self, generator: np.random.Generator, count: int, cores: int = 1) -> list[float]:
        """Return independent values.

        Args:
            generator: The source of randomness.
            count: Number of values.
            cores: Cores of the node; only the kind ``load`` depends on them.
        """
        # Imported here because it is slow to import.
        import numpy as np

        if self.kind == "constant":
            drawn = np.full(count, self.numbers[0])
        elif self.kind == "uniform":
            low, high = self.numbers
            drawn = generator.uniform(low, high, count)
        elif self.kind == "beta":
            a, b = self.numbers
            drawn = generator.beta(a, b, count)
        elif self.kind == "lognormal":
            median, sigma = self.numbers
            drawn = median * np.exp(sigma * generator.standard_normal(count))
        elif self.kind == "load":
            drawn = cores / (cores + generator.poisson(self.numbers[0], count))
        else:
            drawn = generator.choice(self.numbers, count)
        within: list[float] = np.clip(drawn, self.quantity.low, self.quantity.high).tolist()
        return within


def read_distribution(table: CheckedTable, quantity: Quantity) -> Distribution | None:
    """Return the distribution under the key of a quantity; None: the table has no such key.

    Raises:
        PlatformError: It is wrong.
    """
    if not table.has(quantity.name):
        return None
    value = table.value(quantity.name, None)
    where = table.at(quantity.name)
    kind = value.get("kind") if isinstance(value, dict) else None
    known = [name for name in KINDS if name != "load" or quantity is AVAILABILITY]
    if not isinstance(value, dict) or kind not in known:
        remedy = f'Write for example {{ kind = "constant", value = 1 }}; kinds: {", ".join(known)}'
        raise PlatformError(where, f"no kind of distribution in {value!r}", remedy)
    checked = CheckedTable(value, where, {"": ("kind", *(KINDS[kind] or ("values",)))})
    numbers = _values(checked, where) if kind == "values" else tuple(checked.number(key) for key in KINDS[kind])
    _check(where, kind, numbers, quantity)
    return Distribution(kind, numbers, quantity)


def _values(table: CheckedTable, where: str) -> tuple[float, ...]:
    values = table.list_of("values", [], (int, float), "numbers")
    if not 1 <= len(values) <= MOST_VALUES:
        raise PlatformError(where, f"{len(values)} values", f"Give 1 to {MOST_VALUES}")
    return tuple(map(float, values))


def _check(where: str, kind: str, numbers: tuple[float, ...], quantity: Quantity) -> None:
    low, high = quantity.low, quantity.high
    if kind in ("constant", "uniform", "values"):
        for number in numbers:
            if not low <= number <= high:
                raise PlatformError(where, f"{number:g} is no {quantity.name}", f"Give {low:g} to {high:g}")
        if kind == "uniform" and numbers[0] > numbers[1]:
            raise PlatformError(where, "low is above high", "Exchange them")
    elif kind == "load":
        if not 0 <= numbers[0] <= _MOST_LOAD:
            raise PlatformError(where, f"a mean of {numbers[0]:g} processes", f"Give 0 to {_MOST_LOAD:g}")
    elif not all(1e-3 <= number <= 1e3 for number in numbers):
        raise PlatformError(where, f"{' and '.join(KINDS[kind])} are not all from 0.001 to 1000", "Correct them")


class LoadedCluster(Protocol):
    """A cluster with background load."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def host_names(self) -> tuple[str, ...]:
        """The names of its hosts."""

    @property
    def cores(self) -> int:
        """Cores of a host."""


class LoadedLink(Protocol):
    """A wide-area link with background load."""

    @property
    def name(self) -> str:
        """Its name."""


class LoadableGrid(Protocol):
    """A grid, or the site of a platform file (site.py)."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def clusters(self) -> Sequence[LoadedCluster]:
        """Its clusters."""

    @property
    def wan_links(self) -> Sequence[LoadedLink]:
        """Its wide-area links."""

    def routes(self, pairs: Iterable[tuple[str, str]]) -> list[Route]:
        """Return the routes of these pairs of hosts."""


_KEYS = {
    "": ("source", "nodes", "clusters", "wan"),
    "nodes": ("availability", "epoch_s"),
    "wan": ("bandwidth", "latency", "links"),
}
EPOCH_RANGE_S = (1e-3, 1e9)


@dataclass(frozen=True)
class NodeLoad:
    """Load of the nodes of a cluster; every node has its own, independent of the others."""

    availability: Distribution
    # Mean length of the epochs of a node, s: each has its own value, and their lengths are exponentially distributed,
    # so that the correlation of two moments is exp(-distance / epoch_s).  None: one value for the whole run.
    epoch_s: float | None


@dataclass(frozen=True)
class Background:
    """Statement of the background load of a grid."""

    name: str
    source: str  # where its numbers come from; may be empty
    nodes: NodeLoad | None  # of clusters that are not named; None: they are quiet
    clusters: Mapping[str, NodeLoad]
    bandwidth: Distribution | None  # share of each wide-area link's, for a whole run; None: all of it
    latency: Distribution | None  # factor of each wide-area link's, for a whole run; None: 1
    links: tuple[str, ...] = ()  # patterns of the names of the links that are shared; (): all wide-area links

    def of_cluster(self, name: str) -> NodeLoad | None:
        """Return the load of a cluster's nodes; None: there is none."""
        return self.clusters.get(name, self.nodes)

    def shares(self, link: str) -> bool:
        """Return whether a wide-area link of this name has load."""
        return not self.links or any(fnmatchcase(link, pattern) for pattern in self.links)

    def check(self, grid: LoadableGrid) -> None:
        """Check that the grid has every cluster and wide-area link that is named.

        Raises:
            PlatformError: It has not.
        """
        names = [link.name for link in grid.wan_links]
        for pattern in self.links:
            if not any(fnmatchcase(name, pattern) for name in names):
                problem = f"grid {grid.name} has no wide-area link {pattern!r}"
                remedy = f"Known: {', '.join(names) or 'none'}"
                raise PlatformError(f"background {self.name}, wan, links", problem, remedy)
        known = [cluster.name for cluster in grid.clusters]
        for name in self.clusters:
            if name not in known:
                where = f"background {self.name}, clusters.{name}"
                raise PlatformError(where, f"grid {grid.name} has no such cluster", f"Known: {', '.join(known)}")


def background_names() -> tuple[str, ...]:
    """Return the names of the backgrounds that come with the project."""
    return tuple(_presets())


def asked_background(text: str) -> Background:
    """Return the background of this name or in this file.

    Raises:
        PlatformError: There is none, or the file is wrong.
    """
    name = matching(text, _presets())
    if name is not None:
        return _background(name, _presets()[name], f"background {name}")
    if not text.lower().endswith(".toml"):
        known = known_names(text, _presets())
        raise PlatformError(f"background {text!r}", "no such background", f"{known}, or give a FILE.toml")
    return _background(text, *read_placed(Path(text), "background file"))


def _background(name: str, values: dict[str, Any], where: str) -> Background:
    top = CheckedTable(values, where, _KEYS)
    wan = top.table("wan", "wan")
    named = top.value("clusters", {})
    if not isinstance(named, dict) or not all(isinstance(entry, dict) for entry in named.values()):
        place = inside(where, "", "clusters")
        raise PlatformError(place, "clusters is not a table of tables", "Write for example [clusters.c1]")
    places = {cluster: inside(where, f", clusters.{cluster}", "clusters", cluster) for cluster in named}
    clusters = {
        cluster: _node_load(CheckedTable(entry, places[cluster], _KEYS, "nodes")) for cluster, entry in named.items()
    }
    nodes = _node_load(top.table("nodes", "nodes")) if top.has("nodes") else None
    bandwidth, latency = read_distribution(wan, BANDWIDTH), read_distribution(wan, LATENCY)
    if nodes is None and not clusters and bandwidth is None and latency is None:
        raise PlatformError(where, "it states no load", "Give [nodes] or [wan]")
    links = tuple(wan.list_of("links", [], str, "names of links"))
    if links and bandwidth is None and latency is None:
        raise PlatformError(top.at("wan"), "links are named, but no load of theirs", "Give bandwidth or latency")
    return Background(name, top.text("source", ""), nodes, clusters, bandwidth, latency, links)


def _node_load(table: CheckedTable) -> NodeLoad:
    availability = read_distribution(table, AVAILABILITY)
    if availability is None:
        raise PlatformError(table.where, "'availability' is missing", "Give a distribution")
    epoch_s = table.number("epoch_s") if table.has("epoch_s") else None
    low_s, high_s = EPOCH_RANGE_S
    if epoch_s is not None and not low_s <= epoch_s <= high_s:
        raise PlatformError(table.of("epoch_s"), f"epoch_s is {epoch_s:g}", f"Give {low_s:g} to {high_s:g}")
    return NodeLoad(availability, epoch_s)


@functools.cache
def _presets() -> dict[str, Any]:
    return read_toml(Path(__file__).with_name("presets.toml"), "background file")


EPOCHS = 64  # of a node; then they repeat, so that a run may last arbitrarily long
TRUTHS, FORECASTS = 0, 1  # streams of draws, which never have a draw in common


@dataclass(frozen=True)
class Availability:
    """Share of a node's speed that is left to the program, over time: constant in each epoch, and periodic."""

    shares: tuple[float, ...]
    lengths_s: tuple[float, ...]  # of the epochs; (): one share forever
    _until_s: tuple[float, ...] = field(init=False, repr=False, compare=False)
    _work_s: tuple[float, ...] = field(init=False, repr=False, compare=False)  # seconds of a quiet node, until then

    def __post_init__(self) -> None:
        object.__setattr__(self, "_until_s", tuple(accumulate(self.lengths_s)))
        amounts = (share * long_s for share, long_s in zip(self.shares, self.lengths_s, strict=False))
        object.__setattr__(self, "_work_s", tuple(accumulate(amounts)))

    @property
    def period_s(self) -> float | None:
        """Time after which the epochs repeat; None if there is one share only."""
        return self._until_s[-1] if self.lengths_s else None

    def done_s(self, until_s: float) -> float:
        """Return how many seconds of a quiet node's computation are done until then.

        >>> Availability((0.5, 1.0), (2.0, 1.0)).done_s(4.0)
        2.5
        """
        if not self.lengths_s:
            return self.shares[0] * until_s
        periods, rest_s = divmod(until_s, self._until_s[-1])
        at = min(bisect_right(self._until_s, rest_s), len(self.shares) - 1)
        before_s, before = (self._until_s[at - 1], self._work_s[at - 1]) if at else (0.0, 0.0)
        return periods * self._work_s[-1] + before + self.shares[at] * (rest_s - before_s)

    def mean(self, from_s: float, until_s: float) -> float:
        """Return the mean share between two moments, the earlier one first."""
        return (self.done_s(until_s) - self.done_s(from_s)) / (until_s - from_s)

    def next_change_s(self, after_s: float) -> float:
        """Return the moment of the first change of the share after a moment; infinite: there is none."""
        if not self.lengths_s:
            return math.inf
        periods, rest_s = divmod(after_s, self._until_s[-1])
        at = min(bisect_right(self._until_s, rest_s), len(self.shares) - 1)
        return periods * self._until_s[-1] + self._until_s[at]

    def dates(self) -> list[tuple[float, float]]:
        """Return the beginning of each epoch, s, and its share."""
        return list(zip((0.0, *self._until_s[:-1]), self.shares, strict=True))


@dataclass(frozen=True)
class Draw:
    """The background load of one run."""

    nodes: Mapping[str, Availability]  # by host; the others are quiet
    bandwidth: Mapping[str, float]  # by wide-area link: share that is left
    latency: Mapping[str, float]  # by wide-area link: factor


def drawn(background: Background, grid: LoadableGrid, *, seed: int, stream: int, number: int) -> Draw:
    """Return one draw; it does not depend on earlier draws.

    Args:
        background: The distributions.
        grid: The grid.
        seed: Seed of all draws.
        stream: TRUTHS or FORECASTS; draws of different streams are independent.
        number: Number of the draw in its stream.

    Raises:
        PlatformError: The background names a cluster or a wide-area link that the grid has not.
    """
    # Imported here because it is slow to import.
    import numpy as np

    background.check(grid)
    sequence = np.random.SeedSequence(entropy=seed, spawn_key=(stream, number))
    of_nodes, of_links = map(np.random.default_rng, sequence.spawn(2))
    nodes: dict[str, Availability] = {}
    for cluster in grid.clusters:
        load = background.of_cluster(cluster.name)
        for host in cluster.host_names if load is not None else ():
            assert load is not None
            nodes[host] = _availability(load, of_nodes, cluster.cores)
    names = [link.name for link in grid.wan_links]
    quiet = {name: 1.0 for name in names if not background.shares(name)}
    names = [name for name in names if name not in quiet]
    shares, factors = (
        {
            **(dict(zip(names, law.draw(of_links, len(names)), strict=True)) if law else dict.fromkeys(names, 1.0)),
            **quiet,
        }
        for law in (background.bandwidth, background.latency)
    )
    return Draw(nodes, shares, factors)


def _availability(load: NodeLoad, generator: np.random.Generator, cores: int) -> Availability:
    if load.epoch_s is None:
        return Availability(tuple(load.availability.draw(generator, 1, cores)), ())
    lengths_s = generator.exponential(load.epoch_s, EPOCHS).tolist()
    return Availability(tuple(load.availability.draw(generator, EPOCHS, cores)), tuple(lengths_s))
