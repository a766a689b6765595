"""What is sent to get to know a network, and what the times say by themselves: lines, and where each ends.

Ping-pongs between two nodes of each cluster, between each pair of clusters and from a node to itself give latency and
rate by size.  What is shared shows only under load: messages from one node, to one node, both ways, around a cluster,
between clusters one way and both, from a cluster to all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, permutations

import numpy as np

from apps.netprobe.measure import Exchange, Late, Measurement, Plan
from platforms.platform import Platform
from predictor.base import OutOfRange
from predictor.dpgraph.segments import Piece, pieces

LARGE_BYTES = 8_000_000  # of messages under load: long against latencies
_RATIO = 1.05  # between sizes that follow each other
_DENSE_UP_TO_BYTES = 150_000
_LARGEST_BUFFERED_BYTES = 2**22  # looked at, to see whether a sender waits for its receiver
_SIZES_PER_GAP = 15  # measured at a time, where a line ends
_EXACT = 1e-4  # relative: a break need not be known better


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

    @property
    def series(self) -> dict[tuple[str, str] | str, tuple[str, str]]:
        """Of each class of paths and of each cluster (to oneself): the two hosts of its ping-pongs."""
        selves = ((c, (hosts[0], hosts[0])) for c, hosts in self.hosts.items())
        return dict([*self.classes.items(), *selves])

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


def _one_way(pairs: Sequence[Sequence[str]]) -> tuple[Exchange, ...]:
    return tuple(Exchange(a, b, LARGE_BYTES, 0) for a, b in pairs)


def _both_ways(pairs: Sequence[Sequence[str]]) -> tuple[Exchange, ...]:
    return _one_way([pair for a, b in pairs for pair in ((a, b), (b, a))])


def loads(where: Layout) -> dict[tuple[str, ...], tuple[Exchange, ...]]:
    """The experiments under load, by what they are for: what is under load, and the clusters."""
    found: dict[tuple[str, ...], tuple[Exchange, ...]] = {}
    for c, hosts in where.hosts.items():
        if len(hosts) > 1:
            found["both", c] = _both_ways([hosts[:2]])
            found["self", c] = _one_way([(hosts[0], hosts[0]), (hosts[0], hosts[1])])
        elif len(where.hosts) > 1:
            elsewhere = next(members[0] for d, members in where.hosts.items() if d != c)
            found["self", c] = _one_way([(hosts[0], hosts[0]), (hosts[0], elsewhere)])
        if len(hosts) > 2:
            found["out", c] = _one_way([(hosts[0], other) for other in hosts[1:3]])
            found["in", c] = _one_way([(other, hosts[0]) for other in hosts[1:3]])
            found["ring", c] = _one_way(where.ring(c))
        if len(where.hosts) > 1:
            found["outside", c] = _both_ways(where.outside(c))
    for c, d in permutations(where.hosts, 2):
        if len(where.hosts[c]) > 1:
            near, far = where.hosts[c][:2], (where.hosts[c][0], where.hosts[d][0])
            found["near and far", c, d] = _one_way([near, far])
    for c, d in combinations(where.hosts, 2):
        found["one way", c, d] = _one_way(where.pairs(c, d))
        found["one way", d, c] = _one_way(where.pairs(d, c))
        found["two ways", c, d] = _both_ways(where.pairs(c, d))
    return found


def next_plan(platform: Platform, placement: Sequence[str], results: Sequence[Measurement] = ()) -> Plan | None:
    """The next experiments for the hosts of a placement, given the results of those before; None: it is enough.

    First everything; then, as long as it is not known to a few bytes where a line ends, or from which size on a sender
    waits for its receiver, sizes around there.  Raises OutOfRange for results that make no lines.
    """
    where = layout(platform, placement)
    if not results:
        experiments: list[tuple[Exchange, ...]] = []
        for a, b in where.series.values():
            experiments += _ping_pongs(a, b, sizes_bytes())
        return Plan(platform, (*experiments, *loads(where).values()))
    survey = Survey(where, results)
    narrower: list[tuple[Exchange, ...] | Late] = []
    for gap in survey.open_gaps():
        narrower += _ping_pongs(*survey.hosts_of(gap), survey.sizes_in(gap))
    narrower += survey.late_experiments()
    return Plan(platform, tuple(narrower)) if narrower else None


def _ping_pongs(a: str, b: str, sizes: Sequence[int]) -> list[tuple[Exchange, ...]]:
    """The first is not looked at: what came before may not have died away."""
    return [(Exchange(a, b, size, size),) for size in (1, *sizes)]


class Survey:
    """What the ping-pongs say: lines, and where each ends.

    ``row``: the number of each class of paths, by its name in Layout.series.
    ``lines``: of each row, its pieces.
    ``loads_s``: of each experiment under load, the seconds of its exchanges.
    ``between``: of each break, named by the index of the first size after it, the last size known to lie before it and
    the first known to lie after it.

    Raises OutOfRange where the times make no line, or one that does not rise.
    """

    def __init__(self, where: Layout, results: Sequence[Measurement]):
        self._series = where.series
        self.row = {name: i for i, name in enumerate(self._series)}
        each, first = 1 + len(sizes_bytes()), results[0].times_s
        self.lines = [
            _line(*hosts, _one_way_s(first[i * each : (i + 1) * each])) for i, hosts in enumerate(self._series.values())
        ]
        self.loads_s = dict(zip(loads(where), first[len(self._series) * each :], strict=True))
        self._quickest: dict[int, int] = {}  # class that tells of a gap in the least time, by the gap
        for row, line in enumerate(self.lines):
            for piece in line[1:]:
                gap = piece.first
                other = self._quickest.get(gap, row)
                if line[0].start_s <= self.lines[other][0].start_s:
                    self._quickest[gap] = row
        for gap in sorted(self._quickest):  # where lines cross, some classes show a break one point later than others
            if gap - 1 in self._quickest:
                del self._quickest[gap]
        self.between = {gap: (sizes_bytes()[gap - 1], sizes_bytes()[gap]) for gap in sorted(self._quickest)}
        # The same for what a late receiver shows: whether the sender goes on, whether the message has come before.
        self._late = {name: (0, _LARGEST_BUFFERED_BYTES) for name in ("sender", "message")}
        for result in results[1:]:
            self._narrow(result)

    @property
    def waits_from_bytes(self) -> tuple[float, float]:
        """The sizes from which on a sender waits for its receiver, and a message for its receive."""
        return _beyond(self._late["sender"]), _beyond(self._late["message"])

    def row_between(self, c: str, d: str) -> int:
        """The row of the paths between two clusters, in whatever order they are named, or in one."""
        return self.row[c, d] if (c, d) in self.row else self.row[d, c]

    def late_experiments(self) -> list[Late]:
        """Messages to a late receiver, of sizes around where that begins to matter."""
        distances = {name: hosts for name, hosts in self._series.items() if hosts[0] != hosts[1]}
        if not distances:
            return []
        nearest = min(distances, key=lambda name: self.lines[self.row[name]][0].start_s)
        line = self.lines[self.row[nearest]]
        return [Late(*distances[nearest], size, _late_us(line, size)) for size in self._late_sizes()]

    def _late_sizes(self) -> list[int]:
        sizes: set[int] = set()
        for low, high in self._late.values():
            if (low, high) == (0, _LARGEST_BUFFERED_BYTES):
                sizes |= {2**power for power in range(_LARGEST_BUFFERED_BYTES.bit_length())}
            elif _is_open(low, high):
                sizes |= _sizes_between(low, high)
        return sorted(sizes)

    def open_gaps(self) -> list[int]:
        """The breaks that are not known well enough."""
        return [gap for gap, ends in self.between.items() if _is_open(*ends)]

    def hosts_of(self, gap: int) -> tuple[str, str]:
        """Two hosts whose ping-pongs tell of a break."""
        return list(self._series.values())[self._quickest[gap]]

    def sizes_in(self, gap: int) -> list[int]:
        """Sizes that tell where in a gap the break lies."""
        return sorted(_sizes_between(*self.between[gap]))

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
        low, high = self._late[what]
        self._late[what] = (low, min(high, size)) if waits else (min(max(low, size), high), high)


def _is_open(low: int, high: int) -> bool:
    """Whether it matters where between two sizes something changes."""
    return high - low > max(1, _EXACT * low)


def _sizes_between(low: int, high: int) -> set[int]:
    """Some sizes between two others."""
    return {int(size) for size in np.linspace(low, high, _SIZES_PER_GAP + 2)[1:-1]} - {low, high}


def _beyond(between: tuple[int, int]) -> float:
    """The size from which on messages wait, given the last that did not and the first that did."""
    low, high = between
    if high == _LARGEST_BUFFERED_BYTES:  # none seen to wait
        return np.inf
    return 0.0 if low == 0 else (low + high) / 2


def alone_s(line: Sequence[Piece], size: int) -> float:
    """How long a message takes alone."""
    fitting = [piece for piece in line if sizes_bytes()[piece.first] <= size] or line[:1]
    return max(1e-12, fitting[-1].time_s(size))


def _late_us(line: Sequence[Piece], size: int) -> int:
    """So late that the message would long have come: ten times as long as it takes."""
    return max(10, int(1e7 * alone_s(line, size)) + 1)


def _one_way_s(times: Sequence[Sequence[float]]) -> np.ndarray:
    """Of ping-pongs, the first of which does not count."""
    return np.array([time[0] for time in times[1:]]) / 2


def _line(a: str, b: str, time_s: np.ndarray) -> list[Piece]:
    """The pieces of the times from host a to host b; raises OutOfRange where there are none, or one does not rise."""
    line = pieces(np.array(sizes_bytes(), float), time_s) if (time_s > 0).all() else []
    if not line:
        problem = "no three of their times lie on a line that would show a latency and a rate"
    elif not all(piece.s_per_byte > 0 for piece in line):
        problem = "larger ones do not take longer, so that they show no rate"
    else:
        return line
    remedy = "Give links whose times the clock can tell apart, or use dpgraph-known, which measures nothing"
    raise OutOfRange(f"dpgraph, messages from {a} to {b}", problem, remedy)
