"""Draw a measurement of a machine and its replay: ping-pongs, errors of values not fitted, and speeds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from apps.calibrate.machine.calibrate import MachineCalibration
from apps.calibrate.machine.contention import FLOWS
from apps.calibrate.machine.judge import PAIRS, SIZES
from apps.calibrate.machine.rows import Kind
from platforms.plotting.charts import finish, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BLUE, _RED, _GREEN, _GREY = "#0072B2", "#D55E00", "#009E73", "#999999"


def machine_figure(calibration: MachineCalibration) -> Figure:
    """Return a figure of four panels."""
    figure, places = panels(4, 2, 12.0, 8.0, calibration.request.name)
    for draw, panel in zip((_trips, _flow_errors, _trip_errors, _speeds), places, strict=True):
        draw(panel, calibration)
    return figure


def _shown(calibration: MachineCalibration) -> list[tuple[Kind, str]]:
    """Return the kinds of routes with all sizes, and their colours."""
    most = max(len(calibration.routes.trips[pair]) for pair in calibration.routes.fitted.values())
    kinds = [kind for kind, pair in calibration.routes.fitted.items() if len(calibration.routes.trips[pair]) > most / 2]
    return list(zip(sorted(kinds), [_BLUE, _RED, _GREEN] * len(kinds), strict=False))


def _trips(panel: Any, calibration: MachineCalibration) -> None:
    names = calibration.request.clusters
    for kind, colour in _shown(calibration):
        trips = calibration.routes.trips[calibration.routes.fitted[kind]]
        sizes = np.geomspace(1, max(trips), 400)
        label = f"within {names[kind[0]]}" if kind[0] == kind[1] else f"{names[kind[0]]} to {names[kind[1]]}"
        panel.loglog(list(trips), [time_s / 2 for time_s in trips.values()], ".", color=colour, ms=5, label=label)
        panel.loglog(
            sizes, calibration.network.half_trip(calibration.network.wires[kind], sizes), "-", color=colour, lw=1
        )
    title = "half a ping-pong: measured (dots) and fitted (lines)"
    finish(panel, title, legend={}, xlabel="message size, bytes", ylabel="time, s")


def _trip_errors(panel: Any, calibration: MachineCalibration) -> None:
    for what, colour, mark in ((SIZES, _BLUE, "o"), (PAIRS, _RED, "x")):
        judged = calibration.judgement.by_what.get(what, [])
        sizes, errors = [judgement.size_bytes for judgement in judged], [100 * judgement.error for judgement in judged]
        panel.semilogx(sizes, errors, mark, mfc="none", color=colour, ms=5, label=what)
    panel.axhline(0, color=_GREY, lw=0.8)
    title = "replay of ping-pongs that were not fitted"
    finish(panel, title, legend={}, xlabel="message size, bytes", ylabel="error, %")


def _flow_errors(panel: Any, calibration: MachineCalibration) -> None:
    kinds = [what for what in calibration.judgement.by_what if what in FLOWS]
    for place, what in enumerate(kinds):
        errors = [100 * judgement.error for judgement in calibration.judgement.by_what[what]]
        panel.plot(errors, [place] * len(errors), "o", mfc="none", color=_BLUE, ms=6)
    panel.axvline(0, color=_GREY, lw=0.8)
    panel.set_yticks(range(len(kinds)), kinds, fontsize=8)
    panel.set_ylim(max(len(kinds), 1) - 0.5, -0.5)
    finish(panel, "replay of flows of a size that was not fitted", xlabel="error, %")


def _speeds(panel: Any, calibration: MachineCalibration) -> None:
    rows = calibration.request.rows
    for place, node in enumerate(rows.nodes):
        rates = [row.amount / row.time_s / 1e9 for row in rows.of("alone") if row.first == node.name]
        panel.plot([place] * len(rates), rates, "o", mfc="none", color=_BLUE, ms=5)
        busy = [row.amount / row.time_s / 1e9 for row in rows.of("busy") if row.first == node.name]
        panel.plot([place] * len(busy), busy, "x", color=_RED, ms=5)
    panel.set_xticks(range(len(rows.nodes)), [node.name for node in rows.nodes], fontsize=8, rotation=45)
    panel.set_ylim(bottom=0)
    finish(panel, "multiply-adds of a rank: alone (o), with all ranks of its node (x)", ylabel="speed, Gflop/s")
