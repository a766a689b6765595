"""The description of a platform as JSON."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from platforms.model.platform import Cluster, Power
from platforms.show.inspection import Inspection, zones_of
from platforms.survey.connections import Connection
from platforms.survey.survey import Survey, Zone


def as_json(inspection: Inspection) -> dict[str, Any]:
    """Return the complete description in SI units; infinite bandwidths are null."""
    platform, looked_at = inspection.platform, inspection.survey
    return {
        "name": platform.name,
        "file": str(platform.path),
        "content_hash": platform.content_hash,
        "network": platform.network,
        "options": dict(platform.options),
        "hosts": len(platform.hosts),
        "cores": sum(host.cores for host in platform.hosts),
        "links": looked_at.links,
        "clusters": [_cluster_json(cluster, looked_at) for cluster in platform.clusters],
        "zones": _zone_json(looked_at.root),
        "connections": [_connection_json(connection) for connection in inspection.between.values()],
        "sample": {
            "hosts_of_each_cluster_among_themselves": {
                cluster.name: len(names) for cluster, names in zip(platform.clusters, looked_at.inside, strict=True)
            },
            "hosts_of_each_cluster_towards_others": {
                cluster.name: len(names) for cluster, names in zip(platform.clusters, looked_at.across, strict=True)
            },
            "hosts_with_a_way_looked_for": looked_at.checked,
        },
        "changes": [asdict(change) for change in platform.changes],
        "notes": [asdict(note) for note in inspection.notes],
    }


def _cluster_json(cluster: Cluster, looked_at: Survey) -> dict[str, Any]:
    first = cluster.hosts[0]
    to_itself = looked_at.routes.get((first.name, first.name))
    return {
        "name": cluster.name,
        "zones": zones_of(cluster, looked_at),
        "hosts": [host.name for host in cluster.hosts],
        "cores": first.cores,
        "speed_flops": first.speed_flops,
        "levels": [{"speed_flops": p.speed_flops, "power": _power_json(p.power)} for p in first.pstates],
        "power": _power_json(first.power),
        "memory_Bps": first.memory_Bps,
        "to_itself": to_itself
        and {
            "latency_s": to_itself.latency_s,
            "bandwidth_Bps": _finite(to_itself.bandwidth_Bps),
            "links": list(to_itself.link_names),
        },
    }


def _power_json(power: Power | None) -> dict[str, Any] | None:
    return None if power is None else asdict(power)


def _zone_json(zone: Zone) -> dict[str, Any]:
    return {
        "name": zone.name,
        "routing": zone.routing,
        "hosts": len(zone.hosts),
        "routers": zone.routers,
        "disks": zone.disks,
        "zones": [_zone_json(child) for child in zone.children],
    }


def _connection_json(connection: Connection) -> dict[str, Any]:
    values = asdict(connection)
    if connection.bandwidth_Bps is not None:
        values["bandwidth_Bps"] = {key: _finite(value) for key, value in values["bandwidth_Bps"].items()}
    return values


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
