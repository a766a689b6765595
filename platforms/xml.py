"""A grid as a SimGrid platform file.  The one place where units become text."""

from itertools import combinations

from platforms.grid import ROOT_ZONE, Grid, GridCluster, Wire

HEADER = b'<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'


def platform_xml(grid: Grid) -> bytes:
    """The platform file of a grid, for SimGrid 3.32 to 4.1.  Equal grids give equal bytes, whatever they are called.

    Each cluster is a <cluster>: split-duplex node links (SimGrid's default), a shared backbone, no loopback, so that a
    message to oneself crosses node link up, backbone, node link down.  WAN links are shared by both directions, unless
    they are duplex.  The grid's SimGrid options become <config>, which smpirun and S4U honour, and which --cfg on a
    command line overrides.
    """
    from lxml import etree

    root = etree.Element("platform", version="4.1")
    if grid.options:
        config = etree.SubElement(root, "config")
        for key, value in sorted(grid.options):
            etree.SubElement(config, "prop", id=key, value=value)
    zone = etree.SubElement(root, "zone", id=ROOT_ZONE, routing="Full")
    for cluster in grid.clusters:
        etree.SubElement(
            etree.SubElement(zone, "cluster", _cluster_attributes(cluster)),
            "prop", id="wattage_per_state", value=_watts(cluster),
        )  # fmt: skip
    for link in grid.wan_links:
        duplex = {"sharing_policy": "SPLITDUPLEX"} if link.duplex else {}
        etree.SubElement(zone, "link", id=link.name, **_wire(link.wire, "bandwidth", "latency"), **duplex)
    for first, second in combinations([cluster.name for cluster in grid.clusters], 2):
        route = etree.SubElement(
            zone, "zoneRoute", src=first, dst=second, gw_src=_router(first), gw_dst=_router(second)
        )
        for link, forward in grid.wan_route(first, second):
            direction = {"direction": "UP" if forward else "DOWN"} if link.duplex else {}
            etree.SubElement(route, "link_ctn", id=link.name, **direction)
    return HEADER + etree.tostring(root, pretty_print=True)


def _cluster_attributes(cluster: GridCluster) -> dict[str, str]:
    return {
        "id": cluster.name,
        "prefix": f"{cluster.name}-",
        "suffix": "",
        "radical": f"0-{cluster.nodes - 1}",
        "speed": f"{_number(cluster.speed_flops / 1e9)}Gf",
        "core": str(cluster.cores),
        **_wire(cluster.node, "bw", "lat"),
        **_wire(cluster.backbone, "bb_bw", "bb_lat"),
    }


def _router(cluster: str) -> str:
    """The router that <cluster> makes by itself: prefix, id, "_router", suffix."""
    return f"{cluster}-{cluster}_router"


def _wire(wire: Wire, bandwidth: str, latency: str) -> dict[str, str]:
    return {
        bandwidth: f"{_number(wire.bandwidth_Bps * 8 / 1e9)}Gbps",
        latency: f"{_number(wire.latency_s * 1e6)}us",
    }


def _watts(cluster: GridCluster) -> str:
    """Idle:Epsilon:AllCores, W, as SimGrid's energy plugin reads it."""
    power = cluster.node_power
    return f"{_number(power.idle_w)}:{_number(power.epsilon_w)}:{_number(power.full_w)}"


def _number(value: float) -> str:
    """15 significant digits: as many as survive the change of unit."""
    return f"{value:.15g}"
