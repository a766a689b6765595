"""Fit how links are shared, and write a SimGrid platform: split-duplex links, and shared ones per node and per pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from apps.calibrate.patterns.rows import FITTED, PatternTime
from apps.calibrate.platform_file import Cluster
from platforms.grids.xml import number_text, root_element, written_root

# The sharing of links, fitted to a few patterns.
#
# One flow alone reaches the rate R of a link.  Two flows between the same two nodes, one each way, share the capacity
# of the pair; the two flows of a node that sends to one node and receives from another share the capacity of the node.
# A capacity of 2 R limits nothing: the link is full duplex.  Rows of more ranks that are slower than those of few show
# the capacity of the switch, which all flows share.

NOTABLE = 0.05  # relative: differences below this need no further link
_FLOWS = {"send": 0.5, "sendrecv_same": 1.0, "sendrecv_diff": 1.0}  # by rank


@dataclass(frozen=True)
class Sharing:
    """The fitted capacities, byte/s; None: limits nothing, or was not measured."""

    rate_Bps: float  # R, each way
    pair_Bps: float | None  # of two nodes, both ways together
    node_Bps: float | None  # of a node, both ways together
    switch_Bps: float | None  # of all flows together
    ratios: dict[str, float]  # time relative to send, by fitted pattern
    cautions: tuple[str, ...]


def fitted_rows(rows: Sequence[PatternTime], most_ranks: int) -> list[PatternTime]:
    """Return the fitted rows: the patterns of FITTED on up to a number of ranks."""
    return [row for row in rows if row.call.pattern in FITTED and row.call.ranks <= most_ranks]


def sharing_of(fit: Sequence[PatternTime], latency_s: float) -> Sharing:
    """Fit the capacities to rows of FITTED; at least one of them is a send.

    Args:
        fit: The rows.
        latency_s: Of a route; it is not part of a message's transfer.
    """
    base = {}  # s per byte, of the rows of fewest ranks and those that are as fast
    slower: list[float] = []  # byte/s of all flows, where more ranks made the call slower
    for pattern in FITTED:
        rows = sorted((row for row in fit if row.call.pattern == pattern), key=lambda row: row.call.ranks)
        if not rows:
            continue
        costs = np.array([max(row.time_s - latency_s, 0.01 * row.time_s) / row.call.size_bytes for row in rows])
        alike = costs <= (1 + NOTABLE) * costs[0]
        base[pattern] = float(np.exp(np.mean(np.log(costs[alike]))))
        flows = np.array([_FLOWS[pattern] * row.call.ranks for row in rows])
        slower += list((flows / costs)[~alike])
    rate = 1 / base["send"]
    ratios = {pattern: cost * rate for pattern, cost in base.items()}
    same, diff = ratios.get("sendrecv_same"), ratios.get("sendrecv_diff")
    node = _node_ratio(same, diff)
    pair = same if same is not None and (node is None or same > (1 + NOTABLE) * node) else None
    return Sharing(
        rate_Bps=rate,
        pair_Bps=_capacity(rate, pair),
        node_Bps=_capacity(rate, node),
        switch_Bps=float(np.median(slower)) if slower else None,
        ratios=ratios,
        cautions=_cautions(same, diff),
    )


def _node_ratio(same: float | None, diff: float | None) -> float | None:
    """Return the ratio to be explained by the capacity of the nodes, from those of both patterns."""
    if same is None or diff is None:
        return diff
    if diff > (1 + NOTABLE) * same:
        return float(np.sqrt(same * diff))  # no sharing fits both: the error is split
    return min(diff, same)


def _capacity(rate_Bps: float, ratio: float | None) -> float | None:
    """Return the capacity with which two flows take ``ratio`` times as long as one alone, which still gets its rate."""
    return None if ratio is None or ratio <= 1 + NOTABLE else max(2 / ratio, 1.0) * rate_Bps


def _cautions(same: float | None, diff: float | None) -> tuple[str, ...]:
    cautions = []
    if same is None:
        cautions.append("sendrecv_same was not fitted: two flows between the same nodes are assumed to be full duplex")
    if diff is None:
        cautions.append("sendrecv_diff was not fitted: nodes are assumed to be full duplex towards different nodes")
    if same is not None and diff is not None and diff > (1 + NOTABLE) * same:
        cautions.append(
            "sendrecv_diff takes longer than sendrecv_same, which no capacity of pairs and nodes explains: "
            "the difference is split"
        )
    slow = [f"{name} {value:.2f}" for name, value in (("sendrecv_same", same), ("sendrecv_diff", diff)) if value]
    if max(same or 0, diff or 0) > 2 * (1 + NOTABLE):
        cautions.append(f"both ways take more than twice one way ({', '.join(slow)}); sharing explains at most twice")
    return tuple(cautions)


MOST_NODES = 256  # whose pairs have links of their own
EAGER_BYTES = 65536  # below it MPI_Send does not wait: SimGrid's default, because patterns do not show it


def sharing_options(collectives: str, alltoall: str) -> dict[str, str]:
    """Return the options of SimGrid: links are shared equally, and sizes have no factors.

    Args:
        collectives: Value of smpi/coll-selector.
        alltoall: Value of smpi/alltoall; ``selector``: that of the selector.
    """
    options = {
        "network/model": "SMPI",
        "network/weight-S": "0",
        "network/crosstraffic": "0",
        "network/TCP-gamma": "0",
        "smpi/async-small-thresh": str(EAGER_BYTES),
        "smpi/send-is-detached-thresh": str(EAGER_BYTES),
        "smpi/coll-selector": collectives,
        "smpi/lat-factor": "0:1",
        "smpi/bw-factor": "0:1",
    }
    return options if alltoall == "selector" else options | {"smpi/alltoall": alltoall}


def sharing_platform(
    cluster: Cluster, sharing: Sharing, latency_s: float, options: dict[str, str], provenance: Sequence[str]
) -> bytes:
    """Return the content of the platform file; the lines of provenance become comments.

    A message crosses its sender's split-duplex link, the limiter of the sender's node, the link of the pair, the
    switch, and the limiter and the link of the receiver; links that limit nothing are left out.  The links of the nodes
    have half the latency each, the others none.
    """
    # Imported here because it is slow to import.
    from lxml import etree

    root = root_element(options, provenance)
    outer = etree.SubElement(root, "zone", id=f"{cluster.name}.zone", routing="Full")
    speed = f"{number_text(cluster.core_flops / 1e9)}Gf"
    wire = {"bandwidth": f"{number_text(sharing.rate_Bps)}Bps", "latency": f"{number_text(latency_s / 2)}s"}
    if sharing.pair_Bps is None:
        attributes = {"prefix": f"{cluster.name}-", "suffix": "", "radical": f"0-{cluster.nodes - 1}"}
        attributes |= {"speed": speed, "core": str(cluster.cores), "bw": wire["bandwidth"], "lat": wire["latency"]}
        if sharing.node_Bps is not None:
            attributes["limiter_link"] = f"{number_text(sharing.node_Bps)}Bps"
        if sharing.switch_Bps is not None:
            attributes |= {"bb_bw": f"{number_text(sharing.switch_Bps)}Bps", "bb_lat": "0s"}
        etree.SubElement(outer, "cluster", {"id": cluster.name, **attributes})
    else:
        zone = etree.SubElement(outer, "zone", id=cluster.name, routing="Full")
        for i in range(cluster.nodes):
            etree.SubElement(zone, "host", id=f"{cluster.name}-{i}", speed=speed, core=str(cluster.cores))
        _links(zone, cluster.nodes, sharing, wire)
        _routes(zone, cluster, sharing)
    return written_root(root)


def _links(zone: Any, nodes: int, sharing: Sharing, wire: dict[str, str]) -> None:
    # Imported here because it is slow to import.
    from lxml import etree

    def shared(name: str, capacity_Bps: float | None) -> None:
        if capacity_Bps is not None:
            etree.SubElement(zone, "link", id=name, bandwidth=f"{number_text(capacity_Bps)}Bps", latency="0s")

    for i in range(nodes):
        etree.SubElement(zone, "link", {"id": f"wire-{i}", **wire, "sharing_policy": "SPLITDUPLEX"})
        shared(f"node-{i}", sharing.node_Bps)
    for i, j in combinations(range(nodes), 2):
        shared(f"pair-{i}-{j}", sharing.pair_Bps)
    shared("switch", sharing.switch_Bps)


def _routes(zone: Any, cluster: Cluster, sharing: Sharing) -> None:
    # Imported here because it is slow to import.
    from lxml import etree

    for i, j in combinations(range(cluster.nodes), 2):
        for src, dst in ((i, j), (j, i)):
            ends = {"src": f"{cluster.name}-{src}", "dst": f"{cluster.name}-{dst}"}
            route = etree.SubElement(zone, "route", {**ends, "symmetrical": "NO"})
            etree.SubElement(route, "link_ctn", id=f"wire-{src}", direction="UP")
            middle = [f"node-{src}", f"node-{dst}"] if sharing.node_Bps is not None else []
            middle += [f"pair-{i}-{j}"] + (["switch"] if sharing.switch_Bps is not None else [])
            for name in middle:
                etree.SubElement(route, "link_ctn", id=name)
            etree.SubElement(route, "link_ctn", id=f"wire-{dst}", direction="DOWN")
