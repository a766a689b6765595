"""DP*Graphs as GraphML files, which other programs can draw and examine (graphml.graphdrawing.org).

Node keys: element, ranks (separated by spaces), flops, size_bytes, mode, peer, op, place.  Edge keys: relation, rank,
size_bytes.  A key that does not apply to an element is left out.  The graph of a program on a platform also has
the times of its nodes: begin_s, end_s, time_s, late_s and slack_s, in s, and critical (predictor.graph.timed); of a
synchronisation these are the first begin, the last end, the longest times and the least slack of its processes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from apps.recording.events import Mode, Op
from platforms.errors import UserError
from platforms.files.reading import input_bytes
from platforms.files.writing import write_whole
from predictor.graph.graph import DPGraph, Edge, Element, Node, Relation

if TYPE_CHECKING:
    from lxml import etree

_Made = TypeVar("_Made")
_Named = TypeVar("_Named", Mode, Op)

# Reader and writer are not networkx's: its reader expands entities and cannot name the line of a wrong element, and its
# writer has no ids for edges without such an attribute, no type "int", and needs a second copy of the graph.
NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
_SCHEMA = f"{NAMESPACE} {NAMESPACE}/1.0/graphml.xsd"
MOST_BYTES = 1 << 30
_INSTANCE = "http://www.w3.org/2001/XMLSchema-instance"
_TYPES = {
    "node": {
        "element": "string",
        "ranks": "string",
        "flops": "double",
        "size_bytes": "long",
        "mode": "string",
        "peer": "int",
        "op": "string",
        "place": "string",
    },
    "edge": {"relation": "string", "rank": "int", "size_bytes": "long"},
}
_TIMES = {name: "double" for name in ("begin_s", "end_s", "time_s", "late_s", "slack_s")} | {"critical": "boolean"}


_NONE: Mapping[int, Mapping[str, float | bool]] = MappingProxyType({})


def write_graphml(graph: DPGraph, path: str | Path, times: Mapping[int, Mapping[str, float | bool]] = _NONE) -> None:
    """Write one directed graph with the node ids n0, n1, ...  A failure leaves an earlier file as it is.

    Args:
        graph: The graph.
        path: The file.
        times: By node, the values of keys of times.

    Raises:
        UserError: The file cannot be written.
    """
    # Imported here because it is slow to import.
    from lxml import etree

    # lxml's stubs do not know that None names the default namespace.
    root = etree.Element(_tag("graphml"), nsmap={None: NAMESPACE, "xsi": _INSTANCE})  # type: ignore[dict-item]
    root.set(f"{{{_INSTANCE}}}schemaLocation", _SCHEMA)
    for domain, types in _TYPES.items():
        for name, kind in {**types, **(_TIMES if times and domain == "node" else {})}.items():
            key = {"id": f"{domain}_{name}", "for": domain, "attr.name": name, "attr.type": kind}
            etree.SubElement(root, _tag("key"), key)
    body = etree.SubElement(root, _tag("graph"), id="dpgraph", edgedefault="directed")
    for at, node in enumerate(graph.nodes):
        values = {**_node_values(node), **{name: _text(value) for name, value in times.get(at, {}).items()}}
        _data(etree.SubElement(body, _tag("node"), id=f"n{at}"), "node", values)
    for at, edge in enumerate(graph.edges):
        ends = {"id": f"e{at}", "source": f"n{edge.source}", "target": f"n{edge.target}"}
        _data(etree.SubElement(body, _tag("edge"), ends), "edge", _edge_values(edge))
    content = etree.tostring(root, encoding="UTF-8", xml_declaration=True, pretty_print=True)
    try:
        write_whole(path, content)
    except OSError as err:
        raise UserError(str(path), f"cannot be written: {err.strerror or err}", "Choose another place") from err


def read_graphml(path: str | Path) -> DPGraph:
    """Return the graph of a file by ``write_graphml``, or by another program with the same keys.

    Raises:
        UserError: The file cannot be read, is not GraphML, or holds no DP*Graph; the error names file and line.
    """
    # Imported here because it is slow to import.
    from lxml import etree

    try:
        content = input_bytes(path, most_bytes=MOST_BYTES)
        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)  # bounds entities and depth
        root = etree.fromstring(content, parser)
    except OSError as err:
        raise UserError(str(path), f"cannot be read: {err.strerror or err}", "Name a GraphML file") from err
    except etree.XMLSyntaxError as err:
        raise UserError(f"{path}:{err.lineno}", f"not XML: {err.msg}", "Write the file again") from err
    body = root.find(_tag("graph"))
    if root.tag != _tag("graphml") or body is None:
        raise UserError(str(path), "no graph in the namespace of GraphML", f"Use the namespace {NAMESPACE}")
    names = {key.get("id"): key.get("attr.name") for key in root.iter(_tag("key"))}
    place: dict[str | None, int] = {}
    nodes: list[Node] = []
    edges: list[Edge] = []
    for element in body.iterfind(_tag("node")):
        place[element.get("id")] = len(nodes)
        nodes.append(_checked(path, element, _node, names))
    for element in body.iterfind(_tag("edge")):
        ends = element.get("source"), element.get("target")
        for end in ends:
            if end not in place:
                problem = f"the edge joins {end}, which is no node"
                raise UserError(f"{path}:{element.sourceline}", problem, "Correct the file")
        source, target = (place[end] for end in ends)
        edges.append(_checked(path, element, partial(_edge, source, target), names))
    try:
        return DPGraph(tuple(nodes), tuple(edges))
    except UserError as err:
        raise UserError(str(path), err.problem, "Correct the file") from err


def _text(value: float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(float(value))


def _tag(name: str) -> str:
    return f"{{{NAMESPACE}}}{name}"


def _data(parent: etree._Element, domain: str, values: Mapping[str, Any]) -> None:
    # Imported here because it is slow to import.
    from lxml import etree

    for name, value in values.items():
        etree.SubElement(parent, _tag("data"), key=f"{domain}_{name}").text = str(value)


def _node_values(node: Node) -> dict[str, Any]:
    values: dict[str, Any] = {"element": node.element.value, "ranks": " ".join(map(str, node.ranks))}
    if node.element is Element.SEGMENT:
        values["flops"] = repr(float(node.flops))
    if node.element in (Element.SEND, Element.RECEIVE, Element.SYNCHRONISATION):
        values["size_bytes"] = node.size_bytes
    if node.mode is not None:
        values["mode"] = node.mode.name.lower()
    if node.peer is not None:
        values["peer"] = node.peer
    if node.op is not None:
        values["op"] = node.op.name.lower()
    if node.place is not None:
        values["place"] = node.place
    return values


def _edge_values(edge: Edge) -> dict[str, Any]:
    values: dict[str, Any] = {"relation": edge.relation.value}
    if edge.rank is not None:
        values["rank"] = edge.rank
    if edge.relation is Relation.MESSAGE:
        values["size_bytes"] = edge.size_bytes
    return values


def _checked(
    path: str | Path,
    element: etree._Element,
    make: Callable[[Mapping[str | None, str]], _Made],
    names: Mapping[str | None, str | None],
) -> _Made:
    """Return what ``make`` makes of an element's values by name; values of undeclared keys have the name None."""
    values = {names.get(data.get("key")): data.text or "" for data in element.iterfind(_tag("data"))}
    try:
        return make(values)
    except (KeyError, ValueError) as err:
        what = f"needs {err}" if isinstance(err, KeyError) else str(err)
        where = f"{path}:{element.sourceline}, <{element.tag.rpartition('}')[2]} id={element.get('id')!r}>"
        raise UserError(where, f"no element of a DP*Graph: {what}", "Correct the file") from err


def _node(values: Mapping[str | None, str]) -> Node:
    return Node(
        element=Element(values["element"]),
        ranks=tuple(map(int, values["ranks"].split())),
        flops=float(values.get("flops", 0)),
        size_bytes=int(values.get("size_bytes", 0)),
        mode=_member(Mode, values.get("mode")),
        peer=int(values["peer"]) if "peer" in values else None,
        op=_member(Op, values.get("op")),
        place=values.get("place"),
    )


def _edge(source: int, target: int, values: Mapping[str | None, str]) -> Edge:
    rank = int(values["rank"]) if "rank" in values else None
    return Edge(source, target, Relation(values["relation"]), rank, int(values.get("size_bytes", 0)))


def _member(kind: type[_Named], name: str | None) -> _Named | None:
    if name is None:
        return None
    if name.upper() not in kind.__members__:
        raise ValueError(f"no {kind.__name__.lower()} {name!r}")
    return kind[name.upper()]
