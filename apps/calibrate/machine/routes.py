"""Kinds of routes: within a cluster, between two clusters, on one node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from apps.calibrate.machine.rows import Rows

Kind: TypeAlias = tuple[int, int]  # two clusters, the smaller number first; equal: within one
Pair: TypeAlias = tuple[str, str]  # of nodes; equal: on one


@dataclass(frozen=True)
class Routes:
    """Measured round trips by kind of route."""

    fitted: Mapping[Kind, Pair]  # the pair of each kind whose times are fitted
    local: Mapping[int, Pair]  # by cluster: a node with itself
    held_out: Sequence[Pair]  # further pairs, for validation
    trips: Mapping[Pair, Mapping[int, float]]  # median round trip in s by size in bytes

    @property
    def main(self) -> Kind:
        """The kind with the most sizes and the smallest latency: the one whose single calls were measured."""
        return min(self.fitted, key=lambda kind: (-len(self.trips[self.fitted[kind]]), kind[0] != kind[1], kind))


def routes_of(rows: Rows) -> Routes:
    """Return the routes; of each kind the first measured pair is fitted."""
    trips = rows.medians("pingpong")
    fitted: dict[Kind, Pair] = {}
    local: dict[int, Pair] = {}
    held_out: list[Pair] = []
    for pair in sorted(trips, key=lambda pair: -len(trips[pair])):
        kind = kind_of(rows, pair)
        if pair[0] == pair[1]:
            local.setdefault(kind[0], pair)
        elif kind not in fitted:
            fitted[kind] = pair
        else:
            held_out.append(pair)
    if not fitted:  # a single node
        fitted = {(cluster, cluster): pair for cluster, pair in local.items()}
    return Routes(fitted, local, held_out, trips)


def kind_of(rows: Rows, pair: Pair) -> Kind:
    """Return the kind of the route between two nodes."""
    first, other = sorted(rows.cluster_of(name) for name in pair)
    return first, other
