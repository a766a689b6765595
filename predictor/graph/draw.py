"""Pictures of small DP*Graphs in the manner of the Li paper's Figures 3 and 5: one column per process, downwards.

An element is drawn below all elements that it waits for.  The symbols are this project's, because those of the paper's
Figure 2 are not in its text (predictor.graph.graph).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from apps.recording.events import Mode
from platforms.errors import UserError
from platforms.plotting.boxes import Sheet
from platforms.plotting.charts import Figure, new_figure
from platforms.plotting.styles import BLUE, ORANGE, SKY, YELLOW
from predictor.graph.graph import DPGraph, Element, Node, Relation

MOST_NODES = 200  # a larger graph is not readable as a picture
_COLUMN_IN, _ROW_IN = 1.9, 0.56
_HALF_WIDTH, _HALF_HEIGHT = 0.34, 0.30  # half the size of a box, in columns and rows
# Okabe and Ito's colours; the shapes distinguish the elements in grey prints.
_COLOURS = {
    Element.BEGIN: "white", Element.END: "white", Element.SEGMENT: YELLOW, Element.SEND: SKY, Element.RECEIVE: ORANGE,
    Element.SYNCHRONISATION: "0.85",
}  # fmt: skip
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
    axes.set(xlim=(-0.5, columns - 0.3), ylim=(height - 0.4, -1.0))
    axes.set_title(title, fontsize=10, parse_math=False)
    sheet = Sheet(axes)
    for rank in range(graph.nranks):
        sheet.text(rank, -0.75, f"process {rank}", ha="center", size=9, weight="bold")
    _draw_order(sheet, graph, rows)
    for edge in graph.edges:
        if edge.relation is Relation.MESSAGE:
            _draw_message(sheet, graph, rows, edge.source, edge.target)
    marked = set(highlight)
    for at, node in enumerate(graph.nodes):
        for rank in node.ranks:
            label = "\n".join(filter(None, (_label(node), notes.get((at, rank), ""))))
            _draw_node(sheet, node, rank, rows[at], marked=at in marked, label=label)
    return figure


def _rows(graph: DPGraph) -> list[int]:
    """Return the number of elements before each node on the longest chain to it."""
    rows = [0] * len(graph.nodes)
    for at in graph.order:
        for edge in graph.leaving[at]:
            rows[edge.target] = max(rows[edge.target], rows[at] + 1)
    return rows


def _draw_order(sheet: Sheet, graph: DPGraph, rows: list[int]) -> None:
    """Draw the line of each process and, across processes, the line of each synchronisation."""
    for rank, row in enumerate(graph.processes):
        sheet.line([rank, rank], [rows[row[0]], rows[row[-1]]], (1, "0.35", "-"), zorder=1)
    for at, node in enumerate(graph.nodes):
        if len(node.ranks) > 1:
            sheet.line([min(node.ranks), max(node.ranks)], [rows[at], rows[at]], (4, "0.35", "-"), zorder=1)


def _draw_message(sheet: Sheet, graph: DPGraph, rows: list[int], source: int, target: int) -> None:
    (sender,), (receiver,) = graph.nodes[source].ranks, graph.nodes[target].ranks
    side = (receiver > sender) - (receiver < sender)
    start = sender + side * _HALF_WIDTH, rows[source]
    end = receiver - side * _HALF_WIDTH, rows[target]
    if side == 0:  # a message of a process to itself goes around its column
        start, end = (sender + _HALF_WIDTH, rows[source]), (sender + _HALF_WIDTH, rows[target])
    sheet.arrow(start, end, BLUE, bend=-0.5 if side == 0 else 0.0)


def _draw_node(sheet: Sheet, node: Node, rank: int, row: int, *, marked: bool, label: str) -> None:
    w, h, tip = _HALF_WIDTH, _HALF_HEIGHT, 0.07
    border: dict[str, Any] = {"edge": "#D00000" if marked else "black", "line_pt": 2.2 if marked else 0.8, "z": 3}
    fill = _COLOURS[node.element]
    if node.element in (Element.SEND, Element.RECEIVE):
        # The tip of a send points to its receiver, the notch of a receive faces its sender.
        turn = 1 if (node.peer if node.peer is not None else rank) >= rank else -1
        points = [(-w, -h), (w - tip, -h), (w, 0), (w - tip, h), (-w, h)]
        if node.element is Element.RECEIVE:
            turn, points = -turn, [(-w, -h), (w, -h), (w, h), (-w, h), (-w + tip, 0)]
        sheet.polygon([(rank + turn * x, row + y) for x, y in points], fill=fill, **border)
    else:
        round_by = 0.28 if node.element in (Element.BEGIN, Element.END) else 0.0
        sheet.box((rank, row), (2 * w, 2 * h), fill=fill, round_by=round_by, **border)
    sheet.text(rank, row, label, ha="center", size=6.5, linespacing=1.1, zorder=4)


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
