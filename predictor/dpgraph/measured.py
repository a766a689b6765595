"""A network measured by messages (predictor ``dpgraph``); the platform file only names the hosts of each cluster.

``survey`` plans the messages and fits latency and rate by size on idle paths.  Experiments under load give the shared
links: each yields one capacity, with which the fluid model takes as long as the experiment.

The model assumes that the nodes of a cluster are alike, and that a message between two nodes crosses their own links,
links shared by their cluster, and links shared by the pair of clusters.  If the nodes of a cluster are not equally far
apart, the message crosses the links found between them (predictor.network.crossing) instead of one link that the whole
cluster shares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import combinations, permutations

import numpy as np

from apps.probes.network.measure import Exchange
from apps.probes.plan import Measurement
from apps.recording.events import Mode
from platforms.model.platform import Platform
from predictor.dpgraph.evaluate import execute
from predictor.dpgraph.instructions import RECV, SEND, WAIT_RECEIVED, WAIT_SENT
from predictor.dpgraph.network import NetworkModel, Protocol, Timing, Unexplained
from predictor.dpgraph.program import Program
from predictor.dpgraph.ways import DirectedPath
from predictor.network.shared_links import SharedCapacity
from predictor.network.survey import LARGE_BYTES, HostsByCluster, Survey, alone_s, layout, loads

# Flows share a link roughly in inverse proportion to their round-trip times.  Without an experiment that shows the
# proportion, the time of a message of this size (a few packets) replaces the round-trip time.
_PENALTY_BYTES = 9000
_CHECKED = 0.05  # relative: an experiment that checks the links causes a caution above this error
# The most that acknowledgements take of the opposite direction, as a share of the message's rate (SimGrid: 0.05).
_MOST_ACKNOWLEDGED = 0.15
_UNSHARED = 0.002  # relative: an experiment shows sharing if it takes longer than without sharing by more than this


def measured_network(platform: Platform, placement: Sequence[str], results: Sequence[Measurement]) -> NetworkModel:
    """Return the network between all hosts of a placement, from the results of all its plans.

    Raises:
        OutOfRange: The measured times do not lie on lines.
    """
    where = layout(platform, placement)
    return _Fit(where, Survey(where, results)).network()


class _Ways(Mapping[tuple[str, str], DirectedPath]):
    """The paths between all hosts, each built when first used: most programs use few of them."""

    def __init__(self, fit: _Fit):
        self._fit = fit
        self._made: dict[tuple[str, str], DirectedPath] = {}

    def __getitem__(self, pair: tuple[str, str]) -> DirectedPath:
        if pair not in self._made:
            if not self._fit.knows(*pair):
                raise KeyError(pair)
            self._made[pair] = self._fit.way_of(*pair)
        return self._made[pair]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        hosts = self._fit.cluster
        return ((a, b) for a in hosts for b in hosts if self._fit.knows(a, b))

    def __len__(self) -> int:
        return sum(1 for _ in self)


@dataclass
class _Fit:
    """Fit of a network's capacities to the experiments under load."""

    where: HostsByCluster
    survey: Survey
    capacity_Bps: dict[str, float] = field(init=False, default_factory=dict)  # by link
    # By cluster: what a flow takes of the opposite direction of the nodes' links, as a share of its rate.
    back: dict[str, float] = field(init=False, default_factory=dict)
    # By cluster: whether a message of a node to itself uses the node's links.
    self_shares: dict[str, bool] = field(init=False, default_factory=dict)
    penalty: dict[int, float] = field(init=False)  # by class of paths

    def __post_init__(self) -> None:
        self.row, self.loads_s = self.survey.row, self.survey.loads_s
        self.structures = self.survey.crossing.structures
        self._links: dict[tuple[str, str], tuple[str, ...]] = {}  # inside clusters, by pair of hosts
        self.bound_Bps = [1 / line[-1].s_per_byte for line in self.survey.lines]
        self.timing = _timing(self.survey, self.bound_Bps)
        self.protocol = Protocol(*self.survey.waits_from_bytes, envelope_bytes=0)
        self.experiments = loads(self.where)
        self.cluster = {host: c for c, members in self.where.hosts.items() for host in members}
        self.penalty = {row: alone_s(line, _PENALTY_BYTES) for row, line in enumerate(self.survey.lines)}

    def network(self) -> NetworkModel:
        """Return the fitted network."""
        self.capacity_Bps = {
            name: np.inf for pair in self._showing_all_links() for name in self.way(*self._ends(pair)).links
        }
        self._fit_crossings()
        for c in self.where.hosts:
            self._fit_nodes(c)
            for _ in range(2):  # the two fits depend on each other
                if c not in self.structures:
                    self._fit_capacity([f"in {c}"], ("ring", c))
                self._fit_back(c)
            self._fit_self(c)
        self._fit_crossings()
        self._fit_penalties()
        for _ in range(2):  # the first round may attribute a limit of the clusters to the wide area
            for c in self.where.hosts:
                self._fit_backbone(c)
            for c, d in combinations(self.where.hosts, 2):
                self._fit_wide_area(c, d)
        network = self._network(_Ways(self))
        return replace(
            network,
            measured_as=self.survey.measured_as,
            cautions=tuple(self._cautions()),
            unexplained=tuple(self._unexplained()),
        )

    def knows(self, a: str, b: str) -> bool:
        """Return whether there is a path from host a to host b."""
        c, d = self.cluster.get(a), self.cluster.get(b)
        return c is not None and d is not None and (a == b or c != d or (c, c) in self.row)

    def way_of(self, a: str, b: str) -> DirectedPath:
        """Return the path from host a to host b."""
        return self.way(*self._ends((a, b)))

    def _showing_all_links(self) -> Iterator[tuple[str, str]]:
        """Yield pairs of hosts whose paths together cover all links, in the order of all pairs.

        If no links inside a cluster were found, only the paths from its first host and from each host to itself add
        links to those of earlier pairs.
        """
        for c, members in self.where.hosts.items():
            inside = members if c in self.structures else ()
            for a in members:
                others = self.cluster if a == members[0] else inside or (a,)
                yield from ((a, b) for b in others if self.knows(a, b))

    def _ends(self, pair: tuple[str, str]) -> tuple[str, str, str, str]:
        a, b = pair
        return self.cluster[a], a, self.cluster[b], b

    def way(self, c: str, a: str, d: str, b: str) -> DirectedPath:
        """Return the path from host a of cluster c to host b of cluster d."""
        row = self.row[c] if a == b else self.survey.row_of(a, b)
        links: dict[str, float] = {}
        if a != b or self.self_shares.get(c, True):
            links[f"up {a}"] = 1.0
            links[f"down {b}"] = 1.0
            for name, cluster in ((f"down {a}", c), (f"up {b}", d)):
                if self.back.get(cluster, 0.0) > 0:
                    links[name] = links.get(name, 0.0) + self.back[cluster]
            links[f"in {c}"] = 1.0
            if c == d and a != b:
                self._add_crossed(links, c, a, b)
        if c != d:
            links |= {f"in {d}": 1.0, f"{c} to {d}": 1.0, "{} and {}".format(*sorted((c, d))): 1.0}
            links |= {f"out of {c}": 1.0, f"out of {d}": 1.0}
        return DirectedPath(row, self.bound_Bps[row], self.penalty[row], links)

    def _add_crossed(self, links: dict[str, float], c: str, a: str, b: str) -> None:
        """Add the links inside a cluster that messages from a to b share with others, and those of the reverse path."""
        if c not in self.structures:
            return
        for name in self._crossed(c, a, b):
            links[name] = links.get(name, 0.0) + 1.0
        if self.back.get(c, 0.0) > 0:
            for name in self._crossed(c, b, a):
                links[name] = links.get(name, 0.0) + self.back[c]

    def _crossed(self, c: str, a: str, b: str) -> tuple[str, ...]:
        if (a, b) not in self._links:
            self._links[a, b] = tuple(f"{c}: {name}" for name in self.structures[c].links(a, b))
        return self._links[a, b]

    def _fit_crossings(self) -> None:
        """Set the capacity of each link inside a cluster so that two messages over it take as long as measured."""
        for c, structure in self.structures.items():
            shown = structure.shown()
            for name, of_link in shown.items():
                self._fit_crossing(c, f"{c}: {name}", of_link)
            capacities_Bps = [self.capacity_Bps[f"{c}: {name}"] for name in shown]
            for name in self.capacity_Bps:  # links over which no two messages were sent are like the others
                if capacities_Bps and name.startswith(f"{c}: ") and name[len(c) + 2 :] not in shown:
                    self.capacity_Bps[name] = float(np.median(capacities_Bps))

    def _fit_crossing(self, c: str, name: str, shown: SharedCapacity) -> None:
        exchanges = self.survey.crossing.exchanges(c, shown.flows)

        def excess(capacity_Bps: float) -> float:
            self.capacity_Bps[name] = capacity_Bps
            return float(max(shown.times_s) / self._takes_s(exchanges).max()) - 1

        # Most links are as fast as those of the hosts.
        bounds = [self.bound_Bps[self.survey.row_of(a, b)] for a, b in shown.flows]
        if abs(excess(self.capacity_Bps.get(name, max(bounds)))) > _UNSHARED and abs(excess(max(bounds))) > _UNSHARED:
            excess(_root(excess, max(bounds) / 1e4, 2 * max(bounds)))

    def _network(self, ways: Mapping[tuple[str, str], DirectedPath]) -> NetworkModel:
        return NetworkModel(ways, self.capacity_Bps, self.timing, self.protocol)

    def _takes_s(self, exchanges: Sequence[Exchange]) -> np.ndarray:
        """Return the modelled time of each exchange of an experiment under load, s."""
        pairs = {(e.source, e.destination) for e in exchanges} | {(e.destination, e.source) for e in exchanges}
        ways = {pair: self.way(*self._ends(pair)) for pair in pairs}
        names = {name for way in ways.values() for name in way.links}
        network = NetworkModel(ways, {name: self.capacity_Bps[name] for name in names}, self.timing, self.protocol)
        agents = tuple(host for e in exchanges for host in (e.source, e.destination))
        return execute(_exchange_program(tuple(exchanges)), network, agents, np.zeros(len(agents))).end_s[::2]

    def _excess(self, load: tuple[str, ...]) -> float:
        """Return the experiment's time minus the modelled time, relative to the transfer time of a single message."""
        exchanges = self.experiments[load]
        measured_s, modelled_s = max(self.loads_s[load]), float(self._takes_s(exchanges).max())
        alone_s = LARGE_BYTES / max(self.bound_Bps)
        return (measured_s - modelled_s) / max(alone_s, 1e-12)

    def _fit_capacity(self, links: Sequence[str], load: tuple[str, ...]) -> None:
        """Set the capacity of the links so that the model takes as long as the experiment.

        The capacity is infinite if the experiment shows no sharing.
        """
        if load not in self.loads_s:
            return

        def excess(capacity_Bps: float) -> float:
            for name in links:
                self.capacity_Bps[name] = capacity_Bps
            return self._excess(load)

        if excess(np.inf) <= _UNSHARED:
            return
        exchanges = len(self.experiments[load])
        most = exchanges * max(self.bound_Bps) * 1.1
        excess(_root(excess, most / 1e6, most))

    def _fit_nodes(self, c: str) -> None:
        hosts = self.where.hosts[c]
        if len(hosts) < 2:
            wide = [row for name, row in self.row.items() if isinstance(name, tuple) and c in name]
            bound = max((self.bound_Bps[row] for row in wide), default=np.inf)
            for host in hosts:
                self.capacity_Bps[f"up {host}"] = self.capacity_Bps[f"down {host}"] = bound
            return
        alone_Bps = self.bound_Bps[self.row[c, c]]
        for direction, load in (("up", "out"), ("down", "in")):
            names = [f"{direction} {host}" for host in hosts]
            for name in names:
                self.capacity_Bps[name] = alone_Bps  # two nodes alone cannot show more than this
            self._fit_capacity(names, (load, c))

    def _fit_back(self, c: str) -> None:
        """Fit what a flow takes of the opposite direction of its nodes' links, from two opposite messages."""
        if ("both", c) not in self.loads_s:
            return

        def excess(back: float) -> float:
            self.back[c] = back
            return self._excess(("both", c))

        if excess(0.0) > _UNSHARED:
            excess(_root(excess, 1e-6, 1.0, rising=False))
        else:
            self.back[c] = 0.0

    def _fit_self(self, c: str) -> None:
        """Decide whether a message of a node to itself uses the node's links, by sending another message from it."""
        if ("self", c) not in self.loads_s:
            return
        distances = {}
        for shares in (True, False):
            self.self_shares[c] = shares
            modelled_s = self._takes_s(self.experiments["self", c])
            distances[shares] = float(np.abs(modelled_s - np.array(self.loads_s["self", c])).max())
        self.self_shares[c] = distances[True] <= distances[False]

    def _fit_penalties(self) -> None:
        """Fit how messages on different paths share a link: from observed ratios, or from the prior if there are none.

        Each ratio relates two unknowns; a cluster without an observed ratio keeps its prior.
        """
        rows = sorted({row for name, row in self.row.items() if isinstance(name, tuple)})
        equations, values = [], []
        for c, far, load, times_s in self._near_and_far():
            ratio = self._penalty_ratio(self.row[c, c], far, load, times_s)
            if ratio is not None:
                equations.append([1.0 * (row == far) - (row == self.row[c, c]) for row in rows])
                values.append(np.log(ratio))
        prior = np.log([self.penalty[row] for row in rows])
        if equations:
            weak = 1e-3 * np.eye(len(rows))
            table, right = np.vstack([equations, weak]), np.concatenate([values, weak @ prior])
            penalties = np.linalg.lstsq(table, right, rcond=None)[0]
            self.penalty |= dict(zip(rows, np.exp(penalties).tolist(), strict=True))
        for c, hosts in self.where.hosts.items():
            if len(hosts) > 1:  # a message of a node to itself counts as one to a neighbour
                self.penalty[self.row[c]] = self.penalty[self.row[c, c]]

    def _near_and_far(self) -> Iterator[tuple[str, int, Sequence[Exchange], Sequence[float]]]:
        """Yield the loads of a node that sends to a near and to a far one: cluster, far row, messages and times."""
        for c, d in permutations(self.where.hosts, 2):
            load = ("near and far", c, d)
            if load in self.loads_s:
                yield c, self.survey.row_between(c, d), self.experiments[load], self.loads_s[load]
        for name, exchanges in self.survey.far_loads.items():
            yield name[0], self.row[name], exchanges, self.survey.far_s[name]

    def _penalty_ratio(
        self, near: int, far: int, exchanges: Sequence[Exchange], times_s: Sequence[float]
    ) -> float | None:
        """Return the penalty of the far row divided by that of the near row, from a node that sends messages on both.

        The ratio follows from how much later one message ends than the other.  None if the two do not compete for the
        node's link: a range of ratios then gives the same times.
        """
        measured_s = times_s[0] - times_s[1]
        near_penalty, before = self.penalty[near], self.penalty[far]

        def too_long(ratio: float) -> float:
            self.penalty[far] = ratio * near_penalty
            near_s, far_s = self._takes_s(exchanges)
            return float(near_s - far_s - measured_s) / max(times_s)

        try:
            if too_long(1e-3) > _UNSHARED and too_long(1e3) < -_UNSHARED:
                return _root(too_long, 1e-3, 1e3, rising=False)
            return None
        finally:
            self.penalty[far] = before

    def _cautions(self) -> Iterator[str]:
        """Yield effects that experiments with many messages inside a cluster show and the fitted network does not."""
        for c, inside in self.structures.items():
            if inside.unresolved():
                yield f"{c}: of {inside.unresolved()} pairs of switches it is unknown which links their messages cross"
            if self.back.get(c, 0.0) > _MOST_ACKNOWLEDGED:
                yield (
                    f"{c}: messages in opposite directions share links, and whether only those of a node or also "
                    "those between switches was not measured"
                )

    def _unexplained(self) -> Iterator[Unexplained]:
        """Yield the clusters in which simultaneous messages between all nodes take longer than by the links found."""
        for c in self.structures:
            worst = 0.0
            for check in self.survey.crossing.checks.get(c, []):
                modelled_s = float(self._takes_s(self.survey.crossing.exchanges(c, check.flows)).max())
                worst = max(worst, max(check.times_s) / modelled_s - 1)
            if worst > _CHECKED:
                yield Unexplained(c, frozenset(self.where.hosts[c]), worst)

    def _fit_backbone(self, c: str) -> None:
        inside, outside = [f"in {c}"], [f"out of {c}"]
        self.capacity_Bps[inside[0]] = self.capacity_Bps[outside[0]] = np.inf
        if c not in self.structures:
            self._fit_capacity(inside, ("ring", c))
        self._fit_capacity(outside, ("outside", c))
        # One link carries both, unless messages inside the cluster were measured to be faster.
        if self.capacity_Bps[inside[0]] == np.inf and self.capacity_Bps[outside[0]] < np.inf:
            shared = self.capacity_Bps[outside[0]]
            self.capacity_Bps[inside[0]] = shared
            inner = [load for load in (("ring", c), ("inside and outside", c)) if load in self.loads_s]
            if any(self._excess(load) < -_UNSHARED for load in inner):
                self.capacity_Bps[inside[0]] = np.inf

    def _fit_wide_area(self, c: str, d: str) -> None:
        both = "{} and {}".format(*sorted((c, d)))
        for a, b in permutations((c, d)):
            self.capacity_Bps[f"{a} to {b}"] = np.inf
        self.capacity_Bps[both] = np.inf
        for a, b in permutations((c, d)):
            self._fit_capacity([f"{a} to {b}"], ("one way", a, b))
        self._fit_capacity([both], ("two ways", c, d))


def _timing(survey: Survey, bound_Bps: Sequence[float]) -> Timing:
    lines, gaps = survey.lines, list(survey.between)
    shape = len(lines), 1 + len(gaps)
    latency_s, factor = np.empty(shape), np.empty(shape)
    for row, line in enumerate(lines):
        for column, gap in enumerate([0, *gaps]):
            piece = [line[0], *(piece for piece in line[1:] if piece.first <= gap + 1)][-1]
            latency_s[row, column] = max(0.0, piece.start_s)
            factor[row, column] = 1 / (piece.s_per_byte * bound_Bps[row])
    return Timing(np.array([-1.0, *map(survey.above_bytes, gaps)]), latency_s, factor)


def _root(function: Callable[[float], float], low: float, high: float, *, rising: bool = True) -> float:
    """Return the argument at which a rising (or falling) function is zero, or the nearer end of the interval."""
    # Imported here because it is slow to import.
    from scipy.optimize import brentq

    sign = 1.0 if rising else -1.0
    if sign * function(low) > 0:
        return low
    if sign * function(high) < 0:
        return high
    return float(np.exp(brentq(lambda log: function(float(np.exp(log))), np.log(low), np.log(high), xtol=1e-8)))


@lru_cache(maxsize=64)  # a fit evaluates each a dozen times
def _exchange_program(exchanges: tuple[Exchange, ...]) -> Program:
    """Return a program of two agents per exchange: one sends and waits for the answer, the other waits and answers."""
    code = [RECV, SEND, WAIT_SENT, WAIT_RECEIVED]
    code += [RECV, WAIT_RECEIVED, SEND, WAIT_SENT]
    places = np.array([1, 0, 0, 1, 0, 0, 1, 1])
    count = len(exchanges)
    return Program(
        code=np.tile(np.array(code, np.uint8), count),
        argument=np.concatenate([places + 2 * i for i in range(count)]).astype(np.int32),
        value=np.zeros(8 * count),
        first=np.arange(0, 8 * count + 1, 4),
        source=np.arange(2 * count, dtype=np.int32),
        destination=np.arange(2 * count, dtype=np.int32) ^ 1,
        size_bytes=np.array([size for e in exchanges for size in (e.size_bytes, e.answer_bytes)]),
        mode=np.full(2 * count, Mode.STANDARD, np.uint8),
    )
