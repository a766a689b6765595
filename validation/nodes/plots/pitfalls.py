"""Figures like 21 to 28 of Ichikawa, Takahashi, Kawai, section 7, from simulated runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from platforms.plotting.charts import Figure, write_figures
from platforms.plotting.lines import Panel, Series, lines_figure
from validation.nodes.plots.axes import style

if TYPE_CHECKING:
    from validation.nodes.pitfalls import Line


class Look(NamedTuple):
    """Texts of a figure."""

    title: str
    x: str
    y: str
    logarithmic: bool = True  # the axis of y
    unit: float = 1.0  # of y, in SI units


LOOKS = {
    21: Look("transfer rate between two nodes", "message, bytes", "rate, MB/s", False, 1e6),
    22: Look("all-to-all among 16 Xeon nodes", "bytes to each process", "time, s"),
    23: Look("FFT on 16 Xeon nodes", "size N", "time, s"),
    25: Look("all-to-all among 8 Xeon and 8 Celeron nodes", "bytes to each process", "time, s"),
    26: Look("FFT on 8 Xeon and 8 Celeron nodes", "size N", "time, s"),
    27: Look("Himeno on 16 Xeon nodes, by MPI's buffer", "size N", "Gflop/s", False, 1e9),
    28: Look("transfer rate between two nodes whose clocks change", "message, bytes", "rate, MB/s", False, 1e6),
}


def write_pitfalls(lines: Sequence[Line], folder: Path) -> list[Path]:
    """Write a figure for each number as a PNG file, and return their paths."""
    by_number = {number: [line for line in lines if line.figure == number] for number in LOOKS}
    figures = {f"figure-{number}": pitfall_figure(drawn) for number, drawn in by_number.items()}
    return write_figures(figures, folder, ("png",))


def pitfall_figure(lines: Sequence[Line]) -> Figure:
    """Plot the lines of one figure."""
    look = LOOKS[lines[0].figure]
    drawn = [
        Series(line.x, [value / look.unit for value in line.y], style(number), line.label)
        for number, line in enumerate(lines)
    ]
    wide = max(lines[0].x) > 50 * min(lines[0].x)
    chart = Panel(
        title=f"Figure {lines[0].figure}, simulated: {look.title}", x=look.x, y=look.y, drawn=drawn,
        log="x" * wide + "y" * look.logarithmic, y_ends=(None, None) if look.logarithmic else (0, None),
        legend={"handlelength": 3.5},
    )  # fmt: skip
    return lines_figure([chart], 1, 7, 4.4)
