"""The part of a graph that a picture shows: without messages of no bytes, such as those that align two processes."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from predictor.graph.graph import DPGraph, Edge, Element, Relation


def without_empty_messages(graph: DPGraph) -> tuple[DPGraph, tuple[int, ...]]:
    """Return the graph without its messages of no bytes, and the number that each of its nodes has in the given one."""
    empty = {
        at
        for at, node in enumerate(graph.nodes)
        if node.element in (Element.SEND, Element.RECEIVE) and node.size_bytes == 0
    }
    if not empty:
        return graph, tuple(range(len(graph.nodes)))
    kept = [at for at in range(len(graph.nodes)) if at not in empty]
    new = {at: number for number, at in enumerate(kept)}
    edges = [
        Edge(new[a], new[b], Relation.ORDER, rank)
        for rank, row in enumerate(graph.processes)
        for a, b in pairwise(at for at in row if at not in empty)
    ]
    edges += [
        replace(edge, source=new[edge.source], target=new[edge.target])
        for edge in graph.edges
        if edge.relation is Relation.MESSAGE and edge.source in new and edge.target in new
    ]
    return DPGraph(tuple(graph.nodes[at] for at in kept), tuple(edges)), tuple(kept)
