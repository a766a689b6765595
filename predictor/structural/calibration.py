"""What the experiments of predictor/structural/survey.py say of a network: its paths, and the links they share.

Assumed: the nodes of a cluster are alike; between two nodes lie their own links, what their cluster shares, and what
the pair of clusters shares; what messages of each size suffer is the same on all paths, in proportion to the latency
and to the rate of the path.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from apps.netprobe.measure import Exchange as Message
from apps.netprobe.measure import Measurement
from apps.traffic.steps import Exchange
from predictor.dpgraph.survey import Layout
from predictor.structural.paths import Paths, PlaceOfLinks
from predictor.structural.schedule import flattened, rounds
from predictor.structural.sharing import share
from predictor.structural.survey import LARGE_BYTES, Lines, LoadName, Sizes, loads, read_lines

_UNSHARED = 0.002  # an experiment that takes at most so much longer than the links known so far explain shows no other
# Flows that share a link get rates about as their round trips have it: the time of some packets stands for that.
_PENALTY_BYTES = 9000


@dataclass(frozen=True, eq=False)
class Ground:
    """A network between the hosts in use: all of ``Paths`` but what depends on sizes."""

    hosts: tuple[str, ...]  # cluster by cluster
    lines: Lines
    paths: Paths  # for the sizes of the experiments under load

    def at(self, sizes: Sizes, wanted_bytes: np.ndarray) -> tuple[Paths, np.ndarray]:
        """The paths and the protocol for these sizes; between those that were measured, times are interpolated."""
        latency = np.interp(wanted_bytes, sizes.size_bytes, sizes.latency)
        reference_Bps = self.lines.rate_Bps[self.lines.row[sizes.name]]
        amount_bytes = wanted_bytes * np.interp(wanted_bytes, sizes.size_bytes, sizes.s_per_byte) * reference_Bps
        nearest = np.minimum(np.searchsorted(sizes.size_bytes, wanted_bytes), len(sizes.size_bytes) - 1)
        paths = self.paths._replace(
            latency_s=self.lines.small_s[:, None] * latency,
            amount_bytes=np.tile(amount_bytes, (len(self.lines.rate_Bps), 1)),
        )
        return paths, sizes.protocol[nearest]


def read_ground(where: Layout, measurement: Measurement) -> Ground:
    """The answer to survey.network_plan.  Raises OutOfRange as read_lines does."""
    return _Fit(where, read_lines(where, measurement)).ground()


class _Fit:
    """Finds the links one after the other: each experiment shows a link that those known so far do not explain."""

    def __init__(self, where: Layout, lines: Lines):
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
        """Of the paths between two clusters; in a cluster of one host no path is asked for."""
        return self.lines.row_between(c, d) if c != d else self.lines.row.get((c, c), 0)

    def ground(self) -> Ground:
        count = range(len(self.clusters))
        for c in count:
            self._fit_nodes(c)
            for _ in range(2):  # either may explain the other, until both are known
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
            self._fit_self(c)
        return Ground(tuple(self.host), self.lines, self.paths)

    def _fit_nodes(self, c: int) -> None:
        """The links of a node, by two messages that leave it."""
        own = np.flatnonzero(self.cluster == c)
        links = np.concatenate([self.at.from_host(own), self.at.to_host(own)])
        if len(own) == 1:
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
        """What acknowledgements take of the other direction of the links of nodes, by two messages that meet."""
        flows = self._flows("both", (c, c))
        self.paths.back[c] = 0.0
        if not len(flows):
            return
        took_s, node_Bps = self._measured_s("both")[flows].max(), self.paths.capacity_Bps[np.argmax(self.cluster == c)]
        if took_s > (1 + _UNSHARED) * self._modelled_s("both")[flows].max() and node_Bps < np.inf:
            self.paths.back[c] = min(took_s * node_Bps / LARGE_BYTES - 1, 1.0)

    def _fit_self(self, c: int) -> None:
        """Whether a message to oneself uses the node's links: seen by another that leaves the node."""
        flows = self._flows("self", (c, c))
        if not len(flows):
            return
        distance_s = {}
        for shares in (True, False):
            self.paths.self_shares[c] = shares
            distance_s[shares] = np.abs(self._modelled_s("self") - self._measured_s("self"))[flows].max()
        self.paths.self_shares[c] = distance_s[True] <= distance_s[False]

    def _fit_shared(self, name: LoadName, between: tuple[int, int] | None, links: list[int]) -> None:
        """Gives a link, in one or two directions, the capacity that explains an experiment; none, if it shows none.

        ``between``: of the messages that count, the clusters; None: all do.
        """
        if name not in self.experiments:
            return
        flows = self._flows(name, between)
        if not len(flows):
            return
        took_s = self._measured_s(name)[flows].max()
        if took_s > (1 + _UNSHARED) * self._modelled_s(name)[flows].max():
            self.paths.capacity_Bps[links] = len(flows) * LARGE_BYTES / took_s

    def _flows(self, name: LoadName, between: tuple[int, int] | None) -> np.ndarray:
        """The messages of an experiment between two clusters, either way."""
        ends = [sorted(self.cluster[list(self._ends(message))].tolist()) for message in self.experiments.get(name, ())]
        return np.array([i for i, end in enumerate(ends) if between is None or end == list(between)], int)

    def _ends(self, message: Message) -> tuple[int, int]:
        return self.host[message.source], self.host[message.destination]

    def _measured_s(self, name: LoadName) -> np.ndarray:
        """How long the messages of an experiment were on their way, without latencies, the answer's included."""
        rows = [self._row_of(message) for message in self.experiments[name]]
        on_way_s: np.ndarray = np.array(self.lines.loads_s[name]) - self.paths.latency_s[rows, 0]
        on_way_s -= self.lines.small_s[rows]
        return on_way_s

    def _row_of(self, message: Message) -> int:
        a, b = self._ends(message)
        c, d = self.cluster[a], self.cluster[b]
        return int(self.paths.self_row[c] if a == b else self.paths.row[c, d])

    def _modelled_s(self, name: LoadName) -> np.ndarray:
        """The same as the links known so far have it."""
        messages = self.experiments[name]
        load = Exchange.of(((*self._ends(message), LARGE_BYTES) for message in messages), at_once=True)
        modelled_s = np.empty(len(messages))
        modelled_s[rounds(load.source)] = _flows_s(load, self.paths, len(self.host))
        return modelled_s


def _flows_s(load: Exchange, paths: Paths, hosts: int) -> np.ndarray:
    schedule = flattened([[load], [], [], [], []], hosts)
    # The one size that is sent stands second: size 0 is always there.
    wide = paths._replace(
        latency_s=np.repeat(paths.latency_s, 2, axis=1), amount_bytes=np.repeat(paths.amount_bytes, 2, axis=1)
    )
    shares = share(schedule, wide, np.arange(hosts, dtype=np.int32)[None], np.zeros(2, np.uint8))
    flow_s: np.ndarray = shares.flow_s[0]
    return flow_s
