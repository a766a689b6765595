"""A machine of the model as a platform for MPI programs: its speeds and bandwidths, and a real network around them."""

from __future__ import annotations

from dataclasses import replace

from platforms.grid import Wire
from platforms.network import named_network
from platforms.platform import Platform
from platforms.read import kept_file, read_platform
from platforms.xml import HEADER, number_text, wire_attributes
from predictor.hierarchical.multicore_cluster import MulticoreCluster

_NETWORK = "infiniband"
INSIDE = ("network", "memory")  # where messages between the ranks of a node go
# Of both ends together.  Not 0, because SimGrid divides by it; small against all that takes time.
_NO_LATENCY_S = 1e-12


def machine(system: MulticoreCluster, nodes: int, *, inside: str = "memory", latency: bool = True) -> Platform:
    """``nodes`` nodes of the system on one switch that blocks nobody: each has a full-duplex link of b_cl to it.

    Latency, protocol and headers are those of network infiniband; without ``latency`` none of its own takes time.
    ``inside``: messages within a node cross its link to the switch and back, as on this project's scenarios, or pass
    through memory at b_m, without its latency and without contention.
    """
    from lxml import etree

    network = named_network(_NETWORK)
    bandwidth_Bps = float(system.network_Bps)
    node = Wire(bandwidth_Bps, network.node.latency_s if latency else _NO_LATENCY_S)
    options = {**dict(network.options), "smpi/bw-factor": "0:1"}  # b_cl is what MPI is left with
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
