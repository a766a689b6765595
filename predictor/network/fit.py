"""The fit of a network to its survey: the capacity of each link explains the experiments under load.

The model assumes that the nodes of a cluster are alike, and that a message between two nodes crosses their own links,
links shared by their cluster, and links shared by the pair of clusters.  If the nodes of a cluster are not equally far
apart, the message crosses the links found between them (predictor.network.crossing) instead of one link that the whole
cluster shares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, permutations

import numpy as np

from apps.probes.network.measure import Exchange
from predictor.network.layout import HostsByCluster
from predictor.network.lines import alone_s
from predictor.network.loads import LoadName, round_of
from predictor.network.shared_links import SharedCapacity
from predictor.network.survey import Survey
from predictor.network.value import DirectedPath, Protocol, Timing, Unexplained

# Flows share a link roughly in inverse proportion to their round-trip times.  Without an experiment that shows the
# proportion, the latency and the time of a few packets, of this size, replace the round-trip time.
_PENALTY_BYTES = 9000
_CHECKED = 0.05  # relative: an experiment that checks the links causes a caution above this error
# The most that acknowledgements take of the opposite direction, as a share of the message's rate (SimGrid: 0.05).
_MOST_ACKNOWLEDGED = 0.15
_UNSHARED = 0.002  # relative: an experiment shows sharing if it takes longer than without sharing by more than this
_EXPLAINED = 1e-7  # relative: a capacity explains an experiment if it leaves at most this difference
_RATIO_EXPLAINED = 1e-6  # the same of a ratio of penalties
_MOST_STEPS = 8  # of the secant method
_TRIES = 4  # at a capacity, each from what the one before left unexplained

Loaded = tuple[Sequence[Exchange], Sequence[float]]  # messages that begin together, and their times, s


class Ways(Mapping[tuple[str, str], DirectedPath]):
    """The paths between all hosts, each built when first used: most programs use few of them."""

    def __init__(self, fit: NetworkFit):
        self._fit = fit
        self._made: dict[tuple[str, str], DirectedPath] = {}

    def __getitem__(self, pair: tuple[str, str]) -> DirectedPath:
        if pair not in self._made:
            if not self._fit.knows(*pair):
                raise KeyError(pair)
            self._made[pair] = self._fit.way(*pair)
        return self._made[pair]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        hosts = self._fit.cluster
        return ((a, b) for a in hosts for b in hosts if self._fit.knows(a, b))

    def __len__(self) -> int:
        return sum(1 for _ in self)


@dataclass
class NetworkFit:
    """The network that a survey shows.

    Args:
        where: The hosts.
        survey: Their survey.
        takes_s: Returns the time of each of some exchanges that begin together, s, on a network as far as it is fitted.
    """

    where: HostsByCluster
    survey: Survey
    takes_s: Callable[[NetworkFit, Sequence[Exchange]], np.ndarray]
    capacity_Bps: dict[str, float] = field(init=False)  # by link
    # By cluster: what a flow takes of the opposite direction of the nodes' links, as a share of its rate.
    back: dict[str, float] = field(init=False, default_factory=dict)
    # By cluster: whether a message of a node to itself uses the node's links.
    self_shares: dict[str, bool] = field(init=False, default_factory=dict)
    penalty: dict[int, float] = field(init=False)  # by class of paths

    def __post_init__(self) -> None:
        self.row = self.survey.row
        self.structures = self.survey.crossing.structures
        self._links: dict[tuple[str, str], tuple[str, ...]] = {}  # inside clusters, by pair of hosts
        self._ring_Bps: dict[str, float] = {}  # by cluster: capacity that messages inside it show
        self._likely_ratio = 0.0  # logarithm of the last ratio of penalties: the next one may be the same
        self.bound_Bps = [1 / line[-1].s_per_byte for line in self.survey.lines]
        self.timing = _timing(self.survey, self.bound_Bps)
        self.protocol = Protocol(*self.survey.waits_from_bytes, envelope_bytes=self.survey.envelope_bytes)
        self.cluster = {host: c for c, members in self.where.hosts.items() for host in members}
        self.penalty = {
            row: alone_s(line, 1) + _PENALTY_BYTES * line[-1].s_per_byte for row, line in enumerate(self.survey.lines)
        }
        self._rounds = round_of(list(self.where.hosts))
        self.capacity_Bps = {name: np.inf for pair in self._showing_all_links() for name in self.way(*pair).links}
        self._fit_crossings()
        for c in self.where.hosts:
            self._fit_nodes(c)
            for _ in range(2):  # the two fits depend on each other
                if c not in self.structures:
                    self._fit_capacity([f"in {c}"], self._between("ring", c, c))
                self._fit_back(c)
                if self.capacity_Bps[f"in {c}"] == np.inf or not self.back.get(c):
                    break
            self._ring_Bps[c] = self.capacity_Bps[f"in {c}"]
            self._fit_self(c)
        self._fit_crossings()
        self._fit_penalties()
        for _ in range(2):  # the first round may attribute a limit of the clusters to the wide area
            for c in self.where.hosts:
                self._fit_backbone(c)
            for c, d in combinations(self.where.hosts, 2):
                self._fit_wide_area(c, d)
            if all(self.capacity_Bps[name] == np.inf for pair in self._rounds for name in wide_area(*pair)):
                break

    def knows(self, a: str, b: str) -> bool:
        """Return whether there is a path from host a to host b."""
        c, d = self.cluster.get(a), self.cluster.get(b)
        return c is not None and d is not None and (a == b or c != d or (c, c) in self.row)

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

    def way(self, a: str, b: str) -> DirectedPath:
        """Return the path from host a to host b."""
        c, d = self.cluster[a], self.cluster[b]
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
            way, _, both_ways = wide_area(c, d)
            links |= {f"in {d}": 1.0, way: 1.0, both_ways: 1.0, f"out of {c}": 1.0, f"out of {d}": 1.0}
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
            return float(max(shown.times_s) / self.takes_s(self, exchanges).max()) - 1

        # Most links are as fast as those of the hosts.
        bounds = [self.bound_Bps[self.survey.row_of(a, b)] for a, b in shown.flows]
        if abs(excess(self.capacity_Bps.get(name, max(bounds)))) > _UNSHARED and abs(excess(max(bounds))) > _UNSHARED:
            excess(_root(excess, max(bounds) / 1e4, 2 * max(bounds)))

    def _all_of(self, name: LoadName) -> Loaded:
        """Return an experiment under load; no messages if there is none of this name."""
        return self.survey.loads.get(name, ()), self.survey.loads_s.get(name, ())

    def _between(self, name: LoadName, c: str, d: str) -> Loaded:
        """Return the part of an experiment under load that is between two clusters, or inside one."""
        load, times_s = self._all_of(name)
        ends = {c, d}
        chosen = [i for i, e in enumerate(load) if {self.cluster[e.source], self.cluster[e.destination]} == ends]
        return [load[i] for i in chosen], [times_s[i] for i in chosen]

    def _sent_by(self, what: str, c: str, d: str) -> Loaded:
        """Return a node's two messages in the round in which two clusters meet, if one of them is to the other one."""
        load, times_s = self._all_of((what, self._rounds.get((c, d), self._rounds.get((d, c), 0))))
        chosen = [i for i, e in enumerate(load) if self.cluster[e.source] == c]
        if d not in {self.cluster[load[i].destination] for i in chosen}:
            return (), ()
        return [load[i] for i in chosen], [times_s[i] for i in chosen]

    def _excess(self, loaded: Loaded) -> float:
        """Return the experiment's time minus the modelled time, relative to the transfer time of one message alone."""
        exchanges, times_s = loaded
        modelled_s = float(self.takes_s(self, exchanges).max())
        return (max(times_s) - modelled_s) / self._unit_s(exchanges)

    def _unit_s(self, exchanges: Sequence[Exchange]) -> float:
        """Return the longest transfer time of an experiment's messages alone, s."""
        return max(1e-12, *(e.size_bytes / self.bound_Bps[self._row(e)] for e in exchanges))

    def _fit_capacity(self, links: Sequence[str], loaded: Loaded) -> None:
        """Set the capacity of the links so that the model takes as long as the experiment.

        The capacity is infinite if the experiment shows no sharing.
        """
        exchanges, times_s = loaded
        if not exchanges:
            return

        def excess(capacity_Bps: float) -> float:
            for name in links:
                self.capacity_Bps[name] = capacity_Bps
            return self._excess(loaded)

        lines = [self.survey.lines[self._row(e)] for e in exchanges]
        alone = [line[-1].start_s + alone_s(line, 1) for line in lines]
        pairs = zip(lines, exchanges, strict=True)
        quickest_s = [line[-1].time_s(e.size_bytes) + alone_s(line, 1) for line, e in pairs]
        unit_s = self._unit_s(exchanges)
        if max(times_s) - max(quickest_s) <= _UNSHARED * unit_s or excess(np.inf) <= _UNSHARED:
            self.capacity_Bps |= dict.fromkeys(links, np.inf)
            return
        # If all messages begin together, they take their sum over the capacity.
        on_way_s = max(max(time_s - start_s for time_s, start_s in zip(times_s, alone, strict=True)), 1e-12)
        likely = sum(e.size_bytes for e in exchanges) / on_way_s
        for _ in range(_TRIES):
            if abs(left := excess(likely)) <= _EXPLAINED:
                return
            likely *= max(0.5, 1 - left * unit_s / on_way_s)
        most = 1.1 * len(exchanges) * max(self.bound_Bps)
        excess(_root(excess, most / 1e6, most))

    def _row(self, exchange: Exchange) -> int:
        a, b = exchange.source, exchange.destination
        return self.row[self.cluster[a]] if a == b else self.survey.row_of(a, b)

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
            links = [f"{direction} {host}" for host in hosts]
            self.capacity_Bps |= dict.fromkeys(links, alone_Bps)  # two nodes alone cannot show more than this
            self._fit_capacity(links, self._between(load, c, c))

    def _fit_back(self, c: str) -> None:
        """Fit what a flow takes of the opposite direction of its nodes' links, from two opposite messages."""
        loaded = self._between("both", c, c)
        if not loaded[0]:
            return

        def excess(back: float) -> float:
            self.back[c] = back
            return self._excess(loaded)

        likely = excess(0.0)
        if likely <= _UNSHARED:
            self.back[c] = 0.0
            return
        likely = max(self.back.values()) or likely  # of another cluster
        for _ in range(_TRIES):
            if abs(left := excess(min(likely, 1.0))) <= _EXPLAINED:
                return
            likely = max(likely / 2, likely + left)
        excess(_root(excess, 1e-6, 1.0, rising=False))

    def _fit_self(self, c: str) -> None:
        """Decide whether a message of a node to itself uses the node's links.

        Another message sent by the node at the same moment shows it; without one, the rate of the message alone.
        """
        exchanges, times_s = self._between("self", c, c)
        if not exchanges:
            node_Bps = self.capacity_Bps[f"up {self.where.hosts[c][0]}"]
            self.self_shares[c] = self.bound_Bps[self.row[c]] <= node_Bps * (1 + _UNSHARED)
            return
        distances = {}
        for shares in (True, False):
            self.self_shares[c] = shares
            distances[shares] = float(np.abs(self.takes_s(self, exchanges) - np.array(times_s)).max())
        self.self_shares[c] = distances[True] <= distances[False]

    def _fit_penalties(self) -> None:
        """Fit how messages on different paths share a link: from observed ratios, or from the prior if there are none.

        Each ratio relates two unknowns; a cluster without an observed ratio keeps its prior.
        """
        rows = sorted({row for name, row in self.row.items() if isinstance(name, tuple)})
        equations, values = [], []
        for c, far, loaded in self._near_and_far():
            ratio = self._penalty_ratio(self.row[c, c], far, loaded)
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

    def _near_and_far(self) -> Iterator[tuple[str, int, Loaded]]:
        """Yield the loads of a node that sends to a near and to a far one: cluster, far row, messages and times."""
        for c, d in permutations(self.where.hosts, 2):
            loaded = self._all_of(("near and far", c, d))
            for what in ("near and far", "far and near"):
                loaded = loaded if loaded[0] else self._sent_by(what, c, d)
            if loaded[0]:
                yield c, self.survey.row_between(c, d), loaded
        for name in self.survey.loads:
            if isinstance(name, tuple) and len(name) == 3 and name in self.row:
                yield str(name[0]), self.row[name], self._all_of(name)

    def _penalty_ratio(self, near: int, far: int, loaded: Loaded) -> float | None:
        """Return the penalty of the far row divided by that of the near row, from a node that sends messages on both.

        The ratio follows from how much later one message ends than the other.  None if the two do not compete for the
        node's link: a range of ratios then gives the same times.
        """
        exchanges, times_s = loaded
        measured_s = times_s[0] - times_s[1]
        near_penalty, before = self.penalty[near], self.penalty[far]

        def too_long(ratio: float) -> float:
            self.penalty[far] = ratio * near_penalty
            near_s, far_s = self.takes_s(self, exchanges)
            return float(near_s - far_s - measured_s) / max(times_s)

        try:
            at, step = self._likely_ratio or np.log(before / near_penalty), -0.3
            last, now = (too_long(float(np.exp(tried))) for tried in (at, at + step))
            if abs(now - last) <= _EXPLAINED:
                return None
            for number in range(_MOST_STEPS):
                if abs(last) <= _RATIO_EXPLAINED:
                    self._likely_ratio = at
                    return float(np.exp(at))
                now = too_long(float(np.exp(at + step))) if number else now
                if now == last:
                    break
                at, step, last = at + step, -now * step / (now - last), now
            if too_long(1e-3) > _UNSHARED and too_long(1e3) < -_UNSHARED:
                return _root(too_long, 1e-3, 1e3, rising=False)
            return None
        finally:
            self.penalty[far] = before

    def cautions(self) -> Iterator[str]:
        """Yield effects that experiments with many messages inside a cluster show and the fitted network does not."""
        for c, inside in self.structures.items():
            if inside.unresolved():
                yield f"{c}: of {inside.unresolved()} pairs of switches it is unknown which links their messages cross"
            if self.back.get(c, 0.0) > _MOST_ACKNOWLEDGED:
                yield (
                    f"{c}: messages in opposite directions share links, and whether only those of a node or also "
                    "those between switches was not measured"
                )

    def unexplained(self) -> Iterator[Unexplained]:
        """Yield the clusters in which simultaneous messages between all nodes take longer than by the links found."""
        for c in self.structures:
            worst = 0.0
            for check in self.survey.crossing.checks.get(c, []):
                modelled_s = float(self.takes_s(self, self.survey.crossing.exchanges(c, check.flows)).max())
                worst = max(worst, max(check.times_s) / modelled_s - 1)
            if worst > _CHECKED:
                yield Unexplained(c, frozenset(self.where.hosts[c]), worst)

    def _fit_backbone(self, c: str) -> None:
        inside, outside = f"in {c}", f"out of {c}"
        self.capacity_Bps[inside], self.capacity_Bps[outside] = self._ring_Bps[c], np.inf
        # Of two clusters, messages between them are all that leave one.
        loaded = self._all_of(("outside", c) if len(self.where.hosts) > 2 else ("two ways", 0))
        self._fit_capacity([outside], loaded)
        # One link carries both, unless messages inside the cluster were measured to be faster.
        if self.capacity_Bps[inside] == np.inf and self.capacity_Bps[outside] < np.inf:
            shared = self.capacity_Bps[inside] = self.capacity_Bps[outside]
            mixed = self._all_of(("mixed", c))
            if mixed[0] and self._excess(mixed) < -_UNSHARED:
                with_link = abs(self._excess(mixed))
                self.capacity_Bps[inside] = np.inf
                if abs(self._excess(mixed)) > with_link:
                    self.capacity_Bps[inside] = shared

    def _fit_wide_area(self, c: str, d: str) -> None:
        number, alone = self._rounds[c, d], ("two ways", c, d) in self.survey.loads
        *ways, both_ways = wide_area(c, d)
        self.capacity_Bps |= dict.fromkeys([*ways, both_ways], np.inf)
        if alone:
            for way, (a, b) in zip(ways, permutations((c, d)), strict=True):
                self._fit_capacity([way], self._all_of(("one way", a, b)))
        else:
            self._fit_capacity(ways, self._between(("one way", number), c, d))
        two = self._all_of(("two ways", c, d)) if alone else self._between(("two ways", number), c, d)
        self._fit_capacity([both_ways], two)


def wide_area(c: str, d: str) -> tuple[str, str, str]:
    """Return the names of the links between two clusters: in each direction, and in both together."""
    return f"{c} to {d}", f"{d} to {c}", "{} and {}".format(*sorted((c, d)))


def _timing(survey: Survey, bound_Bps: Sequence[float]) -> Timing:
    lines, gaps, envelope_bytes = survey.lines, list(survey.between), survey.envelope_bytes
    shape = len(lines), 1 + len(gaps)
    latency_s, factor = np.empty(shape), np.empty(shape)
    for row, line in enumerate(lines):
        for column, gap in enumerate([0, *gaps]):
            piece = [line[0], *(piece for piece in line[1:] if piece.first <= gap + 1)][-1]
            latency_s[row, column] = max(0.0, piece.start_s - envelope_bytes * piece.s_per_byte)
            factor[row, column] = 1 / (piece.s_per_byte * bound_Bps[row])
    above_bytes = np.array([-1.0, *(survey.above_bytes(gap) + envelope_bytes for gap in gaps)])
    return Timing(above_bytes, latency_s, factor)


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
