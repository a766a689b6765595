"""The paths of a network and the links they share, from the experiments of predictor/structural/sharing_survey.py.

The model assumes that the nodes of a cluster are alike; that a message between two nodes crosses their own links, links
shared by their cluster, and links shared by the pair of clusters; and that the effect of a message's size is the same
on all paths, in proportion to the latency and to the rate of the path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from apps.probes.network.measure import Exchange as Message
from apps.probes.plan import Measurement
from apps.traffic.steps import Exchange
from predictor.network.survey import HostsByCluster
from predictor.structural.contention import share
from predictor.structural.paths import Paths, PlaceOfLinks
from predictor.structural.recurrence import runs
from predictor.structural.schedule import flattened, rounds
from predictor.structural.sharing_survey import LARGE_BYTES, Lines, LoadName, Sizes, loads, read_lines

# Relative: an experiment shows a further link if it takes longer than explained by the known links by more than this.
_UNSHARED = 0.002
# Relative: a link is accepted if it explains the end of an experiment better than this, and better than the others.
_SEEN = 0.02
# Flows share a link roughly in inverse proportion to their round-trip times; the time of a message of this size (a few
# packets) is used as the round-trip time.
_PENALTY_BYTES = 9000


@dataclass(frozen=True, eq=False)
class BareNetwork:
    """A network between the hosts in use, without the effects of message sizes."""

    hosts: tuple[str, ...]  # grouped by cluster
    lines: Lines
    paths: Paths  # paths for the sizes of the experiments under load

    def on(self, hosts: Mapping[str, Sequence[str]]) -> BareNetwork:
        """Return the same network between other hosts of the same clusters, in the same order of clusters.

        Nodes of a cluster are alike, and the capacity of their shared links does not depend on their number.
        """
        names = tuple(host for members in hosts.values() for host in members)
        old = self.paths
        cluster = np.repeat(np.arange(len(hosts), dtype=np.int32), [len(members) for members in hosts.values()])
        first = np.searchsorted(old.cluster, np.arange(len(hosts)))
        node_Bps = [old.capacity_Bps[way * len(self.hosts) + first][cluster] for way in range(2)]
        capacity_Bps = np.concatenate([*node_Bps, old.capacity_Bps[2 * len(self.hosts) :]])
        return BareNetwork(names, self.lines, old._replace(cluster=cluster, capacity_Bps=capacity_Bps))

    def at(self, sizes: Sizes, wanted_bytes: np.ndarray) -> tuple[Paths, np.ndarray]:
        """Return the paths and the protocol for these sizes; times are interpolated between the measured sizes.

        Args:
            sizes: The measured effects of sizes.
            wanted_bytes: The sizes of a schedule, ascending.
        """
        latency = np.interp(wanted_bytes, sizes.size_bytes, sizes.latency)
        reference_Bps = self.lines.rate_Bps[self.lines.row[sizes.name]]
        amount_bytes = wanted_bytes * np.interp(wanted_bytes, sizes.size_bytes, sizes.s_per_byte) * reference_Bps
        nearest = np.minimum(np.searchsorted(sizes.size_bytes, wanted_bytes), len(sizes.size_bytes) - 1)
        paths = self.paths._replace(
            latency_s=self.lines.small_s[:, None] * latency,
            amount_bytes=np.tile(amount_bytes, (len(self.lines.rate_Bps), 1)),
        )
        return paths, sizes.protocol[nearest]


def read_ground(where: HostsByCluster, measurement: Measurement) -> BareNetwork:
    """Return the network from the result of ``survey.network_plan``.

    Raises:
        OutOfRange: As ``read_lines``.
    """
    return _Fit(where, read_lines(where, measurement)).ground()


class _Fit:
    """Fits the links one after the other: each experiment shows a link that the known links do not explain."""

    def __init__(self, where: HostsByCluster, lines: Lines):
        self.where, self.lines, self.experiments = where, lines, loads(where)
        self.clusters = list(where.hosts)
        hosts = [(c, host) for c, members in enumerate(where.hosts.values()) for host in members]
        self.host = {name: i for i, (_, name) in enumerate(hosts)}
        self.cluster = np.array([c for c, _ in hosts], np.int32)
        self.at = PlaceOfLinks(len(hosts), len(self.clusters))
        latency_s = lines.large_s - LARGE_BYTES / lines.rate_Bps
        self.paths = Paths(
            cluster=self.cluster,
            row=np.array([[self._row(c, d) for d in self.clusters] for c in self.clusters], np.int32),
            self_row=np.array([lines.row[c] for c in self.clusters], np.int32),
            latency_s=latency_s[:, None],
            amount_bytes=np.full((len(latency_s), 1), float(LARGE_BYTES)),
            bound_Bps=lines.rate_Bps,
            penalty=lines.small_s + _PENALTY_BYTES / lines.rate_Bps,
            capacity_Bps=np.full(self.at.count, np.inf),
            back=np.zeros(len(self.clusters)),
            self_shares=np.ones(len(self.clusters), bool),
        )

    def _row(self, c: str, d: str) -> int:
        """Return the row of the paths between two clusters; the row inside a cluster of one host is never used."""
        return self.lines.row_between(c, d) if c != d else self.lines.row.get((c, c), 0)

    def ground(self) -> BareNetwork:
        """Return the fitted network."""
        count = range(len(self.clusters))
        for c in count:
            self._fit_nodes(c)
            for _ in range(2):  # the two fits depend on each other
                self.paths.capacity_Bps[self.at.inside(c)] = np.inf
                self._fit_shared("ring", (c, c), [self.at.inside(c)])
                self._fit_back(c)
        for name in self.experiments:
            for c, d in combinations(count, 2):
                if name[0] == "one way":
                    self._fit_shared(name, (c, d), [self.at.one_way(c, d), self.at.one_way(d, c)])
                if name[0] == "two ways":
                    self._fit_shared(name, (c, d), [self.at.both_ways(c, d)])
        for c in count:
            self._fit_shared(("outside", self.clusters[c]), None, [self.at.outside(c)])
        for c in count:
            self._fit_mixed(c)
        for c in count:
            self._fit_self(c)
        return BareNetwork(tuple(self.host), self.lines, self.paths)

    def _fit_nodes(self, c: int) -> None:
        """Fit the links of a node, from two messages that leave it."""
        hosts = np.flatnonzero(self.cluster == c)
        links = np.concatenate([self.at.from_host(hosts), self.at.to_host(hosts)])
        if len(hosts) == 1:
            rates_Bps = [self.lines.rate_Bps[self.paths.row[c, d]] for d in range(len(self.clusters)) if d != c]
            self.paths.capacity_Bps[links] = max(rates_Bps, default=np.inf)
            return
        rate_Bps = self.lines.rate_Bps[self.paths.row[c, c]]
        self.paths.capacity_Bps[links] = rate_Bps
        flows = self._flows("out", (c, c))
        if len(flows):
            together_Bps = len(flows) * LARGE_BYTES / self._measured_s("out")[flows].max()
            seen = together_Bps < len(flows) * rate_Bps / (1 + _UNSHARED)
            self.paths.capacity_Bps[links] = max(rate_Bps, together_Bps) if seen else np.inf

    def _fit_back(self, c: int) -> None:
        """Fit what acknowledgements take of the opposite direction of the nodes' links, from two opposite messages."""
        flows = self._flows("both", (c, c))
        self.paths.back[c] = 0.0
        if not len(flows):
            return
        took_s, node_Bps = self._measured_s("both")[flows].max(), self.paths.capacity_Bps[np.argmax(self.cluster == c)]
        if took_s > (1 + _UNSHARED) * self._modelled_s("both")[flows].max() and node_Bps < np.inf:
            self.paths.back[c] = min(took_s * node_Bps / LARGE_BYTES - 1, 1.0)

    def _fit_self(self, c: int) -> None:
        """Decide whether a message of a node to itself uses the node's links.

        Another message sent by the node at the same moment shows it; without one, the rate of the message alone.
        """
        flows = self._flows("self", (c, c))
        if not len(flows):  # the only node of its cluster: a message to itself that is faster than its link avoids it
            node_Bps = self.paths.capacity_Bps[self.at.from_host(np.flatnonzero(self.cluster == c))].max()
            self.paths.self_shares[c] = self.lines.rate_Bps[self.paths.self_row[c]] <= node_Bps * (1 + _UNSHARED)
            return
        distance_s = {}
        for shares in (True, False):
            self.paths.self_shares[c] = shares
            distance_s[shares] = np.abs(self._modelled_s("self") - self._measured_s("self"))[flows].max()
        self.paths.self_shares[c] = distance_s[True] <= distance_s[False]

    def _fit_shared(self, name: LoadName, between: tuple[int, int] | None, links: list[int]) -> None:
        """Set the capacity of a link, in one or two directions, to explain an experiment, if it shows such a link.

        Only messages between the clusters ``between`` count, or all messages if it is None.
        """
        if name not in self.experiments:
            return
        flows = self._flows(name, between)
        if not len(flows):
            return
        took_s = self._measured_s(name)[flows].max()
        if took_s > (1 + _UNSHARED) * self._modelled_s(name)[flows].max():
            self.paths.capacity_Bps[links] = len(flows) * LARGE_BYTES / took_s

    def _fit_mixed(self, c: int) -> None:
        """Fit the outside link as one also used by messages inside a cluster, if these did not fill a link alone."""
        name, link = ("mixed", self.clusters[c]), self.at.inside(c)
        if name not in self.experiments or self.paths.capacity_Bps[link] < np.inf:
            return
        # Messages inside start earlier than the others, so the date of the last arrival counts.
        rows = [self._row_of(message) for message in self.experiments[name]]
        end_s = (self.paths.latency_s[rows, 0] + self._measured_s(name)).max()
        others = [self.at.outside(c), *(self.at.both_ways(c, d) for d in range(len(self.clusters)) if d != c)]
        distance_s = {}
        for capacity_Bps in {np.inf, *self.paths.capacity_Bps[others].tolist()}:
            self.paths.capacity_Bps[link] = capacity_Bps
            distance_s[capacity_Bps] = abs(self._modelled_end_s(name) - end_s)
        best_Bps = min(distance_s, key=lambda capacity_Bps: (distance_s[capacity_Bps], capacity_Bps))
        known = distance_s[best_Bps] < _SEEN * end_s < distance_s[np.inf]
        self.paths.capacity_Bps[link] = best_Bps if known else np.inf

    def _flows(self, name: LoadName, between: tuple[int, int] | None) -> np.ndarray:
        """Return the places of an experiment's messages between two clusters, in either direction."""
        ends = [sorted(self.cluster[list(self._ends(message))].tolist()) for message in self.experiments.get(name, ())]
        return np.array([i for i, end in enumerate(ends) if between is None or end == list(between)], int)

    def _ends(self, message: Message) -> tuple[int, int]:
        return self.host[message.source], self.host[message.destination]

    def _measured_s(self, name: LoadName) -> np.ndarray:
        """Return the measured times of an experiment's messages, excluding latencies and answers."""
        rows = [self._row_of(message) for message in self.experiments[name]]
        on_way_s: np.ndarray = np.array(self.lines.loads_s[name]) - self.paths.latency_s[rows, 0]
        on_way_s -= self.lines.small_s[rows]
        return on_way_s

    def _row_of(self, message: Message) -> int:
        a, b = self._ends(message)
        c, d = self.cluster[a], self.cluster[b]
        return int(self.paths.self_row[c] if a == b else self.paths.row[c, d])

    def _modelled_s(self, name: LoadName) -> np.ndarray:
        """Return the same times according to the links known so far."""
        load = self._load(name)
        modelled_s = np.empty(len(load.source))
        modelled_s[rounds(load.source)] = _flows_s(load, self.paths, len(self.host))
        return modelled_s

    def _modelled_end_s(self, name: LoadName) -> float:
        """Return the date at which the last message of an experiment arrives, according to the links known so far."""
        return _end_s(self._load(name), self.paths, len(self.host))

    def _load(self, name: LoadName) -> Exchange:
        ends = (self._ends(message) for message in self.experiments[name])
        return Exchange.of(((*pair, LARGE_BYTES) for pair in ends), at_once=True)


def _end_s(load: Exchange, paths: Paths, hosts: int) -> float:
    """Return the date at which the last message of one exchange between hosts arrives."""
    schedule = flattened([[], [load], [], [], []], hosts)
    host, protocol = np.arange(hosts, dtype=np.int32)[None], np.zeros(2, np.uint8)
    wide = _wide(paths)
    shares = share(schedule, wide, host, protocol, times=False)
    times_s, _, _ = runs(schedule, shares, protocol, np.zeros((1, hosts)), 1, network=(wide, host))
    return float(times_s[0])


def _wide(paths: Paths) -> Paths:
    """Return the paths for a schedule of one size; size 0 is always present, so the sent size is second."""
    return paths._replace(
        latency_s=np.repeat(paths.latency_s, 2, axis=1), amount_bytes=np.repeat(paths.amount_bytes, 2, axis=1)
    )


def _flows_s(load: Exchange, paths: Paths, hosts: int) -> np.ndarray:
    """Return the times of the flows of one exchange between hosts."""
    schedule = flattened([[load], [], [], [], []], hosts)
    shares = share(schedule, _wide(paths), np.arange(hosts, dtype=np.int32)[None], np.zeros(2, np.uint8))
    flow_s: np.ndarray = shares.flow_s[0]
    return flow_s
