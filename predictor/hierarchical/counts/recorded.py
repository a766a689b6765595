"""Paths of recorded programs: the user's own, and kernels whose messages are not declared.

The longest chain of computations and messages is followed twice, on links that nobody shares: without the time of
bytes, and with it.  The bytes take the time by which the second is longer, or that of all bytes of the busiest node's
link if it takes longer still.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from apps.recording.events import Elapse, Recording
from apps.spec.target import Target
from apps.traffic.path import LARGE_BYTES
from platforms.errors import UserError
from predictor.dpgraph.evaluate import estimate
from predictor.dpgraph.network import NetworkModel
from predictor.dpgraph.program import LEAST_FOR_LOOP, Sections
from predictor.hierarchical.counts.declared import Speeds
from predictor.network.value import DirectedPath, Protocol, Timing

_CROSSINGS = 3  # of the network by a large message
_NO_LIMIT_BPS = 1e30


@dataclass(frozen=True)
class Recorded:
    """The times of a recorded program, s."""

    compute_s: float  # of the rank that computes most
    chain_s: float  # of the longest chain of computations and messages, with latency and without the time of bytes
    bytes_s: float


@lru_cache(maxsize=8)
def _sections(recording: Recording) -> Sections:
    return Sections(recording)


def recorded_path(recording: Recording, target: Target, on: Speeds) -> Recorded:
    """Return the times of a recorded program on a target.

    ``on.core_flops`` has no effect: operations of a recording take the time that they take at the platform's speeds.

    Raises:
        UserError: The recording does not fit the number of iterations, or its ranks deadlock.
    """
    sections = _sections(recording)
    hosts = [target.platform.host(host) for host in target.placement]
    s_per_flop = [1 / host.speed_flops for host in hosts]
    cores = [host.cores for host in hosts]
    times_s = [
        estimate(sections, target.iterations, _network(target, on, timed=timed), target.placement, s_per_flop, cores)
        for timed in (False, True)
    ]
    chain_s, with_bytes_s = (time_s.time_s for time_s in times_s)
    each_s = sections.flops(target.iterations) * s_per_flop + sections.elapsed_s(target.iterations, Elapse.ON_CORE)
    link_s = link_bytes(sections, target.iterations, target.placement, inside=on.inside_is_network) / on.network_Bps
    return Recorded(float(np.max(each_s)), chain_s, max(with_bytes_s - chain_s, link_s))


def _network(target: Target, on: Speeds, *, timed: bool) -> NetworkModel:
    """Return a network of links that messages never share; not ``timed``: bytes take no time there."""
    hosts = list(dict.fromkeys(target.placement))
    latency_s = on.latency_s if on.inside_is_network else 0.0
    far_Bps = on.network_Bps if timed else _NO_LIMIT_BPS
    near_Bps = min(on.network_Bps if on.inside_is_network else on.inside_Bps, _NO_LIMIT_BPS) if timed else far_Bps
    ways = {(a, b): DirectedPath(int(a != b), far_Bps if a != b else near_Bps, 1.0, {}) for a in hosts for b in hosts}
    latencies = np.array([[latency_s, _CROSSINGS * latency_s], [on.latency_s, _CROSSINGS * on.latency_s]])
    timing = Timing(np.array([-1.0, LARGE_BYTES - 1.0]), latencies, np.ones((2, 2)))
    return NetworkModel(ways, {}, timing, Protocol(envelope_bytes=0))


def link_bytes(sections: Sections, iterations: int, placement: Sequence[str], *, inside: bool) -> float:
    """Return the bytes that the busiest node sends or receives; ``inside``: those between its own ranks count too."""
    if sections.iterations < LEAST_FOR_LOOP or iterations in (0, sections.iterations):
        return _busiest(_by_node(sections, None, placement, inside))
    few, more = (_by_node(sections, number, placement, inside) for number in (LEAST_FOR_LOOP, LEAST_FOR_LOOP + 1))
    if iterations < LEAST_FOR_LOOP:
        raise UserError("recording", f"{iterations} iterations are needed", "Record as many as are needed")
    return _busiest(few + (iterations - LEAST_FOR_LOOP) * (more - few))


def _by_node(sections: Sections, iterations: int | None, placement: Sequence[str], inside: bool) -> np.ndarray:
    """Return the bytes that each node sends, and those that it receives."""
    program = sections.program(iterations)
    number = {host: i for i, host in enumerate(dict.fromkeys(placement))}
    node = np.array([number[host] for host in placement])
    source, destination = node[program.source], node[program.destination]
    counts = (program.source != program.destination) & (inside | (source != destination))
    size = program.size_bytes[counts]
    return np.array([np.bincount(way[counts], size, len(number)) for way in (source, destination)])


def _busiest(by_node: np.ndarray) -> float:
    return float(by_node.max())
