"""Write a grid as a SimGrid platform file.  All units become text here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from platforms.grids.grid import ROOT_ZONE, Grid, GridCluster, Wire

if TYPE_CHECKING:
    from lxml.etree import _Element

HEADER = b'<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'


@dataclass(frozen=True)
class Profile:
    """Shares of its speed that a host has over time."""

    host: str
    dates: tuple[tuple[float, float], ...]  # moment, s, and share from then on; the first moment is 0
    period_s: float | None  # after which they repeat, later than the last moment; None: they do not


def root_element(options: Mapping[str, str], provenance: Sequence[str]) -> _Element:
    """Return the root of a platform file: its provenance as comments, and SimGrid's options as <config>."""
    # Imported here because it is slow to import.
    from lxml import etree

    root = etree.Element("platform", version="4.1")
    for line in provenance:
        root.append(etree.Comment(f" {line.replace('--', '- -')} "))
    config = etree.SubElement(root, "config")
    for key, value in options.items():
        etree.SubElement(config, "prop", id=key, value=value)
    return root


def written_root(root: _Element) -> bytes:
    """Return the content of a platform file, from its root."""
    # Imported here because it is slow to import.
    from lxml import etree

    return HEADER + etree.tostring(root, pretty_print=True)


def platform_xml(grid: Grid, profiles: Sequence[Profile] = ()) -> bytes:
    """Return the platform file of a grid, for SimGrid 3.32 to 4.1.

    Grids that differ only in their name give equal bytes.

    Each cluster is a <cluster> with split-duplex node links (SimGrid's default), a shared backbone and no loopback: a
    message of a host to itself crosses the node link up, the backbone and the node link down.  Both directions share a
    WAN link, unless it is duplex.  A cluster with frequency levels has a SimGrid pstate for each; the first pstate,
    with which a run begins, is the level at which the cluster runs.  The grid's SimGrid options become <config>, which
    smpirun and S4U apply, and which --cfg on a command line overrides.
    """
    # Imported here because it is slow to import.
    from lxml import etree

    root = etree.Element("platform", version="4.1")
    if grid.options:
        config = etree.SubElement(root, "config")
        for key, value in sorted(grid.options):
            etree.SubElement(config, "prop", id=key, value=value)
    zone = etree.SubElement(root, "zone", id=ROOT_ZONE, routing="Full")
    for cluster in grid.clusters:
        element = etree.SubElement(zone, "cluster", _cluster_attributes(cluster))
        etree.SubElement(element, "prop", id="wattage_per_state", value=_watts(cluster))
        if cluster.memory_Bps is not None:
            etree.SubElement(element, "prop", id="memory_bandwidth", value=number_text(cluster.memory_Bps))
    for link in grid.wan_links:
        duplex = {"sharing_policy": "SPLITDUPLEX"} if link.duplex else {}
        etree.SubElement(zone, "link", {"id": link.name, **wire_attributes(link.wire), **duplex})
    for first, second in combinations([cluster.name for cluster in grid.clusters], 2):
        route = etree.SubElement(
            zone, "zoneRoute", src=first, dst=second, gw_src=_router(first), gw_dst=_router(second)
        )
        for link, forward in grid.wan_route(first, second):
            direction = {"direction": "UP" if forward else "DOWN"} if link.duplex else {}
            etree.SubElement(route, "link_ctn", {"id": link.name, **direction})
    for profile in profiles:
        add_profile(zone, profile)
    return HEADER + etree.tostring(root, pretty_print=True)


def add_profile(zone: _Element, profile: Profile) -> None:
    """Add the profile of a host to the zone of a platform file."""
    # Imported here because it is slow to import.
    from lxml import etree

    name = f"availability_{profile.host}"
    period = "-1" if profile.period_s is None else number_text(profile.period_s)  # -1: SimGrid does not repeat it
    trace = etree.SubElement(zone, "trace", {"id": name, "periodicity": period})
    trace.text = "\n".join(f"{number_text(at_s)} {number_text(share)}" for at_s, share in profile.dates)
    etree.SubElement(zone, "trace_connect", {"kind": "SPEED", "trace": name, "element": profile.host})


def _cluster_attributes(cluster: GridCluster) -> dict[str, str]:
    return {
        "id": cluster.name,
        "prefix": f"{cluster.name}-",
        "suffix": "",
        "radical": f"0-{cluster.nodes - 1}",
        "speed": ",".join(f"{number_text(state.speed_flops / 1e9)}Gf" for state in cluster.pstates),
        "core": str(cluster.cores),
        **wire_attributes(cluster.node, "bw", "lat"),
        **wire_attributes(cluster.backbone, "bb_bw", "bb_lat"),
    }


def _router(cluster: str) -> str:
    """Return the name of the router that SimGrid makes for a <cluster>: prefix, id, "_router", suffix."""
    return f"{cluster}-{cluster}_router"


def wire_attributes(wire: Wire, bandwidth: str = "bandwidth", latency: str = "latency") -> dict[str, str]:
    """Return the XML attributes for bandwidth and latency; the other arguments are the names of the attributes."""
    return {
        bandwidth: f"{number_text(wire.bandwidth_Bps * 8 / 1e9)}Gbps",
        latency: f"{number_text(wire.latency_s * 1e6)}us",
    }


def _watts(cluster: GridCluster) -> str:
    """Return Idle:Epsilon:AllCores in W of every pstate, in the form that SimGrid's energy plugin reads."""
    watts = [(power.idle_w, power.epsilon_w, power.full_w) for power in cluster.powers]
    return ",".join(":".join(map(number_text, three)) for three in watts)


def number_text(value: float) -> str:
    """Return a number with 15 significant digits, which survive the change of units."""
    return f"{value:.15g}"
