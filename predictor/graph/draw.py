"""Pictures of small DP*Graphs in the manner of the Li paper's Figures 3 and 5: one column per process, downwards.

An element is drawn below all elements that it waits for.  The symbols are this project's, because those of the paper's
Figure 2 are not in its text (predictor.graph.graph).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from apps.recording.events import Mode
from platforms.errors import UserError
from platforms.files.writing import write_picture
from platforms.plotting.charts import new_figure
from predictor.graph.graph import DPGraph, Element, Node, Relation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_NODES = 200  # a larger graph is not readable as a picture
_COLUMN_IN, _ROW_IN = 1.9, 0.56
_HALF_WIDTH, _HALF_HEIGHT = 0.34, 0.30  # half the size of a box, in columns and rows
# Okabe and Ito's colours; the shapes distinguish the elements in grey prints.
_STYLES = {
    Element.BEGIN: ("round,pad=0,rounding_size=0.28", "white"),
    Element.END: ("round,pad=0,rounding_size=0.28", "white"),
    Element.SEGMENT: ("square,pad=0", "#F0E442"),
    Element.SEND: ("rarrow,pad=0", "#56B4E9"),
    Element.RECEIVE: ("larrow,pad=0", "#E69F00"),
    Element.SYNCHRONISATION: ("square,pad=0", "0.85"),
}
_NONE: Mapping[tuple[int, int], str] = MappingProxyType({})
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))


def graph_figure(
    graph: DPGraph, *, title: str = "", highlight: Collection[int] = (), notes: Mapping[tuple[int, int], str] = _NONE
) -> Figure:
    """Return the picture of a graph.

    Args:
        graph: The graph.
        title: Title above the picture.
        highlight: Nodes that get a red border, such as those of a critical path.
        notes: By node and process, a line under the label, such as a time.

    Raises:
        UserError: The graph has more than MOST_NODES nodes.
    """
    if len(graph.nodes) > MOST_NODES:
        problem = f"the graph has {len(graph.nodes)} elements, and a picture shows at most {MOST_NODES}"
        remedy = "Draw fewer ranks or iterations, or the first elements of each process (--elements N)"
        raise UserError("drawing", problem, remedy)
    rows = _rows(graph)
    columns, height = max(1, graph.nranks), max(rows, default=0) + 1
    figure = new_figure(0.6 + _COLUMN_IN * columns, 0.6 + _ROW_IN * (height + 1))
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.set_xlim(-0.5, columns - 0.3)
    axes.set_ylim(height - 0.4, -1.0)
    if title:
        axes.set_title(title, fontsize=10)
    for rank in range(graph.nranks):
        axes.text(rank, -0.75, f"process {rank}", ha="center", va="center", fontsize=9, weight="bold")
    _draw_order(axes, graph, rows)
    for edge in graph.edges:
        if edge.relation is Relation.MESSAGE:
            _draw_message(axes, graph, rows, edge.source, edge.target)
    marked = set(highlight)
    for at, node in enumerate(graph.nodes):
        for rank in node.ranks:
            label = "\n".join(filter(None, (_label(node), notes.get((at, rank), ""))))
            _draw_node(axes, node, rank, rows[at], marked=at in marked, label=label)
    return figure


def draw_graph(
    graph: DPGraph,
    path: str | Path,
    *,
    title: str = "",
    highlight: Collection[int] = (),
    notes: Mapping[tuple[int, int], str] = _NONE,
) -> None:
    """Write the picture of a graph in the format given by the extension of the file's name.

    Args:
        graph: The graph.
        path: The file, .png, .svg or .pdf.
        title: Title above the picture.
        highlight: Nodes that get a red border.
        notes: As for ``graph_figure``.

    Raises:
        UserError: The graph has more than MOST_NODES nodes, the ending names no known format, or the file cannot be
            written.
    """
    figure = graph_figure(graph, title=title, highlight=highlight, notes=notes)
    write_picture("picture", path, figure, dpi=110)


def _rows(graph: DPGraph) -> list[int]:
    """Return the number of elements before each node on the longest chain to it."""
    rows = [0] * len(graph.nodes)
    for at in graph.order:
        for edge in graph.leaving[at]:
            rows[edge.target] = max(rows[edge.target], rows[at] + 1)
    return rows


def _draw_order(axes: Axes, graph: DPGraph, rows: list[int]) -> None:
    """Draw the line of each process and, across processes, the line of each synchronisation."""
    for rank, row in enumerate(graph.processes):
        axes.plot([rank, rank], [rows[row[0]], rows[row[-1]]], color="0.35", linewidth=1, zorder=1)
    for at, node in enumerate(graph.nodes):
        if len(node.ranks) > 1:
            ends = [min(node.ranks), max(node.ranks)]
            axes.plot(ends, [rows[at], rows[at]], color="0.35", linewidth=4, zorder=1)


def _draw_message(axes: Axes, graph: DPGraph, rows: list[int], source: int, target: int) -> None:
    # Imported here because it is slow to import.
    from matplotlib.patches import FancyArrowPatch

    (sender,), (receiver,) = graph.nodes[source].ranks, graph.nodes[target].ranks
    side = (receiver > sender) - (receiver < sender)
    start = sender + side * _HALF_WIDTH, rows[source]
    end = receiver - side * _HALF_WIDTH, rows[target]
    bend = "arc3,rad=0"
    if side == 0:  # a message of a process to itself goes around its column
        start, end, bend = (sender + _HALF_WIDTH, rows[source]), (sender + _HALF_WIDTH, rows[target]), "arc3,rad=-0.5"
    axes.add_patch(
        FancyArrowPatch(
            start, end, arrowstyle="-|>", mutation_scale=9, color="#0072B2", linewidth=1, shrinkA=0, shrinkB=0,
            connectionstyle=bend, zorder=2,
        )
    )  # fmt: skip


def _draw_node(axes: Axes, node: Node, rank: int, row: int, *, marked: bool, label: str) -> None:
    # Imported here because it is slow to import.
    from matplotlib.patches import FancyBboxPatch, Polygon

    shape, color = _STYLES[node.element]
    border: dict[str, Any] = {
        "edgecolor": "#D00000" if marked else "black",
        "linewidth": 2.2 if marked else 0.8,
        "zorder": 3,
    }
    w, h, tip = _HALF_WIDTH, _HALF_HEIGHT, 0.07
    if "arrow" in shape:  # the tip of a send points to its receiver, the notch of a receive faces its sender
        turn = 1 if (node.peer if node.peer is not None else rank) >= rank else -1
        turn = turn if node.element is Element.SEND else -turn
        points = [(-w, -h), (w - tip, -h), (w, 0), (w - tip, h), (-w, h)]
        if node.element is Element.RECEIVE:
            points = [(-w, -h), (w, -h), (w, h), (-w, h), (-w + tip, 0)]
        axes.add_patch(Polygon([(rank + turn * x, row + y) for x, y in points], facecolor=color, **border))
    else:
        axes.add_patch(FancyBboxPatch((rank - w, row - h), 2 * w, 2 * h, boxstyle=shape, facecolor=color, **border))
    axes.text(rank, row, label, ha="center", va="center", fontsize=6.5, linespacing=1.1, zorder=4)


def _label(node: Node) -> str:
    if node.element is Element.SEGMENT:
        return _scaled(node.flops, "flop")
    if node.element in (Element.SEND, Element.RECEIVE):
        mode = "" if node.mode in (None, Mode.STANDARD) else f"{node.mode.name.lower()} "
        way = "to" if node.element is Element.SEND else "from"
        verb = "send" if node.element is Element.SEND else "receive"
        return f"{mode}{verb} {way} {node.peer}\n{_scaled(node.size_bytes, 'byte')}"
    if node.element is Element.SYNCHRONISATION:
        name = node.op.name.lower() if node.op is not None else "synchronise"
        return f"{name}\n{_scaled(node.size_bytes, 'byte')}" if node.size_bytes else name
    return node.element.value


def _scaled(value: float, unit: str) -> str:
    """Return the value with three digits and a prefix, such as 7.71 Mflop."""
    for scale, prefix in _PREFIXES:
        if value >= scale:
            return f"{value / scale:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}"
