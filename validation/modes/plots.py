"""Figures of time by message length with the fitted lines, as in the Li paper's Figure 6, and down to one byte."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from apps.recording.events import Mode
from platforms.plotting import charts
from platforms.plotting.charts import finish, legend_below, panels
from predictor.sends.send_model import Side
from predictor.sends.tables import INTEGER_BYTES
from validation.modes.study import MODES, Study

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_STYLES = {Side.SENDER: ("#0072B2", "o", "-"), Side.RECEIVER: ("#D55E00", "s", "--")}  # colours of Okabe and Ito


def length_figure(study: Study) -> Figure:
    """Plot simulated and published times of both processes, s, over thousands of integers, with a panel per mode."""
    figure, places = panels(
        len(MODES), 2, 10, 7.5, f"{study.cluster}: time of a message by its length, simulated, published and fitted"
    )
    reach = max(study.predicted["size_bytes"])
    for mode, axes in zip(MODES, places, strict=True):
        for side, (color, marker, style) in _STYLES.items():
            line = study.model.line(mode, side)
            axes.plot(
                [0, reach / INTEGER_BYTES / 1e3], [line.time_s(0), line.time_s(reach)], color=color, linestyle=style,
                linewidth=1, label=f"line, {side}",
            )  # fmt: skip
            fitted, others = _rows(study.reproduced, mode, side), _rows(study.predicted, mode, side)
            x = [*fitted["integers"], *(others["size_bytes"] / INTEGER_BYTES)]
            axes.plot(
                [n / 1e3 for n in x], [*fitted["simulated_s"], *others["simulated_s"]], color=color, marker=marker,
                linestyle="", markersize=5, label=f"simulated, {side}",
            )  # fmt: skip
            axes.plot(
                fitted["integers"] / 1e3, fitted["published_s"], color="black", marker=marker, linestyle="",
                markersize=9, markerfacecolor="none", markeredgewidth=0.7, label=f"published, {side}",
            )  # fmt: skip
        axes.set_xlim(left=0)
        finish(axes, mode.name.lower(), xlabel="message length, thousands of integers", ylabel="time, s")
    legend_below(figure)
    return figure


def small_figure(study: Study) -> Figure:
    """Plot simulated times from 1 byte to 8 MB and the lines on logarithmic axes, with a panel per mode."""
    figure, places = panels(
        len(MODES), 2, 10, 7.5, f"{study.cluster}: lines fitted on 0.4 to 4 MB (grey), down to one byte"
    )
    for mode, axes in zip(MODES, places, strict=True):
        axes.axvspan(min(study.model.line(mode, Side.SENDER).sizes_bytes), 4e6, color="0.92")
        for side, (color, marker, style) in _STYLES.items():
            rows = [_rows(study.small, mode, side), _rows(study.predicted, mode, side)]
            fitted = _rows(study.reproduced, mode, side)
            size = [*rows[0]["size_bytes"], *rows[1]["size_bytes"], *(INTEGER_BYTES * fitted["integers"])]
            time_s = [*rows[0]["simulated_s"], *rows[1]["simulated_s"], *fitted["simulated_s"]]
            axes.plot(size, time_s, color=color, marker=marker, linestyle="", markersize=4, label=f"simulated, {side}")
            line = study.model.line(mode, side)
            points = [10 ** (k / 20) for k in range(140)]
            above = [(n, line.time_s(n)) for n in points if line.time_s(n) > 0]  # only positive times have a logarithm
            axes.plot(*zip(*above, strict=True), color=color, linestyle=style, linewidth=1, label=f"line, {side}")
        axes.set(xscale="log", yscale="log", ylim=(2e-5, 2))
        finish(axes, mode.name.lower(), xlabel="message length, bytes", ylabel="time, s")
    legend_below(figure)
    return figure


def write_figures(study: Study, folder: Path) -> list[Path]:
    """Write ``CLUSTER-length`` and ``CLUSTER-small`` as .png and .svg and return their paths.

    Raises:
        OSError: A file cannot be written.
    """
    figures = {"length": length_figure(study), "small": small_figure(study)}
    return charts.write_figures({f"{study.cluster}-{name}": made for name, made in figures.items()}, folder, dpi=120)


def _rows(table: pd.DataFrame, mode: Mode, side: Side) -> pd.DataFrame:
    return table[(table["mode"] == mode.name.lower()) & (table["side"] == side.value)]
