"""The messages that measure a network, and the lines of time over size that they show.

Ping-pongs between two nodes of each cluster, between each pair of clusters and from a node to itself give latency and
rate by size.  Shared links show only under load: messages from one node, to one node, both ways, around a cluster,
between clusters one way and both ways, and from a cluster to all others, in a cluster of two nodes also together with
messages inside it.

Messages of one byte between all nodes of a cluster show whether some pairs are farther apart than others.  If so, each
distance gets ping-pongs of its own, and further experiments find the links that are shared inside the cluster
(``crossing``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import combinations, permutations

import numpy as np

from apps.probes.network.measure import Exchange, ExperimentsLater, LateReceive, NetworkPlan
from apps.probes.plan import Measurement
from platforms.model.platform import Platform
from predictor.base import OutOfRange
from predictor.network.crossing import Crossing
from predictor.network.distances import distances, first_pairs, further_pairs
from predictor.network.segments import Piece, measured_pieces

LARGE_BYTES = 8_000_000  # size of messages under load, whose time is long against latencies
_RATIO = 1.05  # ratio of consecutive sizes
_DENSE_UP_TO_BYTES = 150_000
_LARGEST_BUFFERED_BYTES = 2**22  # largest size for which it is tested whether a sender waits for its receiver
_SIZES_PER_GAP = 15  # number of sizes that one plan measures around the end of a line
_EXACT = 1e-4  # relative: the end of a line need not be known more exactly
# Messages that are to share links inside a cluster have a size between these.
_LEAST_CROSSING_BYTES, _MOST_CROSSING_BYTES = 200_000, 8_000_000


Experiment = tuple[Exchange, ...]
FarName = tuple[str, str, int]  # a cluster, twice, and the number of a distance
Name = str | tuple[str, str] | FarName  # of a kind of paths


@cache
def sizes_bytes() -> tuple[int, ...]:
    """Return the sizes of the ping-pongs: dense where protocols change, then doubling."""
    dense = np.unique(np.round(np.geomspace(1, _DENSE_UP_TO_BYTES, int(np.log(_DENSE_UP_TO_BYTES) / np.log(_RATIO)))))
    return tuple(int(size) for size in dense) + tuple(2**power for power in range(18, 24))


@dataclass(frozen=True)
class HostsByCluster:
    """The hosts in use, cluster by cluster."""

    hosts: dict[str, tuple[str, ...]]  # by cluster

    @property
    def classes(self) -> dict[tuple[str, str], tuple[str, str]]:
        """Two hosts for each kind of path, with key (c, c) in a cluster and (c, d) between two clusters."""
        pairs = {(name, name): (hosts[0], hosts[1]) for name, hosts in self.hosts.items() if len(hosts) > 1}
        for c, d in combinations(self.hosts, 2):
            pairs[c, d] = (self.hosts[c][0], self.hosts[d][0])
        return pairs

    @property
    def series(self) -> dict[tuple[str, str] | str, tuple[str, str]]:
        """The two hosts of the ping-pongs of each class of paths and, from a host to itself, of each cluster."""
        selves = ((c, (hosts[0], hosts[0])) for c, hosts in self.hosts.items())
        return dict([*self.classes.items(), *selves])

    def pairs(self, c: str, d: str) -> list[tuple[str, str]]:
        """Return disjoint pairs of hosts, with one host in each cluster."""
        return list(zip(self.hosts[c], self.hosts[d], strict=False))

    def ring(self, c: str) -> list[tuple[str, str]]:
        """Return each host of a cluster with the next one, the last with the first."""
        hosts = self.hosts[c]
        return list(zip(hosts, hosts[1:] + hosts[:1], strict=True))

    def outside(self, c: str) -> list[tuple[str, str]]:
        """Return each host of a cluster with a host of another cluster; the other clusters take turns."""
        others = [host for row in zip_round([h for d, h in self.hosts.items() if d != c]) for host in row]
        return list(zip(self.hosts[c], others * len(self.hosts[c]), strict=False))


def zip_round(groups: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the first member of each group, then the second of each group that has one, and so on."""
    return [[group[i] for group in groups if i < len(group)] for i in range(max(map(len, groups), default=0))]


def layout(platform: Platform, placement: Sequence[str]) -> HostsByCluster:
    """Return the hosts of a placement by cluster, in the platform's order."""
    used = set(placement)
    by_cluster = {c.name: tuple(h.name for h in c.hosts if h.name in used) for c in platform.clusters}
    return HostsByCluster({name: hosts for name, hosts in by_cluster.items() if hosts})


def _one_way(pairs: Sequence[Sequence[str]]) -> tuple[Exchange, ...]:
    return tuple(Exchange(a, b, LARGE_BYTES, 0) for a, b in pairs)


def _both_ways(pairs: Sequence[Sequence[str]]) -> tuple[Exchange, ...]:
    return _one_way([pair for a, b in pairs for pair in ((a, b), (b, a))])


def loads(where: HostsByCluster) -> dict[tuple[str, ...], tuple[Exchange, ...]]:
    """Return the experiments under load, by the part that is under load and its clusters."""
    experiments: dict[tuple[str, ...], tuple[Exchange, ...]] = {}
    for c, hosts in where.hosts.items():
        if len(hosts) > 1:
            experiments["both", c] = _both_ways([hosts[:2]])
            experiments["self", c] = _one_way([(hosts[0], hosts[0]), (hosts[0], hosts[1])])
        elif len(where.hosts) > 1:
            elsewhere = next(members[0] for d, members in where.hosts.items() if d != c)
            experiments["self", c] = _one_way([(hosts[0], hosts[0]), (hosts[0], elsewhere)])
        if len(hosts) > 2:
            experiments["out", c] = _one_way([(hosts[0], other) for other in hosts[1:3]])
            experiments["in", c] = _one_way([(other, hosts[0]) for other in hosts[1:3]])
            experiments["ring", c] = _one_way(where.ring(c))
        if len(where.hosts) > 1:
            experiments["outside", c] = _both_ways(where.outside(c))
            if len(hosts) == 2:  # too few for a ring that loads the cluster more than its messages to others do
                experiments["inside and outside", c] = _both_ways([hosts, *where.outside(c)])
    for c, d in permutations(where.hosts, 2):
        if len(where.hosts[c]) > 1:
            near, far = where.hosts[c][:2], (where.hosts[c][0], where.hosts[d][0])
            experiments["near and far", c, d] = _one_way([near, far])
    for c, d in combinations(where.hosts, 2):
        experiments["one way", c, d] = _one_way(where.pairs(c, d))
        experiments["one way", d, c] = _one_way(where.pairs(d, c))
        experiments["two ways", c, d] = _both_ways(where.pairs(c, d))
    return experiments


def next_plan(platform: Platform, placement: Sequence[str], results: Sequence[Measurement] = ()) -> NetworkPlan | None:
    """Return the next experiments for the hosts of a placement; None if the results suffice.

    The first plan holds all experiments that every network needs.  Where a cluster's pairs of hosts differ, the next
    one has ping-pongs for each further distance.  Further plans measure sizes around the ends of lines, and around the
    size from which on a sender waits for its receiver, until these are known to a few bytes; then, where pairs differ,
    the links that messages inside the cluster share.

    Args:
        platform: The platform.
        placement: The hosts.
        results: The results of all plans so far.

    Raises:
        OutOfRange: The measured times do not lie on lines.
    """
    where = layout(platform, placement)
    if not results:
        key = ("first experiments", *where.hosts.items())
        return NetworkPlan(platform, ExperimentsLater(_first_count(where), key, lambda: _first_experiments(where)))
    survey = Survey(where, results)
    if survey.distance_experiments:
        return NetworkPlan(platform, survey.distance_experiments)
    narrower: list[tuple[Exchange, ...] | LateReceive] = []
    for gap in survey.open_gaps():
        narrower += _ping_pongs(*survey.hosts_of(gap), survey.sizes_in(gap))
    narrower += survey.late_experiments()
    further = narrower or survey.crossing.experiments()
    return NetworkPlan(platform, tuple(further)) if further else None


def _first_experiments(where: HostsByCluster) -> Iterator[Experiment]:
    """Yield the experiments that every network needs."""
    for a, b in where.series.values():
        yield from _ping_pongs(a, b, sizes_bytes())
    yield from loads(where).values()
    yield from _pings(first_pairs(where.hosts))


def _first_count(where: HostsByCluster) -> int:
    """Return the number of these experiments, which on many clusters are too many to be made."""
    sizes, clusters = [len(hosts) for hosts in where.hosts.values()], len(where.hosts)
    several, pairs = sum(size > 1 for size in sizes), clusters * (clusters - 1) // 2
    ping_pongs = (several + pairs + clusters) * (1 + len(sizes_bytes()))
    alone = sum(2 * (size > 1) + 3 * (size > 2) for size in sizes)
    outside = sum((size == 1) + 1 + (size == 2) for size in sizes) if clusters > 1 else 0
    between = several * (clusters - 1) + 3 * pairs
    return ping_pongs + alone + outside + between + 2 * len(first_pairs(where.hosts))


def _ping_pongs(a: str, b: str, sizes: Sequence[int]) -> list[tuple[Exchange, ...]]:
    """Return ping-pongs of these sizes after one that does not count, because earlier messages may still disturb it."""
    return [(Exchange(a, b, size, size),) for size in (1, *sizes)]


def _pings(pairs: Iterable[tuple[str, str]]) -> list[Experiment]:
    """Return ping-pongs of one byte."""
    return [ping for pair in pairs for ping in _ping_pongs(*pair, [1])]


def _ping_s(pairs: Sequence[tuple[str, str]], times: Sequence[Sequence[float]]) -> dict[tuple[str, str], float]:
    """Return the latency of each pair, s."""
    return {pair: times[2 * i + 1][0] / 2 for i, pair in enumerate(pairs)}


def _disjoint(pairs: Sequence[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    """Return the pairs in sets without a common host: ping-pongs of one byte do not disturb each other."""
    sets: list[list[tuple[str, str]]] = []
    for pair in pairs:
        home = next((members for members in sets if all(set(pair).isdisjoint(other) for other in members)), None)
        if home is None:
            sets.append([pair])
        else:
            home.append(pair)
    return sets


class Survey:
    """The lines of the ping-pongs' times over sizes, and the ends of the lines ("breaks").

    Attributes:
        row: The number of each class of paths, by its name in HostsByCluster.series.
        lines: The pieces of each row.
        loads_s: The seconds of the exchanges of each experiment under load.
        between: The last size known to lie before each break and the first known to lie after it.  A break's name is
            the index of the first of sizes_bytes() after it.
        distances: By cluster: how far its hosts are from each other, if that was measured.
        far_s: The seconds of the exchanges of each experiment of ``far_loads``.
        crossing: The links that messages inside clusters share, and the experiments that find them.

    Raises:
        OutOfRange: The times of a row do not lie on lines, or a line does not rise.
    """

    def __init__(self, where: HostsByCluster, results: Sequence[Measurement]):
        self._series: dict[Name, tuple[str, str]] = dict(where.series.items())
        self._where = where
        self._cluster = {host: c for c, members in where.hosts.items() for host in members}
        first, loaded = results[0].times_s, loads(where)
        at = len(self._series) * (1 + len(sizes_bytes()))
        self.lines = list(_lines(tuple(self._series.values()), first[:at]))
        self._scatter = {
            name[0]: _scatter(line, times)
            for name, line, times in zip(self._series, self.lines, _by_row(first[:at]), strict=True)
            if isinstance(name, tuple) and name[0] == name[1]
        }
        self.loads_s = dict(zip(loaded, first[at : at + len(loaded)], strict=True))
        self.row: dict[Name, int] = {name: i for i, name in enumerate(self._series)}
        self.far_s: dict[tuple[str, str, int], tuple[float, ...]] = {}
        further = list(results[1:])
        self._find_distances(_ping_s(first_pairs(where.hosts), first[at + len(loaded) :]), further)
        if self._far_experiments and further:
            self._take_far(further.pop(0).times_s)
        self.row = {name: i for i, name in enumerate(self._series)}
        self._quickest = self._breaks()
        self.between = {gap: (sizes_bytes()[gap - 1], sizes_bytes()[gap]) for gap in sorted(self._quickest)}
        # The same for the sizes from which on a sender waits for a late receiver, and a message for a late receive.
        self._late = {name: (0, _LARGEST_BUFFERED_BYTES) for name in ("sender", "message")}
        while further and (self.open_gaps() or self.late_experiments()):
            self._narrow(further.pop(0))
        self.crossing = Crossing(
            {} if self.distance_experiments else self.distances, self._crossing_bytes, self._exchange_s
        )
        for result in further:
            self.crossing.take(result)

    def _breaks(self) -> dict[int, int]:
        """Return, by break, the row with the smallest latency that shows it."""
        breaks: dict[int, int] = {}
        for row, line in enumerate(self.lines):
            for piece in line[1:]:
                gap = piece.first
                other = breaks.get(gap, row)
                if line[0].start_s <= self.lines[other][0].start_s:
                    breaks[gap] = row
        for gap in sorted(breaks):  # some rows may show the same break one point later than others
            if gap - 1 in breaks:
                del breaks[gap]
        return breaks

    def _find_distances(self, latency_s: dict[tuple[str, str], float], further: list[Measurement]) -> None:
        """Find how far the hosts of each cluster are from each other, and which distances need lines of their own.

        If the first latencies differ, those of further pairs are the first of the further results.
        """
        self._more = further_pairs(self._where.hosts, latency_s, self._scatter)
        if self._more and further:
            for pairs, times_s in zip(_disjoint(self._more), further.pop(0).times_s, strict=True):
                latency_s |= {pair: time_s / 2 for pair, time_s in zip(pairs, times_s, strict=True)}
            self._more = []
        self.distances = distances(self._where.hosts, latency_s, self._scatter)
        self._far = {
            (c, c, kind): of_cluster.pair_of(kind)
            for c, of_cluster in self.distances.items()
            if of_cluster.few
            for kind in range(of_cluster.count)
            if kind != of_cluster.kind_of(*self._series[c, c])
        }

    @property
    def distance_experiments(self) -> tuple[Experiment, ...]:
        """The next experiments that find distances and their lines; none if these are known."""
        together = (tuple(Exchange(a, b, 1, 1) for a, b in pairs) for pairs in _disjoint(self._more))
        return tuple(together) or self._far_experiments

    @property
    def _far_experiments(self) -> tuple[Experiment, ...]:
        """The ping-pongs of each further distance, and its loads; none if there are none or they are among the results.

        A load is a message to the farther host together with one to a nearer host.
        """
        if self._far.keys() <= self.row.keys():
            return ()
        pings = [ping for pair in self._far.values() for ping in _ping_pongs(*pair, sizes_bytes())]
        return (*pings, *self.far_loads.values())

    @property
    def far_loads(self) -> dict[FarName, Experiment]:
        """For each further distance, the messages of a host to a near host and to one so far away."""
        experiments = {}
        for (c, _, kind), _ in self._far.items():
            there = self.distances[c]
            near = there.kind_of(*self._series[c, c])
            for a in there.hosts:
                of_kind = {there.kind_of(a, b): b for b in there.hosts if b != a}
                if {near, kind} <= of_kind.keys():
                    experiments[c, c, kind] = _one_way([(a, of_kind[near]), (a, of_kind[kind])])
                    break
        return experiments

    def _take_far(self, times: Sequence[Sequence[float]]) -> None:
        self._series.update(self._far.items())
        pings = len(self._far) * (1 + len(sizes_bytes()))
        self.lines += _lines(tuple(self._far.values()), times[:pings])
        self.far_s = dict(zip(self.far_loads, map(tuple, times[pings:]), strict=True))

    def _crossing_bytes(self, c: str, latencies: float) -> int:
        """Return the size of messages in a cluster that flow for this multiple of its largest latency."""
        lines = [self.lines[row] for name, row in self.row.items() if isinstance(name, tuple) and name[:2] == (c, c)]
        size = max(latencies * line[-1].start_s / line[-1].s_per_byte for line in lines)
        return int(min(max(size, _LEAST_CROSSING_BYTES), _MOST_CROSSING_BYTES))

    def _exchange_s(self, pair: tuple[str, str], size: int) -> float:
        """Return the time of a message inside a cluster, alone, and of its empty answer, s."""
        line = self.lines[self.row_of(*pair)]
        return alone_s(line, size) + alone_s(line, 1)

    @property
    def waits_from_bytes(self) -> tuple[float, float]:
        """Sizes from which on a sender waits for its receiver, and a message for its receive."""
        return _beyond(self._late["sender"]), _beyond(self._late["message"])

    @property
    def measured_as(self) -> dict[tuple[str, str], tuple[str, str]]:
        """By pair of hosts in clusters whose pairs differ: the pair whose ping-pongs stand for it."""
        return {
            (a, b): list(self._series.values())[self.row_of(a, b)]
            for of_cluster in self.distances.values()
            if of_cluster.few
            for a, b in permutations(of_cluster.hosts, 2)
        }

    def row_of(self, a: str, b: str) -> int:
        """Return the row of the path between two different hosts."""
        c, d = self._cluster[a], self._cluster[b]
        if c == d and c in self.distances:
            return self.row.get((c, c, self.distances[c].kind_of(a, b)), self.row[c, c])
        return self.row_between(c, d)

    def row_between(self, c: str, d: str) -> int:
        """Return the row of the paths between two clusters, named in either order, or inside one cluster."""
        return self.row[c, d] if (c, d) in self.row else self.row[d, c]

    def late_experiments(self) -> list[LateReceive]:
        """Return messages to a late receiver, of sizes around the one from which on the delay matters."""
        distances = {name: hosts for name, hosts in self._series.items() if hosts[0] != hosts[1]}
        if not distances:
            return []
        nearest = min(distances, key=lambda name: self.lines[self.row[name]][0].start_s)
        line = self.lines[self.row[nearest]]
        return [LateReceive(*distances[nearest], size, _late_us(line, size)) for size in self._late_sizes()]

    def _late_sizes(self) -> list[int]:
        sizes: set[int] = set()
        for low, high in self._late.values():
            if (low, high) == (0, _LARGEST_BUFFERED_BYTES):
                sizes |= {2**power for power in range(_LARGEST_BUFFERED_BYTES.bit_length())}
            elif _is_open(low, high):
                sizes |= _sizes_between(low, high)
        return sorted(sizes)

    def open_gaps(self) -> list[int]:
        """Return the breaks that are not known well enough."""
        return [gap for gap, ends in self.between.items() if _is_open(*ends)]

    def hosts_of(self, gap: int) -> tuple[str, str]:
        """Return two hosts whose ping-pongs show a break."""
        return list(self._series.values())[self._quickest[gap]]

    def sizes_in(self, gap: int) -> list[int]:
        """Return sizes whose ping-pongs narrow down a break."""
        return sorted(_sizes_between(*self.between[gap]))

    def above_bytes(self, gap: int) -> float:
        """Return the size at which a break lies."""
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
        for delayed, (send_s, receive_s) in zip(late, times[at:], strict=True):
            late_s = delayed.late_us * 1e-6
            self._sort("sender", delayed.size_bytes, waits=send_s > late_s / 2)
            self._sort("message", delayed.size_bytes, waits=receive_s > late_s / 20)

    def _sort(self, what: str, size: int, *, waits: bool) -> None:
        """Record that messages of this size wait for their receiver, or do not."""
        low, high = self._late[what]
        self._late[what] = (low, min(high, size)) if waits else (min(max(low, size), high), high)


def _is_open(low: int, high: int) -> bool:
    """Return whether two sizes are too far apart to locate a change between them."""
    return high - low > max(1, _EXACT * low)


def _sizes_between(low: int, high: int) -> set[int]:
    """Return some sizes between two others."""
    return {int(size) for size in np.linspace(low, high, _SIZES_PER_GAP + 2)[1:-1]} - {low, high}


def _beyond(between: tuple[int, int]) -> float:
    """Return the size from which on messages wait, given the largest that did not and the smallest that did."""
    low, high = between
    if high == _LARGEST_BUFFERED_BYTES:  # no message was seen to wait
        return np.inf
    return 0.0 if low == 0 else (low + high) / 2


def alone_s(line: Sequence[Piece], size: int) -> float:
    """Return the time of a message alone on the network, s."""
    fitting = [piece for piece in line if sizes_bytes()[piece.first] <= size] or line[:1]
    return max(1e-12, fitting[-1].time_s(size))


def _late_us(line: Sequence[Piece], size: int) -> int:
    """Return a delay of ten times the message's own time, after which it would long have arrived."""
    return max(10, int(1e7 * alone_s(line, size)) + 1)


def _one_way_s(times: Sequence[Sequence[float]]) -> np.ndarray:
    """Return the one-way times of ping-pongs, of which the first does not count."""
    return np.array([time[0] for time in times[1:]]) / 2


def _by_row(times: Sequence[Sequence[float]]) -> list[np.ndarray]:
    """Return the one-way times of the ping-pongs of each row."""
    each = 1 + len(sizes_bytes())
    return [_one_way_s(times[at : at + each]) for at in range(0, len(times), each)]


@lru_cache(maxsize=16)  # every further plan of a network begins with the same lines
def _lines(pairs: tuple[tuple[str, str], ...], times: tuple[tuple[float, ...], ...]) -> tuple[list[Piece], ...]:
    """Return the line of the ping-pongs of each pair."""
    return tuple(_line(*pair, time_s) for pair, time_s in zip(pairs, _by_row(times), strict=True))


def _scatter(line: Sequence[Piece], time_s: np.ndarray) -> float:
    """Return the median relative error of the smallest messages' times around their line."""
    points = slice(line[0].first, line[0].last + 1)
    modelled_s = line[0].start_s + line[0].s_per_byte * np.array(sizes_bytes()[points])
    return float(np.median(np.abs(modelled_s / time_s[points] - 1)))


def _line(a: str, b: str, time_s: np.ndarray) -> list[Piece]:
    """Return the pieces of the times from host a to host b; raise OutOfRange if there are none or one does not rise."""
    line = measured_pieces(np.array(sizes_bytes(), float), time_s) if (time_s > 0).all() else []
    if not line:
        problem = "no three of their times lie on a line, so that latency and rate are unknown"
    elif not all(piece.s_per_byte > 0 for piece in line):
        problem = "larger messages do not take longer, so that the rate is unknown"
    else:
        return line
    remedy = "Use links that the clock can resolve, a calibrated platform, or dpgraph:known, which measures nothing"
    raise OutOfRange(f"dpgraph, messages from {a} to {b}", problem, remedy)
