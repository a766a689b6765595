"""A link that all clusters share, measured: a survey for one program has none but those of each cluster and pair.

One experiment sends large messages around a ring of all clusters at once, others send them alone.  If they take longer
at once than the measured network explains, a link is added that all messages between clusters cross.  The network may
have been measured for smaller messages, so that its times of large ones are corrected by those of messages alone.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from apps.probes.network.measure import Exchange, NetworkPlan
from apps.recording.events import Mode
from platforms.model.platform import Platform
from predictor.dpgraph.evaluate import execute
from predictor.dpgraph.instructions import RECV, SEND, WAIT_RECEIVED, WAIT_SENT
from predictor.dpgraph.network import NetworkModel
from predictor.dpgraph.program import Program
from predictor.network.loads import LARGE_BYTES

LEAST_CLUSTERS = 3  # the links between two are measured by the survey
_EXPLAINED_REL = 0.02
_LINK = "between all clusters"
_MOST_HOSTS = 4  # of a cluster that send


def ring_plan(platform: Platform, clusters: Sequence[Sequence[str]]) -> NetworkPlan:
    """Return the experiments: some hosts of each cluster send to the next cluster at once; then one does so alone."""
    return NetworkPlan(platform, (_ring(clusters), *_alone(clusters)))


def _alone(clusters: Sequence[Sequence[str]]) -> list[tuple[Exchange]]:
    sends = _ring(clusters)
    return [(send,) for send in sends[:: len(sends) // len(clusters)]]


def _ring(clusters: Sequence[Sequence[str]]) -> tuple[Exchange, ...]:
    count = min(_MOST_HOSTS, *(len(hosts) // 2 or 1 for hosts in clusters))
    return tuple(
        Exchange(hosts[i], other[-1 - i], LARGE_BYTES, 0)
        for hosts, other in zip(clusters, [*clusters[1:], clusters[0]], strict=True)
        for i in range(count)
    )


def with_backbone(
    network: NetworkModel, clusters: Sequence[Sequence[str]], times_s: Sequence[Sequence[float]]
) -> NetworkModel:
    """Return the network, with a link between all clusters if the experiment took longer than it explains.

    Args:
        network: The network as measured for one program.
        clusters: The hosts of each cluster.
        times_s: The times of the messages of each experiment of ``ring_plan``, s.
    """
    sends = _ring(clusters)
    alone = zip(_alone(clusters), times_s[1:], strict=True)
    longest_s = max(times_s[0]) / max(time_s / _explained_s(network, send) for send, (time_s,) in alone)
    if _explained_s(network, sends) > longest_s * (1 - _EXPLAINED_REL):
        return network
    cluster_of = {host: at for at, hosts in enumerate(clusters) for host in hosts}
    ways = {
        pair: replace(way, links={**way.links, _LINK: 1.0}) if cluster_of[pair[0]] != cluster_of[pair[1]] else way
        for pair, way in network.ways.items()
    }
    capacity_Bps = {**network.capacity_Bps, _LINK: len(sends) * LARGE_BYTES / longest_s}
    wider = replace(network, ways=ways, capacity_Bps=capacity_Bps)
    # The latency is no part of the rate: correct the capacity by what the first estimate gives.
    capacity_Bps[_LINK] *= _explained_s(wider, sends) / longest_s
    return replace(wider, capacity_Bps=capacity_Bps)


def _explained_s(network: NetworkModel, sends: Sequence[Exchange]) -> float:
    """Return the time of simultaneous messages by the network, s."""
    count = len(sends)
    number = np.repeat(np.arange(count), 2).astype(np.int32)
    program = Program(
        code=np.tile(np.array([SEND, WAIT_SENT, RECV, WAIT_RECEIVED], np.uint8), count),
        argument=np.repeat(number, 2),
        value=np.zeros(4 * count),
        first=np.arange(0, 4 * count + 1, 2, dtype=np.int64),
        source=np.arange(0, 2 * count, 2, dtype=np.int32),
        destination=np.arange(1, 2 * count, 2, dtype=np.int32),
        size_bytes=np.array([send.size_bytes for send in sends], np.int64),
        mode=np.full(count, Mode.STANDARD, np.uint8),
    )
    placement = tuple(host for send in sends for host in (send.source, send.destination))
    return float(execute(program, network, placement, [1.0] * len(placement)).end_s.max())
