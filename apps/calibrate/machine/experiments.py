"""Table of the experiments of a measurement: the number of values of each, and the results for the platform."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

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
    rows_of_flows,
)  # fmt: skip
from apps.calibrate.machine.rows import ALONE, BUSY, CALLS, Rows
from apps.calibrate.machine.unseen import possible
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


def _rate(bandwidth_Bps: float) -> str:
    return f"{bandwidth_Bps / 1e6:.4g} MB/s"
