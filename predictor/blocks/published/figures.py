"""Figures like Figures 3 to 5 of the paper from the formulas of Table 1 alone, for a published model.

The paper's measurements are printed as points in its figures only, so that the figures have no points.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from platforms.plotting.axes import say_empty
from platforms.plotting.charts import finish, new_figure, panels
from predictor.blocks.drawing import MAPPED, TIMES_BY_SIZE, broadcast_axes, write_figures
from predictor.blocks.names import POWER_LAWS
from predictor.blocks.published.formulas import REGRESSORS, VARIABLES, TableModel, published

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OPERATIONS = 11e6  # of a thread, as in Figure 3a
NODES = {"galera+": 192, "galera": 672, "kask": 10}  # of the clusters, section 5
_SIZES = tuple(float(2**power) for power in range(25))  # 1 B to 16 MB, as a calibration measures
_LINE: dict[str, Any] = {"color": "#0072B2", "linewidth": 1.4}
_OTHER: dict[str, Any] = {"color": "#D55E00", "linewidth": 1.4, "linestyle": "--"}
_COLOURS = ("#0072B2", "#009E73", "#E69F00", "#D55E00", "#CC79A7")


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
    figure, (left, right) = panels(2, 2, 10, 4, _title(model))
    cores = model.parameters.compute
    assert cores is not None  # every published model has it
    threads = np.arange(1, int(2 * cores.P_hi) + 1)
    left.plot(threads, 1e3 * np.asarray(model.compute_s(OPERATIONS, threads)), ".", **_LINE)
    for limit, text in ((cores.P_low, "P_low"), (cores.P_hi, "P_hi")):
        left.axvline(limit + 0.5, color="0.7", linewidth=0.8)
        left.annotate(f"{text} = {limit:g}", (limit + 0.5, 0), xytext=(2, 4), textcoords="offset points", fontsize=8)
    title = f"{OPERATIONS / 1e6:g} million operations per thread"
    finish(left, title, xlabel="threads", ylabel="time, ms", ylim=(0, None))
    if model.parameters.power is None:
        say_empty(right, "the paper has no power of this cluster")
        right.set_axis_off()
        return figure
    for law, style in zip(POWER_LAWS, (_LINE, _OTHER), strict=True):
        watts = TableModel(model.parameters, law).power_w(np.r_[0, threads])
        right.plot(np.r_[0, threads], watts, label=law, **style)
    legend = {"title": "--power-law"}
    finish(right, "Power", legend=legend, xlabel="active threads", ylabel="power of a node, W", ylim=(0, None))
    return figure


def messages_figure(model: TableModel) -> Figure:
    """Return a figure like Figure 4: point-to-point messages over sizes, barriers over nodes."""
    figure, (left, right) = panels(2, 2, 10, 4, _title(model))
    fine = np.geomspace(1, _SIZES[-1], 2000)
    left.plot(fine, model.communication_s("p2p", fine), **_LINE)
    finish(left, "Point-to-point", **TIMES_BY_SIZE)
    nodes = np.arange(2, NODES[model.name] + 1)
    right.plot(nodes, 1e6 * np.asarray(model.communication_s("barrier", 0, nodes)), **_LINE)
    finish(right, "Barrier", xlabel="nodes", ylabel="time, us", ylim=(0, None))
    return figure


def bcast_figure(model: TableModel) -> Figure:
    """Return a figure like Figure 5: broadcasts over sizes and nodes, and over the formula's factor of K."""
    figure = new_figure(12, 5, _title(model))
    space, flat = broadcast_axes(figure, "Broadcast", "log2 nodes")
    sizes, nodes = np.meshgrid(_SIZES, _counts(model))
    times_s = np.asarray(model.communication_s("bcast", sizes, nodes))
    shown = np.where(times_s > 0, times_s, np.nan)  # negative intercepts give times of 0
    space.plot_wireframe(
        np.log10(sizes), np.log2(nodes), np.log10(shown), linewidth=0.6, rstride=1, cstride=2, color="#0072B2"
    )
    x = REGRESSORS["bcast"](sizes, nodes, model.parameters.D_tu_bytes).ravel()
    order = np.argsort(x)
    flat.plot(x[order], times_s.ravel()[order], **_LINE)
    finish(flat, "Mapped to the formula's variable", **MAPPED)
    return figure


def collectives_figure(model: TableModel) -> Figure:
    """Return a figure of scatter, gather and all-to-all over sizes, a line for each of several numbers of nodes."""
    figure, parts = panels(3, 3, 14, 4.2, _title(model))
    for axes, block in zip(parts, VARIABLES, strict=True):
        counts = _counts(model)
        for nodes, colour in zip(counts[:: max(1, len(counts) // 4)], _COLOURS, strict=False):
            axes.plot(_SIZES, model.communication_s(block, _SIZES, nodes), color=colour, label=f"{nodes} nodes")
        doubt = "\n(doubtful, docs/predictors/blocks.md)" if model.cautions.get(block) else ""
        title = f"{block}, t = T + K {VARIABLES[block]}{doubt}"
        finish(axes, title, legend={"fontsize": 8}, **TIMES_BY_SIZE | {"xlabel": "d, byte"})
    return figure


def disk_figure(model: TableModel) -> Figure:
    """Return a figure of reads from and writes to the network disk over sizes."""
    figure, (axes,) = panels(1, 1, 7, 4, _title(model))
    fine = np.geomspace(1, 1e9, 2000)
    for block, style in (("disk_read", _LINE), ("disk_write", _OTHER)):
        axes.plot(fine, model.communication_s(block, fine, 1), label=block.replace("_", " "), **style)
    finish(axes, "Network disk", legend={}, **TIMES_BY_SIZE)
    return figure


def _counts(model: TableModel) -> list[int]:
    """Return numbers of nodes, 2, 4, 8, ... and all of the cluster."""
    most = NODES[model.name]
    return [*(2**i for i in range(1, most.bit_length()) if 2**i < most), most]


def _title(model: TableModel) -> str:
    return f"{model.name}: formulas of Table 1, parameters of Table 3"
