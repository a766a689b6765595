"""Draw measured points, the fitted model and its replay."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from apps.calibrate.model import NEVER, Model
from apps.calibrate.points import Measured
from apps.calibrate.report import CallErrors
from platforms.plotting.charts import Figure
from platforms.plotting.lines import Band, Panel, Series, lines_figure
from platforms.plotting.styles import BLUE, ORANGE, RED, dots, line

_TITLES = {
    "send": "MPI_Send",
    "isend": "MPI_Isend",
    "recv": "MPI_Recv of a message that has arrived",
    "pingpong": "ping-pong, there and back",
}


def calibration_figure(title: str, model: Model, fitted: Measured, errors: Mapping[str, CallErrors]) -> Figure:
    """Return a figure with a panel per measured call: times against sizes, and the relative errors of the replay."""
    times: list[Panel] = []
    below: list[Panel] = []
    thresholds = sorted({model.thresholds.async_bytes, model.thresholds.detached_bytes} - {NEVER})
    for call, points in fitted.items():
        sizes = np.geomspace(max(1.0, points.sizes[0]), points.sizes[-1], 600)
        drawn = [
            Series(points.sizes, points.times_s, dots("#999999", ".", 4), "measured, fitted"),
            Series(sizes, model.predicted(call, sizes), line(BLUE), "model"),
        ]
        replayed: list[Series | Band] = []
        if call in errors:
            judged = errors[call]
            drawn += [
                Series(judged.sizes, judged.measured_s, dots("black", size=4, hollow=True), "measured, held out"),
                Series(judged.sizes, judged.replayed_s, dots(RED, "x", 4), "replayed in SMPI"),
            ]
            low, high = (100 * (judged.replayed_s / end - 1) for end in (judged.high_s, judged.low_s))
            replayed = [
                Series(judged.sizes, 100 * judged.errors, dots(RED, "x", 4)),
                Band(judged.sizes, low, high, ORANGE, alpha=0.3),
            ]
        first = not times
        times.append(
            Panel(
                title=_TITLES[call], log="xy", drawn=drawn, upright=thresholds, y="time, s" if first else "",
                legend={} if first else None,
            )
        )  # fmt: skip
        said = "error of the replay, %" if first else ""
        below.append(Panel(log="x", x="message size, bytes", y=said, drawn=replayed, across=(0,), upright=thresholds))
    count, ratios = len(fitted), [2.2, 1]
    return lines_figure([*times, *below], count, 4.2 * count, 6.0, title, sharex=True, height_ratios=ratios)
