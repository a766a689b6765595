"""``gridval plan failures``."""

import json

import numpy as np
import pytest

from platforms.errors import UserError
from predictor.failures.cli import main, parse_nodes
from predictor.failures.cli import main as reliability
from predictor.failures.run_times import amdahl, read_times

GALERA = "--model galera+ --checkpoint 300 "


def test_the_best_number_of_nodes_is_found_and_drawn(tmp_path, capsys):
    picture = tmp_path / "nodes.png"
    command = GALERA + f"--restart 600 --work 3e9 --serial 1e-5 --nodes 1:100000 --json --plot {picture}"
    assert main(command.split()) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["failure_rate_per_s"] == 5.03372e-10
    scratch, daly = found["best"]["scratch"], found["best"]["daly"]
    assert 50_000 < scratch["nodes"] < 60_300  # below the closed form without restarts: a restart favours fewer
    assert daly["expected_s"]["daly"] < scratch["expected_s"]["scratch"]
    assert scratch["nodes"] in [row["nodes"] for row in found["rows"]]
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_mean_times_between_failures_are_converted(capsys):
    rates = []
    for option in ("--node-mtbf-years 2", "--node-mtbf-hours 17532", "--rate 1.5844043907014474e-08"):
        assert main(f"{option} --checkpoint 1 --work 10 --nodes 1,2 --json".split()) == 0
        rates.append(json.loads(capsys.readouterr().out)["failure_rate_per_s"])
    assert rates == pytest.approx([rates[2]] * 3)


def test_times_come_from_a_table(tmp_path, capsys):
    table = tmp_path / "times.csv"
    table.write_text("# measured\nnodes,time_s\n4,300\n1,1000\n2,600\n")
    assert main(f"{GALERA} --times {table} --json --repeat 10".split()) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [(row["nodes"], row["run_s"]) for row in rows] == [(1, 10000), (2, 6000), (4, 3000)]


def test_times_come_from_a_predictor(capsys):
    # HCF's communication time without growth: its evidence is one run on four nodes, which is left out as a target.
    command = "--node-mtbf-hours 1 --checkpoint 1 --scenario grid4x2 --app mg --class S --predictor hcf:constant"
    assert main([*command.split(), "--nodes", "4,8", "--no-store", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["nodes"] for row in found["rows"]] == [8]
    assert any("4 nodes: left out" in caution for caution in found["cautions"])


def test_numbers_of_nodes_that_the_kernel_refuses_are_left_out(capsys):
    # LU's class S has 12 points along an axis, and every rank needs two of them: 7 ranks in a row do not fit.
    command = "--node-mtbf-hours 1 --checkpoint 1 --scenario grid4x2 --app lu --class S --predictor dpgraph:known"
    assert main([*command.split(), "--nodes", "6,7,8", "--no-store", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["nodes"] for row in found["rows"]] == [6, 8]
    assert "7 nodes: left out: lu S does not run on this number of ranks" in found["cautions"]


def test_a_time_that_no_float_holds_is_null(capsys):
    assert main("--rate 1 --checkpoint 1 --work 1e6 --nodes 1,2 --json".split()) == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["expected_s"]["scratch"] is None


@pytest.mark.filterwarnings("error")
def test_where_every_time_exceeds_a_float_there_is_no_best_number_of_nodes(capsys):
    # e^(r T) of a restart from scratch: r T = 1e-3 P x 1e7 / P = 1e4 on any number of nodes, and a float ends at e^709.
    command = "--rate 1e-3 --checkpoint 1 --work 1e7 --nodes 1:1000 --intervals young"
    assert main([*command.split(), "--json"]) == 0
    best = json.loads(capsys.readouterr().out)["best"]
    assert best["scratch"] is None
    assert best["young"]["nodes"] > 1
    assert main(command.split()) == 0
    assert "best, scratch: none: every time exceeds what a float holds\n" in capsys.readouterr().out


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("rate", ["0", "1e-30", "1", "1e9"])
@pytest.mark.parametrize("times", ["1e-9", "1e15"])
@pytest.mark.parametrize("segments", ["whole", "daly"])
def test_no_answer_is_without_a_number_at_the_ends_of_what_is_taken(rate, times, segments, capsys, tmp_path):
    command = f"--rate {rate} --checkpoint {times} --restart {times} --work {times} --nodes 1,1000000000 --segments"
    more = f"{segments} --intervals young,daly-first-order,daly,exact"
    if segments == "whole":  # the figure has the same times
        more += f" --plot {tmp_path / 'nodes.png'}"
    assert main([*command.split(), *more.split()]) == 0
    assert "nan" not in capsys.readouterr().out


def test_segments_may_be_counted_as_daly_does(capsys):
    times = []
    for how in ("whole", "daly"):
        assert main(f"--rate 1e-9 --checkpoint 1 --work 1000 --nodes 1 --segments {how} --json".split()) == 0
        times.append(json.loads(capsys.readouterr().out)["rows"][0]["expected_s"]["young"])
    # tau = sqrt(2 x 1e9) = 44,721 s is longer than the run.  E(L) = L + r L^2 / 2 for small r: no checkpoint and
    # E(1000), or 1000/tau E(tau + 1) = 1000 (1 + 1/tau) (1 + r tau / 2).
    assert times[0] - 1000 == pytest.approx(1e-9 * 1000**2 / 2, rel=1e-3)
    assert times[1] - 1000 == pytest.approx(1000 * (1 / 44721.36 + 1e-9 * 44721.36 / 2), rel=1e-3)


def test_one_node_is_one(capsys):
    assert main("--rate 0 --checkpoint 1 --work 1 --nodes 1".split()) == 0
    assert "best, scratch: 1 node, 1.00 s" in capsys.readouterr().out


def test_without_failures_nothing_is_lost(capsys):
    assert main("--rate 0 --checkpoint 1 --work 100 --nodes 1,2 --json".split()) == 0
    row = json.loads(capsys.readouterr().out)["rows"][1]
    assert row["success"] == 1
    assert set(row["expected_s"].values()) == {50}


def test_amdahls_law():
    assert amdahl(100, 0.1, np.array([1, 9])).time_s == pytest.approx([100, 20])  # 10 + 90/9
    assert amdahl(100, 0.0, np.array([4])).time_s == pytest.approx([25])


def test_numbers_of_nodes():
    assert parse_nodes("3:5") == [3, 4, 5]
    assert parse_nodes("8,2,2") == [2, 8]
    for text in ("", "0:3", "a", "5:3", "1:2:3", "1:99999999"):
        with pytest.raises(UserError):
            parse_nodes(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time_s\n1\n", "no column nodes"),
        ("nodes,time_s\n", "no times in it"),
        ("nodes,time_s\n1,2\n# more\n1,3\n", "line 4: 1 nodes again"),
        ("nodes,time_s\n1.5,2\n", "line 2: 1.5 nodes"),
        ("nodes,time_s\n1,0\n", "time_s is '0'"),
        ("nodes,time_s\n1\n", "time_s is None"),
        ("nodes,time_s\n1,1e300\n", "time_s is '1e300'. Give a number above 0, up to"),
        ('nodes,time_s\n"1\n2",5\n', "line 3: nodes is"),
    ],
)
def test_a_bad_table_is_refused_with_its_line(tmp_path, text, message):
    table = tmp_path / "times.csv"
    table.write_text(text)
    with pytest.raises(UserError, match=message):
        read_times(str(table))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--checkpoint 1 --work 1", "failure rate: is not given"),
        ("--rate 1 --model galera+ --checkpoint 1 --work 1", "is given 2 times"),
        ("--model kask --checkpoint 1 --work 1", "it has no failure rate"),
        (GALERA, "run time: is not given"),
        (GALERA + "--work 1 --times x.csv", "is given by --work and --times"),
        (GALERA + "--times missing.csv", "missing.csv: cannot be read"),
        (GALERA + "--work 0", "--work 0: not a time"),
        (GALERA + "--work 1 --serial 2", "--serial 2: not a share"),
        (GALERA + "--work 1 --app mg", "--app: goes with --scenario or --platform"),
        (GALERA + "--work 1 --iterations full", "--iterations: goes with --scenario or --platform"),
        (GALERA + "--scenario grid4x2", "--app: is not given"),
        (GALERA + "--work 1 --intervals dally", "--intervals dally"),
        (GALERA + "--work 1 --rows 1", "--rows 1: below two"),
        (GALERA + "--work 1 --repeat 0", "--repeat 0: below one"),
        (GALERA + "--work 1 --plot /no/such/place.png", "cannot be written"),
        (GALERA + "--work 1 --memory-bus 10", "--memory-bus: goes with --scenario or --platform"),
        (GALERA + "--work 1 --bytes-per-flop 2", "--bytes-per-flop: goes with --scenario or --platform"),
        (GALERA + "--work 1 --plot x.foo", "no format for the ending 'foo'. Write one of .png, .svg, .pdf"),
        (GALERA + "--work 1 --intervals ,", "names none"),
        (GALERA + "--work 1 --segments half", "--segments half: no such way"),
        (GALERA + f"--work 1 --nodes 1{400 * '0'}", "too many nodes. Give numbers up to 1000000000"),
        (GALERA + f"--work 1 --repeat 1{400 * '0'}", "too many. Give at most 1000000000"),
        (GALERA + "--work 1e10 --repeat 10000000", "1e+17 s without failures. Give less work: up to 1e+15 s"),
        (GALERA + "--work 1e308 --repeat 100", "--work 1e+308: not a time"),
        ("--rate 1e308 --checkpoint 1 --work 1 --nodes 1:400", "failure rate 1e+308: out of its range"),
        ("--rate 1e-320 --checkpoint 1 --work 1", "out of its range"),
        ("--model galera+ --checkpoint 0 --work 1", "checkpoint time 0: out of its range"),
    ],
)
def test_bad_input_gives_one_line(arguments, message, capsys):
    assert main(arguments.split()) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


FAILURES = "--rate 1e-6 --checkpoint 1 "


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--scenario grid4x2 --app cg --class S --serial 0.1", "--serial 0.1: goes with --work"),
        ("--times some.csv --nodes 1:4", "--nodes 1:4: does not go with --times"),
        (
            "--scenario grid4x2 --app cg --class S --predictor hierarchical --nodes 3 --no-store",
            "--predictor hierarchical: no number of nodes is in its range: 3 nodes: left out: ",
        ),
    ],
)
def test_run_times_that_cannot_be_had_are_refused(refused, arguments, said):
    refused(reliability, (FAILURES + arguments).split(), said)


def test_a_table_with_a_field_without_end_is_no_csv(tmp_path):
    path = tmp_path / "times.csv"
    path.write_text("nodes,time_s\n1," + "9" * 200_000 + "\n")
    with pytest.raises(UserError, match="not CSV: field larger than field limit"):
        read_times(str(path))


def test_the_times_of_a_program_of_ones_own_come_from_its_graph(computing, capsys):
    # By hand: 8e11 operations on nodes of 40 Gflop/s: 20 s on one, 10 s on two, and a barrier of microseconds.
    command = ["--node-mtbf-hours", "1", "--checkpoint", "1", "--scenario", "grid1x2", "--speeds", "40", "--no-store"]
    asked = [*command, "--program", str(computing), "--nodes", "1,2", "--json"]
    assert main([*asked, "--program-args", "8e11"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["run_s"] for row in rows] == pytest.approx([20, 10], rel=1e-3)
    assert main([*asked, "--program-args", "8e11 2"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["nodes"] for row in found["rows"]] == [2]
    assert any(caution.startswith("1 nodes: left out: ") for caution in found["cautions"])


def test_a_node_may_have_several_ranks(computing, tmp_path, capsys):
    # By hand: 8e11 operations on cores of 10 Gflop/s: 20 s on the four of one node, 10 s on those of two.
    quad = tmp_path / "quad.xml"
    quad.write_text(
        '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
        '<platform version="4.1">\n'
        '<cluster id="q" prefix="q-" suffix="" radical="0-1" speed="10Gf" core="4" bw="1Gbps" lat="20us"/>\n</platform>'
    )
    command = ["--node-mtbf-hours", "1", "--checkpoint", "1", "--platform", str(quad), "--no-store", "--json"]
    asked = [*command, "--program", str(computing), "--program-args", "8e11", "--ranks-per-host", "4"]
    assert main(asked) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["nodes"] for row in rows] == [1, 2]
    assert [row["run_s"] for row in rows] == pytest.approx([20, 10], rel=1e-3)
