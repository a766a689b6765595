"""Draw measured points, the fitted model and its replay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from apps.calibrate.model import NEVER, Model
from apps.calibrate.points import Measured
from apps.calibrate.report import CallErrors
from platforms.plotting.charts import finish, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TITLES = {
    "send": "MPI_Send",
    "isend": "MPI_Isend",
    "recv": "MPI_Recv of a message that has arrived",
    "pingpong": "ping-pong, there and back",
}


def calibration_figure(title: str, model: Model, fitted: Measured, errors: Mapping[str, CallErrors]) -> Figure:
    """Return a figure with a panel per measured call: times against sizes, and the relative errors of the replay."""
    count, options = len(fitted), {"sharex": True, "height_ratios": [2.2, 1]}
    figure, places = panels(2 * count, count, 4.2 * count, 6.0, title, **options)
    for (call, points), times, below in zip(fitted.items(), places[:count], places[count:], strict=True):
        sizes = np.geomspace(max(1.0, points.sizes[0]), points.sizes[-1], 600)
        times.loglog(points.sizes, points.times_s, ".", color="#999999", ms=4, label="measured, fitted")
        times.loglog(sizes, model.predicted(call, sizes), "-", color="#0072B2", lw=1.2, label="model")
        if call in errors:
            judged = errors[call]
            times.loglog(
                judged.sizes, judged.measured_s, "o", mfc="none", color="black", ms=4, label="measured, held out"
            )
            times.loglog(judged.sizes, judged.replayed_s, "x", color="#D55E00", ms=4, label="replayed in SMPI")
            below.semilogx(judged.sizes, 100 * judged.errors, "x", color="#D55E00", ms=4)
            low, high = (100 * (judged.replayed_s / end - 1) for end in (judged.high_s, judged.low_s))
            below.fill_between(judged.sizes, low, high, color="#E69F00", alpha=0.3, lw=0)
        below.axhline(0, color="#0072B2", lw=0.8)
        for threshold in {model.thresholds.async_bytes, model.thresholds.detached_bytes} - {NEVER}:
            for panel in (times, below):
                panel.axvline(threshold, color="#009E73", ls=":", lw=1)
        finish(times, _TITLES[call])
        finish(below, xlabel="message size, bytes")
    finish(places[0], legend={}, ylabel="time, s")
    finish(places[count], ylabel="error of the replay, %")
    return figure
