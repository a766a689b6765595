"""The messages that measure a network, and the network properties derived from their times.

The effect of the software on messages by size is assumed to be the same everywhere: it is measured between one pair of
hosts, for the sizes that a program sends.  The properties of paths are measured with three messages on each kind of
path: between two nodes of a cluster, between one node of each of two clusters, and from a node to itself.  Shared links
show under load; experiments without a common link run at the same time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from apps.probes.network.measure import Exchange, LateReceive, NetworkPlan
from apps.probes.plan import Measurement
from apps.spec.target import Target
from platforms.model.platform import Platform
from predictor.base import OutOfRange
from predictor.network.survey import HostsByCluster

MOST_HOSTS = 64  # measured hosts of a cluster; shared links that only more hosts can fill are not detected
LARGE_BYTES = 500_000  # size of the messages under load
_LINE_BYTES = (LARGE_BYTES, 2 * LARGE_BYTES)  # sizes whose times give the rate of a path
# Distance to the neighbouring sizes that give the slope at a size.
_STEP_REL, _LEAST_STEP_BYTES = 0.02, 16
_SLOPE_FROM_BYTES = 64  # the time of a smaller message is nearly all latency
MOST_SIZES = 200  # largest number of measured sizes; if there are more, some are left out
_TIMES_LATE = 3  # delay of a late receiver, in estimated times of the message
# Pessimistic estimate of a message's time, from multiples of the smallest message's latency and of the largest one's #
# rate.
_MOST_LATENCY, _LEAST_RATE = 15, 0.25

LoadName = str | tuple[str, int | str]  # the part under load and, if there are several, the round or the cluster
PingPong = tuple[Exchange]
Load = tuple[Exchange, ...]


def sampled(together: Target) -> Target:
    """Return a target on at most MOST_HOSTS hosts of each cluster, whose nodes are assumed to be alike."""
    kept: Counter[str] = Counter()
    hosts = []
    for host in together.placement:
        cluster = together.platform.cluster_of(host).name
        kept[cluster] += 1
        if kept[cluster] <= MOST_HOSTS:
            hosts.append(host)
    return replace(together, placement=tuple(hosts))


def network_plan(platform: Platform, where: HostsByCluster) -> NetworkPlan:
    """Return the plan that measures latency and rate of every kind of path, and the shared links."""
    experiments: list[tuple[Exchange, ...]] = []
    for a, b in where.series.values():
        experiments += [_ping_pong(a, b, size) for size in (1, 1, *_LINE_BYTES)]  # the first does not count
    return NetworkPlan(platform, (*experiments, *loads(where).values()))


def loads(where: HostsByCluster) -> dict[LoadName, Load]:
    """Return the experiments under load: of all clusters together, of disjoint pairs of clusters, of each cluster."""
    clusters = where.hosts
    experiments: dict[LoadName, Load] = {
        "out": _one_way([(h[0], other) for h in clusters.values() if len(h) > 2 for other in h[1:3]]),
        "both": _both_ways([h[:2] for h in clusters.values() if len(h) > 1]),
        "ring": _one_way([pair for c, h in clusters.items() if len(h) > 2 for pair in where.ring(c)]),
        "self": _one_way([(h[0], to) for h in clusters.values() if len(h) > 1 for to in h[:2]]),
    }
    for number, together in enumerate(tournament(list(clusters))):
        pairs = [pair for c, d in together for pair in where.pairs(c, d)]
        experiments["one way", number], experiments["two ways", number] = _one_way(pairs), _both_ways(pairs)
    if len(clusters) > 2:
        experiments |= {("outside", c): _both_ways(where.outside(c)) for c in clusters}
    if len(clusters) > 1:
        # The nodes of a cluster may not fill a link they share, nor show whether their messages use the outside link.
        experiments |= {
            ("mixed", c): (*_one_way(where.ring(c)), *_both_ways(where.outside(c)))
            for c, hosts in clusters.items()
            if len(hosts) > 2
        }
    return {name: load for name, load in experiments.items() if load}


def tournament(players: Sequence[str]) -> list[list[tuple[str, str]]]:
    """Return rounds of disjoint pairs in which every two players meet exactly once (the circle method)."""
    circle: list[str | None] = [*players, *([None] if len(players) % 2 else [])]
    rounds = []
    for _ in range(len(circle) - 1):
        pairs = zip(circle[: len(circle) // 2], reversed(circle[len(circle) // 2 :]), strict=True)
        rounds.append([(a, b) for a, b in pairs if a is not None and b is not None])
        circle.insert(1, circle.pop())
    return [pairs for pairs in rounds if pairs]


def _ping_pong(a: str, b: str, size: int) -> PingPong:
    return (Exchange(a, b, size, size),)


def _one_way(pairs: Sequence[Sequence[str]]) -> Load:
    return tuple(Exchange(a, b, LARGE_BYTES, 0) for a, b in pairs)


def _both_ways(pairs: Sequence[Sequence[str]]) -> Load:
    return _one_way([pair for a, b in pairs for pair in ((a, b), (b, a))])


@dataclass(frozen=True)
class Lines:
    """The times of each kind of path (one row each) from the ping-pongs of network_plan, and the times under load."""

    row: Mapping[tuple[str, str] | str, int]  # by kind of path, named as in HostsByCluster.series
    small_s: np.ndarray  # time of one byte
    large_s: np.ndarray  # time of LARGE_BYTES
    rate_Bps: np.ndarray  # rate of large messages
    loads_s: Mapping[LoadName, tuple[float, ...]]  # time of each exchange of an experiment under load

    def row_between(self, c: str, d: str) -> int:
        """Return the row of paths between two clusters, named in either order."""
        return self.row[c, d] if (c, d) in self.row else self.row[d, c]


def read_lines(where: HostsByCluster, measurement: Measurement) -> Lines:
    """Return the lines from the result of ``network_plan``.

    Raises:
        OutOfRange: Large messages do not take longer than smaller ones.
    """
    times = iter(measurement.times_s)
    names = list(where.series)
    one_way_s = np.array([[time[0] / 2 for time in islice(times, 4)][1:] for _ in names])
    rises_s = one_way_s[:, 2] - one_way_s[:, 1]
    if not (rises_s > 0).all():
        a, b = where.series[names[int(np.argmin(rises_s))]]
        problem = f"{_LINE_BYTES[1]} bytes do not take longer than {_LINE_BYTES[0]}, so the rate is unknown"
        remedy = "Use links that the clock can resolve, a calibrated platform, or dpgraph:known, which measures nothing"
        raise OutOfRange(f"structural, messages from {a} to {b}", problem, remedy)
    return Lines(
        row={name: i for i, name in enumerate(names)},
        small_s=one_way_s[:, 0],
        large_s=one_way_s[:, 1],
        rate_Bps=(_LINE_BYTES[1] - _LINE_BYTES[0]) / rises_s,
        loads_s=dict(zip(loads(where), times, strict=True)),
    )


def reference(where: HostsByCluster, lines: Lines) -> tuple[str, str]:
    """Return the kind of path between two hosts on which small messages are fastest; there must be two hosts."""
    return min(where.classes, key=lambda name: float(lines.small_s[lines.row[name]]))


def size_plan(platform: Platform, where: HostsByCluster, lines: Lines, sizes: Sequence[int]) -> NetworkPlan:
    """Return the plan that measures the effects of sizes between one pair of hosts: times, slopes and protocols."""
    name = reference(where, lines)
    a, b = where.classes[name]
    row = lines.row[name]
    probed = [_ping_pong(a, b, 1)]
    for size in sizes:
        probed += [_ping_pong(a, b, near_bytes) for near_bytes in _around(size)]
    late = [LateReceive(a, b, size, late_us) for size, late_us in zip(sizes, _late_us(lines, row, sizes), strict=True)]
    return NetworkPlan(platform, (*probed, *late))


def _late_us(lines: Lines, row: int, sizes: Sequence[int]) -> list[int]:
    """Return delays by which a message of each size would have arrived long before."""
    most_s = [_MOST_LATENCY * lines.small_s[row] + size / (_LEAST_RATE * lines.rate_Bps[row]) for size in sizes]
    return [int(1e6 * _TIMES_LATE * time_s) + 1 for time_s in most_s]


def _around(size: int) -> list[int]:
    """Return a size and, if the slope matters, one neighbour on each side."""
    if size < _SLOPE_FROM_BYTES:
        return [size]
    step = max(int(_STEP_REL * size), _LEAST_STEP_BYTES)
    return [size - step, size, size + step]


# Protocols.  BUFFERED: the sender continues, the message waits for its receive.  EAGER: neither waits.  SYNCHRONOUS:
# both wait for the receiver.
BUFFERED, EAGER, SYNCHRONOUS = 0, 1, 2


@dataclass(frozen=True)
class Sizes:
    """The effects of message sizes on the path between the measured pair of hosts."""

    name: tuple[str, str]  # name of the kind of that path
    size_bytes: np.ndarray  # f8, ascending
    latency: np.ndarray  # f8, relative to the time of one byte
    s_per_byte: np.ndarray  # f8
    protocol: np.ndarray  # u1: BUFFERED, EAGER or SYNCHRONOUS


def read_sizes(lines: Lines, name: tuple[str, str], sizes: Sequence[int], measurement: Measurement) -> Sizes:
    """Return the effects of sizes from the result of ``size_plan``; ``name`` is that of ``reference``."""
    times = iter(measurement.times_s[1:])
    row = lines.row[name]
    time_s, slope = np.empty(len(sizes)), np.full(len(sizes), 1 / lines.rate_Bps[row])
    for i, size in enumerate(sizes):
        around = _around(size)
        found_s = [time[0] / 2 for time in islice(times, len(around))]
        time_s[i] = found_s[len(around) // 2]
        if len(around) == 3:
            # A rise steeper than that of the whole time is noise; of two, the larger may be a change of protocol.
            rising = [s for s in np.diff(found_s) / np.diff(around) if 0 < s <= time_s[i] / size]
            slope[i] = min(rising, default=slope[i])
            time_s[i] = np.median(found_s + slope[i] * (size - np.array(around)))
    latency_s = np.maximum(time_s - slope * sizes, 0.0)
    late_us = _late_us(lines, row, sizes)
    protocol = np.empty(len(sizes), np.uint8)
    for i, (send_s, receive_s) in enumerate(times):
        waits = send_s > late_us[i] * 1e-6 / 2
        protocol[i] = SYNCHRONOUS if waits else BUFFERED if receive_s > time_s[i] / 2 else EAGER
    return Sizes(name, np.array(sizes, float), latency_s / lines.small_s[row], slope, protocol)
