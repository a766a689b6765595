"""A machine of the hierarchical model as a platform for MPI programs, with a real network."""

from __future__ import annotations

from dataclasses import replace

from platforms.grids.grid import Wire
from platforms.grids.network import named_network
from platforms.grids.xml import HEADER, number_text, wire_attributes
from platforms.model.platform import Platform
from platforms.read.read import kept_file, read_platform
from predictor.hierarchical.multicore_cluster import MulticoreCluster

_NETWORK = "infiniband"
INSIDE = ("network", "memory")  # paths of messages between the ranks of a node
# Latency of both ends together.  SimGrid divides by it, so it is not 0; it is negligible beside all other times.
_NO_LATENCY_S = 1e-12


def machine(system: MulticoreCluster, nodes: int, *, inside: str = "memory", latency: bool = True) -> Platform:
    """Return a platform of nodes on a non-blocking switch; each node has a full-duplex link of bandwidth b_cl.

    Latency, protocol and headers are those of network infiniband.

    Args:
        system: The machine of the model.
        nodes: Number of nodes.
        inside: "network": messages within a node cross its link to the switch and back, as on this project's
            scenarios; "memory": they pass through memory at b_m, without latency and contention.
        latency: Give the links the latency of the network; otherwise it is negligible.
    """
    # Imported here for a quick start: it is slow to import.
    from lxml import etree

    network = named_network(_NETWORK)
    bandwidth_Bps = float(system.network_Bps)
    node = Wire(bandwidth_Bps, network.node.latency_s if latency else _NO_LATENCY_S)
    options = {**dict(network.options), "smpi/bw-factor": "0:1"}  # b_cl is the bandwidth that MPI reaches
    root = etree.Element("platform", version="4.1")
    config = etree.SubElement(root, "config")
    for key, value in sorted(options.items()):
        etree.SubElement(config, "prop", id=key, value=value)
    zone = etree.SubElement(root, "zone", id="machine", routing="Full")
    memory_Bps = None if system.memory_Bps is None else float(system.memory_Bps)
    loopback = {}
    if inside == "memory":
        loopback = wire_attributes(
            Wire(memory_Bps or 1e3 * bandwidth_Bps, _NO_LATENCY_S), "loopback_bw", "loopback_lat"
        )
    attributes = {
        "id": "nodes", "prefix": "node-", "suffix": "", "radical": f"0-{nodes - 1}",
        "speed": f"{number_text(float(system.core_flops))}f", "core": str(system.cores), **loopback,
        **wire_attributes(node, "bw", "lat"), **wire_attributes(Wire(nodes * bandwidth_Bps, 0.0), "bb_bw", "bb_lat"),
    }  # fmt: skip
    cluster = etree.SubElement(zone, "cluster", attributes)
    if memory_Bps is not None:
        etree.SubElement(cluster, "prop", id="memory_bandwidth", value=number_text(memory_Bps))
    platform = read_platform(
        kept_file(HEADER + etree.tostring(root, pretty_print=True)), f"{system.name}, {nodes} nodes"
    )
    return replace(platform, network=_NETWORK)
