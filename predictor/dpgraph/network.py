"""The parameters of a network, read from a platform file or measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from apps.recording.events import Mode
from predictor.dpgraph.instructions import MESSAGE, OWN, SLEEP, Messages, Paths, Polling
from predictor.dpgraph.program import Program
from predictor.dpgraph.ways import Ways
from predictor.network.value import DirectedPath, Protocol, Timing, Unexplained


@dataclass(frozen=True)
class NetworkModel:
    """The paths between the hosts of a program, and the capacities of their links."""

    ways: Mapping[tuple[str, str], DirectedPath]  # by source and destination host
    capacity_Bps: Mapping[str, float]  # by link
    timing: Timing
    protocol: Protocol = field(default_factory=Protocol)
    # By pair of hosts: the pair measured in its place.  Empty: see predictor.network.unmeasured.
    measured_as: Mapping[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    cautions: tuple[str, ...] = ()  # effects that the measurements show and the model does not represent
    unexplained: tuple[Unexplained, ...] = ()  # the same, where the program decides whether they matter
    polling: Polling = field(default_factory=Polling)  # measurements do not show it
    # Paths for data that a rank moves to and from disks, without an envelope.  A SLEEP with argument OWN + i moves #
    # `value` bytes over path i.
    own_ways: tuple[DirectedPath, ...] = ()

    def slower_inside(self, cluster: Unexplained, pairs: Iterable[tuple[str, str]]) -> NetworkModel:
        """Return the network of some pairs of hosts, messages in a cluster slowed down by its unexplained excess."""
        slower = 1 + cluster.excess_rel
        ways = {pair: self.ways[pair] for pair in pairs}
        inside = {pair for pair in ways if set(pair) <= cluster.hosts}
        links = {name for pair in inside for name in ways[pair].links}
        made = {
            pair: replace(way, bound_Bps=way.bound_Bps / slower) if pair in inside else way
            for pair, way in ways.items()
        }
        capacity_Bps = {name: self.capacity_Bps[name] / (slower if name in links else 1) for name in self.capacity_Bps}
        return replace(self, ways=made, capacity_Bps=capacity_Bps)

    def without_contention(self) -> NetworkModel:
        """Return the same network with unlimited link capacities."""
        return replace(self, ways={pair: replace(way, links={}) for pair, way in self.ways.items()})

    def carry(self, program: Program, placement: tuple[str, ...]) -> tuple[Messages, Paths]:
        """Return the program's messages on this network, and its paths.

        Raises:
            KeyError: A pair of hosts that exchange messages has no path.
        """
        kinds = program.kinds
        path_of_pair, timing_classes, paths = self.paths_of(program.pairs, program.nranks, placement)
        path = path_of_pair[kinds.pair] if len(path_of_pair) else np.empty(0, np.int32)
        size_bytes = kinds.size_bytes.astype(float)
        amount_bytes = size_bytes + self.protocol.envelope_bytes
        segment = np.searchsorted(self.timing.above_bytes, amount_bytes, side="left") - 1
        timing_class = timing_classes[path]
        buffered = (size_bytes < self.protocol.detached_below_bytes) | (kinds.mode == Mode.BUFFERED)
        synchronous = kinds.mode == Mode.SYNCHRONOUS
        one_sided = np.isin(kinds.mode, (Mode.PUT, Mode.GET))  # these start at once; the rank waits for their end
        messages = np.zeros(len(size_bytes), MESSAGE)
        messages["amount_bytes"] = amount_bytes
        messages["latency_s"] = self.timing.latency_s[timing_class, segment]
        messages["factor"] = self.timing.factor[timing_class, segment]
        messages["path"] = path
        messages["detached"] = buffered & ~synchronous & ~one_sided
        messages["eager"] = (size_bytes < self.protocol.eager_below_bytes) & ~synchronous | one_sided
        return Messages(messages, kinds.kind), paths

    def paths_of(
        self, pairs: np.ndarray, nranks: int, placement: Sequence[str]
    ) -> tuple[np.ndarray, np.ndarray, Paths]:
        """Return the path of each of a program's pairs, the timing class of each path, and the paths."""
        ends = (map(placement.__getitem__, part.tolist()) for part in np.divmod(pairs, nranks))
        known: dict[tuple[str, str], int] = {}
        path_of_pair = np.array([known.setdefault(pair, len(known)) for pair in zip(*ends, strict=True)], np.int32)
        if isinstance(self.ways, Ways) and not self.own_ways:
            return path_of_pair, *self.ways.rows(list(known))
        ways = [self.ways[pair] for pair in known]
        classes = np.array([way.timing_class for way in ways], np.int64)
        return path_of_pair, classes, self._paths([*ways, *self.own_ways])

    def own_flows(self, program: Program, paths: Paths) -> tuple[np.ndarray, np.ndarray]:
        """Return which instructions move bytes over ``own_ways``, and a MESSAGE for each of them.

        Args:
            program: The program.
            paths: The paths of ``carry``; the last ones are ``own_ways``.
        """
        which = (program.code == SLEEP) & (program.argument >= OWN)
        flows = np.zeros(np.count_nonzero(which), MESSAGE)
        if len(flows):
            way = program.argument[which] - OWN
            timing_class = np.array([route.timing_class for route in self.own_ways])[way]
            segment = np.searchsorted(self.timing.above_bytes, program.value[which], side="left") - 1
            flows["amount_bytes"] = program.value[which]
            flows["latency_s"] = self.timing.latency_s[timing_class, segment]
            flows["factor"] = self.timing.factor[timing_class, segment]
            flows["path"] = len(paths.bound_Bps) - len(self.own_ways) + way
        return which, flows

    def _paths(self, ways: list[DirectedPath]) -> Paths:
        names = {name: i for i, name in enumerate(self.capacity_Bps)}
        return Paths(
            bound_Bps=np.array([way.bound_Bps for way in ways]),
            penalty=np.array([way.penalty for way in ways]),
            first=np.concatenate([[0], np.cumsum([len(way.links) for way in ways])]).astype(np.int64),
            link=np.array([names[name] for way in ways for name in way.links], np.int32),
            weight=np.array([weight for way in ways for weight in way.links.values()], float),
            capacity_Bps=np.array(list(self.capacity_Bps.values()), float),
        )
