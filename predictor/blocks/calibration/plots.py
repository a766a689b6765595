"""Figures like Figures 3 to 5 of the paper: measured blocks, Table 1's formulas and the shapes of the algorithms."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from platforms.files.writing import usable_folder, write_picture
from predictor.blocks.calibration.calibrate import Measured
from predictor.blocks.calibration.calibrated import Calibrated
from predictor.blocks.published.formulas import REGRESSORS, VARIABLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MEASURED: dict[str, Any] = {"color": "black", "marker": "o", "linestyle": "none", "markersize": 4, "label": "measured"}
_TABLE: dict[str, Any] = {"color": "#D55E00", "linestyle": "--", "linewidth": 1.4, "label": "formula of Table 1"}
_SHAPE: dict[str, Any] = {"color": "#0072B2", "linestyle": "-", "linewidth": 1.2}
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999")


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
    figures = {"compute": compute_figure(calibrated, table)}
    if calibrated.calibration.wires is not None:
        figures |= {
            "messages": messages_figure(calibrated, table),
            "bcast": bcast_figure(calibrated, table),
            "collectives": collectives_figure(calibrated, table),
        }
    if calibrated.calibration.disks:
        figures["disk"] = disk_figure(calibrated, table)
    usable_folder("--plot", str(folder))
    written = []
    for name, figure in figures.items():
        path = folder / f"{name}.png"
        write_picture("--plot", path, figure)
        written.append(path)
    return written


def _figure(width: float, height: float = 4.0) -> Figure:
    # Imported here for a quick start: it is slow to import.
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _finish(axes: Axes, title: str) -> None:
    axes.set_title(title, fontsize=10)
    axes.grid(color="0.9", which="major")
    axes.set_axisbelow(True)


def compute_figure(calibrated: Calibrated, table: Measured) -> Figure:
    """Return a figure like Figure 3: time and power of a computation block over the threads of a node."""
    figure = _figure(10)
    axes = figure.subplots(1, 2)
    for i, node in enumerate(calibrated.calibration.nodes):
        model, colour = calibrated.of_cluster(node.cluster), _COLOURS[i % len(_COLOURS)]
        operations, threads, time_s = table.of("compute", "fit", node.cluster)
        axes[0].plot(threads, 1e3 * time_s, color=colour, marker="o", linestyle="none", markersize=4)
        axes[0].plot(threads, 1e3 * model.compute_s(operations, threads), color=colour, label=node.cluster)
        if node.power is not None:
            counts, power_w = table.power_by_threads(node.cluster)
            axes[1].plot(counts, power_w, color=colour, marker="o", linestyle="none", markersize=4)
            axes[1].plot(counts, model.power_w(counts), color=colour, label=node.cluster)
    axes[0].set(xlabel="threads", ylabel="time, ms", ylim=(0, None))
    axes[0].legend(fontsize=9, title="cluster; points: measured")
    _finish(axes[0], f"{operations[0] / 1e6:g} million flop per thread")
    axes[1].set(xlabel="threads", ylabel="power of a node, W", ylim=(0, None))
    if axes[1].lines:
        axes[1].legend(fontsize=9, title="cluster; points: measured")
    else:
        axes[1].text(0.5, 0.5, "the platform has no power data", ha="center", transform=axes[1].transAxes)
    _finish(axes[1], "Power: energy of a block over its time")
    figure.suptitle(calibrated.calibration.name, fontsize=11)
    return figure


def messages_figure(calibrated: Calibrated, table: Measured) -> Figure:
    """Return a figure like Figure 4: point-to-point messages over sizes, barriers over processes."""
    paper, shapes = _families(calibrated)
    figure = _figure(10)
    left, right = figure.subplots(1, 2)
    far = calibrated.wires.far is not None
    sizes, _, time_s = table.of("p2p", "fit", "far" if far else "near")
    fine = np.geomspace(1, sizes.max(), 2000)
    left.plot(sizes, time_s, **_MEASURED)
    left.plot(fine, paper.communication_s("p2p", fine), **_TABLE)
    left.plot(fine, shapes.communication_s("p2p", fine), **_SHAPE, label="p2p-lines")
    left.set(xscale="log", yscale="log", xlabel="size, byte", ylabel="time, s")
    left.legend(fontsize=9)
    _finish(left, f"Point-to-point, {'between two clusters' if far else 'within a cluster'}")
    _, processes, time_s = table.of("barrier", "fit")
    counts = np.arange(2, processes.max() + 1)
    right.plot(processes, 1e6 * time_s, **_MEASURED)
    right.plot(counts, 1e6 * paper.communication_s("barrier", 0, counts), **_TABLE)
    right.plot(counts, 1e6 * shapes.communication_s("barrier", 0, counts), **_SHAPE, label="barrier-linear")
    right.set(xlabel="processes", ylabel="time, us")
    right.legend(fontsize=9)
    _finish(right, "Barrier")
    figure.suptitle(calibrated.calibration.name, fontsize=11)
    return figure


def bcast_figure(calibrated: Calibrated, table: Measured) -> Figure:
    """Return a figure like Figure 5: broadcasts over sizes and processes, and over the formula's factor of K."""
    from mpl_toolkits.mplot3d import Axes3D  # noqa: F401  registers the projection

    paper, shapes = _families(calibrated)
    figure = _figure(12, 5)
    space = figure.add_subplot(1, 2, 1, projection="3d")
    flat = figure.add_subplot(1, 2, 2)
    sizes, processes, time_s = table.of("bcast", "fit")
    grid_sizes, grid_processes = np.meshgrid(np.unique(sizes), np.unique(processes))
    for model, style in ((paper, {"color": "#D55E00"}), (shapes, {"color": "#0072B2"})):
        surface = model.communication_s("bcast", grid_sizes, grid_processes)
        surface = np.where(surface > 0, surface, np.nan)  # negative intercepts give times of 0
        space.plot_wireframe(
            np.log10(grid_sizes), grid_processes, np.log10(surface), linewidth=0.5, rstride=1, cstride=2, **style
        )
    space.plot(np.log10(sizes), processes, np.log10(time_s), color="black", marker="o", linestyle="none", markersize=2)
    space.set(xlabel="log10 size, byte", ylabel="processes", zlabel="log10 time, s")
    space.view_init(elev=22, azim=-125)
    space.set_box_aspect(None, zoom=0.9)
    space.set_title("black: measured; orange: Table 1; blue: bcast-binomial", fontsize=10)
    x = REGRESSORS["bcast"](sizes, processes, calibrated.calibration.D_tu_bytes)
    order = np.argsort(x)
    flat.plot(x, time_s, **_MEASURED)
    flat.plot(
        x, shapes.communication_s("bcast", sizes, processes),
        color="#0072B2", marker="x", linestyle="none", markersize=5, label="bcast-binomial",
    )  # fmt: skip
    flat.plot(x[order], np.asarray(paper.communication_s("bcast", sizes, processes))[order], **_TABLE)
    flat.set(xscale="log", yscale="log", xlabel="ceil(d / D_tu) D_tu log2 P, byte", ylabel="time, s")
    flat.legend(fontsize=9)
    _finish(flat, "Mapped to the formula's variable")
    figure.suptitle(f"{calibrated.calibration.name}: broadcast", fontsize=11)
    return figure


def collectives_figure(calibrated: Calibrated, table: Measured) -> Figure:
    """Return a figure of scatter, gather and all-to-all over the formula's factor of K, as Figure 5b of the paper."""
    paper, shapes = _families(calibrated)
    figure = _figure(14, 4.2)
    for axes, (block, variable) in zip(figure.subplots(1, 3), VARIABLES.items(), strict=True):
        sizes, processes, time_s = table.of(block, "fit")
        x = REGRESSORS[block](sizes, processes, calibrated.calibration.D_tu_bytes)
        order = np.argsort(x)
        axes.plot(x, time_s, **_MEASURED)
        axes.plot(
            x, shapes.communication_s(block, sizes, processes),
            color="#0072B2", marker="x", linestyle="none", markersize=5, label="shapes of the algorithms",
        )  # fmt: skip
        axes.plot(x[order], np.asarray(paper.communication_s(block, sizes, processes))[order], **_TABLE)
        axes.set(xscale="log", yscale="log", xlabel=f"{variable}, byte", ylabel="time, s")
        axes.legend(fontsize=8)
        _finish(axes, block)
    figure.suptitle(calibrated.calibration.name, fontsize=11)
    return figure


def disk_figure(calibrated: Calibrated, table: Measured) -> Figure:
    """Return a figure of reads from and writes to the disk over sizes."""
    paper, shapes = _families(calibrated)
    figure = _figure(10)
    for axes, block in zip(figure.subplots(1, 2), ("disk_read", "disk_write"), strict=True):
        sizes, _, time_s = table.of(block, "fit")
        fine = np.geomspace(1, sizes.max(), 500)
        axes.plot(sizes, time_s, **_MEASURED)
        axes.plot(fine, paper.communication_s(block, fine, 1), **_TABLE)
        axes.plot(fine, shapes.communication_s(block, fine, 1), **_SHAPE, label="line and network")
        axes.set(xscale="log", yscale="log", xlabel="size, byte", ylabel="time, s")
        axes.legend(fontsize=9)
        _finish(axes, block.replace("_", " "))
    figure.suptitle(calibrated.calibration.name, fontsize=11)
    return figure


def _families(calibrated: Calibrated) -> tuple[Calibrated, Calibrated]:
    return Calibrated(calibrated.calibration, "paper"), Calibrated(calibrated.calibration, "simgrid")
