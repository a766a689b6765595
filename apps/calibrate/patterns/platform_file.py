"""Write a fitted sharing as a SimGrid platform: split-duplex links, and shared links per node and per pair of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from apps.calibrate.patterns.link_rates import Sharing
from apps.calibrate.platform_file import Cluster
from platforms.grids.xml import number_text, root_element, written_root

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
