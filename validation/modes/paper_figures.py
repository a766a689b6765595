"""The Li paper's Figures 6 and 7: the paper's measurements and lines beside ours, and IS predicted and simulated."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from platforms.plotting import charts as files
from platforms.plotting.charts import Figure
from platforms.plotting.lines import Panel, Series, lines_figure
from platforms.plotting.styles import BLUE, GREEN, ORANGE, RED, dots, line
from predictor.sends import tables as li_tables
from predictor.sends.send_model import Side
from predictor.sends.tables import INTEGER_BYTES
from validation.modes.machines import CLUSTERS
from validation.modes.paper import CLASSES, CLUSTER
from validation.modes.study import MODES

if TYPE_CHECKING:
    from validation.modes.paper import Paper

_STYLES = {Side.SENDER: (BLUE, "o", "-"), Side.RECEIVER: (RED, "s", "--")}
_PREDICTED = {  # label and look
    "dpgraph:li": ("printed formula", dots(RED, "s", 4) | line(RED, "--", 1.1)),
    "dpgraph:li-duplex": ("sends and receives overlap", dots(BLUE, "^", 4) | line(BLUE, "-", 1.1)),
    "dpgraph:li-size": ("printed formula, from smaller classes", dots(ORANGE, "s", 4) | line(ORANGE, ":", 1.1)),
    "dpgraph:li-size-duplex": ("overlap, from smaller classes", dots(GREEN, "v", 4) | line(GREEN, ":", 1.1)),
}
_SIMULATED = dots("black", "D", 8, hollow=True) | line("black", width=0.8)


def figure_6(reproduction: Paper) -> Figure:
    """Return Figure 6: time by message length on cluster 1, a panel per mode, as published and as simulated."""
    cluster = CLUSTERS[CLUSTER]
    model, times_s = li_tables.model(cluster), li_tables.times_s(cluster)
    integers = [size / INTEGER_BYTES / 1e3 for size in li_tables.sizes_bytes()]
    simulated, charts = reproduction.studies[CLUSTER].reproduced, []
    ends = [0.0, 1.05 * integers[-1]]
    for mode in MODES:
        drawn = []
        for side, (color, marker, dash) in _STYLES.items():
            law = model.line(mode, side)
            law_s = [law.time_s(1e3 * INTEGER_BYTES * end) for end in ends]
            part = simulated[(simulated["mode"] == mode.name.lower()) & (simulated["side"] == side.value)]
            drawn += [
                Series(ends, law_s, line("black", dash, 0.8), f"line of the paper's times, {side}"),
                Series(integers, times_s[mode][side], dots("black", marker, 9, hollow=True), f"paper, {side}"),
                Series(part["integers"] / 1e3, part["simulated_s"], dots(color, marker, 4.5), f"simulated, {side}"),
            ]
        x = "message length, thousands of integers"
        charts.append(Panel(title=mode.name.lower(), x=x, y="time, s", x_ends=(0, None), drawn=drawn))
    title = "Figure 6: communication time by message length, cluster 1"
    return lines_figure(charts, 2, 10, 7.5, title, below=True)


def figure_7(reproduction: Paper) -> Figure:
    """Return Figure 7: the time of IS over the nodes of cluster 1, simulated and predicted, a panel per class."""
    table, charts = reproduction.tables["figure-7"], []
    for preset in CLASSES:
        of_class = table[table["class"] == preset]
        true = of_class.drop_duplicates("nodes")
        drawn = [Series(true["nodes"], true["simulated_s"], _SIMULATED, "simulated")]
        for name, (label, look) in _PREDICTED.items():
            row = of_class[of_class["predictor"] == name]
            drawn.append(Series(row["nodes"], row["predicted_s"], look, label))
        nodes = {float(count): str(count) for count in sorted(set(true["nodes"]))}
        charts.append(Panel(title=f"class {preset}", x="nodes", y="time, s", log="y", x_ticks=nodes, drawn=drawn))
    title = "Figure 7: IS on cluster 1, predicted and simulated"
    return lines_figure(charts, len(CLASSES), 10, 4.6, title, below=True)


def write_figures(reproduction: Paper, folder: Path) -> None:
    """Write ``figure-6`` and ``figure-7`` as .png and .svg.

    Raises:
        OSError: A file cannot be written.
    """
    figures = {"figure-6": figure_6(reproduction), "figure-7": figure_7(reproduction)}
    files.write_figures(figures, folder, dpi=120)
