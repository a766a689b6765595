"""A network measured by messages (predictors ``dpgraph`` and ``structural``); the platform file only names its hosts.

``predictor.network`` plans the messages and fits the links; here their experiments under load are evaluated: a link
gets the capacity with which the fluid model takes as long as the experiment.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache

import numpy as np

from apps.probes.network.measure import Exchange
from apps.probes.plan import Measurement
from apps.recording.events import Mode
from platforms.model.platform import Platform
from predictor.dpgraph.evaluate import execute
from predictor.dpgraph.instructions import RECV, SEND, WAIT_RECEIVED, WAIT_SENT
from predictor.dpgraph.network import NetworkModel
from predictor.dpgraph.program import Program
from predictor.network.fit import NetworkFit, Ways
from predictor.network.layout import HostsByCluster, layout
from predictor.network.survey import Survey


def measured_network(
    platform: Platform,
    placement: Sequence[str],
    results: Sequence[Measurement],
    sizes: Collection[int] | None = None,
) -> NetworkModel:
    """Return the network between all hosts of a placement, from the results of all its plans.

    Args:
        platform: The platform.
        placement: The hosts.
        results: The results of the plans of a deep survey.
        sizes: As for ``Survey``.

    Raises:
        OutOfRange: The measured times do not lie on lines.
    """
    where = layout(platform, placement)
    fit = fitted(where, Survey(where, results, sizes=sizes))
    return NetworkModel(
        Ways(fit),
        fit.capacity_Bps,
        fit.timing,
        fit.protocol,
        measured_as=fit.survey.measured_as,
        cautions=tuple(fit.cautions()),
        unexplained=tuple(fit.unexplained()),
    )


def fitted(where: HostsByCluster, survey: Survey) -> NetworkFit:
    """Return the network that a survey shows."""
    return NetworkFit(where, survey, _takes_s)


def _takes_s(fit: NetworkFit, exchanges: Sequence[Exchange]) -> np.ndarray:
    """Return the modelled time of each exchange of an experiment under load, s."""
    pairs = {(e.source, e.destination) for e in exchanges} | {(e.destination, e.source) for e in exchanges}
    ways = {pair: fit.way(*pair) for pair in pairs}
    names = {name for way in ways.values() for name in way.links}
    network = NetworkModel(ways, {name: fit.capacity_Bps[name] for name in names}, fit.timing, fit.protocol)
    agents = tuple(host for e in exchanges for host in (e.source, e.destination))
    return execute(_exchange_program(tuple(exchanges)), network, agents, np.zeros(len(agents))).end_s[::2]


@lru_cache(maxsize=64)  # a fit evaluates each a dozen times
def _exchange_program(exchanges: tuple[Exchange, ...]) -> Program:
    """Return a program of two agents per exchange: one sends and waits for the answer, the other waits and answers."""
    code = [RECV, SEND, WAIT_SENT, WAIT_RECEIVED]
    code += [RECV, WAIT_RECEIVED, SEND, WAIT_SENT]
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
