"""Figures of time by message length with the fitted lines, as in the Li paper's Figure 6, and down to one byte."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from apps.recording.events import Mode
from platforms.plotting import charts as files
from platforms.plotting.charts import Figure
from platforms.plotting.lines import Band, Panel, Series, lines_figure, through
from platforms.plotting.styles import BLUE, RED, dots, line
from predictor.sends.send_model import Side
from predictor.sends.tables import INTEGER_BYTES
from validation.modes.study import MODES, Study

if TYPE_CHECKING:
    import pandas as pd

_STYLES = {Side.SENDER: (BLUE, "o", "-"), Side.RECEIVER: (RED, "s", "--")}


def length_figure(study: Study) -> Figure:
    """Plot simulated and published times of both processes, s, over thousands of integers, with a panel per mode."""
    reach, charts = max(study.predicted["size_bytes"]), []
    for mode in MODES:
        drawn = []
        for side, (color, marker, dash) in _STYLES.items():
            law = study.model.line(mode, side)
            fitted, others = _rows(study.reproduced, mode, side), _rows(study.predicted, mode, side)
            integers = np.array([*fitted["integers"], *(others["size_bytes"] / INTEGER_BYTES)])
            simulated_s = [*fitted["simulated_s"], *others["simulated_s"]]
            ends = [0, reach / INTEGER_BYTES / 1e3], [law.time_s(0), law.time_s(reach)]
            hollow = dots("black", marker, 9, hollow=True)
            drawn += [
                Series(*ends, line(color, dash, 1), f"line, {side}"),
                Series(integers / 1e3, simulated_s, dots(color, marker), f"simulated, {side}"),
                Series(fitted["integers"] / 1e3, fitted["published_s"], hollow, f"published, {side}"),
            ]
        charts.append(_panel(mode, drawn, x="message length, thousands of integers", x_ends=(0, None)))
    title = f"{study.cluster}: time of a message by its length, simulated, published and fitted"
    return lines_figure(charts, 2, 10, 7.5, title, below=True)


def small_figure(study: Study) -> Figure:
    """Plot simulated times from 1 byte to 8 MB and the lines on logarithmic axes, with a panel per mode."""
    sizes, charts = [10 ** (k / 20) for k in range(140)], []
    for mode in MODES:
        from_bytes = min(study.model.line(mode, Side.SENDER).sizes_bytes)
        drawn: list[Series | Band] = [Band([from_bytes, 4e6], [2e-5] * 2, [2] * 2, "0.92", alpha=1)]
        for side, (color, marker, dash) in _STYLES.items():
            tables = [_rows(table, mode, side) for table in (study.small, study.predicted, study.reproduced)]
            size = [*tables[0]["size_bytes"], *tables[1]["size_bytes"], *(INTEGER_BYTES * tables[2]["integers"])]
            time_s = [time_s for table in tables for time_s in table["simulated_s"]]
            drawn.append(Series(size, time_s, dots(color, marker, 4), f"simulated, {side}"))
            law = study.model.line(mode, side)
            above = [(n, law.time_s(n)) for n in sizes if law.time_s(n) > 0]  # only positive times have a logarithm
            drawn.append(through(above, line(color, dash, 1), f"line, {side}"))
        charts.append(_panel(mode, drawn, x="message length, bytes", log="xy", y_ends=(2e-5, 2)))
    title = f"{study.cluster}: lines fitted on 0.4 to 4 MB (grey), down to one byte"
    return lines_figure(charts, 2, 10, 7.5, title, below=True)


def _panel(mode: Mode, drawn: Sequence[Series | Band], **more: Any) -> Panel:
    return Panel(title=mode.name.lower(), y="time, s", drawn=drawn, **more)


def write_figures(study: Study, folder: Path) -> list[Path]:
    """Write ``CLUSTER-length`` and ``CLUSTER-small`` as .png and .svg and return their paths.

    Raises:
        OSError: A file cannot be written.
    """
    figures = {"length": length_figure(study), "small": small_figure(study)}
    return files.write_figures({f"{study.cluster}-{name}": made for name, made in figures.items()}, folder, dpi=120)


def _rows(table: pd.DataFrame, mode: Mode, side: Side) -> pd.DataFrame:
    return table[(table["mode"] == mode.name.lower()) & (table["side"] == side.value)]
