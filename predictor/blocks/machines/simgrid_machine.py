"""Costs of blocks by SimGrid's SMPI network model, on a system's hardware data.

The following is added to the hardware data: latency and bandwidth are multiplied by factors that depend on the size of
the message; every message has an envelope of 16 bytes; a flow's rate is limited by its window; acknowledgements take
5 % of the capacity on the way back (predictor/dpgraph/known.py).  The machine serves to compare a description with its
simulation; real machines need measurements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from predictor.blocks.machines.hardware_machine import HardwareMachine
from predictor.dpgraph.known import known_network
from predictor.network.value import Protocol

if TYPE_CHECKING:
    from platforms.model.platform import Route
    from platforms.system import System
    from platforms.system.scheduler import Schedule
    from predictor.blocks.machines.hardware_machine import Ends
    from predictor.dpgraph.network import NetworkModel

ENVELOPE_BYTES = int(Protocol.envelope_bytes)  # added to every MPI message


class SimGridMachine(HardwareMachine):
    """Machine of a system and a schedule on it, with the SimGrid options of the system."""

    name = "simgrid"
    note_bytes = 1  # as in validation/blocks/blockprogram
    envelope_bytes = ENVELOPE_BYTES
    collectives_are_messages = True

    def __init__(self, system: System, schedule: Schedule, *, failure_rate_per_s: float | None = None):
        super().__init__(system, schedule, failure_rate_per_s=failure_rate_per_s)
        self._networks: dict[tuple[str, str], NetworkModel] = {}

    def _transfer_s(self, ends: Ends, amount_bytes: int, flows: Mapping[str, float]) -> float:
        here, i, there, j = ends
        pair = here.host(i), there.host(j)
        network = self._network(pair)
        way, timing = network.ways[pair], network.timing
        segment = int(np.searchsorted(timing.above_bytes, amount_bytes, side="left")) - 1
        share_Bps = way.bound_Bps
        for name, weight in way.links.items():
            share_Bps = min(share_Bps, network.capacity_Bps[name] / (weight * flows.get(name, 1)))
        rate_Bps = timing.factor[way.timing_class, segment] * share_Bps  # the flow's share is unchanged
        return float(timing.latency_s[way.timing_class, segment] + amount_bytes / rate_Bps)

    def network(self, routes: Sequence[Route]) -> NetworkModel:
        """Return SimGrid's network of these routes, each in both directions."""
        return known_network(routes, dict(self.system.options))

    def _network(self, pair: tuple[str, str]) -> NetworkModel:
        if pair not in self._networks:
            routes = self.system.routes(sorted({pair, pair[::-1]}))
            self._networks[pair] = self.network(routes)
        return self._networks[pair]
