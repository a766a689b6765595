"""DP*Graphs as GraphML."""

from readers.common import file_of, seeds

from predictor.graph.graphml import read_graphml, write_graphml

SEEDS = seeds("tests/hostile/corpus/*.graphml")
WORDS = (
    "<node", "<edge", "<data", "<key", 'key="', "node_element", "edge_relation", "segment", "send", "-1", "1e999",
    "nan",
)  # fmt: skip


def read(content: bytes) -> None:
    graph = read_graphml(file_of(content, ".graphml"))
    again = file_of(b"", ".graphml")
    write_graphml(graph, again)
    assert repr(read_graphml(again)) == repr(graph)
