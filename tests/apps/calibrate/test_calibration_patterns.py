"""Calibration from patterns: the sharing of links from calls that several nodes make at once."""

import json
import math
from pathlib import Path

import pytest

from apps.calibrate.cli import main
from apps.calibrate.patterns.platform_file import fitted_rows, sharing_of
from apps.calibrate.patterns.rows import read_rows
from platforms.read.read import read_platform

TAURUS = Path(__file__).parents[3] / "examples" / "real" / "saturation-taurus.csv"
MIRIEL = TAURUS.with_name("saturation-miriel.csv")
SIZE = 4_000_000
ONE_WAY_S = 0.004  # 1 GB/s


def calibrate(tmp_path, file, *words, cluster="made", nodes=8):
    out = tmp_path / "made.xml"
    given = ["--patterns", str(file), "--cluster", cluster, "--nodes", str(nodes), "--core-gflops", "10"]
    return main([*given, "--out", str(out), "--latency-us", "0", *words]), out


def table(tmp_path, same, diff, send=lambda ranks: 1.0):
    """A file of times on 2 to 8 ranks, in multiples of one way alone."""
    rows = ["pattern,size_bytes,active_ranks,time_median_s"]
    for ranks in (2, 4, 6, 8):
        times = {"send": send(ranks), "sendrecv_same": same, "sendrecv_diff": diff if ranks > 2 else None}
        rows += [f"{name},{SIZE},{ranks},{ONE_WAY_S * value}" for name, value in times.items() if value]
    file = tmp_path / "patterns.csv"
    file.write_text("\n".join(rows) + "\n")
    return file


def shown(tmp_path, capsys, file, *words, **given):
    assert calibrate(tmp_path, file, "--json", *words, **given)[0] == 0
    return json.loads(capsys.readouterr().out)


def test_taurus_is_met_by_links_per_pair_and_per_node(tmp_path, capsys):
    found = shown(tmp_path, capsys, TAURUS, cluster="taurus", nodes=12)
    # Both ways between the same nodes take twice one way, to one and from another node 1.40 times (the data's README).
    known = {"send": 1.0, "sendrecv_same": 2.0, "sendrecv_diff": 1.4}
    assert found["sharing"]["ratios"] == pytest.approx(known, rel=0.01)
    assert found["sharing"]["pair_Bps"] == pytest.approx(SIZE / 0.00348, rel=0.01)
    assert found["sharing"]["node_Bps"] == pytest.approx(2 * SIZE / 0.00487, rel=0.01)
    assert found["sharing"]["switch_Bps"] is None
    judged = [row for row in found["patterns"] if not row["fitted"]]
    assert len(judged) == 16 and found["judged"]["median_error"] < 0.02
    # The all-to-all of two nodes, of six calls between 5 and 208 ms, exchanges what sendrecv_same does, but was faster.
    beyond = [(row["pattern"], row["active_ranks"]) for row in judged if abs(row["error"]) > 0.1]
    assert beyond == [("alltoall", 2)]


def test_the_summary_has_at_most_80_columns(tmp_path, capsys):
    assert calibrate(tmp_path, TAURUS, cluster="taurus", nodes=12)[0] == 0
    *text, _, _, _ = capsys.readouterr().out.splitlines()  # without the names of files
    assert max(map(len, text)) <= 80
    assert any(line.startswith("judged: 16 rows, median error ") for line in text)


def test_an_all_to_all_is_a_ring_of_exchanges_one_of_them_between_the_same_nodes(tmp_path, capsys):
    file = table(tmp_path, same=2.0, diff=1.4)
    # Any measured time: only the replay is looked at.
    file.write_text(file.read_text() + "".join(f"alltoall,{SIZE},{ranks},0.01\n" for ranks in (2, 3, 4, 8)))
    found = shown(tmp_path, capsys, file)
    replayed = {row["active_ranks"]: row["replayed_s"] for row in found["patterns"] if row["pattern"] == "alltoall"}
    # By hand: rank r sends to r + d and receives from r - d, for d from 1 on: the same node if 2 d is all ranks.
    by_hand = {2: 2.0, 3: 2 * 1.4, 4: 2 * 1.4 + 2.0, 8: 6 * 1.4 + 2.0}
    assert replayed == pytest.approx({ranks: ONE_WAY_S * time for ranks, time in by_hand.items()}, rel=0.005)


@pytest.mark.parametrize(
    ("same", "diff", "pair_Bps", "node_Bps"),
    [
        (1.0, 1.0, None, None),  # full duplex
        (2.0, 2.0, None, 1e9),  # half duplex: both ways of a node share 1 GB/s
        (1.25, 1.25, None, 1.6e9),
        (2.0, 1.0, 1e9, None),  # only the two flows between the same nodes disturb each other
        (1.6, 1.25, 1.25e9, 1.6e9),
    ],
)
def test_the_capacities_follow_from_both_patterns_and_the_replay_meets_them(
    tmp_path, capsys, same, diff, pair_Bps, node_Bps
):
    found = shown(tmp_path, capsys, table(tmp_path, same, diff))
    assert found["sharing"]["rate_Bps"] == pytest.approx(1e9)
    for name, expected in (("pair_Bps", pair_Bps), ("node_Bps", node_Bps)):
        assert found["sharing"][name] == (None if expected is None else pytest.approx(expected))
    assert max(abs(row["error"]) for row in found["patterns"]) < 0.003
    assert found["sharing"]["cautions"] == []


def test_rows_of_more_ranks_that_are_slower_show_the_switch(tmp_path, capsys):
    # By hand: a switch of 2.5 GB/s carries two flows of 1 GB/s, three take 1.2 and four 1.6 times as long.
    file = table(tmp_path, same=None, diff=None, send=lambda ranks: max(1.0, ranks / 2 / 2.5))
    found = shown(tmp_path, capsys, file, "--fit-ranks", "6")
    assert found["sharing"]["switch_Bps"] == pytest.approx(2.5e9)
    assert found["judged"]["rows"] == 1 and found["judged"]["largest_error"] < 0.003
    assert [caution.split()[0] for caution in found["sharing"]["cautions"]] == ["sendrecv_same", "sendrecv_diff"]


def test_patterns_that_no_sharing_explains_are_told(tmp_path):
    rows = read_rows([str(table(tmp_path, same=1.2, diff=1.8))], "made")
    sharing = sharing_of(fitted_rows(rows, 4), 0.0)
    assert "no capacity of pairs and nodes explains" in sharing.cautions[0]
    assert sharing.node_Bps == pytest.approx(2e9 / math.sqrt(1.2 * 1.8))
    slow = sharing_of(fitted_rows(read_rows([str(table(tmp_path, same=2.5, diff=2.0))], "made"), 4), 0.0)
    assert "more than twice one way" in slow.cautions[0]
    assert slow.pair_Bps == pytest.approx(1e9), "a flow alone keeps its rate"


def test_the_platform_has_the_asked_nodes_and_a_picture_beside_it(tmp_path, capsys):
    _, out = calibrate(tmp_path, table(tmp_path, 2.0, 1.4), "--cores", "3", nodes=9)
    platform = read_platform(out)
    assert [host.name for host in platform.hosts] == [f"made-{i}" for i in range(9)]
    assert {host.cores for host in platform.hosts} == {3}
    assert dict(platform.options)["smpi/alltoall"] == "ring"
    assert (tmp_path / "made.png").stat().st_size > 10_000
    assert "sha256" in out.read_text()
    calibrate(tmp_path, table(tmp_path, 2.0, 1.4), "--alltoall", "selector")
    assert "smpi/alltoall" not in dict(read_platform(out).options)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--nodes 7", "--nodes 7: the patterns have 8 ranks, one per node"),
        ("--fit-ranks 1", "--fit-ranks 1: out of range"),
        ("--latency-us 5000", "half the time of a send"),
        ("--latency-us nan", "--latency-us nan: out of range"),
        ("--hold-out 4", "--hold-out 4: has no effect with --patterns"),
        ("--p2p p2p.csv", "--p2p, --patterns: their times come from different runs"),
        ("--nodes 300", "too many nodes: each pair needs a link of its own"),
        ("--patterns none.csv", "none.csv: cannot be read"),
    ],
)  # fmt: skip
def test_a_wrong_option_is_refused_in_one_line(tmp_path, capsys, words, said):
    status, out = calibrate(tmp_path, table(tmp_path, 2.0, 1.4), *words.split())
    err = capsys.readouterr().err
    assert status == 2 and said in err and err.count("\n") == 1
    assert not out.exists()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("ping,4000000,2,0.004", "no pattern 'ping'"),
        ("send,4000000,3,0.004", "3 ranks of send. Give an even number"),
        ("sendrecv_diff,4000000,2,0.004", "active_ranks is '2'. Give a whole number from 3"),
        ("send,0,2,0.004", "size_bytes is '0'"),
        ("send,4000000,2,nan", "time_median_s is 'nan'"),
        ("send,4000000,2", "time_median_s is None"),
        ("sendrecv_same,4000000,2,0.004", "no times of the pattern send"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, capsys, line, said):
    file = tmp_path / "wrong.csv"
    file.write_text(f"pattern,size_bytes,active_ranks,time_median_s\n{line}\n")
    assert calibrate(tmp_path, file)[0] == 2
    assert said in capsys.readouterr().err


def test_calls_of_two_nodes_and_patterns_do_not_go_together_and_the_reason_is_said(refused, tmp_path):
    words = ["--p2p", "a.csv", "--patterns", "b.csv", "--out", str(tmp_path / "x.xml")]
    refused(main, words, "--p2p, --patterns", "give a link different rates", "--machine and --measured fit both")


@pytest.mark.slow
def test_another_algorithm_with_powers_of_two_is_found(tmp_path, capsys):
    # By hand: Bruck's algorithm sends n / 2 blocks log2(n) times, of 4, 8 and 16 ranks 4, 12 and 32 blocks. One takes
    # 8 ms, both ways at once: 32, 96 and 256 ms, where 41, 99 and 231 ms were measured. A ring takes 24, 56 and 120 ms.
    found = shown(tmp_path, capsys, MIRIEL, cluster="miriel", nodes=16)
    rows = [row for row in found["patterns"] if row["pattern"] == "alltoall"]
    ring = {row["active_ranks"]: row["error"] for row in rows}
    assert all(ring[ranks] < -0.4 for ranks in (4, 8, 16)) and all(ring[ranks] > -0.2 for ranks in (2, 6, 10, 12, 14))
    assert found["alltoall_of_powers"]["algorithm"] == "bruck"
    errors = {row["active_ranks"]: row["error"] for row in found["alltoall_of_powers"]["patterns"]}
    assert errors == {4: pytest.approx(32 / 41.2 - 1, abs=0.02), 8: pytest.approx(96 / 98.8 - 1, abs=0.02),
                      16: pytest.approx(256 / 231.2 - 1, abs=0.02)}  # fmt: skip


def test_an_algorithm_for_powers_of_two_alone_is_refused_in_one_line(tmp_path, capsys):
    assert calibrate(tmp_path, MIRIEL, "--alltoall", "pair", cluster="miriel", nodes=16)[0] == 2
    error = capsys.readouterr().err
    assert "needs a power of two of ranks, and there are rows of 6, 10, 12, 14" in error and error.count("\n") == 1
