"""Figures like Figures 3 to 5 of the paper: measured blocks, Table 1's formulas and the shapes of the algorithms."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from platforms.plotting.charts import Figure
from platforms.plotting.lines import Panel, Series, in_order, lines_figure
from platforms.plotting.styles import BLUE, GREEN, ORANGE, PINK, RED, SKY, dots, line
from platforms.plotting.surface import Curve, Surface
from predictor.blocks.calibration.calibrate import Measured
from predictor.blocks.calibration.calibrated import Calibrated
from predictor.blocks.drawing import LINE, MEASURED, OTHER, POWER, TIMES_BY_SIZE, broadcast_figure, wires
from predictor.blocks.drawing import write_figures as written
from predictor.blocks.published.formulas import REGRESSORS, VARIABLES

_TABLE = "formula of Table 1"
_COLOURS = (BLUE, RED, GREEN, PINK, ORANGE, SKY, "#999999")


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
    times: list[Series] = []
    watts: list[Series] = []
    for i, node in enumerate(calibrated.calibration.nodes):
        model, color = calibrated.of_cluster(node.cluster), _COLOURS[i % len(_COLOURS)]
        operations, threads, time_s = table.of("compute", "fit", node.cluster)
        points, fitted = dots(color, size=4), line(color)
        times += [
            Series(threads, 1e3 * time_s, points),
            Series(threads, 1e3 * model.compute_s(operations, threads), fitted, node.cluster),
        ]
        if node.power is not None:
            counts, power_w = table.power_by_threads(node.cluster)
            watts += [Series(counts, power_w, points), Series(counts, model.power_w(counts), fitted, node.cluster)]
    legend = {"title": "cluster; points: measured"}
    title = f"{operations[0] / 1e6:g} million flop per thread"
    time = Panel(title=title, drawn=times, legend=legend, x="threads", y="time, ms", y_ends=(0, None))
    empty, said = "the platform has no power data", "Power: energy of a block over its time"
    power = Panel(title=said, drawn=watts, legend=legend, empty=empty, **POWER | {"x": "threads"})
    return lines_figure([time, power], 2, 10, 4, calibrated.calibration.name)


def messages_figure(calibrated: Calibrated, table: Measured) -> Figure:
    """Return a figure like Figure 4: point-to-point messages over sizes, barriers over processes."""
    paper, shapes = _families(calibrated)
    far = calibrated.wires.far is not None
    sizes, _, time_s = table.of("p2p", "fit", "far" if far else "near")
    alone = Panel(
        title=f"Point-to-point, {'between two clusters' if far else 'within a cluster'}", legend={},
        drawn=_over_sizes(calibrated, "p2p", sizes, time_s, "p2p-lines"), **TIMES_BY_SIZE,
    )  # fmt: skip
    _, processes, time_s = table.of("barrier", "fit")
    counts = np.arange(2, processes.max() + 1)
    drawn = [
        Series(processes, 1e6 * time_s, MEASURED, "measured"),
        Series(counts, 1e6 * paper.communication_s("barrier", 0, counts), OTHER, _TABLE),
        Series(counts, 1e6 * shapes.communication_s("barrier", 0, counts), LINE, "barrier-linear"),
    ]
    barrier = Panel(title="Barrier", drawn=drawn, legend={}, x="processes", y="time, us")
    return lines_figure([alone, barrier], 2, 10, 4, calibrated.calibration.name)


def bcast_figure(calibrated: Calibrated, table: Measured) -> Figure:
    """Return a figure like Figure 5: broadcasts over sizes and processes, and over the formula's factor of K."""
    sizes, processes, time_s = table.of("bcast", "fit")
    x, y = np.meshgrid(np.unique(sizes), np.unique(processes))
    drawn: list[Surface | Curve] = [
        wires(x, y, model.communication_s("bcast", x, y), color)
        for model, color in zip(_families(calibrated), (RED, BLUE), strict=True)
    ]
    drawn.append(Curve(np.log10(sizes), processes, np.log10(time_s), dots("black", size=2)))
    mapped = _over_the_variable(calibrated, table, "bcast", "bcast-binomial")
    said = "black: measured; orange: Table 1; blue: bcast-binomial"
    return broadcast_figure(f"{calibrated.calibration.name}: broadcast", drawn, mapped, said=said)


def collectives_figure(calibrated: Calibrated, table: Measured) -> Figure:
    """Return a figure of scatter, gather and all-to-all over the formula's factor of K, as Figure 5b of the paper."""
    charts = [
        Panel(
            title=block, drawn=_over_the_variable(calibrated, table, block, "shapes of the algorithms"), log="xy",
            legend={"fontsize": 8}, x=f"{variable}, byte", y="time, s",
        )
        for block, variable in VARIABLES.items()
    ]  # fmt: skip
    return lines_figure(charts, 3, 14, 4.2, calibrated.calibration.name)


def disk_figure(calibrated: Calibrated, table: Measured) -> Figure:
    """Return a figure of reads from and writes to the disk over sizes."""
    charts = []
    for block in ("disk_read", "disk_write"):
        sizes, _, time_s = table.of(block, "fit")
        drawn = _over_sizes(calibrated, block, sizes, time_s, "line and network")
        charts.append(Panel(title=block.replace("_", " "), drawn=drawn, legend={}, **TIMES_BY_SIZE))
    return lines_figure(charts, 2, 10, 4, calibrated.calibration.name)


def _over_sizes(calibrated: Calibrated, block: str, sizes: np.ndarray, time_s: np.ndarray, label: str) -> list[Series]:
    """Return measured times and both formulas over sizes."""
    fine = np.geomspace(1, sizes.max(), 2000)
    paper, shapes = _families(calibrated)
    return [
        Series(sizes, time_s, MEASURED, "measured"),
        Series(fine, paper.communication_s(block, fine), OTHER, _TABLE),
        Series(fine, shapes.communication_s(block, fine), LINE, label),
    ]


def _over_the_variable(calibrated: Calibrated, table: Measured, block: str, label: str) -> list[Series]:
    """Return measured times and both formulas of a collective over Table 1's factor of K."""
    paper, shapes = _families(calibrated)
    sizes, processes, time_s = table.of(block, "fit")
    x = REGRESSORS[block](sizes, processes, calibrated.calibration.D_tu_bytes)
    return [
        Series(x, time_s, MEASURED, "measured"),
        Series(x, shapes.communication_s(block, sizes, processes), dots(BLUE, "x"), label),
        in_order(x, paper.communication_s(block, sizes, processes), OTHER, _TABLE),
    ]


def _families(calibrated: Calibrated) -> tuple[Calibrated, Calibrated]:
    return Calibrated(calibrated.calibration, "paper"), Calibrated(calibrated.calibration, "simgrid")
