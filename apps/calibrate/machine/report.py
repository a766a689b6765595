"""Report a calibration of a machine as text and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from statistics import median
from typing import Any

from apps.calibrate.machine.calibrate import MachineCalibration
from apps.calibrate.machine.contention import (
    APART,
    BOTH_WAYS,
    COMMON,
    DISJOINT,
    FLOWS,
    LEFT_RING,
    LOCAL,
    LONE,
    OPPOSED,
    RING,
    THROUGH,
    TOGETHER,
    label,
    possible,
    rows_of_flows,
)  # fmt: skip
from apps.calibrate.machine.judge import median_error, worst
from apps.calibrate.machine.kernels import spread
from apps.calibrate.machine.rows import ALONE, BUSY, CALLS, Kind, Rows
from apps.calibrate.model import NEVER
from platforms.terminal.prose import folded_lines
from platforms.terminal.table import table_lines
from platforms.wording import number_of

EXPERIMENTS = "Experiments and their results:"
ARRANGEMENTS = {
    "pairs": "every two clusters have a link of their own",
    "uplinks": "every cluster has one link to all others",
    "backbone": "all clusters share one link",
}
_NONE = "not measured"


def experiment_rows(calibration: MachineCalibration) -> list[tuple[str, ...]]:
    """Return a line for each experiment, with a header: its name, its measured values, and its results."""
    rows = calibration.request.rows
    wires, local = len(calibration.network.wires), len(calibration.network.local)
    table: list[tuple[str, ...]] = [
        ("experiment", "values", "found"),
        _line("latency", rows, f"{number_of(rows.clusters, 'cluster')} of {number_of(len(rows.nodes), 'node')}"),
        _line("pingpong", rows, f"latency and bandwidth of {number_of(wires + local, 'kind')} of routes, and factors"),
    ]
    table += [_line(call, rows, "overhead of the call") for call in CALLS[1:]]
    table += [
        _line(name, rows, f"{rows.threshold(name)} bytes" if rows.threshold(name) else "no threshold")
        for name in ("send-waits", "recv-waits")
    ]
    table += _flow_lines(calibration)
    table.append(_line("alltoall", rows, "nothing: it validates the platform"))
    table += [_line(name, rows, "speed of the nodes relative to each other") for name in ("alone", "busy")]
    if rows.of(ALONE, BUSY):
        table += [_line(name, rows, "efficiency of kernels") for name in (ALONE, BUSY)]
    return table


def _line(experiment: str, rows: Rows, result: str) -> tuple[str, str, str]:
    values = len(rows.of(experiment))
    return experiment, str(values), result if values else _NONE


def _flow_lines(calibration: MachineCalibration) -> list[tuple[str, str, str]]:
    """Return a line for each kind of simultaneous flows that was measured or could have been."""
    rows = calibration.request.rows
    flows_seen = rows_of_flows(rows)
    values = Counter(label(rows, flows) for flows, _ in flows_seen)
    most = {what: max(len(flows) for flows, _ in flows_seen if label(rows, flows) == what) for what in values}
    lines = []
    for what in FLOWS:
        if values[what]:
            said = _FOUND[what](calibration)
            more = f"; up to {most[what]} flows" if most[what] > 2 else ""
            lines.append((what, str(values[what]), f"{said}{more}"))
        elif possible(what, rows):
            lines.append((what, "0", _NONE))
    return lines


def _both_ways(calibration: MachineCalibration) -> str:
    names, limits = calibration.request.clusters, calibration.sharing.nodes_both_ways_Bps
    parts = [f"{names[c]}: {_rate(limit)} both ways together" for c, limit in limits.items()]
    return ", ".join(parts) or "links of nodes are full duplex"


def _switches(calibration: MachineCalibration) -> str:
    names, limits = calibration.request.clusters, calibration.sharing.switches_Bps
    parts = [f"{names[c]}: {_rate(limit)} for all flows together" for c, limit in limits.items()]
    return ", ".join(parts) or "no switch limits flows"


def _outside(calibration: MachineCalibration) -> str:
    names, sharing = calibration.request.clusters, calibration.sharing
    crossed = [names[c] for c in sorted(sharing.outside)]
    if crossed:
        return f"flows to other clusters cross the switch of {', '.join(crossed)}"
    return "flows to other clusters do not cross the switch" if sharing.switches_Bps else "no switch limits flows"


def _together(calibration: MachineCalibration) -> str:
    rates = [link.each_way_Bps for link in calibration.sharing.links.values()]
    return f"links between clusters carry {_range(rates)} each way"


def _opposed(calibration: MachineCalibration) -> str:
    rates = [link.both_ways_Bps for link in calibration.sharing.links.values() if link.both_ways_Bps]
    return f"they carry {_range(rates)} both ways together" if rates else "they carry both ways at once"


def _arrangement(calibration: MachineCalibration) -> str:
    return ARRANGEMENTS[calibration.sharing.arrangement]


_FOUND: dict[str, Callable[[MachineCalibration], str]] = {
    LONE: lambda _: "reference for the others",
    BOTH_WAYS: _both_ways, THROUGH: _both_ways, APART: _switches, RING: _switches, LEFT_RING: _outside,
    TOGETHER: _together, OPPOSED: _opposed, COMMON: _arrangement, DISJOINT: _arrangement,
    LOCAL: lambda _: "nothing: it validates the platform",
}  # fmt: skip


def _range(rates_Bps: list[float]) -> str:
    low, high = _rate(min(rates_Bps)), _rate(max(rates_Bps))
    return low if low == high else f"{low} to {high}"


KERNELS = (
    "Kernels, Gop/s of a rank: median of the nodes, alone and with all cores busy; spread: from the slowest node to "
    "the fastest, over the median; share of a core's speed in the platform:"
)
REPLAY = "Replay of the measurement in SMPI; sizes, pairs and flows that were not fitted:"


def as_text(calibration: MachineCalibration, files: dict[str, str], *, wide: bool = False) -> str:
    """Return the summary that the command prints; ``wide``: the tables are not folded."""
    thresholds, clusters = calibration.network.model.thresholds, calibration.request.clusters
    head = [f"{calibration.request.name}: {len(calibration.nodes)} nodes in {number_of(len(clusters), 'cluster')}"]
    head += [_cluster_text(calibration, cluster) for cluster in range(len(clusters))]
    notes = [
        f"MPI_Send waits from {_size_text(thresholds.detached_bytes)} ({thresholds.detached_reason})",
        f"messages travel at once below {_size_text(thresholds.async_bytes)} ({thresholds.async_reason})",
    ]
    if len(clusters) > 1:
        notes.append(ARRANGEMENTS[calibration.sharing.arrangement])
    notes.append(f"collective operations: {calibration.request.collectives.said}")
    notes += [f"note: {remark}" for remark in calibration.remarks]
    lines = [
        *folded_lines(head),
        "",
        *table_lines(wire_rows(calibration), left={0, 3}, wide=wide),
        *folded_lines(notes),
    ]
    if calibration.speeds.kernels:
        lines += ["", *folded_lines([KERNELS]), *table_lines(kernel_rows(calibration), left={0, 1}, wide=wide)]
    lines += ["", *folded_lines([REPLAY]), *table_lines(error_rows(calibration), left={0, 5}, wide=wide), ""]
    return "\n".join([*lines, *(f"{what}: {path}" for what, path in files.items())])


def _cluster_text(calibration: MachineCalibration, cluster: int) -> str:
    """Return the nodes of a cluster in words."""
    members = [node for node in calibration.nodes if node.node.cluster == cluster]
    low, high = (pick(member.speed_flops for member in members) / 1e9 for pick in (min, max))
    speed = f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
    names = ", ".join(member.node.name for member in members)
    nodes = f"{len(members)} node{'s'[: len(members) > 1]}"
    cores = f"{members[0].cores} core{'s'[: members[0].cores > 1]}"
    return f"{calibration.request.clusters[cluster]}: {nodes} of {cores} of {speed} Gflop/s: {names}"


def wire_rows(calibration: MachineCalibration) -> list[tuple[str, ...]]:
    """Return latency, bandwidth and sharing of every kind of route, with a header."""
    rows: list[tuple[str, ...]] = [("route", "latency", "bandwidth", "shared")]
    for kind, wire in sorted(calibration.network.wires.items(), key=lambda item: (item[0][0] != item[0][1], item[0])):
        rows.append(
            (_kind_text(calibration, kind), _us(wire.latency_s), _rate(wire.bandwidth_Bps), _shared(calibration, kind))
        )
    for cluster, wire in sorted(calibration.network.local.items()):
        name = f"on a node of {calibration.request.clusters[cluster]}"
        rows.append((name, _us(wire.latency_s), _rate(wire.bandwidth_Bps), "not judged"))
    return rows


def _shared(calibration: MachineCalibration, kind: Kind) -> str:
    """Return how flows on a kind of route share links."""
    sharing = calibration.sharing
    if kind[0] == kind[1]:
        both, switch = sharing.nodes_both_ways_Bps.get(kind[0]), sharing.switches_Bps.get(kind[0])
        parts = [f"{_rate(both)} both ways together"] if both else ["full duplex"]
        return ", ".join([*parts, *([f"switch {_rate(switch)}"] if switch else [])])
    asked = {"pairs": kind, "backbone": (0, 0)}.get(sharing.arrangement)
    links = [sharing.links[asked]] if asked else [sharing.links[c, c] for c in kind]
    both_ways = [link.both_ways_Bps for link in links if link.both_ways_Bps]
    parts = [f"{_rate(min(link.each_way_Bps for link in links))} each way"]
    return ", ".join([*parts, *([f"{_rate(min(both_ways))} both ways together"] if both_ways else [])])


def kernel_rows(calibration: MachineCalibration) -> list[tuple[str, ...]]:
    """Return the speed of every kernel on the nodes of every cluster, with a header."""
    header = ("cluster", "kernel", "alone", "busy", "busy/alone", "spread", "share", "share busy")
    rows: list[tuple[str, ...]] = [header]
    request, kernels = calibration.request, calibration.speeds.kernels
    for cluster, title in enumerate(request.clusters):
        members = request.rows.members(cluster)
        shares = {
            efficiency.kernel: efficiency
            for node in calibration.nodes
            if node.node.cluster == cluster
            for efficiency in node.efficiencies
        }
        for name, by_node in kernels.items():
            speeds = [by_node[node] for node in members if node in by_node]
            if not speeds:
                continue
            alone = median(speed.alone for speed in speeds)
            busy = [speed.busy for speed in speeds if speed.busy is not None]
            both = (f"{median(busy) / 1e9:.4g}", f"{median(busy) / alone:.2f}") if busy else ("-", "-")
            share = shares.get(name)
            parts = (f"{share.alone:.3g}", f"{share.busy:.3g}") if share else ("-", "-")
            rows.append((title, name, f"{alone / 1e9:.4g}", *both, f"{spread(kernels, name, members):.0%}", *parts))
    return rows


def error_rows(calibration: MachineCalibration) -> list[tuple[str, ...]]:
    """Return the errors of the replay, with a header."""
    rows: list[tuple[str, ...]] = [("what", "values", "median error", "largest", "at bytes", "of")]
    for what, judged in calibration.judgement.by_what.items():
        far = worst(judged)
        rows.append(
            (what, str(len(judged)), f"{median_error(judged):.1%}", f"{far.error:+.0%}", str(far.size_bytes), far.where)
        )
    return rows


def as_json(calibration: MachineCalibration, files: dict[str, str]) -> dict[str, Any]:
    """Return everything as JSON values, in SI units."""
    names, thresholds = calibration.request.clusters, calibration.network.model.thresholds
    return {
        "machine": calibration.request.name,
        "nodes": [
            {
                "name": node.node.name, "cluster": names[node.node.cluster],
                "cores": node.cores, "flops": node.speed_flops,
                "memory_Bps": node.memory_Bps, "share_of_cluster": calibration.speeds.share(
                    node.node.name, calibration.request.rows.members(node.node.cluster)
                ),
            }
            for node in calibration.nodes
        ],
        **_kernels_json(calibration),
        "routes": {
            _kind_text(calibration, kind): {"latency_s": wire.latency_s, "bandwidth_Bps": wire.bandwidth_Bps}
            for kind, wire in calibration.network.wires.items()
        },
        "on_a_node": {
            names[cluster]: {"latency_s": wire.latency_s, "bandwidth_Bps": wire.bandwidth_Bps}
            for cluster, wire in calibration.network.local.items()
        },
        "sharing": {
            "arrangement": calibration.sharing.arrangement,
            "links": {
                " to ".join(dict.fromkeys(names[c] for c in kind)): {
                    "each_way_Bps": link.each_way_Bps, "both_ways_Bps": link.both_ways_Bps,
                }
                for kind, link in calibration.sharing.links.items()
            },
            "nodes_both_ways_Bps": {names[c]: rate for c, rate in calibration.sharing.nodes_both_ways_Bps.items()},
            "switches_Bps": {names[c]: rate for c, rate in calibration.sharing.switches_Bps.items()},
            "switches_crossed_from_outside": [names[c] for c in sorted(calibration.sharing.outside)],
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
            for what, judged in calibration.judgement.by_what.items()
        },
        "experiments": [
            {"experiment": name, "values": int(values), "found": result}
            for name, values, result in experiment_rows(calibration)[1:]
        ],
        "collectives": calibration.request.collectives.said,
        "notes": list(calibration.remarks),
        "options": dict(calibration.options),
        "files": files,
    }  # fmt: skip


def _kernels_json(calibration: MachineCalibration) -> dict[str, Any]:
    """Return the speeds of kernels by node, their spread by cluster, and their shares of the platform's speeds."""
    names, kernels, rows = calibration.request.clusters, calibration.speeds.kernels, calibration.request.rows
    return {
        "kernels": {
            name: {node: {"alone_per_s": rates.alone, "busy_per_s": rates.busy} for node, rates in by_node.items()}
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
            names[node.node.cluster]: {
                kept.kernel: {"alone": kept.alone, "busy": kept.busy} for kept in node.efficiencies
            }
            for node in calibration.nodes
        },
    }


def _kind_text(calibration: MachineCalibration, kind: Kind) -> str:
    names = calibration.request.clusters
    return f"within {names[kind[0]]}" if kind[0] == kind[1] else f"{names[kind[0]]} to {names[kind[1]]}"


def _threshold(size: int) -> int | None:
    return None if size == NEVER else size


def _size_text(size: int) -> str:
    return "no size" if size == NEVER else f"{size} bytes"


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:.4g} us"


def _rate(bandwidth_Bps: float) -> str:
    return f"{bandwidth_Bps / 1e6:.4g} MB/s"
