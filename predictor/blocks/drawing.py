"""Common parts of the figures of blocks: of published formulas, of measured samples and of calibrations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from platforms.files.writing import usable_folder
from platforms.plotting.charts import Figure, new_figure
from platforms.plotting.lines import Panel, Series, draw
from platforms.plotting.pictures import write_picture
from platforms.plotting.styles import BLUE, RED, dots, line
from platforms.plotting.surface import Curve, Surface, draw_surfaces

MEASURED, LINE, OTHER = dots("black", size=4), line(BLUE), line(RED, "--")
TIMES_BY_SIZE: dict[str, Any] = {"log": "xy", "x": "size, byte", "y": "time, s"}
POWER: dict[str, Any] = {"x": "active threads", "y": "power of a node, W", "y_ends": (0, None)}
_MAPPED: dict[str, Any] = {"log": "xy", "x": "ceil(d / D_tu) D_tu log2 P, byte", "y": "time, s"}


def write_figures(figures: Mapping[str, Figure], folder: Path, option: str) -> list[Path]:
    """Write figures as PNG into a folder, which is made if it is absent, and return the files.

    Raises:
        UserError: A file cannot be written; it names the option.
    """
    usable_folder(option, str(folder))
    paths = {folder / f"{name}.png": figure for name, figure in figures.items()}
    for path, figure in paths.items():
        write_picture(option, path, figure)
    return list(paths)


def wires(sizes: Any, processes: Any, times_s: Any, color: str) -> Surface:
    """Return the net of a formula's times over sizes in bytes, both logarithmic; times of 0 are left out."""
    shown = np.where(times_s > 0, times_s, np.nan)  # negative intercepts give times of 0
    return Surface(x=np.log10(sizes), y=processes, z=np.log10(shown), wires=color)


def broadcast_figure(
    title: str, drawn: Sequence[Surface | Curve], mapped: Sequence[Series], *, said: str, y: str = "processes"
) -> Figure:
    """Return a figure like Figure 5: broadcasts over sizes and processes, and over the formula's factor of K.

    Args:
        title: Title above both.
        drawn: Logarithms of times over those of sizes and over processes.
        mapped: Times over the factor.
        said: Title of the part in space.
        y: Label of its axis of processes.
    """
    figure = new_figure(12, 5, title)
    labels = {"x": "log10 size, byte", "y": y, "z": "log10 time, s"}
    draw_surfaces(figure, (1, 2, 1), drawn, title=said, **labels, from_deg=(22, -125))
    flat = Panel(title="Mapped to the formula's variable", drawn=mapped, legend={}, **_MAPPED)
    draw(figure.add_subplot(1, 2, 2), flat)
    return figure
