"""Draw measured points, the fitted model and its replay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from apps.calibrate.model import NEVER, Model
from apps.calibrate.points import Measured
from apps.calibrate.replay import CallErrors

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
    # Imported here because it is slow to import.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.2 * len(fitted), 6.0), layout="constrained")
    figure.suptitle(title)
    grid: Any = figure.subplots(2, len(fitted), sharex=True, squeeze=False, height_ratios=[2.2, 1])
    for (call, points), times, below in zip(fitted.items(), *grid, strict=True):
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
        times.set_title(_TITLES[call], fontsize=10)
        below.set_xlabel("message size in bytes")
    grid[0, 0].set_ylabel("time in s")
    grid[1, 0].set_ylabel("error of the replay in %")
    grid[0, 0].legend(fontsize=8)
    return figure
