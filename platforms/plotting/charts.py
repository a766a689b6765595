"""The chart room: figures and panels, axes with units, legends, and the files of all pictures of commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from platforms.files.writing import write_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure
else:  # Matplotlib is slow to import; only this room knows it
    Axes = Figure = Any

ENDINGS = ("png", "svg")
_LETTER_IN, _ENTRY_IN = 0.068, 0.55  # width of a letter, and of a legend's entry without its text
_LINE_IN = 0.22  # height of a line of the legend


def new_figure(width_in: float, height_in: float, title: str = "") -> Figure:
    """Return an empty figure of this size in inches, with a title above all panels."""
    from matplotlib.figure import Figure  # imported here because it is slow to import

    figure = Figure(figsize=(width_in, height_in), layout="constrained")
    if title:
        figure.suptitle(title, fontsize=11, parse_math=False, wrap=True)
    return figure


def panels(
    count: int, across: int, width_in: float, height_in: float, title: str = "", **options: Any
) -> tuple[Figure, list[Any]]:
    """Return a figure of this size in inches, and its panels, ``across`` of them side by side.

    Args:
        count: Number of panels; the rest of the last line stays empty.
        across: Number of panels of a line.
        width_in: Width of the whole figure.
        height_in: Height of the whole figure.
        title: Title above all panels.
        options: Options of ``Figure.subplots``, such as sharex.
    """
    figure = new_figure(width_in, height_in, title)
    made = list(figure.subplots(-(-count // across), across, squeeze=False, **options).flat)
    for surplus in made[count:]:
        surplus.set_visible(False)
    return figure, made[:count]


def finish(axes: Axes, title: str = "", *, legend: Mapping[str, Any] | None = None, **properties: Any) -> None:
    """Set the title and the properties of axes, such as xlabel and yscale; add a grid, and a legend if given."""
    axes.set(**properties)
    if title:
        axes.set_title(title, fontsize=10)
    for text in (axes.title, axes.xaxis.label, axes.yaxis.label):
        text.set_parse_math(False)
    if legend is not None and axes.get_legend_handles_labels()[0]:
        axes.legend(**{"fontsize": 9, **legend})
    axes.grid(color="0.92", which="major")
    axes.set_axisbelow(True)


def legend_below(figure: Figure, keys: Mapping[str, Mapping[str, Any]] | None = None, *, fontsize: float = 8.5) -> None:
    """Put a legend below all panels, in as many columns as there is room for; more lines make the figure higher.

    Args:
        figure: The figure.
        keys: The look of each entry, a patch if it has a facecolor and a line otherwise; None: the labels of all
            panels, each once.
        fontsize: Size of its text, points.
    """
    # Imported here because they are slow to import.
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries: dict[str, Any] = {}
    if keys is None:
        for axes in figure.axes:
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
                entries.setdefault(str(label), handle)
    else:
        for label, look in keys.items():
            entries[label] = Patch(**look) if "facecolor" in look else Line2D([], [], **look)
    if not entries:
        return
    columns, lines = _arranged(list(entries), figure.get_figwidth() * 8.5 / fontsize)
    figure.set_figheight(figure.get_figheight() + _LINE_IN * (lines - 1))  # so that the panels keep their size
    figure.legend(
        list(entries.values()), list(entries), fontsize=fontsize, loc="outside lower center", ncols=columns,
        frameon=False,
    )  # fmt: skip


def _arranged(texts: Sequence[str], width_in: float) -> tuple[int, int]:
    """Return in how many columns and lines of a legend of 8.5 pt the entries fit into this width."""
    for lines in range(1, len(texts)):
        columns = [texts[at : at + lines] for at in range(0, len(texts), lines)]
        if sum(_ENTRY_IN + _LETTER_IN * max(map(len, column)) for column in columns) <= width_in:
            return len(columns), lines
    return 1, len(texts)


def write_figures(
    figures: Mapping[str, Figure], folder: Path, endings: Sequence[str] = ENDINGS, *, dpi: int = 150
) -> list[Path]:
    """Write each figure as NAME.png and NAME.svg, each whole or not at all, and return the files.

    Raises:
        OSError: A file cannot be written.
    """
    written = [folder / f"{name}.{ending}" for name in figures for ending in endings]
    for path in written:
        save_figure(figures[path.stem], path, dpi=dpi)
    return written


def save_figure(figure: Figure, path: str | Path, *, dpi: int = 150) -> None:
    """Write a figure whole or not at all.

    Raises:
        OSError: The file cannot be written.
    """
    write_whole(path, rendered(figure, Path(path).suffix.lstrip(".").lower(), dpi=dpi))


def rendered(figure: Figure, kind: str, *, ids: str = "figure", texts: bool = False, **options: Any) -> bytes:
    """Return a figure as the content of a file; equal figures give equal bytes.

    Args:
        figure: The figure.
        kind: png, svg or pdf.
        ids: What the identifiers of an SVG file depend on beside its content.
        texts: Texts of an SVG file stay texts, and do not become outlines.
        options: Options of ``Figure.savefig``, such as dpi and metadata.
    """
    import matplotlib  # imported here because it is slow to import

    content = BytesIO()
    if kind == "svg":
        options["metadata"] = {"Date": None, **options.get("metadata", {})}
    with matplotlib.rc_context({"svg.hashsalt": ids, "svg.fonttype": "none" if texts else "path"}):
        figure.savefig(content, format=kind, **options)
    return content.getvalue()
