"""Figures 3 to 5 of the paper for measured blocks: points, and the fitted formulas of Table 1."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from platforms.plotting.axes import say_empty
from platforms.plotting.charts import finish, new_figure, panels
from predictor.blocks.drawing import LOGARITHMIC, MAPPED, TIMES_BY_SIZE, broadcast_axes
from predictor.blocks.drawing import write_figures as written
from predictor.blocks.measured.fitted import MeasuredModel, Samples
from predictor.blocks.published.formulas import REGRESSORS, VARIABLES, TableModel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_POINTS: dict[str, Any] = {
    "marker": "o", "linestyle": "none", "markersize": 4, "color": "black", "label": "measured",
}  # fmt: skip
_LINE: dict[str, Any] = {"color": "#D55E00", "linewidth": 1.4, "label": "formula of Table 1"}


def write_measured_figures(made: MeasuredModel, samples: Samples, folder: Path, option: str) -> list[Path]:
    """Write compute (Figure 3), messages (Figure 4), bcast (Figure 5) and collectives, those that have samples.

    Raises:
        UserError: A file cannot be written.
    """
    figures: dict[str, Figure] = {}
    if made.compute is not None:
        figures["compute"] = _compute_figure(made, samples)
    if {"p2p", "barrier"} & made.lines.keys():
        figures["messages"] = _messages_figure(made, samples)
    if "bcast" in made.lines:
        figures["bcast"] = _bcast_figure(made, samples)
    if made.lines.keys() & VARIABLES.keys():
        figures["collectives"] = _collectives_figure(made, samples)
    return written(figures, folder, option)


def _compute_figure(made: MeasuredModel, samples: Samples) -> Figure:
    figure, (left, right) = panels(2, 2, 10, 4, made.name)
    amounts, threads, time_s = samples.of("compute")
    amount, counts = float(np.median(amounts)), np.arange(1, int(threads.max()) + 1)
    left.plot(threads, 1e3 * time_s / amounts * amount, **_POINTS)
    left.plot(counts, 1e3 * np.asarray(made.model.compute_s(amount, counts)), **_LINE)
    finish(left, f"{amount / 1e6:g} million operations per thread", legend={}, xlabel="threads", ylabel="time, ms")
    busy, watts = samples.watts()
    if made.power is None:
        say_empty(right, "no power was measured")
        right.set_axis_off()
        return figure
    right.plot(busy, watts, **_POINTS)
    fine = np.arange(0, int(busy.max()) + 1)
    right.plot(fine, TableModel(made.parameters, "printed").power_w(fine), **_LINE)
    finish(right, "Power", legend={}, xlabel="active threads", ylabel="power of a node, W", ylim=(0, None))
    return figure


def _messages_figure(made: MeasuredModel, samples: Samples) -> Figure:
    figure, (left, right) = panels(2, 2, 10, 4, made.name)
    sizes, _, time_s = samples.of("p2p")
    if len(sizes):
        fine = np.geomspace(max(1.0, sizes.min()), max(2.0, sizes.max()), 1000)
        left.plot(sizes, time_s, **_POINTS)
        left.plot(fine, made.model.communication_s("p2p", fine), **_LINE)
        finish(left, "Point-to-point", legend={}, **TIMES_BY_SIZE)
    _, processes, time_s = samples.of("barrier")
    if len(processes):
        counts = np.arange(2, int(processes.max()) + 1)
        right.plot(processes, 1e6 * time_s, **_POINTS)
        right.plot(counts, 1e6 * np.asarray(made.model.communication_s("barrier", 0, counts)), **_LINE)
        finish(right, "Barrier", legend={}, xlabel="processes", ylabel="time, us")
    return figure


def _bcast_figure(made: MeasuredModel, samples: Samples) -> Figure:
    figure = new_figure(12, 5, f"{made.name}: broadcast")
    space, flat = broadcast_axes(figure, "black: measured; orange: Table 1", "processes")
    sizes, processes, time_s = samples.of("bcast")
    grid = np.meshgrid(np.unique(np.maximum(sizes, 1)), np.unique(processes))
    surface = np.asarray(made.model.communication_s("bcast", *grid))
    surface = np.where(surface > 0, surface, np.nan)  # negative intercepts give times of 0
    space.plot_wireframe(np.log10(grid[0]), grid[1], np.log10(surface), linewidth=0.5, color=_LINE["color"])
    space.plot(np.log10(np.maximum(sizes, 1)), processes, np.log10(time_s), **_POINTS | {"markersize": 2})
    x = REGRESSORS["bcast"](sizes, processes, made.D_tu_bytes)
    order = np.argsort(x)
    flat.plot(x, time_s, **_POINTS)
    flat.plot(x[order], np.asarray(made.model.communication_s("bcast", sizes, processes))[order], **_LINE)
    finish(flat, "Mapped to the formula's variable", legend={}, **MAPPED)
    return figure


def _collectives_figure(made: MeasuredModel, samples: Samples) -> Figure:
    figure, parts = panels(3, 3, 14, 4.2, made.name)
    for axes, (block, variable) in zip(parts, VARIABLES.items(), strict=True):
        sizes, processes, time_s = samples.of(block)
        if not len(sizes):
            axes.set_axis_off()
            continue
        x = REGRESSORS[block](sizes, processes, made.D_tu_bytes)
        order = np.argsort(x)
        axes.plot(x, time_s, **_POINTS)
        axes.plot(x[order], np.asarray(made.model.communication_s(block, sizes, processes))[order], **_LINE)
        finish(axes, block, legend={"fontsize": 8}, **LOGARITHMIC, xlabel=f"{variable}, byte", ylabel="time, s")
    return figure
