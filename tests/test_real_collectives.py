"""The example that predicts collective operations on another network, on cases that are known by hand."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "real"))

from collectives import Network, Node, Pair, errors, fitted, main, read

TABLE = Path(__file__).parents[1] / "examples" / "real" / "published" / "csd3-messages.csv"
# A message takes 2 us and 1 us per kB; a node's messages pass at 1000 bytes per us.
NETWORK = Network(
    {size: 2.0 + size / 1000 for size in (1, 1000, 10**6)}, {1: 1000.0, 10**6: 1000.0}, {1: 500.0, 10**6: 500.0}
)


def test_two_ranks_on_two_nodes_reduce_in_one_exchange():
    # 2 + 1 us for the message, 1000 / 8000 us for the sums.
    assert Pair(1, NETWORK, Node(sums=8e3)).time_us("allreduce", 1000) == pytest.approx(3 + 0.125)


def test_messages_of_a_node_leave_it_one_after_the_other():
    # All 2 x 2 messages between the nodes of pairs of 2 ranks: the lone one, and three at 1 us each.
    node = Node(memory=1e12, gap_us=0.0)
    assert Pair(2, NETWORK, node).time_us("alltoall", 1000) == pytest.approx(3 + 3, rel=1e-6)


def test_pairs_of_an_all_to_all_cross_as_often_as_their_distance_says():
    # Four ranks in steps of distance 1, 2, 3: 1, 2 and 1 of a node's two messages cross; the others cost nothing.
    node = Node(latency_us=0.0, memory=1e12)
    one, two = NETWORK.time_us(10_000, 1), NETWORK.time_us(10_000, 2)
    assert Pair(2, NETWORK, node).time_us("alltoall", 10_000) == pytest.approx(2 * one + two)


def test_large_messages_inside_a_node_share_its_adapter():
    # The neighbours' exchange of 4 ranks: 1 step of 2 messages of 1 MB, then 1 of 2 MB, of which one stays inside.
    node = Node(latency_us=0.0, handshake_us=0.0, adapter=100.0)
    slow = 2 * 10**6 / 100
    crossing = NETWORK.time_us(1, 1) + 2 * 2 * 10**6 / 100
    assert Pair(2, NETWORK, node).time_us("allgather", 10**6) == pytest.approx(slow + crossing)


def test_the_table_of_csd3_is_read_whole():
    ranks, network, measured = read(str(TABLE), "ib")
    assert ranks == 32 and len(measured) == 61
    assert abs(errors(Pair(ranks, network, Node()), measured)).max() < 2.0


@pytest.mark.slow
def test_csd3_over_roce_follows_from_infiniband():
    ranks, network, measured = read(str(TABLE), "ib")
    node = fitted(ranks, network, measured)
    _, roce, others = read(str(TABLE), "roce")
    far = errors(Pair(ranks, roce, node), others)
    assert sorted(abs(far))[len(far) // 2] < 0.12
    (largest,) = [e for e, one in zip(far, others, strict=True) if (one.operation, one.size) == ("alltoall", 2**20)]
    assert abs(largest) < 0.05  # 211 ms


def test_a_network_that_the_table_lacks_is_refused_in_one_line(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["collectives.py", str(TABLE), "--known", "opa", "--network", "ib"])
    assert main() == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "'opa'" in said
