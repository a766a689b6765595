"""The figure of predicted against measured times of HPL."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

MEASURED, PREDICTED = "#d55e00", "#0072b2"


def draw(shown: Mapping[str, list[Any]], path: Path) -> None:
    """Write a figure with a panel for each study: the times over its rows, and the errors below them."""
    mpl.use("Agg")
    figure = Figure(figsize=(5 * len(shown), 6), layout="constrained")
    axes = figure.subplots(2, len(shown), squeeze=False, height_ratios=(3, 1))
    for column, (study, found) in enumerate(shown.items()):
        times, errors = axes[0][column], axes[1][column]
        if study == "factorial":
            _over_measured(times, errors, found)
        else:
            _over_settings(times, errors, study, found)
        factor = found[0].factor
        times.set_title(f"{study}, " + ("no factor of speed" if factor == 1 else f"factor of speed {factor:.3f}"))
        errors.axhline(0, color="gray", linewidth=0.8)
        errors.set_ylabel("error, %")
    figure.savefig(path, dpi=110)


def _over_measured(times: Axes, errors: Axes, found: list[Any]) -> None:
    """Draw predicted over measured times, and the line on which they are equal."""
    measured = np.array([one.row.measured_s for one in found])
    predicted = np.array([one.predicted_s for one in found])
    both = np.array([min(measured.min(), predicted.min()), max(measured.max(), predicted.max())])
    times.plot(both, both, color="gray", linewidth=0.8, label="equal")
    block = np.array([one.row.block for one in found])
    for number, size in enumerate(sorted(set(block))):
        mine, marker = block == size, "o^sDv"[number % 5]
        times.plot(measured[mine], predicted[mine], marker, color=f"C{number}", markersize=5, label=f"block {size}")
        errors.plot(measured[mine], 100 * (predicted / measured - 1)[mine], marker, color=f"C{number}", markersize=4)
    times.set_ylabel("predicted time, s")
    errors.set_xlabel("measured time, s")
    times.legend()


def _over_settings(times: Axes, errors: Axes, study: str, found: list[Any]) -> None:
    """Draw both times over the size or over the rows of the process grid, on logarithmic axes."""
    sized = study == "matrix size"
    ordered = sorted(found, key=lambda one: one.row.n if sized else one.row.p)
    x = [one.row.n if sized else one.row.p for one in ordered]
    times.loglog(x, [one.row.measured_s for one in ordered], "s-", color=MEASURED, label="measured")
    times.loglog(x, [one.predicted_s for one in ordered], "o--", color=PREDICTED, label="predicted")
    errors.semilogx(x, [100 * one.error for one in ordered], "o", color=PREDICTED, markersize=4)
    for axis in (times.xaxis, times.yaxis, errors.xaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=20))
        axis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
        axis.set_minor_locator(NullLocator())
    times.set_ylabel("time, s")
    errors.set_xlabel("order of the matrix" if sized else "rows of the process grid")
    times.legend()
