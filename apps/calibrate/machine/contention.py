"""Slowdowns of simultaneous flows: which links carry both ways at once, and which clusters share a link.

Apart from times that do not depend on the size, flows that begin at once take f times as long as a single flow; f is
called their slowdown.  It is the number of flows if they share one link, and 1 if they share none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median, median_low
from typing import TypeAlias

from apps.calibrate.machine.fit import Wire
from apps.calibrate.machine.rows import Kind, Pair, Rows, kind_of
from apps.calibrate.model import HEADER_BYTES

Flows: TypeAlias = tuple[Pair, ...]
LONE, BOTH_WAYS, THROUGH, APART, RING, LEFT_RING, TOGETHER, OPPOSED, COMMON, DISJOINT, LOCAL = (
    "one flow", "both ways, two nodes", "both ways, one link", "two in a cluster", "ring in a cluster",
    "ring and another cluster", "between two clusters", "both ways, clusters", "a common cluster", "no common cluster",
    "on one node",
)  # fmt: skip
FLOWS = (LONE, BOTH_WAYS, THROUGH, APART, RING, LEFT_RING, TOGETHER, OPPOSED, COMMON, DISJOINT, LOCAL)
_NOTABLE = 1.05  # smaller slowdowns are ignored
_UNEVEN = 1.1  # ratio of slowdowns of different sizes that causes a note
_SHARED = 1.2  # slowdown from which on two flows share a link


@dataclass(frozen=True)
class Capacity:
    """A link between clusters."""

    each_way_Bps: float
    both_ways_Bps: float | None  # both ways together; None: each way has its own capacity


@dataclass(frozen=True)
class Sharing:
    """Shared links, in addition to those of single routes."""

    nodes_both_ways_Bps: Mapping[int, float]  # by cluster whose nodes' links do not carry both ways at full rate
    switches_Bps: Mapping[int, float]  # by cluster whose switch limits flows between different nodes
    outside: frozenset[int]  # those of them whose switch also carries flows to and from other clusters
    arrangement: str  # "pairs": a link for each two clusters; "uplinks": one for each cluster; "backbone": one for all
    links: Mapping[Kind, Capacity]  # by two clusters; of uplinks (c, c); of a backbone (0, 0)
    notes: tuple[str, ...]


def label(rows: Rows, flows: Flows) -> str:
    """Return the kind of simultaneous flows."""
    ends = [(rows.cluster_of(first), rows.cluster_of(second)) for first, second in flows]
    if all(first == second for first, second in flows):
        return LOCAL
    if len(flows) == 1:
        return LONE
    if len(flows) == 2 and flows[0] == flows[1][::-1]:
        return BOTH_WAYS
    if len(flows) == 2 and (flows[0][0] == flows[1][1] or flows[0][1] == flows[1][0]):
        return THROUGH
    if all(end == other for end, other in ends):
        return APART if len(flows) == 2 else RING
    if any(end == other for end, other in ends):
        return LEFT_RING
    if len(set(ends)) == 1:
        return TOGETHER
    if {end[::-1] for end in ends} == set(ends):
        return OPPOSED
    return COMMON if set(ends[0]) & set(ends[1]) else DISJOINT


def flow_times(rows: Rows) -> Mapping[tuple[Flows, int], float]:
    """Return the time in s until all flows have ended, by flows and size in bytes."""
    return {key: max(times_s) for key, times_s in rows_of_flows(rows).items()}


def rows_of_flows(rows: Rows) -> Mapping[tuple[Flows, int], Sequence[float]]:
    """Return the time in s of each of the flows, by flows and size in bytes.

    Of repeats that with the median end counts, of an even number the lower one of the middle: what disturbs a flow
    delays it.
    """
    groups = defaultdict(list)
    for row in rows.of("flow"):
        groups[row.group].append(row)
    times: dict[tuple[Flows, int], list[tuple[float, tuple[float, ...]]]] = defaultdict(list)
    for same in groups.values():
        flows = tuple((row.first, row.second) for row in same)
        times_s = tuple(row.time_s for row in same)
        times[flows, same[0].amount].append((max(times_s), times_s))
    return {key: median_low(values)[1] for key, values in times.items()}


def sharing_of(rows: Rows, wires: Mapping[Kind, Wire]) -> Sharing:
    """Return the links shown by the slowdowns of flows."""
    seen = _slowdowns(rows, wires)
    # A shared link slows all sizes alike.  Larger slowdowns are due to windows and queues, which SMPI does not model.
    slowdowns = {key: min(values) for key, values in seen.items()}
    both_ways, notes = _nodes_both_ways(slowdowns, wires, rows)
    switches = _switches(slowdowns, wires, both_ways)
    outside = frozenset(c for c, rate in switches.items() if _crossed_from_outside(rows, c, rate, wires))
    notes += _uneven(seen)
    between = {kind: _capacity(kind, wire, slowdowns) for kind, wire in wires.items() if kind[0] != kind[1]}
    arrangement = _arrangement(slowdowns, rows.clusters)
    sizes = sorted(len(rows.members(cluster)) for cluster in range(rows.clusters))
    if len(sizes) > 1 and sizes[-2] < 2:
        notes.append("no two clusters have two nodes each: how flows between clusters share links is not measured")
    elif rows.clusters > 2 and not any(key[0] in (COMMON, DISJOINT) for key in slowdowns):
        notes.append("whether a third cluster shares the link of two others is not measured: each two have their own")
    return Sharing(
        both_ways, switches, outside, arrangement, _arranged(arrangement, between, rows.clusters), tuple(notes)
    )


def _switches(
    slowdowns: Mapping[_Key, float], wires: Mapping[Kind, Wire], both_ways: Mapping[int, float]
) -> dict[int, float]:
    """Return the capacity of a cluster's switch, if flows are slowed more than by their nodes' links.

    Two flows show it, and rings of more and more nodes: the largest ring has the largest load.
    """
    seen: dict[int, tuple[int, float]] = {}
    for (what, kinds, flows), slowdown in slowdowns.items():
        if what not in (APART, RING):
            continue
        cluster, lone_Bps = kinds[0][0], wires[kinds[0]].bandwidth_Bps
        usual = 2 * lone_Bps / both_ways[cluster] if what == RING and cluster in both_ways else 1.0
        if slowdown > _NOTABLE * max(1.0, usual) and flows >= seen.get(cluster, (0, 0.0))[0]:
            seen[cluster] = flows, flows * lone_Bps / slowdown
    return {cluster: rate for cluster, (_, rate) in seen.items()}


def _crossed_from_outside(rows: Rows, cluster: int, switch_Bps: float, wires: Mapping[Kind, Wire]) -> bool:
    """Return whether flows to and from other clusters also cross the switch.

    In a ring of k nodes one sends to another cluster and one receives from there.  The k - 1 other flows take longer
    than with the switch to themselves if these two cross it: how much longer depends on the latencies.
    """
    votes = []
    for (flows, size), times_s in rows_of_flows(rows).items():
        inner = [
            time_s
            for (first, second), time_s in zip(flows, times_s, strict=True)
            if rows.cluster_of(first) == rows.cluster_of(second) == cluster
        ]
        if label(rows, flows) == LEFT_RING and inner and size not in held_out_flows(rows):
            alone_Bps = min(wires[cluster, cluster].bandwidth_Bps, switch_Bps / len(inner))
            votes.append(max(inner) > _UNEVEN * (size / alone_Bps + wires[cluster, cluster].latency_s))
    return sum(votes) * 2 > len(votes)


_Key: TypeAlias = tuple[str, tuple[Kind, ...], int]  # kind of flows, the routes' kinds, number of flows


def _slowdowns(rows: Rows, wires: Mapping[Kind, Wire]) -> dict[_Key, list[float]]:
    """Return the slowdowns of each kind of flows at the sizes that are not held out."""
    times = flow_times(rows)
    lone = {
        (kind_of(rows, flows[0]), size): time_s for (flows, size), time_s in times.items() if label(rows, flows) == LONE
    }
    factors: dict[_Key, list[float]] = defaultdict(list)
    for (flows, size), time_s in times.items():
        what = label(rows, flows)
        kinds = tuple(kind_of(rows, pair) for pair in flows)
        alone = [lone.get((kind, size)) for kind in kinds]
        if what in (LONE, LOCAL, LEFT_RING) or size in held_out_flows(rows) or None in alone:
            continue
        moving = [(size + HEADER_BYTES) / wires[kind].bandwidth_Bps for kind in kinds]
        still = [(time or 0.0) - moved for time, moved in zip(alone, moving, strict=True)]
        slowest = max(range(len(kinds)), key=lambda place: still[place] + moving[place])
        slowdown = (time_s - still[slowest]) / moving[slowest]
        factors[what, tuple(sorted(set(kinds))), len(flows)].append(slowdown)
    return factors


def _uneven(seen: Mapping[_Key, Sequence[float]]) -> list[str]:
    """Return notes about kinds of flows whose slowdown depends on the size."""
    worst: dict[str, tuple[float, float]] = {}
    for (what, _, _), values in seen.items():
        low, high = min(values), max(values)
        if high > _UNEVEN * low and high / low > worst.get(what, (1.0, 1.0))[1] / worst.get(what, (1.0, 1.0))[0]:
            worst[what] = low, high
    return [
        f"{what}: flows take {low:.2f} to {high:.2f} times as long as one alone, depending on the size; the least is "
        "modelled"
        for what, (low, high) in worst.items()
    ]


def held_out_flows(rows: Rows) -> set[int]:
    """Return the sizes of flows held out for validation: the one in the middle."""
    sizes = sorted({row.amount for row in rows.of("flow")})
    return set(sizes[1:-1])


def _nodes_both_ways(
    slowdowns: Mapping[_Key, float], wires: Mapping[Kind, Wire], rows: Rows
) -> tuple[dict[int, float], list[str]]:
    """Return the capacity of nodes' links both ways together, by cluster if it is less than twice one way, and notes.

    Two kinds of flows show it: from one node to another and to it from a third, and both ways between the same two
        nodes.  If only one kind is slowed, the link is not the cause: MPI may send both ways over one connection, and
        if a node sends packets first come, first served, acknowledgements wait behind its own data.
    """
    both_ways, notes = {}, []
    for cluster in range(rows.clusters):
        kind = (cluster, cluster)
        through = [value for key, value in slowdowns.items() if key[0] == THROUGH and key[1][0] == kind]
        same = slowdowns.get((BOTH_WAYS, (kind,), 2))
        slowdown = min([*([median(through)] if through else []), *([] if same is None else [same])], default=None)
        if slowdown is not None and slowdown > _NOTABLE:
            both_ways[cluster] = 2 * wires[kind].bandwidth_Bps / slowdown
        if through and same is not None and same > _SHARED * max(1.0, slowdown or 1.0):
            notes.append(
                f"{' and '.join(rows.members(cluster)[:2])}: messages both ways take {same:.2f} times as long as one "
                f"way, but to one node and from another only {slowdown:.2f} times: this is due to their connection, "
                "not to the link, and SMPI cannot express it"
            )
    return both_ways, notes


def _capacity(kind: Kind, wire: Wire, slowdowns: Mapping[_Key, float]) -> Capacity:
    """Return the capacity of the link between two clusters; the largest observed rate if nothing slows the flows."""
    rates = [
        flows * wire.bandwidth_Bps / max(1.0, slowdown)
        for (what, kinds, flows), slowdown in slowdowns.items()
        if what == TOGETHER and kinds == (kind,)
    ]
    one_way = {
        flows: max(1.0, slowdown)
        for (what, kinds, flows), slowdown in slowdowns.items()
        if what == TOGETHER and kinds == (kind,)
    }
    both = [
        flows * wire.bandwidth_Bps / slowdown
        for (what, kinds, flows), slowdown in slowdowns.items()
        if what == OPPOSED and kinds == (kind,) and slowdown > _NOTABLE * one_way.get(flows // 2, 1.0)
    ]
    return Capacity(max(rates, default=wire.bandwidth_Bps), max(both, default=None))


def _arrangement(slowdowns: Mapping[_Key, float], clusters: int) -> str:
    """Return how clusters share links."""
    by_label = {what: [value for key, value in slowdowns.items() if key[0] == what] for what in (COMMON, DISJOINT)}
    if clusters > 2 and by_label[DISJOINT] and median(by_label[DISJOINT]) > _SHARED:
        return "backbone"
    if clusters > 2 and by_label[COMMON] and median(by_label[COMMON]) > _SHARED:
        return "uplinks"
    return "pairs"


def _arranged(arrangement: str, between: Mapping[Kind, Capacity], clusters: int) -> Mapping[Kind, Capacity]:
    """Return the links of an arrangement; an uplink has the capacity of the best of its cluster's routes."""
    if arrangement == "pairs" or not between:
        return between
    if arrangement == "backbone":
        return {(0, 0): _best(list(between.values()))}
    return {(c, c): _best([link for kind, link in between.items() if c in kind]) for c in range(clusters)}


def _best(links: Sequence[Capacity]) -> Capacity:
    both = [link.both_ways_Bps for link in links if link.both_ways_Bps is not None]
    return Capacity(max(link.each_way_Bps for link in links), max(both) if len(both) == len(links) else None)


def cluster_pairs(clusters: int) -> list[Kind]:
    """Return all pairs of clusters."""
    return list(combinations(range(clusters), 2))


def unseen(rows: Rows) -> list[str]:
    """Return a sentence about values not measured because the budget ended in the first pass, if it did."""
    if rows.passes > 0:
        return []
    seen = {label(rows, flows) for flows, _ in rows_of_flows(rows)}
    left = [what for what in FLOWS if what not in seen and possible(what, rows)]
    left += ["MPI_Alltoall"] if not rows.of("alltoall") and len(rows.nodes) > 2 else []
    if not left:
        return ["the budget ended in the first pass: some values were measured at fewer sizes or nodes"]
    return [f"the budget ended in the first pass: not measured, and assumed to slow nothing: {', '.join(left)}"]


def possible(what: str, rows: Rows) -> bool:
    """Return whether the nodes suffice for a kind of flows."""
    sizes = sorted((len(rows.members(c)) for c in range(rows.clusters)), reverse=True)
    needed: dict[str, bool] = {
        LONE: len(rows.nodes) > 1,
        BOTH_WAYS: sizes[0] > 1,
        THROUGH: sizes[0] > 2,
        APART: sizes[0] > 3,
        RING: sizes[0] > 2,
        LEFT_RING: sizes[0] > 2 and len(sizes) > 1 and sizes[1] > 1,
        TOGETHER: len(sizes) > 1 and sizes[1] > 1,
        OPPOSED: len(sizes) > 1 and sizes[1] > 1,
        COMMON: len(sizes) > 2,
        DISJOINT: len(sizes) > 3,
        LOCAL: any(node.ranks > 1 for node in rows.nodes),
    }
    return needed[what]
