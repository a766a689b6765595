"""Draw a measurement of a machine and its replay: ping-pongs, errors of values not fitted, and speeds."""

from __future__ import annotations

import numpy as np

from apps.calibrate.machine.calibrate import MachineCalibration
from apps.calibrate.machine.contention import FLOWS
from apps.calibrate.machine.judge import PAIRS, SIZES
from apps.calibrate.machine.rows import Kind
from platforms.plotting.charts import Figure
from platforms.plotting.lines import Panel, Series, lines_figure
from platforms.plotting.styles import BLUE, GREEN, RED, dots, line


def machine_figure(calibration: MachineCalibration) -> Figure:
    """Return a figure of four panels."""
    charts = [draw(calibration) for draw in (_trips, _flow_errors, _trip_errors, _speeds)]
    return lines_figure(charts, 2, 12.0, 8.0, calibration.request.name)


def _shown(calibration: MachineCalibration) -> list[tuple[Kind, str]]:
    """Return the kinds of routes with all sizes, and their colours."""
    most = max(len(calibration.routes.trips[pair]) for pair in calibration.routes.fitted.values())
    kinds = [kind for kind, pair in calibration.routes.fitted.items() if len(calibration.routes.trips[pair]) > most / 2]
    return list(zip(sorted(kinds), [BLUE, RED, GREEN] * len(kinds), strict=False))


def _trips(calibration: MachineCalibration) -> Panel:
    names, drawn = calibration.request.clusters, []
    for kind, color in _shown(calibration):
        trips = calibration.routes.trips[calibration.routes.fitted[kind]]
        sizes = np.geomspace(1, max(trips), 400)
        label = f"within {names[kind[0]]}" if kind[0] == kind[1] else f"{names[kind[0]]} to {names[kind[1]]}"
        drawn.append(Series(list(trips), [time_s / 2 for time_s in trips.values()], dots(color, "."), label))
        fitted_s = calibration.network.half_trip(calibration.network.wires[kind], sizes)
        drawn.append(Series(sizes, fitted_s, line(color, width=1)))
    title = "half a ping-pong: measured (dots) and fitted (lines)"
    return Panel(title=title, log="xy", drawn=drawn, legend={}, x="message size, bytes", y="time, s")


def _trip_errors(calibration: MachineCalibration) -> Panel:
    drawn = []
    for what, look in ((SIZES, dots(BLUE, hollow=True)), (PAIRS, dots(RED, "x"))):
        judged = calibration.judgement.by_what.get(what, [])
        errors = [100 * judgement.error for judgement in judged]
        drawn.append(Series([judgement.size_bytes for judgement in judged], errors, look, what))
    title = "replay of ping-pongs that were not fitted"
    return Panel(title=title, log="x", drawn=drawn, across=(0,), legend={}, x="message size, bytes", y="error, %")


def _flow_errors(calibration: MachineCalibration) -> Panel:
    kinds = [what for what in calibration.judgement.by_what if what in FLOWS]
    drawn = []
    for place, what in enumerate(kinds):
        errors = [100 * judgement.error for judgement in calibration.judgement.by_what[what]]
        drawn.append(Series(errors, [place] * len(errors), dots(BLUE, size=6, hollow=True)))
    return Panel(
        title="replay of flows of a size that was not fitted", x="error, %", drawn=drawn, upright=(0,),
        y_ticks=dict(enumerate(kinds)), y_ends=(max(len(kinds), 1) - 0.5, -0.5),
    )  # fmt: skip


def _speeds(calibration: MachineCalibration) -> Panel:
    rows, drawn = calibration.request.rows, []
    for place, node in enumerate(rows.nodes):
        for what, look in (("alone", dots(BLUE, hollow=True)), ("busy", dots(RED, "x"))):
            rates = [row.amount / row.time_s / 1e9 for row in rows.of(what) if row.first == node.name]
            drawn.append(Series([place] * len(rates), rates, look))
    title = "multiply-adds of a rank: alone (o), with all ranks of its node (x)"
    nodes = {float(place): node.name for place, node in enumerate(rows.nodes)}
    return Panel(title=title, drawn=drawn, x_ticks=nodes, slant=45, y_ends=(0, None), y="speed, Gflop/s")
