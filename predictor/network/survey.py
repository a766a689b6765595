"""The messages that measure a network, and the lines of time over size that they show.

The first experiments are the same for all programs: ping-pongs of many sizes between two hosts, which show what sizes
do; of few sizes on every other kind of path; and messages under load (``loads``).  A thrifty survey takes the effect of
sizes to be in proportion to the latency and to the rate of a path.  A deep one measures every line of every path,
repeats loads whose messages did not overlap, and finds how far the hosts of a cluster are apart: if some pairs are
farther than others, each distance gets ping-pongs of its own, and further experiments find the links that are shared
inside the cluster (``crossing``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, permutations

import numpy as np

from apps.probes.network.measure import Exchange, Experiment, ExperimentsLater, LateReceive, NetworkPlan
from apps.probes.plan import Measurement, Plan
from platforms.model.platform import Platform
from predictor.network import lines, loads
from predictor.network.crossing import Crossing
from predictor.network.distances import Distances, distances, rounds_of_pairs
from predictor.network.layout import HostsByCluster, Pair, layout
from predictor.network.lines import LINE_BYTES, alone_s, sizes_bytes
from predictor.network.loads import FarName, Load, LoadName
from predictor.network.segments import Piece

_LARGEST_BUFFERED_BYTES = 2**20  # largest size for which it is tested whether a sender waits for its receiver
_SIZES_PER_GAP = 15  # number of sizes that one plan measures around the end of a line
_EXACT = 1e-4  # relative: the end of a line need not be known more exactly
_TIMES_LATE = 2  # delay of a late receiver, in times of a message and its answer
# Messages that are to share links inside a cluster have a size between these.
_LEAST_CROSSING_BYTES, _MOST_CROSSING_BYTES = 200_000, 8_000_000
_MOST_LOAD_BYTES = 8_000_000
_MOST_ENVELOPE_BYTES = 256
_OVERLAP = 20  # messages under load take this many times as long as one may begin after another
_SLOWED, _BOTH_SLOWED = 1.002, 1.1  # messages between two clusters that take longer share a link; beside opposite ones

Name = str | tuple[str, str] | FarName  # of a kind of paths
Times = Sequence[Sequence[float]]  # by experiment and exchange, s
Part = tuple[Sequence[Experiment], Callable[[Times], None]]  # experiments, and what reads their times
Steps = Generator[Sequence[Experiment], Times, None]


def next_plan(
    platform: Platform,
    placement: Sequence[str],
    results: Sequence[Measurement] = (),
    *,
    deep: bool = True,
    sizes: Collection[int] | None = None,
) -> NetworkPlan | None:
    """Return the next experiments for the hosts of a placement; None if the results suffice.

    Args:
        platform: The platform.
        placement: The hosts.
        results: The results of all plans so far.
        deep: As for ``Survey``.
        sizes: As for ``Survey``.

    Raises:
        OutOfRange: The measured times do not lie on lines.
    """
    where = layout(platform, placement)
    if not results:
        key = ("first experiments", *where.hosts.items())
        return NetworkPlan(platform, ExperimentsLater(_first_count(where), key, lambda: Survey(where).next))
    further = Survey(where, results, deep=deep, sizes=sizes).next
    return NetworkPlan(platform, tuple(further)) if further else None


def is_first(plan: Plan | None) -> bool:
    """Return whether a plan is the first one of a survey."""
    return isinstance(plan, NetworkPlan) and isinstance(plan.experiments, ExperimentsLater)


def _first_count(where: HostsByCluster) -> int:
    """Return the number of the first experiments, which on many clusters are too many to be made."""
    (a, b), paths = next(iter(where.series.values())), len(where.classes) + len(where.hosts)
    dense = 1 + len(sizes_bytes()) + (sum(map(_tests_late, sizes_bytes())) if a != b else 0)
    few = (paths - 1) * (2 + len(LINE_BYTES))
    return dense + few + loads.first_count(where.hosts)


def _tests_late(size: int) -> bool:
    return size <= _LARGEST_BUFFERED_BYTES


def _ping_pongs(a: str, b: str, sizes: Iterable[int]) -> list[Experiment]:
    """Return ping-pongs of these sizes after one that does not count, because earlier messages may still disturb it."""
    return [(Exchange(a, b, size, size),) for size in (1, *sizes)]


class Survey:
    """The lines of the ping-pongs' times over sizes, and the ends of the lines ("breaks").

    Args:
        where: The hosts in use.
        results: The results of the experiments so far.
        deep: Measure all lines of all paths, and what is shared inside clusters.
        sizes: The sizes that the programs send, for which breaks have to be known; None: any.

    Attributes:
        next: The next experiments; none if the results suffice.
        row: The number of each class of paths, by its name in HostsByCluster.series.
        points: The one-way times of its ping-pongs, s, by name and size.
        lines: The pieces of each row.
        loads: The experiments under load.
        loads_s: The seconds of their exchanges.
        between: The last size known to lie before each break and the first known to lie after it.  A break's name is
            the index of the first of sizes_bytes() after it.
        envelope_bytes: What each message carries beside its own bytes; 0: not known.
        distances: By cluster whose pairs of hosts differ: how far they are from each other.
        crossing: The links that messages inside clusters share, and the experiments that find them.

    Raises:
        OutOfRange: The times of a row do not lie on lines, or a line does not rise.
    """

    def __init__(
        self,
        where: HostsByCluster,
        results: Sequence[Measurement] = (),
        *,
        deep: bool = True,
        sizes: Collection[int] | None = None,
    ):
        self._where, self._deep, self._wanted = where, deep, sizes
        self._pairs: dict[Name, Pair] = dict(where.series.items())
        self._cluster = {host: c for c, members in where.hosts.items() for host in members}
        self.row: dict[Name, int] = {name: i for i, name in enumerate(self._pairs)}
        self.lines: list[list[Piece]] = [[] for _ in self._pairs]
        self.points: dict[Name, dict[int, float]] = {name: {} for name in self._pairs}
        self.loads: dict[LoadName, Load] = {}
        self.loads_s: dict[LoadName, Sequence[float]] = {}
        self.envelope_bytes = 0.0
        self.distances: dict[str, Distances] = {}
        self.between: dict[int, tuple[int, int]] = {}
        self._quickest: dict[int, int] = {}  # by break: the row with the smallest latency that shows it
        # The same as ``between`` for the sizes from which on a sender waits for a late receiver, and a message for a
        # late receive.
        self._late = {name: (0, _LARGEST_BUFFERED_BYTES) for name in ("sender", "message")}
        self.crossing = Crossing({}, self._crossing_bytes, self._exchange_s)
        steps = self._steps()
        self.next: Sequence[Experiment] = next(steps)
        for result in results:
            try:
                self.next = steps.send(result.times_s)
            except StopIteration:
                self.next = ()
                break

    def _steps(self) -> Steps:
        """Yield experiments, and take their times, until all is known."""
        reference, *others = self._pairs
        first = [self._dense(reference), *(self._few(name) for name in others)]
        yield from _carried_out([*first, self._loaded(loads.first_loads(self._where.hosts))])
        for _ in range(2):  # lines in proportion and the envelope depend on each other
            for name in others:
                self.lines[self.row[name]] = self._in_proportion(name)
            self.envelope_bytes = self._find_envelope()
        if self._deep:
            yield from _carried_out([*self._deeper(others), *self._narrowing()])
        while parts := [*self._unsettled(), *self._narrowing()]:
            yield from _carried_out(parts)
        if self._deep:
            self.crossing = Crossing(self.distances, self._crossing_bytes, self._exchange_s)
            while experiments := self.crossing.experiments():
                self.crossing.take((yield experiments))

    def _dense(self, name: Name) -> Part:
        """Return the ping-pongs of all sizes on a kind of path; on the reference also messages to a late receiver."""
        (a, b), late = self._pairs[name], self.row[name] == 0 and len(set(self._pairs[name])) == 2
        warm_up, *pings = _ping_pongs(a, b, sizes_bytes())
        experiments: list[Experiment] = [warm_up]
        for size, ping in zip(sizes_bytes(), pings, strict=True):
            experiments.append(ping)
            if late and _tests_late(size):
                experiments.append(LateReceive(a, b, size, _TIMES_LATE, relative=True))

        def take(times: Times) -> None:
            pings = tuple(time[0] / 2 for time, made in zip(times, experiments, strict=True) if isinstance(made, tuple))
            delayed = (time for time, made in zip(times, experiments, strict=True) if isinstance(made, LateReceive))
            self.points[name] = dict(zip(sizes_bytes(), pings[1:], strict=True))
            self.lines[self.row[name]] = list(lines.line_between(a, b, pings[1:]))
            for size, (send_s, receive_s) in zip(sizes_bytes(), delayed, strict=False):
                self._sort(size, self.points[name][size], send_s, receive_s, 2 * _TIMES_LATE)
            self._find_breaks()

        return experiments, take

    def _few(self, name: Name) -> Part:
        """Return the ping-pongs that show latency and rate of a kind of path."""

        def take(times: Times) -> None:
            points = self.points[name] = dict(zip((1, *LINE_BYTES), _one_way_s(times), strict=True))
            if not points[LINE_BYTES[1]] > points[LINE_BYTES[0]]:
                problem = f"{LINE_BYTES[1]} bytes do not take longer than {LINE_BYTES[0]}, so that the rate is unknown"
                raise lines.no_lines(*self._pairs[name], problem)

        return _ping_pongs(*self._pairs[name], (1, *LINE_BYTES)), take

    def _in_proportion(self, name: Name) -> list[Piece]:
        """Return the lines of a kind of path, by its latency and rate over those of the reference."""
        return lines.in_proportion(
            self.lines[0], self.points[next(iter(self._pairs))], self.points[name], self.envelope_bytes
        )

    def _find_envelope(self) -> float:
        """Return the bytes that each message carries beside its own, from two messages that share the link of a node.

        A message alone shows them as latency.  Of two that share a link as fast as one of them alone, and of their two
        answers, each waits for those of the other.  0: not known.
        """
        load, times_s = self.loads.get("out", ()), self.loads_s.get("out", ())
        for c in self._where.hosts if self._is_exact else ():
            inside = [i for i, e in enumerate(load) if self._cluster[e.source] == c]
            if inside:
                line = self.lines[self.row[c, c]]
                longer_s = max(times_s[i] for i in inside) - line[-1].start_s - alone_s(line, 0)
                more_s = longer_s - sum(load[i].size_bytes for i in inside) * line[-1].s_per_byte
                if 0 < (made := more_s / (line[-1].s_per_byte + line[0].s_per_byte)) < _MOST_ENVELOPE_BYTES:
                    return made
        return 0.0

    @property
    def _scatter(self) -> float:
        return lines.scatter(self.lines[0][0], list(self.points[next(iter(self._pairs))].values()))

    @property
    def _is_exact(self) -> bool:
        """The reference's times lie on their lines, as in simulation."""
        return self._scatter <= lines.ON_LINE

    def _of_pieces(self, name: Name) -> Part:
        """Return ping-pongs of three sizes on each of the reference's lines, which show those of a kind of path."""
        known = self.points[name]
        sizes = sorted(lines.sizes_on_lines(self.lines[0]) - known.keys())

        def take(times: Times) -> None:
            known.update(zip(sizes, _one_way_s(times), strict=True))
            self.lines[self.row[name]] = lines.through_points(self.lines[0], known)

        return _ping_pongs(*self._pairs[name], sizes), take

    def _loaded(self, made: Mapping[LoadName, Load]) -> Part:
        def take(times: Times) -> None:
            self.loads.update(made)
            self.loads_s.update(zip(made, map(tuple, times), strict=True))

        return list(made.values()), take

    def _pinged(self) -> Part:
        """Return ping-pongs of one byte of all pairs of hosts of each cluster, those without a common host at once."""
        rounds = rounds_of_pairs(self._where.hosts)

        def take(times: Times) -> None:
            latency_s = {
                frozenset(pair): time_s / 2
                for pairs, times_s in zip(rounds, times, strict=True)
                for pair, time_s in zip(pairs, times_s, strict=True)
            }
            known = distances(self._where.hosts, latency_s, self._scatter)
            self.distances = {c: of_cluster for c, of_cluster in known.items() if of_cluster.few}

        return [tuple(Exchange(a, b, 1, 1) for a, b in pairs) for pairs in rounds], take

    def _deeper(self, others: Sequence[Name]) -> list[Part]:
        """Return the experiments of a deep survey whose need the first ones show."""
        parts = [self._of_pieces(name) if self._is_exact else self._dense(name) for name in others]
        more: dict[LoadName, Load] = {}
        for (c, d), number in loads.round_of(list(self._where.hosts)).items():
            if self._is_slowed(("one way", number), c, d, _SLOWED) or self._is_slowed(
                ("two ways", number), c, d, _BOTH_SLOWED
            ):
                more |= loads.loads_between(self._where.hosts, c, d)
        for c, d in permutations(self._where.hosts, 2):
            if load := loads.near_and_far(self._where.hosts, c, d):
                near, far = self.lines[self.row[c, c]][-1], self.lines[self.row_between(c, d)][-1]
                if not self._is_exact or far.start_s - near.start_s > near.s_per_byte * loads.NEAR_BYTES / 2:
                    more["near and far", c, d] = tuple(replace(e, size_bytes=loads.LARGE_BYTES) for e in load)
        more = {name: self._overlapping(load) for name, load in more.items()}
        for name, load in self.loads.items():
            if name[0] in ("outside", "mixed") and (longer := self._overlapping(load)) != load:
                more[name] = longer
        return [*parts, self._loaded(more), self._pinged()]

    def _is_slowed(self, name: LoadName, c: str, d: str, by: float) -> bool:
        """Return whether messages between two clusters took longer than alone in an experiment with other clusters."""
        load, ends = self.loads[name], {c, d}
        flows = [i for i, e in enumerate(load) if {self._cluster[e.source], self._cluster[e.destination]} == ends]
        if len(flows) == len(load):
            return False  # it was measured alone
        alone = self._exchange_s((load[flows[0]].source, load[flows[0]].destination), loads.LARGE_BYTES)
        return max(self.loads_s[name][i] for i in flows) > by * alone

    def _overlapping(self, load: Load) -> Load:
        """Return an experiment under load with messages so large that all flow together for most of their time."""
        ends = {(e.source, e.destination) for e in load}
        last = [self.lines[self.row[self._cluster[a]] if a == b else self.row_of(a, b)][-1] for a, b in ends]
        spread_s = max(line.start_s for line in last) - min(line.start_s for line in last)
        size = min(_OVERLAP * spread_s / min(line.s_per_byte for line in last), _MOST_LOAD_BYTES)
        if not self._is_exact:
            size = _MOST_LOAD_BYTES
        return tuple(replace(e, size_bytes=int(size)) for e in load) if size > loads.LARGE_BYTES else load

    def _unsettled(self) -> list[Part]:
        """Return the ping-pongs of all sizes where a line is not as on the reference, and those of new distances."""
        parts = [self._dense(name) for name, row in self.row.items() if not self.lines[row]]
        far = {
            (c, c, kind): there.pair_of(kind)
            for c, there in self.distances.items()
            for kind in range(there.count)
            if kind != there.kind_of(*self._pairs[c, c]) and (c, c, kind) not in self.row
        }
        for name, pair in far.items():
            self.row[name] = len(self.lines)
            self._pairs[name] = pair
            self.points[name] = {}
            self.lines.append([])
            parts.append(self._dense(name))
        return [*parts, self._loaded(self._far_loads(far))] if far else parts

    def _far_loads(self, far: Iterable[FarName]) -> dict[LoadName, Load]:
        """For each further distance, the messages of a host to a near host and to one so far away."""
        made: dict[LoadName, Load] = {}
        for c, _, kind in far:
            there = self.distances[c]
            near = there.kind_of(*self._pairs[c, c])
            for a in there.hosts:
                of_kind = {there.kind_of(a, b): b for b in there.hosts if b != a}
                if {near, kind} <= of_kind.keys():
                    ends = (of_kind[near], of_kind[kind])
                    made[c, c, kind] = tuple(Exchange(a, b, _MOST_LOAD_BYTES, 0) for b in ends)
                    break
        return made

    def _find_breaks(self) -> None:
        """Record the breaks of all lines, each with the row of the smallest latency that shows it."""
        breaks: dict[int, int] = {}
        for row, line in enumerate(self.lines):
            for piece in line[1:]:
                other = breaks.get(piece.first, row)
                if line[0].start_s <= self.lines[other][0].start_s:
                    breaks[piece.first] = row
        for gap in sorted(breaks):  # some rows may show the same break one point later than others
            if not {gap - 1, gap, gap + 1} & self.between.keys() and gap - 1 not in breaks:
                self.between[gap] = (sizes_bytes()[gap - 1], sizes_bytes()[gap])
                self._quickest[gap] = breaks[gap]
        self.between = dict(sorted(self.between.items()))

    def _crossing_bytes(self, c: str, latencies: float) -> int:
        """Return the size of messages in a cluster that flow for this multiple of its largest latency."""
        last = [self.lines[row][-1] for name, row in self.row.items() if isinstance(name, tuple) and name[:2] == (c, c)]
        size = max(latencies * line.start_s / line.s_per_byte for line in last)
        return int(min(max(size, _LEAST_CROSSING_BYTES), _MOST_CROSSING_BYTES))

    def _exchange_s(self, pair: Pair, size: int) -> float:
        """Return the time of a message between different hosts, alone, and of its empty answer, s."""
        line = self.lines[self.row_of(*pair)]
        return alone_s(line, size) + alone_s(line, 1)

    @property
    def waits_from_bytes(self) -> tuple[float, float]:
        """Sizes from which on a sender waits for its receiver, and a message for its receive."""
        return _beyond(self._late["sender"]), _beyond(self._late["message"])

    @property
    def measured_as(self) -> dict[Pair, Pair]:
        """By pair of hosts in clusters whose pairs differ: the pair whose ping-pongs stand for it."""
        return {
            (a, b): list(self._pairs.values())[self.row_of(a, b)]
            for of_cluster in self.distances.values()
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

    def above_bytes(self, gap: int) -> float:
        """Return the size at which a break lies."""
        return float(np.mean(self.between[gap]))

    def _narrowing(self) -> Iterator[Part]:
        """Yield the experiments that narrow down breaks, and the sizes from which on senders and messages wait."""
        for gap, ends in self.between.items():
            if sizes := self._sizes_between(*ends):
                yield self._narrowing_of(gap, sizes)
        sizes = sorted({size for ends in self._late.values() for size in self._sizes_between(*ends)})
        a, b = next(iter(self._pairs.values()))
        if sizes and a != b:
            delayed = [LateReceive(a, b, size, _late_us(self.lines[0], size)) for size in sizes]

            def take(times: Times) -> None:
                for late, (send_s, receive_s) in zip(delayed, times, strict=True):
                    own_s = alone_s(self.lines[0], late.size_bytes)
                    self._sort(late.size_bytes, own_s, send_s, receive_s, late.late_us * 1e-6 / own_s)

            yield delayed, take

    def _narrowing_of(self, gap: int, sizes: Sequence[int]) -> Part:
        row = self._quickest[gap]

        def take(times: Times) -> None:
            line, (low, high) = self.lines[row], self.between[gap]
            after = next(i for i, piece in enumerate(line) if piece.first == gap)
            for size, time_s in zip(sizes, _one_way_s(times), strict=True):
                if abs(time_s - line[after - 1].time_s(size)) <= abs(time_s - line[after].time_s(size)):
                    low = max(low, size)
                else:
                    high = min(high, size)
                    break
            self.between[gap] = (low, high)

        return _ping_pongs(*list(self._pairs.values())[row], sizes), take

    def _sizes_between(self, low: int, high: int) -> list[int]:
        """Return sizes whose messages narrow down a change between two sizes; none if it is known well enough."""
        if self._wanted is not None:
            return sorted(size for size in self._wanted if low < size < high)
        if high - low <= max(1, _EXACT * low):
            return []
        return sorted({int(size) for size in np.linspace(low, high, _SIZES_PER_GAP + 2)[1:-1]} - {low, high})

    def _sort(self, size: int, own_s: float, send_s: float, receive_s: float, late: float) -> None:
        """Record whether a message to a late receiver, of ``late`` times its own time, or its sender, waited for it."""
        for what, waits in (("sender", send_s > late * own_s / 2), ("message", receive_s > own_s / 2)):
            low, high = self._late[what]
            self._late[what] = (low, min(high, size)) if waits else (min(max(low, size), high), high)


def _carried_out(parts: Sequence[Part]) -> Steps:
    """Yield the experiments of all parts as one plan, and give each part its times."""
    if experiments := [experiment for made, _ in parts for experiment in made]:
        times = iter((yield experiments))
        for made, take in parts:
            take(list(islice(times, len(made))))


def _beyond(between: tuple[int, int]) -> float:
    """Return the size from which on messages wait, given the largest that did not and the smallest that did."""
    low, high = between
    if high == _LARGEST_BUFFERED_BYTES:  # no message was seen to wait
        return np.inf
    return 0.0 if low == 0 else (low + high) / 2


def _late_us(line: Sequence[Piece], size: int) -> int:
    """Return a delay after which a message would long have arrived."""
    return max(10, int(2e6 * _TIMES_LATE * alone_s(line, size)) + 1)


def _one_way_s(times: Times) -> list[float]:
    """Return the one-way times of ping-pongs, of which the first does not count."""
    return [time[0] / 2 for time in times[1:]]
