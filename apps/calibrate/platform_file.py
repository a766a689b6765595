"""Write a fitted model as a SimGrid platform: one cluster, and the options of SMPI in its <config>."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apps.calibrate.model import HEADER_BYTES, NEVER, Model
from apps.probes.segments import Curve
from platforms.grids.xml import number_text, root_element, written_root

_LEAST_FACTOR = 1e-3  # of latency: SimGrid shares links by it, and 0 would starve a message


@dataclass(frozen=True)
class Cluster:
    """The nodes of a calibrated cluster."""

    name: str
    nodes: int
    cores: int  # of a node
    core_flops: float  # flop/s


def smpi_options(model: Model, collectives: str) -> dict[str, str]:
    """Return the options of SimGrid that express the model."""
    thresholds = model.thresholds
    latency, bandwidth = _factors(model)
    return {
        "network/model": "SMPI",
        "network/weight-S": "0",  # links are shared equally
        "network/crosstraffic": "0",
        "network/TCP-gamma": "0",  # no limit by windows: the bandwidth factors include it
        "smpi/async-small-thresh": str(thresholds.async_bytes),
        "smpi/send-is-detached-thresh": str(thresholds.detached_bytes),
        "smpi/coll-selector": collectives,
        "smpi/lat-factor": latency,
        "smpi/bw-factor": bandwidth,
        **{
            option: _overheads(curve)
            for option, curve in (("smpi/os", model.send), ("smpi/ois", model.isend), ("smpi/or", model.receive))
            if curve is not None
        },
    }


def platform_file(
    cluster: Cluster,
    model: Model,
    options: dict[str, str],
    provenance: Sequence[str],
    properties: Mapping[str, str],
) -> bytes:
    """Return the content of the platform file; the lines of provenance become comments, the properties the zone's.

    Each node has a split-duplex link to a switch that limits nothing.  A message crosses two links, each with half the
    latency.
    """
    # Imported here because it is slow to import.
    from lxml import etree

    root = root_element(options, provenance)
    zone = etree.SubElement(root, "zone", id=f"{cluster.name}.zone", routing="Full")
    for name, value in properties.items():
        etree.SubElement(zone, "prop", id=name, value=value)
    etree.SubElement(
        zone,
        "cluster",
        id=cluster.name,
        prefix=f"{cluster.name}-",
        suffix="",
        radical=f"0-{cluster.nodes - 1}",
        speed=f"{number_text(cluster.core_flops / 1e9)}Gf",
        core=str(cluster.cores),
        bw=f"{number_text(model.bandwidth_Bps)}Bps",
        lat=f"{number_text(model.latency_s / 2)}s",
    )
    return written_root(root)


def _overheads(curve: Curve) -> str:
    """Return SIZE:BASE:PER_BYTE;...: SimGrid uses a part for messages larger than its size."""
    parts = [
        f"{max(0, segment.from_bytes - 1)}:{segment.base_s:.9g}:{segment.per_byte_s:.9g}"
        for segment in curve.segments
        if segment.from_bytes < NEVER
    ]
    return ";".join(parts)


def _factors(model: Model) -> tuple[str, str]:
    """Return the factors of latency and bandwidth; SimGrid looks them up by the size with its header."""
    latency, bandwidth = [], []
    for segment in model.transfer.segments:
        if segment.from_bytes >= NEVER:
            continue
        size = max(0, segment.from_bytes - 1 + HEADER_BYTES) if segment.from_bytes else 0
        base_s = segment.base_s - HEADER_BYTES * segment.per_byte_s
        latency.append(f"{size}:{max(_LEAST_FACTOR, base_s / model.latency_s):.9g}")
        bandwidth.append(f"{size}:{1 / (segment.per_byte_s * model.bandwidth_Bps):.9g}")
    return ";".join(latency), ";".join(bandwidth)
