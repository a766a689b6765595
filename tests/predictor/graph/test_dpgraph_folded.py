"""Loops and branches found in graphs by hand, the picture without empty messages, and the balance of the work."""

import csv
import json

import numpy as np
import pytest
from recordings_by_hand import collective, compute, figure_5, mark, receive, recording, send

from apps.programs.problem import problem
from apps.recording.events import Mark, Mode, Op
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from predictor.graph.balance import _equal_times
from predictor.graph.cli import main
from predictor.graph.folded import Branch, Loop, folded, folded_lines
from predictor.graph.graph import Element, graph_of
from predictor.graph.on_platform import analysed, declared_network
from predictor.graph.shown import without_empty_messages
from predictor.shares.cli import main as plan_shares


def shape(rows):
    """The rows as nested lists of words."""
    made = []
    for row in rows:
        if isinstance(row, Loop):
            made.append((row.turns, shape(row.body)))
        elif isinstance(row, Branch):
            made.append((row.ranks, shape(row.items)))
        else:
            made.append(row.what.split(",")[0])
    return made


def test_turns_of_a_loop_are_one_body_and_loops_in_loops_are_found():
    # 3 times: twice (compute, barrier), then an allreduce.
    turn = [*[compute(2), collective(Op.BARRIER)] * 2, collective(Op.ALLREDUCE, 8)]
    rows = folded(graph_of(recording(turn * 3, turn * 3)))
    assert shape(rows) == [(3, [(2, ["segment", "barrier"]), "allreduce"])]
    assert rows[0].body[0].body[0].mean_flops == 2
    assert folded_lines(rows)[:2] == ["3 times:", "  2 times:"]


def test_what_only_some_processes_do_is_a_branch_inside_the_loop_of_all():
    # A ring of which process 0 begins and the last one ends: four times, a barrier each.
    first = [compute(1), send(1, 100, 0), collective(Op.BARRIER)]
    middle = [compute(1), receive(0, 100, 1), send(2, 100, 2), collective(Op.BARRIER)]
    last = [compute(1), receive(1, 100, 3), collective(Op.BARRIER)]
    rows = folded(graph_of(recording(first * 4, middle * 4, last * 4)))
    (loop,) = rows
    assert loop.turns == 4
    assert shape(loop.body)[0] == "segment" and shape(loop.body)[-1] == "barrier"
    by_rank = {rank: [] for rank in range(3)}
    for row in loop.body:
        for rank in row.ranks if isinstance(row, Branch) else range(3):
            by_rank[rank] += [item.what.split(",")[0] for item in (row.items if isinstance(row, Branch) else [row])]
    assert by_rank[0] == ["segment", "send to process +1", "barrier"]
    assert by_rank[1] == ["segment", "receive from process -1", "send to process +1", "barrier"]
    assert by_rank[2] == ["segment", "receive from process -1", "barrier"]
    assert "only processes 0 to 1:" in "\n".join(folded_lines(rows))


def test_a_kernel_s_iterations_are_a_loop_for_the_command(tmp_path, capsys):
    assert main(["--app", "is", "--iterations", "10", "--folded", "--json", "--store", str(tmp_path)]) == 0
    (loop, _) = json.loads(capsys.readouterr().out)["program"]
    assert loop["turns"] == 10
    assert [step["step"].split(",")[0] for step in loop["body"]] == ["segment", "allreduce", "alltoall", "alltoallv"]


def test_a_picture_leaves_out_messages_of_no_bytes():
    row = [send(1, 0, 7), compute(1), send(1, 1000, 8)]
    graph, kept = without_empty_messages(graph_of(recording(row, [receive(0, 0, 7), receive(0, 1000, 8)])))
    assert [graph.nodes[at].element.value for at in graph.processes[0]] == ["begin", "segment", "send", "end"]
    assert [graph.nodes[at].size_bytes for at in graph.processes[1]] == [0, 1000, 0]
    assert len(kept) == len(graph.nodes)
    whole = graph_of(figure_5())
    assert without_empty_messages(whole)[0] is whole


def test_a_receive_posted_before_the_section_belongs_to_it_where_it_is_waited_for():
    posted, waited = receive(0, 1000, 4)
    rows = [
        [mark(Mark.START), compute(1), send(1, 1000, 0, mode=Mode.READY), mark(Mark.STOP)],
        [[posted], mark(Mark.START), compute(2), [waited], mark(Mark.STOP)],
    ]
    graph = graph_of(recording(*rows))
    assert [graph.nodes[at].element for at in graph.processes[1]] == [
        Element.BEGIN, Element.SEGMENT, Element.RECEIVE, Element.END,
    ]  # fmt: skip
    early = [[*receive(0, 8, 3)], mark(Mark.START), compute(2)]
    assert graph_of(recording([send(1, 8, 1), mark(Mark.START)], early)).count(Element.RECEIVE) == 0


def test_the_paper_s_experiment_has_two_processes_in_every_mode(tmp_path, capsys):
    for mode in ("standard", "buffered", "synchronous", "ready"):
        assert main(["--app", "sendmodes", "--class", mode, "--json", "--store", str(tmp_path)]) == 0
        made = json.loads(capsys.readouterr().out)
        assert (made["processes"], made["message_bytes"]) == (2, 4_000_000)
    assert main(["--app", "sendmodes", "--ranks", "3"]) == 2
    assert "exactly 2" in capsys.readouterr().err


@pytest.mark.parametrize("mode", ["standard", "ready"])
def test_t_exec_has_the_network_in_the_sender_s_and_the_receiver_s_time(mode, tmp_path, capsys):
    # TCP of Fast Ethernet carries 1448 bytes in 1538 byte times of 80 ns: 4 MB take 0.33988 s, both processes.
    asked = ["--app", "sendmodes", "--class", mode, "--scenario", "li-1", "--times", "li", "--json"]
    assert main([*asked, "--store", str(tmp_path)]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["t_exec_s"] == pytest.approx(4e6 * 80e-9 * 1538 / 1448, rel=2e-3)
    assert made["chain_s"] == pytest.approx(made["t_exec_s"], rel=2e-3)


def test_copies_that_the_platform_charges_are_measured_as_c1(tmp_path, capsys):
    # Cluster 1 copies a byte in 17.31 ns (docs/results/li.md); SMPI charges it to whoever sends.
    asked = ["--app", "sendmodes", "--scenario", "li-1", "--times", "li", "--json", "--store", str(tmp_path)]
    copies = ["--cfg", "smpi/os:0:0:17.31e-9", "--cfg", "smpi/ois:0:0:17.31e-9"]
    assert main([*asked, *copies]) == 0
    (components,) = json.loads(capsys.readouterr().out)["components"].values()
    assert components["c1_s_per_byte"] == pytest.approx(17.31e-9)


def test_work_in_proportion_to_the_speed_leaves_messages_out():
    # 12 flops on nodes of 1 and 2 flop/s: 4 and 8.  With 3 s of messages of the first: t = (12 + 3) / 3 = 5 s.
    s_per_flop = np.array([1.0, 0.5])
    assert _equal_times(12.0, s_per_flop, np.zeros(2)).tolist() == [4.0, 8.0]
    assert _equal_times(12.0, s_per_flop, np.array([3.0, 0.0])).tolist() == [2.0, 10.0]
    assert _equal_times(12.0, s_per_flop, np.array([9.0, 0.0])).tolist() == [0.0, 12.0]


def test_the_balance_of_a_program_without_messages_is_that_of_its_nodes():
    # Two clusters of 20 and 60 Gflop/s, 1 Gflop for each process: 50 ms; by speed, (2 x 1) / 80 = 25 ms.
    platform = materialise(named_grid("grid2x1", speeds_flops=(20e9, 60e9)))
    made = recording([compute(1e9)], [compute(1e9)])
    target = Target(problem("is", "S"), platform, block(platform, 2))
    network, _ = declared_network(target, made, {})
    found = analysed(target, made, network, balanced=True).balance
    assert found.now.time_s == pytest.approx(0.05) and found.best.time_s == pytest.approx(0.025)
    assert found.best.share == pytest.approx((0.25, 0.75))
    nothing = analysed(target, recording([], []), network, balanced=True)
    assert nothing.balance is None


def test_the_command_of_shares_takes_any_program_by_its_graph(tmp_path, capsys):
    # FT takes no shares.  Its computation is most of the time on InfiniBand, and nodes have 40 to 70 Gflop/s.
    path = tmp_path / "shares.csv"
    asked = ["--app", "ft", "--class", "S", "--scenario", "grid4x2", "--network", "infiniband", "--graph", "--json"]
    assert plan_shares([*asked, "--write", str(path), "--store", str(tmp_path / "store")]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["best"] != "as it is" and 0 < made["saved_share"] < 1
    written = {row["cluster"]: float(row["share"]) for row in csv.DictReader(path.open())}
    assert written == pytest.approx(made["shares"], rel=1e-5) and sum(written.values()) == pytest.approx(1)
    assert plan_shares(["--graph", "--scenario", "grid4x2"]) == 2
    assert "Give --app NAME" in capsys.readouterr().err
