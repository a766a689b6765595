"""Figures like Figures 3 to 5 of the paper: measured blocks, Table 1's formulas and the shapes of the algorithms."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from platforms.plotting.axes import say_empty
from platforms.plotting.charts import finish, new_figure, panels
from predictor.blocks.calibration.calibrate import Measured
from predictor.blocks.calibration.calibrated import Calibrated
from predictor.blocks.drawing import LOGARITHMIC, MAPPED, TIMES_BY_SIZE, broadcast_axes
from predictor.blocks.drawing import write_figures as written
from predictor.blocks.published.formulas import REGRESSORS, VARIABLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ORANGE, _BLUE = "#D55E00", "#0072B2"
_POINTS: dict[str, Any] = {"marker": "o", "linestyle": "none", "markersize": 4}
_MEASURED: dict[str, Any] = _POINTS | {"color": "black", "label": "measured"}
_TABLE: dict[str, Any] = {"color": _ORANGE, "linestyle": "--", "linewidth": 1.4, "label": "formula of Table 1"}
_SHAPE: dict[str, Any] = {"color": _BLUE, "linestyle": "-", "linewidth": 1.2}
_CROSSES: dict[str, Any] = {"color": _BLUE, "marker": "x", "linestyle": "none", "markersize": 5}
_COLOURS = (_BLUE, _ORANGE, "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999")


def write_figures(calibrated: Calibrated, table: Measured, folder: Path) -> list[Path]:
    """Write ``compute.png``; if there are messages, ``messages.png``, ``bcast.png``, ``collectives.png``; ``disk.png``.

    Each file is written completely or not at all.

    Args:
        calibrated: The model.
        table: The measured samples.
        folder: Folder of the option --plot.

    Returns:
        The written files.

    Raises:
        UserError: If a file cannot be written.
    """
    drawn = {"compute": compute_figure}
    if calibrated.calibration.wires is not None:
        drawn |= {"messages": messages_figure, "bcast": bcast_figure, "collectives": collectives_figure}
    if calibrated.calibration.disks:
        drawn["disk"] = disk_figure
    return written({name: draw(calibrated, table) for name, draw in drawn.items()}, folder, "--plot")


def compute_figure(calibrated: Calibrated, table: Measured) -> Figure:
    """Return a figure like Figure 3: time and power of a computation block over the threads of a node."""
    figure, (left, right) = panels(2, 2, 10, 4, calibrated.calibration.name)
    for i, node in enumerate(calibrated.calibration.nodes):
        model, colour = calibrated.of_cluster(node.cluster), _COLOURS[i % len(_COLOURS)]
        operations, threads, time_s = table.of("compute", "fit", node.cluster)
        left.plot(threads, 1e3 * time_s, color=colour, **_POINTS)
        left.plot(threads, 1e3 * model.compute_s(operations, threads), color=colour, label=node.cluster)
        if node.power is not None:
            counts, power_w = table.power_by_threads(node.cluster)
            right.plot(counts, power_w, color=colour, **_POINTS)
            right.plot(counts, model.power_w(counts), color=colour, label=node.cluster)
    legend = {"title": "cluster; points: measured"}
    title = f"{operations[0] / 1e6:g} million flop per thread"
    finish(left, title, legend=legend, xlabel="threads", ylabel="time, ms", ylim=(0, None))
    if not right.lines:
        say_empty(right, "the platform has no power data")
    finish(
        right, "Power: energy of a block over its time", legend=legend,
        xlabel="threads", ylabel="power of a node, W", ylim=(0, None),
    )  # fmt: skip
    return figure


def messages_figure(calibrated: Calibrated, table: Measured) -> Figure:
    """Return a figure like Figure 4: point-to-point messages over sizes, barriers over processes."""
    paper, shapes = _families(calibrated)
    figure, (left, right) = panels(2, 2, 10, 4, calibrated.calibration.name)
    far = calibrated.wires.far is not None
    sizes, _, time_s = table.of("p2p", "fit", "far" if far else "near")
    _over_sizes(left, calibrated, "p2p", sizes, time_s, label="p2p-lines")
    finish(left, f"Point-to-point, {'between two clusters' if far else 'within a cluster'}", legend={}, **TIMES_BY_SIZE)
    _, processes, time_s = table.of("barrier", "fit")
    counts = np.arange(2, processes.max() + 1)
    right.plot(processes, 1e6 * time_s, **_MEASURED)
    right.plot(counts, 1e6 * paper.communication_s("barrier", 0, counts), **_TABLE)
    right.plot(counts, 1e6 * shapes.communication_s("barrier", 0, counts), **_SHAPE, label="barrier-linear")
    finish(right, "Barrier", legend={}, xlabel="processes", ylabel="time, us")
    return figure


def bcast_figure(calibrated: Calibrated, table: Measured) -> Figure:
    """Return a figure like Figure 5: broadcasts over sizes and processes, and over the formula's factor of K."""
    figure = new_figure(12, 5, f"{calibrated.calibration.name}: broadcast")
    title = "black: measured; orange: Table 1; blue: bcast-binomial"
    space, flat = broadcast_axes(figure, title, "processes")
    sizes, processes, time_s = table.of("bcast", "fit")
    grid_sizes, grid_processes = np.meshgrid(np.unique(sizes), np.unique(processes))
    for model, colour in zip(_families(calibrated), (_ORANGE, _BLUE), strict=True):
        surface = model.communication_s("bcast", grid_sizes, grid_processes)
        surface = np.where(surface > 0, surface, np.nan)  # negative intercepts give times of 0
        space.plot_wireframe(
            np.log10(grid_sizes), grid_processes, np.log10(surface), linewidth=0.5, rstride=1, cstride=2, color=colour
        )
    space.plot(np.log10(sizes), processes, np.log10(time_s), **_MEASURED | {"markersize": 2})
    _over_the_variable(flat, calibrated, table, "bcast", label="bcast-binomial")
    finish(flat, "Mapped to the formula's variable", legend={}, **MAPPED)
    return figure


def collectives_figure(calibrated: Calibrated, table: Measured) -> Figure:
    """Return a figure of scatter, gather and all-to-all over the formula's factor of K, as Figure 5b of the paper."""
    figure, parts = panels(3, 3, 14, 4.2, calibrated.calibration.name)
    for axes, (block, variable) in zip(parts, VARIABLES.items(), strict=True):
        _over_the_variable(axes, calibrated, table, block, label="shapes of the algorithms")
        finish(axes, block, legend={"fontsize": 8}, **LOGARITHMIC, xlabel=f"{variable}, byte", ylabel="time, s")
    return figure


def disk_figure(calibrated: Calibrated, table: Measured) -> Figure:
    """Return a figure of reads from and writes to the disk over sizes."""
    figure, parts = panels(2, 2, 10, 4, calibrated.calibration.name)
    for axes, block in zip(parts, ("disk_read", "disk_write"), strict=True):
        sizes, _, time_s = table.of(block, "fit")
        _over_sizes(axes, calibrated, block, sizes, time_s, label="line and network")
        finish(axes, block.replace("_", " "), legend={}, **TIMES_BY_SIZE)
    return figure


def _over_sizes(
    axes: Axes, calibrated: Calibrated, block: str, sizes: np.ndarray, time_s: np.ndarray, *, label: str
) -> None:
    """Draw measured times and both formulas over sizes."""
    fine = np.geomspace(1, sizes.max(), 2000)
    paper, shapes = _families(calibrated)
    axes.plot(sizes, time_s, **_MEASURED)
    axes.plot(fine, paper.communication_s(block, fine), **_TABLE)
    axes.plot(fine, shapes.communication_s(block, fine), **_SHAPE, label=label)


def _over_the_variable(axes: Axes, calibrated: Calibrated, table: Measured, block: str, *, label: str) -> None:
    """Draw measured times and both formulas of a collective over Table 1's factor of K."""
    paper, shapes = _families(calibrated)
    sizes, processes, time_s = table.of(block, "fit")
    x = REGRESSORS[block](sizes, processes, calibrated.calibration.D_tu_bytes)
    order = np.argsort(x)
    axes.plot(x, time_s, **_MEASURED)
    axes.plot(x, shapes.communication_s(block, sizes, processes), **_CROSSES, label=label)
    axes.plot(x[order], np.asarray(paper.communication_s(block, sizes, processes))[order], **_TABLE)


def _families(calibrated: Calibrated) -> tuple[Calibrated, Calibrated]:
    return Calibrated(calibrated.calibration, "paper"), Calibrated(calibrated.calibration, "simgrid")
