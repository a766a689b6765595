"""DP*Graphs as files: GraphML, pictures, and the command that writes them."""

import errno
import json
import os
import re

import networkx
import pytest
from lxml import etree
from recordings_by_hand import compute, figure_5, messages, receive, recorded, recording, send

from apps.programs.problem import problem
from apps.recording.events import Kind, Mode
from platforms.errors import UserError
from platforms.plotting.pictures import write_picture
from predictor.graph.cli import main
from predictor.graph.draw import MOST_NODES, graph_figure
from predictor.graph.graph import (
    DPGraph,
    Edge,
    Element,
    Node,
    Relation,
    graph_of,
)
from predictor.graph.graphml import NAMESPACE, read_graphml, write_graphml
from predictor.graph.places import places_of


@pytest.mark.parametrize("expand", [False, True])
@pytest.mark.parametrize("app", ["cg", "is"])
def test_graphml_comes_back_as_it_was(app, expand, tmp_path):
    graph = graph_of(recorded(app), expand=expand)
    write_graphml(graph, tmp_path / "graph.graphml")
    assert read_graphml(tmp_path / "graph.graphml") == graph


def test_modes_and_fractions_of_flops_survive(tmp_path):
    graph = graph_of(
        recording(*[[compute(1 / 3), send(1 - r, 5, 0, mode=Mode.READY), receive(1 - r, 5, 1)] for r in (0, 1)])
    )
    write_graphml(graph, tmp_path / "graph.graphml")
    assert read_graphml(tmp_path / "graph.graphml") == graph


def test_the_file_has_the_structure_of_graphml(tmp_path):
    # http://graphml.graphdrawing.org/specification.html: keys, then graphs of nodes and edges; every datum has a key of
    # its domain and a value of the key's type; ids are unique.
    write_graphml(graph_of(recorded("is"), expand=True), tmp_path / "graph.graphml")
    root = etree.parse(tmp_path / "graph.graphml").getroot()
    ns = {"g": NAMESPACE}
    assert root.tag == f"{{{NAMESPACE}}}graphml"
    assert [etree.QName(one).localname for one in root] == ["key"] * len(root.findall("g:key", ns)) + ["graph"]
    keys = {key.get("id"): key for key in root.findall("g:key", ns)}
    (graph,) = root.findall("g:graph", ns)
    assert graph.get("edgedefault") == "directed"
    ids = [one.get("id") for one in graph]
    assert len(set(ids)) == len(ids)
    kinds = {"string": str, "int": int, "long": int, "double": float}
    for one in graph:
        name = etree.QName(one).localname
        for datum in one:
            key = keys[datum.get("key")]
            assert key.get("for") == name
            kinds[key.get("attr.type")](datum.text)
        if name == "edge":
            assert {one.get("source"), one.get("target")} <= set(ids)


def test_networkx_loads_the_file(tmp_path):
    graph = graph_of(recorded("is"), expand=True)
    write_graphml(graph, tmp_path / "graph.graphml")
    loaded = networkx.read_graphml(tmp_path / "graph.graphml")
    assert (loaded.number_of_nodes(), loaded.number_of_edges()) == (len(graph.nodes), len(graph.edges))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("<graphml", "<grpahml", "not XML"),
        (NAMESPACE, "urn:other", "no graph in the namespace of GraphML"),
        (">segment<", ">loop<", r":\d+, <node id='n1'>: no element of a DP\*Graph: 'loop' is not a valid Element"),
        (">standard<", ">quick<", "no mode 'quick'"),
        ('"node_ranks">0<', '"node_rank">0<', "needs 'ranks'"),
        ('source="n1"', 'source="n99"', "the edge joins n99, which is no node"),
    ],
)
def test_a_broken_file_is_refused_in_one_line(old, new, said, tmp_path):
    path = tmp_path / "graph.graphml"
    write_graphml(graph_of(figure_5()), path)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(UserError, match=said) as raised:
        read_graphml(path)
    assert "\n" not in str(raised.value)


def test_a_picture_has_every_element_and_every_message():
    graph = graph_of(recorded("is"), expand=True)
    (axes,) = graph_figure(graph).axes
    shapes = [type(patch).__name__ for patch in axes.patches]
    assert shapes.count("FancyArrowPatch") == 30
    assert len(shapes) - 30 == len(graph.nodes)
    texts = [text.get_text() for text in axes.texts]
    assert texts.count("begin") == texts.count("end") == 4
    assert texts.count("send to 0\n2.07 kbyte") == texts.count("receive from 3\n2.07 kbyte") + 2 == 3
    for edge in messages(graph):  # arrows lead downwards
        assert graph.order.index(edge.source) < graph.order.index(edge.target)


def test_a_synchronisation_is_drawn_at_each_of_its_processes():
    (axes,) = graph_figure(graph_of(recorded("is")), highlight=[1]).axes
    assert [text.get_text().partition("\n")[0] for text in axes.texts].count("allreduce") == 4


def test_pictures_are_files_of_known_kinds(tmp_path):
    graph = graph_of(figure_5())
    write_picture("--draw", tmp_path / "graph.png", graph_figure(graph, title="Figure 5"))
    assert (tmp_path / "graph.png").read_bytes().startswith(b"\x89PNG")
    write_picture("--draw", tmp_path / "graph.svg", graph_figure(graph))
    assert etree.parse(tmp_path / "graph.svg").getroot().tag == "{http://www.w3.org/2000/svg}svg"
    with pytest.raises(UserError, match="no format for the ending 'txt'"):
        write_picture("--draw", tmp_path / "graph.txt", graph_figure(graph))
    with pytest.raises(UserError, match="cannot be written"):
        write_picture("--draw", tmp_path / "nowhere" / "graph.png", graph_figure(graph))


def test_what_is_too_large_for_a_picture_is_refused():
    with pytest.raises(UserError, match=f"at most {MOST_NODES}. Draw fewer ranks"):
        graph_figure(graph_of(recorded("cg")))


def test_the_command_writes_and_draws(tmp_path, capsys):
    store = ["--store", str(tmp_path / "store")]
    paths = str(tmp_path / "is.graphml"), str(tmp_path / "is.png")
    assert main(["--app", "is", "--graphml", paths[0], "--draw", paths[1], "--json", *store]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["elements"] == {
        "begin": 4, "segment": 8, "send": 0, "receive": 0, "synchronisation": 3, "end": 4,
    }  # fmt: skip
    assert (said["processes"], said["flops"]) == (4, pytest.approx(65536))
    places = places_of(problem("is", "S"), recorded("is").paths)
    assert read_graphml(paths[0]) == graph_of(recorded("is"), places=places)
    assert main(["--app", "is", "--collectives", "messages", "--elements", "2", *store]) == 0
    assert "4 begin" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Give --app NAME, --program FILE or --recording TRACE"),
        (["--app", "si"], "no such program"),
        (["--app", "is", "--ranks", "0"], "not positive"),
        (["--app", "is", "--iterations", "11"], "not between 1 and the 10 iterations of is S"),
        (["--app", "is", "--collectives", "both"], "Known: points, messages"),
        (["--app", "is", "--elements", "0"], "not positive"),
    ],
)
def test_bad_input_is_one_line_and_status_2(arguments, said, capsys):
    assert main([*arguments, "--no-store"]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("error: ") and printed.count("\n") == 1 and said in printed


def test_a_message_to_oneself_goes_round_its_own_column():
    to_itself = [
        (Kind.SEND, Mode.STANDARD, 0, 0, 0, 0, 0, 8, 0, 0, 0),
        *receive(0, 8, 1),
        (Kind.WAIT, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0),
    ]
    graph = graph_of(recording([compute(0.5), to_itself]))
    figure = graph_figure(graph)
    (arrow,) = [patch for patch in figure.axes[0].patches if type(patch).__name__ == "FancyArrowPatch"]
    begin, middle, end = arrow.get_path().vertices[:3, 0]  # of the arc, which the head shortens a little
    assert begin == pytest.approx(end, abs=0.02) and 0 < begin < middle  # on the right side of process 0
    assert "0.5 flop" in {text.get_text() for text in figure.axes[0].texts}


def test_files_that_cannot_be_written_or_hold_no_program_are_said(tmp_path):
    graph = graph_of(figure_5())
    with pytest.raises(UserError, match=r"cannot be written: No such file or directory\. Choose another place"):
        write_graphml(graph, tmp_path / "no" / "graph.graphml")
    path = tmp_path / "graph.graphml"
    write_graphml(graph, path)
    path.write_text(re.sub(r"<edge .*?</edge>", "", path.read_text(), flags=re.DOTALL))
    with pytest.raises(UserError, match=r"graph\.graphml: .* has no end. Correct the file"):
        read_graphml(path)


def test_a_file_is_written_whole_or_stays_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "graph.graphml"
    graph = graph_of(figure_5())
    write_graphml(graph, path)
    before = path.read_bytes()
    write_graphml(graph, path)  # the same graph gives the same bytes
    assert path.read_bytes() == before

    def full_disk(handle, *arguments, **keywords):
        file = fdopen(handle, *arguments, **keywords)
        write = file.write

        class Half:
            def __enter__(self):
                return self

            def __exit__(self, *_):
                file.close()

            def write(self, content):
                write(content[: len(content) // 2])
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

            def writelines(self, parts):
                self.write(b"".join(parts))

        return Half()

    fdopen = os.fdopen
    monkeypatch.setattr(os, "fdopen", full_disk)
    with pytest.raises(UserError, match="cannot be written: No space left on device"):
        write_graphml(graph_of(recorded("is")), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_graph_that_cannot_be_read_or_written_is_said(tmp_path):
    with pytest.raises(UserError, match="cannot be read: No such file"):
        read_graphml(tmp_path / "none.graphml")


@pytest.mark.parametrize(("flops", "text"), [(7.71e6, "7.71 Mflop"), (0.5, "0.5 flop"), (0, "0 flop")])
def test_amounts_have_three_digits_and_a_prefix(flops, text):
    nodes = (Node(Element.BEGIN, (0,)), Node(Element.SEGMENT, (0,), flops=flops), Node(Element.END, (0,)))
    (axes,) = graph_figure(DPGraph(nodes, (Edge(0, 1, Relation.ORDER, 0), Edge(1, 2, Relation.ORDER, 0)))).axes
    assert text in {label.get_text() for label in axes.texts}
