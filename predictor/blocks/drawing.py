"""Common parts of the figures of blocks, those of formulas and those of calibrations."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from platforms.files.writing import usable_folder, write_picture
from platforms.plotting.axes import space

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOGARITHMIC: dict[str, Any] = {"xscale": "log", "yscale": "log"}
TIMES_BY_SIZE = LOGARITHMIC | {"xlabel": "size, byte", "ylabel": "time, s"}
MAPPED = LOGARITHMIC | {"xlabel": "ceil(d / D_tu) D_tu log2 P, byte", "ylabel": "time, s"}  # of a broadcast


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


def broadcast_axes(figure: Figure, title: str, ylabel: str) -> tuple[Any, Axes]:
    """Return axes in space, for broadcasts over sizes and processes, and flat ones beside them."""
    log: dict[str, Any] = {"xlabel": "log10 size, byte", "ylabel": ylabel, "zlabel": "log10 time, s"}
    axes = space(figure, (1, 2, 1), elev=22, **log)
    axes.set_title(title, fontsize=10)
    return axes, figure.add_subplot(1, 2, 2)
