"""The network as messages find it (predictor ``dpgraph``): nothing is read from the platform file but who is where.

Ping-pongs between two nodes of each cluster, between each pair of clusters and from a node to itself give latency and
rate by size.  What is shared shows only under load: messages from one node, to one node, both ways, around a cluster,
between clusters one way and both, from a cluster to all others.  Each of these experiments gives one number, the
capacity with which the fluid model takes as long as the experiment did.

Assumed: the nodes of a cluster are alike; between two nodes lie their own links, what their cluster shares, and what
the pair of clusters shares.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations, permutations

import numpy as np

from apps.netprobe.measure import Exchange, Late, Measurement, Plan
from apps.recording import Mode
from platforms.platform import Platform
from predictor.dpgraph import fluid
from predictor.dpgraph.evaluate import execute
from predictor.dpgraph.network import Network, Protocol, Timing, Way
from predictor.dpgraph.program import Program
from predictor.dpgraph.segments import Piece, pieces

LARGE_BYTES = 8_000_000  # of messages under load: long against latencies
_RATIO = 1.05  # between sizes that follow each other
_DENSE_UP_TO_BYTES = 150_000
_LARGEST_BUFFERED_BYTES = 2**22  # looked at, to see whether a sender waits for its receiver
# Flows that share a link get rates about as their round trips have it; where that has not been seen, the time of a
# message of this size, some packets, stands for the round trip.
_PENALTY_BYTES = 9000
_SIZES_PER_GAP = 15  # measured at a time, where a line ends
_EXACT = 1e-4  # relative: a break need not be known better
_UNSHARED = 0.002  # an experiment that takes at most so much longer than without sharing shows none, relative


@cache
def sizes_bytes() -> tuple[int, ...]:
    """The sizes of the ping-pongs: dense where protocols change, then doubling."""
    dense = np.unique(np.round(np.geomspace(1, _DENSE_UP_TO_BYTES, int(np.log(_DENSE_UP_TO_BYTES) / np.log(_RATIO)))))
    return tuple(int(size) for size in dense) + tuple(2**power for power in range(18, 24))


@dataclass(frozen=True)
class Layout:
    """The hosts in use, cluster by cluster."""

    hosts: dict[str, tuple[str, ...]]  # by cluster

    @property
    def classes(self) -> dict[tuple[str, str], tuple[str, str]]:
        """Two hosts that stand for each kind of path: (c, c) in a cluster, (c, d) between two."""
        found = {(name, name): (hosts[0], hosts[1]) for name, hosts in self.hosts.items() if len(hosts) > 1}
        for c, d in combinations(self.hosts, 2):
            found[c, d] = (self.hosts[c][0], self.hosts[d][0])
        return found

    def pairs(self, c: str, d: str) -> list[tuple[str, str]]:
        """Disjoint pairs of hosts, one in each cluster."""
        return list(zip(self.hosts[c], self.hosts[d], strict=False))

    def ring(self, c: str) -> list[tuple[str, str]]:
        hosts = self.hosts[c]
        return list(zip(hosts, hosts[1:] + hosts[:1], strict=True))

    def outside(self, c: str) -> list[tuple[str, str]]:
        """Every host of a cluster with one of another cluster, which take turns."""
        others = [host for row in zip_round([h for d, h in self.hosts.items() if d != c]) for host in row]
        return list(zip(self.hosts[c], others * len(self.hosts[c]), strict=False))


def zip_round(groups: Sequence[Sequence[str]]) -> list[list[str]]:
    """The first of each group, then the second of each that has one, and so on."""
    return [[group[i] for group in groups if i < len(group)] for i in range(max(map(len, groups), default=0))]


def layout(platform: Platform, placement: Sequence[str]) -> Layout:
    """The hosts of a placement by cluster, in the platform's order."""
    used = set(placement)
    found = {c.name: tuple(h.name for h in c.hosts if h.name in used) for c in platform.clusters}
    return Layout({name: hosts for name, hosts in found.items() if hosts})


def _one_way(pairs: Sequence[tuple[str, str]]) -> tuple[Exchange, ...]:
    return tuple(Exchange(a, b, LARGE_BYTES, 0) for a, b in pairs)


def _both_ways(pairs: Sequence[tuple[str, str]]) -> tuple[Exchange, ...]:
    return _one_way([pair for a, b in pairs for pair in ((a, b), (b, a))])


def _loads(where: Layout) -> dict[tuple, tuple[Exchange, ...]]:
    """The experiments under load, by what they are for."""
    loads = {}
    for c, hosts in where.hosts.items():
        if len(hosts) > 1:
            loads["both", c] = _both_ways([hosts[:2]])
            loads["self", c] = _one_way([(hosts[0], hosts[0]), (hosts[0], hosts[1])])
        if len(hosts) > 2:
            loads["out", c] = _one_way([(hosts[0], other) for other in hosts[1:3]])
            loads["in", c] = _one_way([(other, hosts[0]) for other in hosts[1:3]])
            loads["ring", c] = _one_way(where.ring(c))
        if len(where.hosts) > 1:
            loads["outside", c] = _both_ways(where.outside(c))
    for c, d in permutations(where.hosts, 2):
        if len(where.hosts[c]) > 1:
            near, far = where.hosts[c][:2], (where.hosts[c][0], where.hosts[d][0])
            loads["near and far", c, d] = _one_way([near, far])
    for c, d in combinations(where.hosts, 2):
        loads["one way", c, d] = _one_way(where.pairs(c, d))
        loads["one way", d, c] = _one_way(where.pairs(d, c))
        loads["two ways", c, d] = _both_ways(where.pairs(c, d))
    return loads


def next_plan(platform: Platform, placement: Sequence[str], results: Sequence[Measurement] = ()) -> Plan | None:
    """The next experiments for the hosts of a placement, given the results of those before; None: it is enough.

    First everything; then, as long as it is not known to a few bytes where a line ends, or from which size on a sender
    waits for its receiver, sizes around there.
    """
    where = layout(platform, placement)
    if not results:
        experiments: list[tuple[Exchange, ...]] = []
        for a, b in _series(where).values():
            experiments += _ping_pongs(a, b, sizes_bytes())
        return Plan(platform, (*experiments, *_loads(where).values()))
    survey = _Survey(where, results)
    experiments = []
    for gap in survey.open_gaps():
        experiments += _ping_pongs(*survey.hosts_of(gap), survey.sizes_in(gap))
    experiments += survey.late_experiments()
    return Plan(platform, tuple(experiments)) if experiments else None


def _ping_pongs(a: str, b: str, sizes: Sequence[int]) -> list[tuple[Exchange, ...]]:
    """The first is not looked at: what came before may not have died away."""
    return [(Exchange(a, b, size, size),) for size in (1, *sizes)]


def _series(where: Layout) -> dict[tuple[str, str] | str, tuple[str, str]]:
    """Of each class of paths and of each cluster (to oneself): the two hosts of its ping-pongs."""
    return {**where.classes, **{c: (hosts[0], hosts[0]) for c, hosts in where.hosts.items()}}


def measured_network(platform: Platform, placement: Sequence[str], results: Sequence[Measurement]) -> Network:
    """The network between all hosts of a placement, from the results of all its plans."""
    where = layout(platform, placement)
    return _Fit(where, _Survey(where, results)).network()


class _Survey:
    """What the ping-pongs say: lines, and where each ends."""

    def __init__(self, where: Layout, results: Sequence[Measurement]):
        self._series = _series(where)
        self.row = {name: i for i, name in enumerate(self._series)}
        self.amount_bytes = np.array(sizes_bytes(), float)
        each = 1 + len(sizes_bytes())
        first = results[0].times_s
        self.lines = [
            pieces(self.amount_bytes, _one_way_s(first[i * each : (i + 1) * each])) for i in range(len(self._series))
        ]
        self.loads = dict(zip(_loads(where), first[len(self._series) * each :], strict=True))
        self._quickest = {}  # class that tells of a gap in the least time, by the gap
        for row, line in enumerate(self.lines):
            for piece in line[1:]:
                gap = piece.first
                other = self._quickest.get(gap, row)
                if line[0].start_s <= self.lines[other][0].start_s:
                    self._quickest[gap] = row
        for gap in sorted(self._quickest):  # where lines cross, some classes show a break one point later than others
            if gap - 1 in self._quickest:
                del self._quickest[gap]
        # The last size known to lie before the break, and the first known to lie after it.
        self.between = {gap: (sizes_bytes()[gap - 1], sizes_bytes()[gap]) for gap in sorted(self._quickest)}
        # The same for what a late receiver shows: whether the sender goes on, whether the message has come before.
        self.late = {name: (0, _LARGEST_BUFFERED_BYTES) for name in ("sender", "message")}
        for result in results[1:]:
            self._narrow(result)

    @property
    def protocol(self) -> Protocol:
        return Protocol(*(_beyond(self.late[name]) for name in ("sender", "message")), envelope_bytes=0)

    def late_experiments(self) -> list[Late]:
        """Messages to a late receiver, of sizes around where that begins to matter."""
        distances = {name: self._series[name] for name in self.row if self._series[name][0] != self._series[name][1]}
        if not distances:
            return []
        nearest = min(distances, key=lambda name: self.lines[self.row[name]][0].start_s)
        line = self.lines[self.row[nearest]]
        return [Late(*distances[nearest], size, _late_us(line, size)) for size in self._late_sizes()]

    def _late_sizes(self) -> list[int]:
        sizes: set[int] = set()
        for low, high in self.late.values():
            if (low, high) == (0, _LARGEST_BUFFERED_BYTES):
                sizes |= {2**power for power in range(_LARGEST_BUFFERED_BYTES.bit_length())}
            elif high - low > max(1, _EXACT * low):
                sizes |= {int(size) for size in np.linspace(low, high, _SIZES_PER_GAP + 2)[1:-1]} - {low, high}
        return sorted(sizes)

    def open_gaps(self) -> list[int]:
        return [gap for gap, (low, high) in self.between.items() if high - low > max(1, _EXACT * low)]

    def hosts_of(self, gap: int) -> tuple[str, str]:
        return list(self._series.values())[self._quickest[gap]]

    def sizes_in(self, gap: int) -> list[int]:
        low, high = self.between[gap]
        return sorted({int(size) for size in np.linspace(low, high, _SIZES_PER_GAP + 2)[1:-1]} - {low, high})

    def above_bytes(self, gap: int) -> float:
        """Where a break lies."""
        return float(np.mean(self.between[gap]))

    def _narrow(self, result: Measurement) -> None:
        times, at = result.times_s, 0
        late = self.late_experiments()
        for gap in self.open_gaps():
            sizes = self.sizes_in(gap)
            line = self.lines[self._quickest[gap]]
            after = next(i for i, piece in enumerate(line) if piece.first == gap)
            low, high = self.between[gap]
            for size, time_s in zip(sizes, _one_way_s(times[at : at + 1 + len(sizes)]), strict=True):
                if abs(time_s - line[after - 1].time_s(size)) <= abs(time_s - line[after].time_s(size)):
                    low = max(low, size)
                else:
                    high = min(high, size)
                    break
            at += 1 + len(sizes)
            self.between[gap] = (low, high)
        for one, (send_s, receive_s) in zip(late, times[at:], strict=True):
            late_s = one.late_us * 1e-6
            self._sort("sender", one.size_bytes, waits=send_s > late_s / 2)
            self._sort("message", one.size_bytes, waits=receive_s > late_s / 20)

    def _sort(self, what: str, size: int, *, waits: bool) -> None:
        """Takes note that messages of this size wait for their receiver, or do not."""
        low, high = self.late[what]
        self.late[what] = (low, min(high, size)) if waits else (min(max(low, size), high), high)


def _beyond(between: tuple[int, int]) -> float:
    """The size from which on messages wait, given the last that did not and the first that did."""
    low, high = between
    if high == _LARGEST_BUFFERED_BYTES:  # none seen to wait
        return np.inf
    return 0.0 if low == 0 else (low + high) / 2


def _time_s(line: Sequence[Piece], size: int) -> float:
    """How long a message takes alone."""
    fitting = [piece for piece in line if sizes_bytes()[piece.first] <= size] or line[:1]
    return max(1e-12, fitting[-1].time_s(size))


def _late_us(line: Sequence[Piece], size: int) -> int:
    """So late that the message would long have come: ten times as long as it takes."""
    return max(10, int(1e7 * _time_s(line, size)) + 1)


def _one_way_s(times: Sequence[Sequence[float]]) -> np.ndarray:
    """Of ping-pongs, the first of which does not count."""
    return np.array([time[0] for time in times[1:]]) / 2


@dataclass
class _Fit:
    where: Layout
    survey: _Survey
    capacity_Bps: dict[str, float] = field(default_factory=dict)
    back: dict[str, float] = field(default_factory=dict)  # by cluster: what a flow takes of its nodes' other direction
    self_shares: dict[str, bool] = field(default_factory=dict)  # by cluster: messages to oneself use the node's links
    penalty: dict[int, float] = field(default_factory=dict)  # by class of paths

    def __post_init__(self):
        self.row, self.lines, self.loads = self.survey.row, self.survey.lines, self.survey.loads
        self.bound_Bps = [1 / line[-1].s_per_byte for line in self.lines]
        self.timing = _timing(self.survey, self.bound_Bps)
        self.experiments = _loads(self.where)
        self.penalty = {row: _time_s(line, _PENALTY_BYTES) for row, line in enumerate(self.lines)}

    def network(self) -> Network:
        hosts = [(c, host) for c, members in self.where.hosts.items() for host in members]
        ways = {(a, b): self.way(c, a, d, b) for c, a in hosts for d, b in hosts if self._known(c, a, d, b)}
        self.capacity_Bps = {name: np.inf for way in ways.values() for name in way.links}
        for c in self.where.hosts:
            self._fit_nodes(c)
            for _ in range(2):  # either may explain the other, until both are known
                self._fit_capacity([f"in {c}"], ("ring", c))
                self._fit_back(c)
            self._fit_self(c)
        self._fit_penalties()
        for _ in range(2):  # what the first round takes for the wide area may be the clusters' own
            for c in self.where.hosts:
                self._fit_backbone(c)
            for c, d in combinations(self.where.hosts, 2):
                self._fit_wide_area(c, d)
        return self._network({pair: self.way(*self._ends(pair)) for pair in ways})

    def _known(self, c: str, a: str, d: str, b: str) -> bool:
        return a == b or c != d or (c, c) in self.row

    def _ends(self, pair: tuple[str, str]) -> tuple[str, str, str, str]:
        a, b = pair
        cluster = {host: c for c, members in self.where.hosts.items() for host in members}
        return cluster[a], a, cluster[b], b

    def way(self, c: str, a: str, d: str, b: str) -> Way:
        """The way from host a of cluster c to host b of cluster d."""
        row = self.row[c] if a == b else self.row.get((c, d), self.row.get((d, c)))
        links: dict[str, float] = {}
        if a != b or self.self_shares.get(c, True):
            links[f"up {a}"] = 1.0
            links[f"down {b}"] = 1.0
            for name, cluster in ((f"down {a}", c), (f"up {b}", d)):
                if self.back.get(cluster, 0.0) > 0:
                    links[name] = links.get(name, 0.0) + self.back[cluster]
            links[f"in {c}"] = 1.0
        if c != d:
            links |= {f"in {d}": 1.0, f"{c} to {d}": 1.0, "{} and {}".format(*sorted((c, d))): 1.0}
            links |= {f"out of {c}": 1.0, f"out of {d}": 1.0}
        return Way(row, self.bound_Bps[row], self.penalty[row], links)

    def _network(self, ways: dict[tuple[str, str], Way]) -> Network:
        return Network(ways, self.capacity_Bps, self.timing, self.survey.protocol)

    def _takes_s(self, exchanges: Sequence[Exchange]) -> np.ndarray:
        """How long the model takes for an experiment under load, per exchange."""
        pairs = {(e.source, e.destination) for e in exchanges} | {(e.destination, e.source) for e in exchanges}
        ways = {pair: self.way(*self._ends(pair)) for pair in pairs}
        names = {name for way in ways.values() for name in way.links}
        network = Network(ways, {name: self.capacity_Bps[name] for name in names}, self.timing, self.survey.protocol)
        agents = tuple(host for e in exchanges for host in (e.source, e.destination))
        return execute(_exchange_program(exchanges), network, agents, np.zeros(len(agents))).end_s[::2]

    def _excess(self, load: tuple) -> float:
        """How much longer the experiment took than the model has it, relative to the time the messages flow."""
        exchanges = self.experiments[load]
        measured_s, modelled_s = max(self.loads[load]), float(self._takes_s(exchanges).max())
        alone_s = LARGE_BYTES / max(self.bound_Bps)
        return (measured_s - modelled_s) / max(alone_s, 1e-12)

    def _fit_capacity(self, links: Sequence[str], load: tuple) -> None:
        """Gives the links the capacity with which the model takes as long as the experiment; none, if none shows."""
        if load not in self.loads:
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
                self.capacity_Bps[name] = alone_Bps  # of two nodes no more can be known
            self._fit_capacity(names, (load, c))

    def _fit_back(self, c: str) -> None:
        """What a flow takes of the other direction of its nodes' links, from two that meet."""
        if ("both", c) not in self.loads:
            return

        def excess(back: float) -> float:
            self.back[c] = back
            return self._excess(("both", c))

        if excess(0.0) > _UNSHARED:
            excess(_root(excess, 1e-6, 1.0, rising=False))
        else:
            self.back[c] = 0.0

    def _fit_self(self, c: str) -> None:
        """Whether a message to oneself uses the node's links: seen by another that leaves the node."""
        if ("self", c) not in self.loads:
            return
        distances = {}
        for shares in (True, False):
            self.self_shares[c] = shares
            modelled_s = self._takes_s(self.experiments["self", c])
            distances[shares] = float(np.abs(modelled_s - np.array(self.loads["self", c])).max())
        self.self_shares[c] = distances[True] <= distances[False]

    def _fit_penalties(self) -> None:
        """How messages on different paths share a link: the ratios that have been seen, and where none has, the prior.

        A ratio joins two unknowns; a cluster that nobody compares keeps what it had.
        """
        rows = sorted({row for name, row in self.row.items() if isinstance(name, tuple)})
        equations, values = [], []
        for c, d in permutations(self.where.hosts, 2):
            ratio = self._penalty_ratio(c, d)
            if ratio is not None:
                far = self.row.get((c, d), self.row.get((d, c)))
                equations.append([1.0 * (row == far) - (row == self.row[c, c]) for row in rows])
                values.append(np.log(ratio))
        prior = np.log([self.penalty[row] for row in rows])
        if equations:
            weak = 1e-3 * np.eye(len(rows))
            table, right = np.vstack([equations, weak]), np.concatenate([values, weak @ prior])
            found = np.linalg.lstsq(table, right, rcond=None)[0]
            self.penalty |= dict(zip(rows, np.exp(found).tolist(), strict=True))
        for c, hosts in self.where.hosts.items():
            if len(hosts) > 1:  # to oneself as to a neighbour
                self.penalty[self.row[c]] = self.penalty[self.row[c, c]]

    def _penalty_ratio(self, c: str, d: str) -> float | None:
        """Penalty of messages from c to d over that inside c, as a node that sends both shows.

        Seen by how much the message inside c comes after the other.  None where they do not compete for the node's
        link, so that a range of ratios would do.
        """
        load = ("near and far", c, d)
        if load not in self.loads:
            return None
        exchanges = self.experiments[load]
        measured_s = self.loads[load][0] - self.loads[load][1]
        far = self.row.get((c, d), self.row.get((d, c)))
        near_penalty, before = self.penalty[self.row[c, c]], self.penalty[far]

        def too_long(ratio: float) -> float:
            self.penalty[far] = ratio * near_penalty
            near_s, far_s = self._takes_s(exchanges)
            return float(near_s - far_s - measured_s) / max(self.loads[load])

        try:
            if too_long(1e-3) > _UNSHARED and too_long(1e3) < -_UNSHARED:
                return _root(too_long, 1e-3, 1e3, rising=False)
            return None
        finally:
            self.penalty[far] = before

    def _fit_backbone(self, c: str) -> None:
        inside, outside = [f"in {c}"], [f"out of {c}"]
        self.capacity_Bps[inside[0]] = self.capacity_Bps[outside[0]] = np.inf
        self._fit_capacity(inside, ("ring", c))
        self._fit_capacity(outside, ("outside", c))
        # One thing, unless messages inside the cluster have been seen to get more.
        if self.capacity_Bps[inside[0]] == np.inf and self.capacity_Bps[outside[0]] < np.inf:
            shared = self.capacity_Bps[outside[0]]
            self.capacity_Bps[inside[0]] = shared
            if ("ring", c) in self.loads and self._excess(("ring", c)) < -_UNSHARED:
                self.capacity_Bps[inside[0]] = np.inf

    def _fit_wide_area(self, c: str, d: str) -> None:
        both = "{} and {}".format(*sorted((c, d)))
        for a, b in permutations((c, d)):
            self.capacity_Bps[f"{a} to {b}"] = np.inf
        self.capacity_Bps[both] = np.inf
        for a, b in permutations((c, d)):
            self._fit_capacity([f"{a} to {b}"], ("one way", a, b))
        self._fit_capacity([both], ("two ways", c, d))


def _timing(survey: _Survey, bound_Bps: Sequence[float]) -> Timing:
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
    """Where ``function``, which rises (or falls) with its argument, crosses zero; an end where it does not."""
    from scipy.optimize import brentq

    sign = 1.0 if rising else -1.0
    if sign * function(low) > 0:
        return low
    if sign * function(high) < 0:
        return high
    return float(np.exp(brentq(lambda log: function(float(np.exp(log))), np.log(low), np.log(high), xtol=1e-8)))


def _exchange_program(exchanges: Sequence[Exchange]) -> Program:
    """Two agents per exchange: who sends and then waits for the answer, and who waits and then answers."""
    code = [fluid.RECV, fluid.SEND, fluid.WAIT_SENT, fluid.WAIT_RECEIVED]
    code += [fluid.RECV, fluid.WAIT_RECEIVED, fluid.SEND, fluid.WAIT_SENT]
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
