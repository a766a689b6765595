"""Networks whose parts can be made faster: as a platform file describes them, or as messages measured them.

A platform file names every link.  Messages show less: the links of each node, what a cluster and what a pair of
clusters share, and the links found inside a cluster.  Measurements do not show in which part a message spends its
latency. At most, each of two neighbours' links has half of the latency between them, and the connection of two clusters
has the rest of the latency between these; at least, a cluster's shared link has all of the latency between its
neighbours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from platforms.model.platform import Link, Route
from predictor.dpgraph.known import known_network
from predictor.dpgraph.network import NetworkModel
from predictor.network.value import DirectedPath, Timing

_DIRECTIONS = ("_UP", "_DOWN")  # endings of the two directions of a link, in SimGrid's names
_EXPLAINED = 0.98  # a path is as fast as its narrowest known link, if its rate is at least this share of the link's
_PENALTY_BYTES = 9000  # the size of the messages by whose times flows share links, as in predictor.network.fit
_NODE, _BETWEEN = "of ", "between "
WHOLE = "the whole network"

Sent = Mapping[tuple[str, str], int]  # bytes by source and destination host


class Network(Protocol):
    """A network with named parts."""

    @property
    def model(self) -> NetworkModel:
        """The network as it is."""

    def parts(self, sent: Sent) -> list[str]:
        """Return the names of the parts that messages use, the one with the most bytes first."""

    def faster(self, part: str, bandwidth: float, latency: float) -> tuple[NetworkModel, ...]:
        """Return the network with a part of ``bandwidth`` times the bandwidth and 1 / ``latency`` of the latency.

        The part WHOLE is all of the network.  Where the latency of the part is not known, these are two networks: with
        the largest and the least one.
        """


@dataclass(frozen=True)
class DeclaredNetwork:
    """A network as the platform file describes it; its parts are links, both directions of one under one name."""

    routes: tuple[Route, ...]  # each pair of hosts in both directions
    options: Mapping[str, str]  # SimGrid's

    @cached_property
    def model(self) -> NetworkModel:
        """The network as it is."""
        return known_network(self.routes, self.options)

    @cached_property
    def links(self) -> dict[str, frozenset[str]]:
        """SimGrid's names of the links of each part."""
        names: dict[str, set[str]] = {}
        for route in self.routes:
            for link in route.links:
                names.setdefault(_without_direction(link.name), set()).add(link.name)
        return {name: frozenset(links) for name, links in names.items()}

    def parts(self, sent: Sent) -> list[str]:
        """Return the names of the links that messages use, the one with the most bytes first."""
        bytes_on = Counter[str]()
        for route in self.routes:
            carried = sent.get((route.source, route.destination), 0)
            for link in route.links if carried else ():
                bytes_on[_without_direction(link.name)] += carried
        return [name for name, _ in bytes_on.most_common()]

    def faster(self, part: str, bandwidth: float, latency: float) -> tuple[NetworkModel, ...]:
        """Return the network with a link, or all, of other bandwidth and latency."""
        names = frozenset().union(*self.links.values()) if part == WHOLE else self.links[part]

        def changed(link: Link) -> Link:
            if link.name not in names:
                return link
            return replace(link, bandwidth_Bps=link.bandwidth_Bps * bandwidth, latency_s=link.latency_s / latency)

        routes = []
        for route in self.routes:
            links = tuple(map(changed, route.links))
            less_s = sum(old.latency_s - new.latency_s for old, new in zip(route.links, links, strict=True))
            routes.append(replace(route, links=links, latency_s=max(0.0, route.latency_s - less_s)))
        return (known_network(routes, self.options),)


def _without_direction(name: str) -> str:
    for ending in _DIRECTIONS:
        name = name.removesuffix(ending)
    return name


@dataclass(frozen=True)
class _Part:
    """A part of a measured network."""

    links: frozenset[str]  # names of NetworkModel.capacity_Bps
    latency_s: Mapping[tuple[str, str], np.ndarray]  # its latency on the paths that cross it, by segment of sizes


@dataclass(frozen=True)
class MeasuredNetwork:
    """A network as messages measured it (predictor.dpgraph.measured), and the clusters of its hosts."""

    model: NetworkModel
    clusters: Mapping[str, str]  # by host

    def parts(self, sent: Sent) -> list[str]:
        """Return the names of the parts that messages use, the one with the most bytes first."""
        bytes_on = Counter[str]()
        for name, part in self._parts.items():
            bytes_on[name] = sum(carried for pair, carried in sent.items() if self._crosses(pair, part))
        return [name for name, carried in bytes_on.most_common() if carried]

    def faster(self, part: str, bandwidth: float, latency: float) -> tuple[NetworkModel, ...]:
        """Return the network with a part of ``bandwidth`` times the bandwidth, and 1 / ``latency`` of its latency.

        The latency is the largest that the part may have, then the least; that of the whole network is known.  A path
        that is slower than every link known on it is limited by the connection of the clusters, or by a window of
        messages in flight, which passes more often when the latency is shorter.
        """
        if part == WHOLE:
            return (self._with_faster(self._whole, bandwidth, latency, between=False),)
        between = part.startswith(_BETWEEN)
        return tuple(
            self._with_faster(parts[part], bandwidth, latency, between=between) for parts in (self._parts, self._least)
        )

    def _with_faster(self, chosen: _Part, bandwidth: float, latency: float, *, between: bool) -> NetworkModel:
        model = self.model
        capacity_Bps = {
            name: value * bandwidth if name in chosen.links else value for name, value in model.capacity_Bps.items()
        }
        latency_s, factors = list(model.timing.latency_s), list(model.timing.factor)
        some = int(np.searchsorted(model.timing.above_bytes, _PENALTY_BYTES, side="left")) - 1
        rows: dict[tuple[int, bytes], int] = {}
        ways = {}
        for pair, way in model.ways.items():
            if not self._crosses(pair, chosen):
                ways[pair] = way
                continue
            saved_s = chosen.latency_s.get(pair, np.zeros_like(latency_s[0])) * (1 - 1 / latency)
            key = way.timing_class, saved_s.tobytes()
            if key not in rows:
                rows[key] = len(latency_s)
                latency_s.append(np.maximum(0.0, latency_s[way.timing_class] - saved_s))
                factors.append(factors[way.timing_class])
            row = rows[key]
            rate = self._rate(way, capacity_Bps, latency_s[way.timing_class][-1], latency_s[row][-1])
            if between and not self._explained(way):
                rate = min(bandwidth, self._narrowest_Bps(way, capacity_Bps) / way.bound_Bps)
            faster = replace(way, timing_class=row, bound_Bps=way.bound_Bps * rate)
            then_s, now_s = (
                latency_s[flow.timing_class][some]
                + _PENALTY_BYTES / (factors[flow.timing_class][some] * flow.bound_Bps)
                for flow in (faster, way)
            )
            ways[pair] = replace(faster, penalty=way.penalty * float(then_s / now_s))
        timing = Timing(model.timing.above_bytes, np.array(latency_s), np.array(factors))
        return replace(model, ways=ways, capacity_Bps=capacity_Bps, timing=timing)

    def crossing(self, part: str) -> frozenset[tuple[str, str]]:
        """Return the pairs of different hosts whose messages cross a part."""
        return frozenset(
            pair for pair in self.model.ways if pair[0] != pair[1] and self._crosses(pair, self._parts[part])
        )

    def _rate(self, way: DirectedPath, capacity_Bps: Mapping[str, float], old_s: float, new_s: float) -> float:
        """Return the factor of the largest rate on a path, with other capacities and another latency."""
        narrowest = self._narrowest_Bps(way, capacity_Bps)
        if self._explained(way):
            return narrowest / self._narrowest_Bps(way, self.model.capacity_Bps)
        window = old_s / new_s if new_s > 0 and old_s > 0 else 1.0
        return min(window, narrowest / way.bound_Bps)

    def _explained(self, way: DirectedPath) -> bool:
        """Return whether the narrowest known link of a path is as slow as the path."""
        return way.bound_Bps >= _EXPLAINED * self._narrowest_Bps(way, self.model.capacity_Bps)

    def _narrowest_Bps(self, way: DirectedPath, capacity_Bps: Mapping[str, float]) -> float:
        return min((capacity_Bps[name] / share for name, share in way.links.items() if share >= 1), default=np.inf)

    def _crosses(self, pair: tuple[str, str], part: _Part) -> bool:
        if pair in part.latency_s:
            return True
        way = self.model.ways.get(pair)
        return way is not None and any(way.links.get(name, 0.0) >= 1 for name in part.links)

    @property
    def _whole(self) -> _Part:
        """All links between hosts, with all of the latency."""
        disks = {name for way in self.model.own_ways for name in way.links}
        timing = self.model.timing
        latency_s = {pair: timing.latency_s[way.timing_class] for pair, way in self.model.ways.items()}
        return _Part(frozenset(self.model.capacity_Bps) - disks, latency_s)

    @cached_property
    def _parts(self) -> dict[str, _Part]:
        """The parts by name, with the largest latency that they may have."""
        return self._parts_if(shared=0.0)

    @cached_property
    def _least(self) -> dict[str, _Part]:
        """The parts by name, with the least latency that they may have."""
        return self._parts_if(shared=1.0)

    def _parts_if(self, *, shared: float) -> dict[str, _Part]:
        """Return the parts: links of nodes, those inside clusters, and those between clusters.

        Args:
            shared: The share of the latency between neighbours that belongs to what their cluster shares.
        """
        parts: dict[str, _Part] = {}
        for host in self.clusters:
            links = frozenset({f"up {host}", f"down {host}"})
            pairs = [pair for pair, way in self.model.ways.items() if host in pair and links & way.links.keys()]
            own_s = (1 - shared) * self._half_s(self.clusters[host])
            parts[f"{_NODE}{host}"] = _Part(links, {pair: own_s * pair.count(host) for pair in pairs})
        return parts | self._between(shared) | self._inside()

    def _between(self, shared: float) -> dict[str, _Part]:
        halves: dict[str, dict[tuple[str, str], np.ndarray]] = {}
        links: dict[str, frozenset[str]] = {}
        for pair, way in self.model.ways.items():
            ends = tuple(self.clusters[host] for host in pair)
            if ends[0] != ends[1]:
                c, d = sorted(ends)
                in_clusters_s = (1 + shared) * (self._half_s(c) + self._half_s(d))
                rest_s = self.model.timing.latency_s[way.timing_class] - in_clusters_s
                halves.setdefault(f"{_BETWEEN}{c} and {d}", {})[pair] = np.maximum(0.0, rest_s)
                links[f"{_BETWEEN}{c} and {d}"] = frozenset({f"{c} to {d}", f"{d} to {c}", f"{c} and {d}"})
        return {name: _Part(links[name], latency_s) for name, latency_s in halves.items()}

    def _inside(self) -> dict[str, _Part]:
        """Return what a cluster shares, where messages showed that it does, and the links found between its nodes."""
        parts: dict[str, _Part] = {}
        for cluster in dict.fromkeys(self.clusters.values()):
            shared = [name for name in (f"in {cluster}", f"out of {cluster}") if self._is_narrow(name)]
            if shared:
                parts[f"shared by {cluster}"] = _Part(frozenset(shared), {})
        crossed: dict[str, dict[tuple[str, str], np.ndarray]] = {}
        for pair, way in self.model.ways.items():
            cluster = self.clusters[pair[0]]
            names = [name for name, share in way.links.items() if share >= 1 and name.startswith(f"{cluster}: ")]
            rest_s = self.model.timing.latency_s[way.timing_class] - 2 * self._half_s(cluster)
            for name in names:
                crossed.setdefault(name, {})[pair] = np.maximum(0.0, rest_s) / len(names)
        return parts | {name: _Part(frozenset({name}), latency_s) for name, latency_s in crossed.items()}

    def _is_narrow(self, name: str) -> bool:
        return self.model.capacity_Bps.get(name, np.inf) < np.inf

    def _half_s(self, cluster: str) -> np.ndarray:
        """Return half of the latency between two neighbours of a cluster, s, by segment."""
        return self._halves_s.get(cluster, np.zeros(self.model.timing.latency_s.shape[1]))

    @cached_property
    def _halves_s(self) -> dict[str, np.ndarray]:
        latency_s = self.model.timing.latency_s
        halves_s: dict[str, np.ndarray] = {}
        for (a, b), way in self.model.ways.items():
            if a != b and self.clusters[a] == self.clusters[b]:
                half_s = latency_s[way.timing_class] / 2
                known = halves_s.get(self.clusters[a])
                halves_s[self.clusters[a]] = half_s if known is None else np.minimum(known, half_s)
        return halves_s
