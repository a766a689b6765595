"""Tell a calibration of a machine: as text, and as JSON."""

from __future__ import annotations

from statistics import median
from typing import Any

from apps.calibrate.machine.calibrate import MachineCalibration
from apps.calibrate.machine.judge import median_error, worst
from apps.calibrate.machine.kernels import spread
from apps.calibrate.machine.routes import Kind
from apps.calibrate.model import NEVER
from platforms.terminal.prose import folded_lines
from platforms.terminal.table import table_lines

KERNELS = (
    "Kernels, Gop/s of a rank: median of the nodes, alone and with all cores busy; spread: from the slowest node to "
    "the fastest, over the median; share of a core's speed in the platform:"
)
REPLAY = "Replay of the measurement in SMPI; sizes, pairs and flows that were not fitted:"
_ARRANGEMENTS = {
    "pairs": "every two clusters have a link of their own",
    "uplinks": "every cluster has one link to all others",
    "backbone": "all clusters share one link",
}


def as_text(found: MachineCalibration, files: dict[str, str], *, wide: bool = False) -> str:
    """Return the summary that the command prints; ``wide``: the tables are not folded."""
    thresholds, clusters = found.network.model.thresholds, found.request.clusters
    head = [f"{found.request.name}: {len(found.nodes)} nodes in {len(clusters)} cluster{'s'[: len(clusters) > 1]}"]
    head += [_cluster_text(found, cluster) for cluster in range(len(clusters))]
    notes = [
        f"MPI_Send waits from {_size_text(thresholds.detached_bytes)} ({thresholds.detached_reason})",
        f"messages travel at once below {_size_text(thresholds.async_bytes)} ({thresholds.async_reason})",
    ]
    if len(clusters) > 1:
        notes.append(_ARRANGEMENTS[found.sharing.arrangement])
    notes += [f"note: {one}" for one in found.remarks]
    lines = [*folded_lines(head), "", *table_lines(wire_rows(found), left={0, 3}, wide=wide), *folded_lines(notes)]
    if found.speeds.kernels:
        lines += ["", *folded_lines([KERNELS]), *table_lines(kernel_rows(found), left={0, 1}, wide=wide)]
    lines += ["", *folded_lines([REPLAY]), *table_lines(error_rows(found), left={0, 5}, wide=wide), ""]
    return "\n".join([*lines, *(f"{what}: {path}" for what, path in files.items())])


def _cluster_text(found: MachineCalibration, cluster: int) -> str:
    """Return the nodes of a cluster in words."""
    members = [one for one in found.nodes if one.node.cluster == cluster]
    low, high = (pick(one.speed_flops for one in members) / 1e9 for pick in (min, max))
    speed = f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
    names = ", ".join(one.node.name for one in members)
    nodes = f"{len(members)} node{'s'[: len(members) > 1]}"
    cores = f"{members[0].cores} core{'s'[: members[0].cores > 1]}"
    return f"{found.request.clusters[cluster]}: {nodes} of {cores} of {speed} Gflop/s: {names}"


def wire_rows(found: MachineCalibration) -> list[tuple[str, ...]]:
    """Return latency, bandwidth and sharing of every kind of route, with a header."""
    rows: list[tuple[str, ...]] = [("route", "latency", "bandwidth", "shared")]
    for kind, wire in sorted(found.network.wires.items(), key=lambda item: (item[0][0] != item[0][1], item[0])):
        rows.append((_kind_text(found, kind), _us(wire.latency_s), _rate(wire.bandwidth_Bps), _shared(found, kind)))
    for cluster, wire in sorted(found.network.local.items()):
        name = f"on a node of {found.request.clusters[cluster]}"
        rows.append((name, _us(wire.latency_s), _rate(wire.bandwidth_Bps), "not judged"))
    return rows


def _shared(found: MachineCalibration, kind: Kind) -> str:
    """Return how flows on a kind of route share links."""
    sharing = found.sharing
    if kind[0] == kind[1]:
        both, switch = sharing.nodes_both_ways_Bps.get(kind[0]), sharing.switches_Bps.get(kind[0])
        told = [f"{_rate(both)} both ways together"] if both else ["full duplex"]
        return ", ".join([*told, *([f"switch {_rate(switch)}"] if switch else [])])
    asked = {"pairs": kind, "backbone": (0, 0)}.get(sharing.arrangement)
    links = [sharing.links[asked]] if asked else [sharing.links[c, c] for c in kind]
    both_ways = [link.both_ways_Bps for link in links if link.both_ways_Bps]
    told = [f"{_rate(min(link.each_way_Bps for link in links))} each way"]
    return ", ".join([*told, *([f"{_rate(min(both_ways))} both ways together"] if both_ways else [])])


def kernel_rows(found: MachineCalibration) -> list[tuple[str, ...]]:
    """Return the speed of every kernel on the nodes of every cluster, with a header."""
    header = ("cluster", "kernel", "alone", "busy", "busy/alone", "spread", "share", "share busy")
    rows: list[tuple[str, ...]] = [header]
    request, kernels = found.request, found.speeds.kernels
    for cluster, title in enumerate(request.clusters):
        members = request.rows.members(cluster)
        shares = {one.kernel: one for node in found.nodes if node.node.cluster == cluster for one in node.efficiencies}
        for name, by_node in kernels.items():
            speeds = [by_node[node] for node in members if node in by_node]
            if not speeds:
                continue
            alone = median(one.alone for one in speeds)
            busy = [one.busy for one in speeds if one.busy is not None]
            both = (f"{median(busy) / 1e9:.4g}", f"{median(busy) / alone:.2f}") if busy else ("-", "-")
            share = shares.get(name)
            told = (f"{share.alone:.3g}", f"{share.busy:.3g}") if share else ("-", "-")
            rows.append((title, name, f"{alone / 1e9:.4g}", *both, f"{spread(kernels, name, members):.0%}", *told))
    return rows


def error_rows(found: MachineCalibration) -> list[tuple[str, ...]]:
    """Return the errors of the replay, with a header."""
    rows: list[tuple[str, ...]] = [("what", "values", "median error", "largest", "at bytes", "of")]
    for what, judged in found.judgement.by_what.items():
        far = worst(judged)
        rows.append(
            (what, str(len(judged)), f"{median_error(judged):.1%}", f"{far.error:+.0%}", str(far.size_bytes), far.where)
        )
    return rows


def as_json(found: MachineCalibration, files: dict[str, str]) -> dict[str, Any]:
    """Return everything as JSON values, in SI units."""
    names, thresholds = found.request.clusters, found.network.model.thresholds
    return {
        "machine": found.request.name,
        "nodes": [
            {
                "name": one.node.name, "cluster": names[one.node.cluster], "cores": one.cores, "flops": one.speed_flops,
                "memory_Bps": one.memory_Bps, "share_of_cluster": found.speeds.share(
                    one.node.name, found.request.rows.members(one.node.cluster)
                ),
            }
            for one in found.nodes
        ],
        **_kernels_json(found),
        "routes": {
            _kind_text(found, kind): {"latency_s": wire.latency_s, "bandwidth_Bps": wire.bandwidth_Bps}
            for kind, wire in found.network.wires.items()
        },
        "on_a_node": {
            names[cluster]: {"latency_s": wire.latency_s, "bandwidth_Bps": wire.bandwidth_Bps}
            for cluster, wire in found.network.local.items()
        },
        "sharing": {
            "arrangement": found.sharing.arrangement,
            "links": {
                " to ".join(dict.fromkeys(names[c] for c in kind)): {
                    "each_way_Bps": link.each_way_Bps, "both_ways_Bps": link.both_ways_Bps,
                }
                for kind, link in found.sharing.links.items()
            },
            "nodes_both_ways_Bps": {names[c]: rate for c, rate in found.sharing.nodes_both_ways_Bps.items()},
            "switches_Bps": {names[c]: rate for c, rate in found.sharing.switches_Bps.items()},
        },
        "thresholds": {
            "async_small_bytes": _threshold(thresholds.async_bytes),
            "async_small_reason": thresholds.async_reason,
            "send_is_detached_bytes": _threshold(thresholds.detached_bytes),
            "send_is_detached_reason": thresholds.detached_reason,
        },
        "errors": {
            what: {
                "values": len(judged), "median_error": median_error(judged), "largest_error": abs(worst(judged).error),
                "largest_error_at_bytes": worst(judged).size_bytes, "largest_error_of": worst(judged).where,
            }
            for what, judged in found.judgement.by_what.items()
        },
        "notes": list(found.remarks),
        "options": dict(found.options),
        "files": files,
    }  # fmt: skip


def _kernels_json(found: MachineCalibration) -> dict[str, Any]:
    """Return the speeds of kernels by node, their spread by cluster, and their shares of the platform's speeds."""
    names, kernels, rows = found.request.clusters, found.speeds.kernels, found.request.rows
    return {
        "kernels": {
            name: {node: {"alone_per_s": one.alone, "busy_per_s": one.busy} for node, one in by_node.items()}
            for name, by_node in kernels.items()
        },
        "kernel_spread": {
            names[cluster]: {
                name: spread(kernels, name, rows.members(cluster))
                for name, by_node in kernels.items()
                if set(by_node) & set(rows.members(cluster))
            }
            for cluster in range(len(names))
        },
        "kernel_efficiency": {
            names[one.node.cluster]: {
                kept.kernel: {"alone": kept.alone, "busy": kept.busy} for kept in one.efficiencies
            }
            for one in found.nodes
        },
    }


def _kind_text(found: MachineCalibration, kind: Kind) -> str:
    names = found.request.clusters
    return f"within {names[kind[0]]}" if kind[0] == kind[1] else f"{names[kind[0]]} to {names[kind[1]]}"


def _threshold(size: int) -> int | None:
    return None if size == NEVER else size


def _size_text(size: int) -> str:
    return "no size" if size == NEVER else f"{size} bytes"


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:.4g} us"


def _rate(bandwidth_Bps: float) -> str:
    return f"{bandwidth_Bps / 1e6:.4g} MB/s"
