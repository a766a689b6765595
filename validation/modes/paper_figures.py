"""The Li paper's Figures 6 and 7: the paper's measurements and lines beside ours, and IS predicted and simulated."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from platforms.plotting import charts
from platforms.plotting.charts import finish, legend_below, panels
from predictor.sends import tables as li_tables
from predictor.sends.send_model import Side
from predictor.sends.tables import INTEGER_BYTES
from validation.modes.machines import CLUSTERS
from validation.modes.paper import CLASSES, CLUSTER
from validation.modes.study import MODES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from validation.modes.paper import Paper

_STYLES = {Side.SENDER: ("#0072B2", "o"), Side.RECEIVER: ("#D55E00", "s")}  # colours of Okabe and Ito
_PREDICTED = {  # label, colour, marker and line
    "dpgraph:li": ("printed formula", "#D55E00", "s", "--"),
    "dpgraph:li-duplex": ("sends and receives overlap", "#0072B2", "^", "-"),
    "dpgraph:li-size": ("printed formula, from smaller classes", "#E69F00", "s", ":"),
    "dpgraph:li-size-duplex": ("overlap, from smaller classes", "#009E73", "v", ":"),
}


def figure_6(reproduction: Paper) -> Figure:
    """Return Figure 6: time by message length on cluster 1, a panel per mode, as published and as simulated."""
    cluster = CLUSTERS[CLUSTER]
    model, times_s = li_tables.model(cluster), li_tables.times_s(cluster)
    integers = [size / INTEGER_BYTES / 1e3 for size in li_tables.sizes_bytes()]
    simulated = reproduction.studies[CLUSTER].reproduced
    title = "Figure 6: communication time by message length, cluster 1"
    figure, places = panels(len(MODES), 2, 10, 7.5, title)
    for mode, axes in zip(MODES, places, strict=True):
        for side, (color, marker) in _STYLES.items():
            line = model.line(mode, side)
            ends = [0.0, 1.05 * integers[-1]]
            axes.plot(
                ends, [line.time_s(1e3 * INTEGER_BYTES * end) for end in ends], color="black", linewidth=0.8,
                linestyle="-" if side is Side.SENDER else "--", label=f"line of the paper's times, {side}",
            )  # fmt: skip
            axes.plot(
                integers, times_s[mode][side], linestyle="", marker=marker, markersize=9, markerfacecolor="none",
                color="black", markeredgewidth=0.7, label=f"paper, {side}",
            )  # fmt: skip
            part = simulated[(simulated["mode"] == mode.name.lower()) & (simulated["side"] == side.value)]
            axes.plot(
                part["integers"] / 1e3, part["simulated_s"], linestyle="", marker=marker, markersize=4.5, color=color,
                label=f"simulated, {side}",
            )  # fmt: skip
        axes.set_xlim(left=0)
        finish(axes, mode.name.lower(), xlabel="message length, thousands of integers", ylabel="time, s")
    legend_below(figure)
    return figure


def figure_7(reproduction: Paper) -> Figure:
    """Return Figure 7: the time of IS over the nodes of cluster 1, simulated and predicted, a panel per class."""
    table = reproduction.tables["figure-7"]
    title = "Figure 7: IS on cluster 1, predicted and simulated"
    figure, places = panels(len(CLASSES), len(CLASSES), 10, 4.6, title)
    for preset, axes in zip(CLASSES, places, strict=True):
        of_class = table[table["class"] == preset]
        true = of_class.drop_duplicates("nodes")
        axes.plot(
            true["nodes"], true["simulated_s"], color="black", marker="D", markerfacecolor="none", markersize=8,
            linewidth=0.8, label="simulated",
        )  # fmt: skip
        for name, (label, color, marker, style) in _PREDICTED.items():
            row = of_class[of_class["predictor"] == name]
            axes.plot(
                row["nodes"], row["predicted_s"], color=color, marker=marker, markersize=4, linewidth=1.1,
                linestyle=style, label=label,
            )  # fmt: skip
        axes.set_yscale("log", base=2)
        axes.yaxis.set_major_formatter("{x:g}")
        axes.set_xticks(sorted(set(true["nodes"])))
        finish(axes, f"class {preset}", xlabel="nodes", ylabel="time, s")
    legend_below(figure)
    return figure


def write_figures(reproduction: Paper, folder: Path) -> None:
    """Write ``figure-6`` and ``figure-7`` as .png and .svg.

    Raises:
        OSError: A file cannot be written.
    """
    figures = {"figure-6": figure_6(reproduction), "figure-7": figure_7(reproduction)}
    charts.write_figures(figures, folder, dpi=120)
