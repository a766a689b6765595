"""Common parts of the figures of blocks, those of formulas and those of calibrations."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from platforms.files.writing import usable_folder, write_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOGARITHMIC: dict[str, Any] = {"xscale": "log", "yscale": "log"}
TIMES_BY_SIZE = LOGARITHMIC | {"xlabel": "size, byte", "ylabel": "time, s"}
MAPPED = LOGARITHMIC | {"xlabel": "ceil(d / D_tu) D_tu log2 P, byte", "ylabel": "time, s"}  # of a broadcast


def write_figures(figures: Mapping[str, Figure], folder: Path, option: str) -> list[Path]:
    """Write figures as PNG, each completely or not at all, and return the files.

    Args:
        figures: The figures, by the name of the file without its ending.
        folder: Folder that the files are written into; it is made if it is absent.
        option: The option that names the folder, for error messages.

    Raises:
        UserError: A file cannot be written.
    """
    usable_folder(option, str(folder))
    written = []
    for name, figure in figures.items():
        path = folder / f"{name}.png"
        write_picture(option, path, figure)
        written.append(path)
    return written


def new_figure(title: str, width: float, height: float = 4.0) -> Figure:
    """Return an empty figure of this size in inches."""
    # Imported here for a quick start: it is slow to import.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    figure.suptitle(title, fontsize=11)
    return figure


def finish(axes: Axes, title: str, *, legend: Mapping[str, Any] | None = None, **properties: Any) -> None:
    """Set the title and other properties of axes, and add a grid, and a legend if it is asked for."""
    axes.set(**properties)
    if legend is not None:
        axes.legend(**{"fontsize": 9, **legend})
    axes.set_title(title, fontsize=10)
    axes.grid(color="0.9", which="major")
    axes.set_axisbelow(True)


def broadcast_axes(figure: Figure, title: str, ylabel: str) -> tuple[Any, Axes]:
    """Return axes in space, for broadcasts over sizes and processes, and flat ones beside them."""
    from mpl_toolkits.mplot3d import Axes3D  # noqa: F401  registers the projection

    space: Any = figure.add_subplot(1, 2, 1, projection="3d")
    space.set(xlabel="log10 size, byte", ylabel=ylabel, zlabel="log10 time, s")
    space.view_init(elev=22, azim=-125)
    space.set_box_aspect(None, zoom=0.9)
    space.set_title(title, fontsize=10)
    return space, figure.add_subplot(1, 2, 2)
