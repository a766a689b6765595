"""DP*Graphs: by hand as in the Li paper's Figures 3 to 5, of recorded kernels, as GraphML and as pictures."""

import errno
import json
import os
import re
from functools import cache

import networkx
import numpy as np
import pytest
from lxml import etree

from apps.programs.problem import problem
from apps.recording.events import EVENT, Kind, Mark, Mode, Op, Recording
from apps.runs.neutral import neutral_platform
from apps.runs.record_events import record_events
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.errors import UserError
from predictor.dpgraph.cli import main
from predictor.dpgraph.draw import MOST_NODES, draw_graph, graph_figure
from predictor.dpgraph.graph import (
    DPGraph,
    Edge,
    Element,
    Node,
    Relation,
    component_times,
    critical_path,
    execution_time_s,
    graph_of,
    process_times_s,
    timed_section,
)
from predictor.dpgraph.graphml import NAMESPACE, read_graphml, write_graphml
from predictor.dpgraph.places import places_of
from predictor.dpgraph.program import Sections
from predictor.sends.components import MessageComponents


def compute(flops):
    return [(Kind.COMPUTE, 0, 0, 0, -1, 0, 0, 0, flops, 0, 0)]


def send(peer, size_bytes, request, *, tag=0, mode=Mode.STANDARD):
    return [
        (Kind.SEND, mode, 0, 0, peer, tag, request, size_bytes, 0, 0, 0),
        (Kind.WAIT, 0, 0, 0, -1, 0, request, 0, 0, 0, 0),
    ]


def receive(peer, size_bytes, request, *, tag=0):
    return [
        (Kind.RECV, 0, 0, 0, peer, tag, request, size_bytes, 0, 0, 0),
        (Kind.WAIT, 0, 0, 0, -1, 0, request, 0, 0, 0, 0),
    ]


def collective(op, size_bytes=0, root=-1, comm=0):
    return [(Kind.COLLECTIVE, 0, op, comm, root, 0, 0, size_bytes, 0, 0, 0)]


def mark(which):
    return [(Kind.MARK, 0, which, 0, -1, 0, 0, 0, 0, 0, 0)]


def recording(*ranks, communicators=None):
    """A recording; for each rank a list of the lists above."""
    events = tuple(np.array([event for part in parts for event in part], EVENT) for parts in ranks)
    counts = tuple(np.empty(0, np.int64) for _ in ranks)
    return Recording(events, counts, communicators or (tuple(range(len(ranks))),))


def figure_5(mode=Mode.STANDARD):
    """The paper's experiment: sequential code, one message of 1000 bytes, sequential code."""
    return recording(
        [compute(2e9), send(1, 1000, 0, mode=mode), compute(3e9)],
        [compute(1e9), receive(0, 1000, 0), compute(5e9)],
    )


@cache
def recorded(app, ranks=4):
    platform = neutral_platform(ranks)
    target = Target(problem(app, "S"), platform, tuple(host.name for host in platform.hosts))
    return record_events(RunSpec(target), 1)


def elements(graph, rank):
    return [graph.nodes[at].element.value for at in graph.processes[rank]]


def messages(graph):
    return [edge for edge in graph.edges if edge.relation is Relation.MESSAGE]


@pytest.mark.parametrize("mode", list(Mode))
def test_the_program_of_figure_5(mode):
    graph = graph_of(figure_5(mode))
    assert elements(graph, 0) == ["begin", "segment", "send", "segment", "end"]
    assert elements(graph, 1) == ["begin", "segment", "receive", "segment", "end"]
    (edge,) = messages(graph)
    sender, receiver = graph.nodes[edge.source], graph.nodes[edge.target]
    assert (sender.ranks, sender.peer, sender.size_bytes, sender.mode) == ((0,), 1, 1000, mode)
    assert (receiver.ranks, receiver.peer, receiver.size_bytes, receiver.mode) == ((1,), 0, 1000, mode)
    assert [graph.nodes[at].flops for at in graph.processes[1]] == [0, 1e9, 0, 5e9, 0]


def test_the_execution_time_is_the_largest_sum_of_partial_times():
    # Figure 3: T_exec = max(t1' + t2' + t3', t1'' + t2'' + t3'') = max(2 + 0.5 + 3, 1 + 0.75 + 5).
    graph = graph_of(figure_5())
    times = {Element.SEND: 0.5, Element.RECEIVE: 0.75}

    def time_s(node):
        return times.get(node.element, node.flops / 1e9)

    assert process_times_s(graph, time_s) == [5.5, 6.75]
    assert execution_time_s(graph, time_s) == 6.75


def test_the_critical_path_waits_for_a_message():
    # Figure 4, n = 1000: n c1 = 1 s at the sender, k_b n + k_l = 4 + 0.5 s on the way, n c2 = 2 s at the receiver.
    # 2 s of code, then 1 + 4.5 + 2, then the receiver's 5 s, which alone would end after 1 + 2 + 5.
    graph = graph_of(figure_5())
    node_time_s, message_time_s = component_times(MessageComponents(1e-3, 4e-3, 2e-3, 0.5), [1e-9, 1e-9])
    assert execution_time_s(graph, node_time_s) == pytest.approx(8)
    path = critical_path(graph, node_time_s, message_time_s)
    assert path.time_s == pytest.approx(14.5)
    assert [graph.nodes[at].element.value for at in path.nodes] == [
        "begin", "segment", "send", "receive", "segment", "end",
    ]  # fmt: skip
    assert critical_path(graph, node_time_s).time_s == pytest.approx(2 + 1 + 2 + 5)  # a message that takes no time
    slow_sender = component_times(MessageComponents(1e-3, 4e-3, 2e-3, 0.5), [1e-8, 1e-9])
    assert critical_path(graph, *slow_sender).time_s == pytest.approx(20 + 1 + 30)  # the sender's own elements


def test_the_nth_send_of_a_pair_and_tag_is_received_by_its_nth_receive():
    # Tag 1 is received first, the two messages of tag 0 in their order.
    graph = graph_of(
        recording(
            [send(1, 10, 0), send(1, 20, 1, tag=1), send(1, 30, 2)],
            [receive(0, 20, 0, tag=1), receive(0, 10, 1), receive(0, 30, 2)],
        )
    )
    assert [graph.nodes[at].size_bytes for at in graph.processes[1][1:-1]] == [20, 10, 30]
    for edge in messages(graph):
        assert graph.nodes[edge.source].size_bytes == graph.nodes[edge.target].size_bytes == edge.size_bytes


def test_a_receive_stands_where_it_is_waited_for():
    post, wait = receive(0, 10, 0)
    graph = graph_of(recording([send(1, 10, 0)], [[post], compute(1), [wait]]))
    assert elements(graph, 1) == ["begin", "segment", "receive", "end"]


def test_a_collective_is_one_point_of_all_its_processes_or_the_messages_it_is_made_of():
    # A broadcast from rank 1 of three, by binomial tree: to 2^1 further (rank 0), then to rank 2.
    both = recording(*[[compute(1), collective(Op.BCAST, 100, root=1), compute(2)]] * 3)
    graph = graph_of(both)
    (point,) = (node for node in graph.nodes if node.element is Element.SYNCHRONISATION)
    assert (point.ranks, point.op, point.size_bytes, point.peer) == ((0, 1, 2), Op.BCAST, 100, 1)
    assert all(elements(graph, rank) == ["begin", "segment", "synchronisation", "segment", "end"] for rank in range(3))
    # The longest chain has 1 flop before the synchronisation and 2 flop after it.
    assert critical_path(graph, lambda node: node.flops * (1 + node.ranks[0])).time_s == 3 + 6
    expanded = graph_of(both, expand=True)
    assert expanded.count(Element.SYNCHRONISATION) == 0
    assert {(expanded.nodes[e.source].ranks, expanded.nodes[e.target].ranks) for e in messages(expanded)} == {
        ((1,), (0,)), ((1,), (2,)),
    }  # fmt: skip


def test_collectives_of_different_communicators_are_different_points():
    graph = graph_of(
        recording(
            [collective(Op.BARRIER, comm=1), collective(Op.BARRIER)],
            [collective(Op.BARRIER)],
            [collective(Op.BARRIER, comm=1), collective(Op.BARRIER)],
            communicators=((0, 1, 2), (0, 2)),
        )
    )
    assert [node.ranks for node in graph.nodes if node.op is Op.BARRIER] == [(0, 2), (0, 1, 2)]


def test_only_the_timed_section_counts():
    before, after = [compute(7), collective(Op.BARRIER)], [compute(8)]
    row = [*before, mark(Mark.START), compute(1), compute(2), mark(Mark.ITERATION), mark(Mark.STOP), *after]
    graph = graph_of(recording(row, row))
    assert [graph.nodes[at].flops for at in graph.processes[0]] == [0, 3, 0]


@pytest.mark.parametrize("app", ["cg", "mg", "is"])
@pytest.mark.parametrize("expand", [False, True])
def test_nothing_of_a_kernel_is_lost(app, expand):
    made = recorded(app)
    graph = graph_of(made, expand=expand)
    section = timed_section(made)
    flops = [sum(graph.nodes[at].flops for at in row) for row in graph.processes]
    assert flops == pytest.approx(Sections(made).flops(1).tolist())
    assert graph.count(Element.SEND) == graph.count(Element.RECEIVE) == len(messages(graph))
    calls = sum(np.count_nonzero(events["kind"] == Kind.COLLECTIVE) for events in section.events)
    points = sum(len(node.ranks) for node in graph.nodes if node.element is Element.SYNCHRONISATION)
    assert points == (0 if expand else calls)
    if not expand:
        assert graph.count(Element.SEND) == sum(np.count_nonzero(one["kind"] == Kind.SEND) for one in section.events)


def test_the_messages_of_is_on_4_ranks():
    # All-reduce: 3 to the root, 3 of a broadcast; all-to-all and its variant with counts: 4 x 3 each.
    graph = graph_of(recorded("is"), expand=True)
    assert graph.count(Element.SEND) == 3 + 3 + 12 + 12
    # 65536 keys of 4 bytes are charged 0.8 + 0.2 operations each.
    assert sum(node.flops for node in graph.nodes) == pytest.approx(65536)


def test_the_first_elements_of_each_process_are_a_graph_again():
    whole = graph_of(recorded("cg"))
    part = whole.first(20)
    assert all(len(row) <= 22 for row in part.processes)
    for rank in range(4):
        kept = [part.nodes[at] for at in part.processes[rank][1:-1]]
        assert kept == [whole.nodes[at] for at in whole.processes[rank][1 : len(kept) + 1]]
    assert part.count(Element.RECEIVE) == len(messages(part)) > 0


def test_a_receive_whose_send_is_cut_off_is_cut_off_too():
    graph = graph_of(recording([compute(1), send(1, 10, 0)], [receive(0, 10, 0), compute(1)])).first(1)
    assert elements(graph, 0) == ["begin", "segment", "end"]
    assert elements(graph, 1) == ["begin", "end"]


@pytest.mark.parametrize(
    ("ranks", "said"),
    [
        ([[collective(Op.BARRIER)], [collective(Op.BCAST, 8, root=0)]], "rank 1 calls bcast where others call barrier"),
        ([[collective(Op.BARRIER)], []], "elements that no process reaches"),
        ([[send(1, 8, 0)], []], "1 messages are sent and 0 received"),
        (
            [[receive(1, 8, 0), send(1, 8, 1)], [receive(0, 8, 0), send(0, 8, 1)]],
            "wait for each other in a circle",
        ),
    ],
)
def test_programs_that_cannot_be_are_refused(ranks, said):
    with pytest.raises(UserError, match=said):
        graph_of(recording(*ranks))


def test_edges_that_make_no_program_are_refused():
    begin, end = Node(Element.BEGIN, (0,)), Node(Element.END, (0,))
    with pytest.raises(UserError, match="of 2 nodes"):
        DPGraph((begin, end), (Edge(0, 2, Relation.ORDER, 0),))
    with pytest.raises(UserError, match="has no end"):
        DPGraph((begin, end), ())
    with pytest.raises(UserError, match="but not process 0"):
        DPGraph((Node(Element.BEGIN, (1,)), Node(Element.END, (1,))), (Edge(0, 1, Relation.ORDER, 1),))


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
    draw_graph(graph, tmp_path / "graph.png", title="Figure 5")
    assert (tmp_path / "graph.png").read_bytes().startswith(b"\x89PNG")
    draw_graph(graph, tmp_path / "graph.svg")
    assert etree.parse(tmp_path / "graph.svg").getroot().tag == "{http://www.w3.org/2000/svg}svg"
    with pytest.raises(UserError, match="no format for the ending 'txt'"):
        draw_graph(graph, tmp_path / "graph.txt")
    with pytest.raises(UserError, match="cannot be written"):
        draw_graph(graph, tmp_path / "nowhere" / "graph.png")


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


def test_the_beginning_of_a_short_graph_is_all_of_it():
    platform = neutral_platform(3)
    target = Target(problem("ep", "S"), platform, tuple(host.name for host in platform.hosts))
    graph = graph_of(record_events(RunSpec(target), 1), expand=False)
    assert graph.first(1000).nodes == graph.nodes


# --- incomplete recordings and files ---


def iterations(count):
    return [part for number in range(count) for part in (compute(1e6 * (number + 1)), mark(Mark.ITERATION))]


def test_iterations_are_those_of_all_ranks_and_are_not_made_of_two():
    with pytest.raises(UserError, match=r"its ranks mark different numbers of iterations \(1 to 2\)"):
        Sections(recording(iterations(1), iterations(2)))
    with pytest.raises(UserError, match=r"2 iterations were recorded, 5 are needed\. Record"):
        Sections(recording(iterations(2), iterations(2))).program(5)


def test_few_programs_are_kept_and_those_made_again_are_the_same():
    # By hand: the first and the last as recorded, 1 and 3 Mflop; those between are copies of the second, of 2 Mflop.
    sections = Sections(recording(iterations(3)))
    first = sections.program(4)
    assert sections.flops(4).tolist() == [1e6 + 2 * 2e6 + 3e6]
    for count in range(5, 40):
        sections.program(count)
    again = sections.program(4)
    assert again is not first  # the first one was dropped
    assert sections.program(4) is again


def test_who_waits_for_what_was_never_begun_is_refused():
    wait = [(Kind.WAIT, 0, 0, 0, -1, 0, 7, 0, 0, 0, 0)]
    with pytest.raises(UserError, match="it waits for an operation that it has not begun"):
        graph_of(recording([compute(1), wait]))


def test_a_message_that_is_waited_for_twice_comes_once():
    twice = [*receive(0, 8, 0), (Kind.WAIT, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0)]
    assert len(messages(graph_of(recording([send(1, 8, 0)], [twice])))) == 1


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
