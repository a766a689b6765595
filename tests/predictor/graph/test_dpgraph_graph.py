"""DP*Graphs: by hand as in the Li paper's Figures 3 to 5, of recorded kernels, and of incomplete recordings."""

import numpy as np
import pytest
from recordings_by_hand import collective, compute, figure_5, mark, messages, receive, recorded, recording, send

from apps.programs.problem import problem
from apps.recording.events import Kind, Mark, Mode, Op
from apps.runs.neutral import neutral_platform
from apps.runs.record_events import record_events
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.errors import UserError
from predictor.dpgraph.program import Sections
from predictor.graph.graph import (
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
)
from predictor.graph.section import timed_section
from predictor.sends.components import MessageComponents


def elements(graph, rank):
    return [graph.nodes[at].element.value for at in graph.processes[rank]]


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


def test_the_beginning_of_a_short_graph_is_all_of_it():
    platform = neutral_platform(3)
    target = Target(problem("ep", "S"), platform, tuple(host.name for host in platform.hosts))
    graph = graph_of(record_events(RunSpec(target), 1), expand=False)
    assert graph.first(1000).nodes == graph.nodes


# Incomplete recordings


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
    with pytest.raises(UserError, match="it waits for an operation that it did not begin"):
        graph_of(recording([compute(1), wait]))


def test_a_message_that_is_waited_for_twice_comes_once():
    twice = [*receive(0, 8, 0), (Kind.WAIT, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0)]
    assert len(messages(graph_of(recording([send(1, 8, 0)], [twice])))) == 1
