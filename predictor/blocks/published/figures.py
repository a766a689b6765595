"""Figures like Figures 3 to 5 of the paper from the formulas of Table 1 alone, for a published model.

The paper's measurements are printed as points in its figures only, so that the figures have no points.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from platforms.plotting.charts import Figure
from platforms.plotting.lines import Panel, Series, in_order, lines_figure
from platforms.plotting.styles import BLUE, GREEN, ORANGE, PINK, RED, dots, line
from predictor.blocks.drawing import LINE, OTHER, POWER, TIMES_BY_SIZE, broadcast_figure, wires, write_figures
from predictor.blocks.names import POWER_LAWS
from predictor.blocks.published.formulas import REGRESSORS, VARIABLES, TableModel, published

OPERATIONS = 11e6  # of a thread, as in Figure 3a
NODES = {"galera+": 192, "galera": 672, "kask": 10}  # of the clusters, section 5
_SIZES = tuple(float(2**power) for power in range(25))  # 1 B to 16 MB, as a calibration measures
_COLOURS = (BLUE, GREEN, ORANGE, RED, PINK)


def write_published_figures(name: str, folder: Path, option: str) -> list[Path]:
    """Write the figures of a published model.

    Args:
        name: galera+, galera or kask.
        folder: Folder that the files are written into; it is made if it is absent.
        option: The option that names the folder, for error messages.

    Returns:
        The written files: compute, messages, bcast, collectives and disk, as PNG.

    Raises:
        UserError: The model is unknown, or a file cannot be written.
    """
    model = published(name)
    figures = {
        "compute": compute_figure(model),
        "messages": messages_figure(model),
        "bcast": bcast_figure(model),
        "collectives": collectives_figure(model),
        "disk": disk_figure(model),
    }
    return write_figures(figures, folder, option)


def compute_figure(model: TableModel) -> Figure:
    """Return a figure like Figure 3: time and power of a computation block over the threads of a node."""
    cores = model.parameters.compute
    assert cores is not None  # every published model has it
    threads = np.arange(1, int(2 * cores.P_hi) + 1)
    times_ms = 1e3 * np.asarray(model.compute_s(OPERATIONS, threads))
    limits = f"lines: P_low = {cores.P_low:g}, P_hi = {cores.P_hi:g}"
    time = Panel(
        title=f"{OPERATIONS / 1e6:g} million operations per thread; {limits}", x="threads", y="time, ms",
        y_ends=(0, None), drawn=[Series(threads, times_ms, dots(BLUE, ".", 6))],
        upright=(cores.P_low + 0.5, cores.P_hi + 0.5),
    )  # fmt: skip
    if model.parameters.power is None:
        return lines_figure([time, Panel(empty="the paper has no power of this cluster")], 2, 10, 4, _title(model))
    active = np.r_[0, threads]
    laws = [
        Series(active, TableModel(model.parameters, law).power_w(active), look, law)
        for law, look in zip(POWER_LAWS, (LINE, OTHER), strict=True)
    ]
    power = Panel(title="Power", drawn=laws, legend={"title": "--power-law"}, **POWER)
    return lines_figure([time, power], 2, 10, 4, _title(model))


def messages_figure(model: TableModel) -> Figure:
    """Return a figure like Figure 4: point-to-point messages over sizes, barriers over nodes."""
    sizes, nodes = np.geomspace(1, _SIZES[-1], 2000), np.arange(2, NODES[model.name] + 1)
    barriers_us = 1e6 * np.asarray(model.communication_s("barrier", 0, nodes))
    alone = Series(sizes, model.communication_s("p2p", sizes), LINE)
    barrier = Panel(
        title="Barrier", x="nodes", y="time, us", y_ends=(0, None), drawn=[Series(nodes, barriers_us, LINE)]
    )
    charts = [Panel(title="Point-to-point", drawn=[alone], **TIMES_BY_SIZE), barrier]
    return lines_figure(charts, 2, 10, 4, _title(model))


def bcast_figure(model: TableModel) -> Figure:
    """Return a figure like Figure 5: broadcasts over sizes and nodes, and over the formula's factor of K."""
    sizes, nodes = np.meshgrid(_SIZES, _counts(model))
    times_s = np.asarray(model.communication_s("bcast", sizes, nodes))
    x = REGRESSORS["bcast"](sizes, nodes, model.parameters.D_tu_bytes)
    mapped = in_order(x.ravel(), times_s.ravel(), LINE)
    net = wires(sizes, np.log2(nodes), times_s, BLUE)
    return broadcast_figure(_title(model), [net], [mapped], said="Broadcast", y="log2 nodes")


def collectives_figure(model: TableModel) -> Figure:
    """Return a figure of scatter, gather and all-to-all over sizes, a line for each of several numbers of nodes."""
    charts, counts = [], _counts(model)
    for block, variable in VARIABLES.items():
        lines = [
            Series(_SIZES, model.communication_s(block, _SIZES, nodes), line(color), f"{nodes} nodes")
            for nodes, color in zip(counts[:: max(1, len(counts) // 4)], _COLOURS, strict=False)
        ]
        doubt = "\n(doubtful, docs/predictors/blocks.md)" if model.cautions.get(block) else ""
        title = f"{block}, t = T + K {variable}{doubt}"
        charts.append(Panel(title=title, drawn=lines, legend={"fontsize": 8}, **TIMES_BY_SIZE | {"x": "d, byte"}))
    return lines_figure(charts, 3, 14, 4.2, _title(model))


def disk_figure(model: TableModel) -> Figure:
    """Return a figure of reads from and writes to the network disk over sizes."""
    sizes = np.geomspace(1, 1e9, 2000)
    lines = [
        Series(sizes, model.communication_s(block, sizes, 1), look, block.replace("_", " "))
        for block, look in (("disk_read", LINE), ("disk_write", OTHER))
    ]
    return lines_figure([Panel(title="Network disk", drawn=lines, legend={}, **TIMES_BY_SIZE)], 1, 7, 4, _title(model))


def _counts(model: TableModel) -> list[int]:
    """Return numbers of nodes, 2, 4, 8, ... and all of the cluster."""
    most = NODES[model.name]
    return [*(2**i for i in range(1, most.bit_length()) if 2**i < most), most]


def _title(model: TableModel) -> str:
    return f"{model.name}: formulas of Table 1, parameters of Table 3"
