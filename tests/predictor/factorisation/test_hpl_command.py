"""The command that predicts HPL on a calibrated cluster: machine, grids and the best of them."""

import json
import math

import numpy as np
import pytest

from platforms.errors import UserError
from platforms.read.read import kept_file, read_platform
from predictor.factorisation.cluster import cluster_of, nominal_products, read_products, wire_segments
from predictor.factorisation.evaluate import Problem, evaluate
from predictor.factorisation.interval import interval, pivots_s
from predictor.factorisation.machine import Curves, Machine
from validation.entrance.main import main

PLATFORM = """<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><config><prop id="smpi/lat-factor" value="0:1;1000:2"/>
<prop id="smpi/bw-factor" value="0:0.5;2000:1"/><prop id="smpi/os" value="0:1e-6:0"/>
<prop id="smpi/or" value="0:2e-6:0"/><prop id="smpi/async-small-thresh" value="65536"/></config>
<zone id="z" routing="Full"><cluster id="c" prefix="c-" suffix="" radical="0-1" speed="10Gf" core="4" bw="1GBps"
lat="5us"/></zone></platform>"""


def platform():
    return read_platform(kept_file(PLATFORM.encode()), "made")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "c.xml"
    path.write_text(PLATFORM)
    return path


def test_times_of_messages_are_latency_and_bandwidth_times_smpis_factors():
    # By hand: 10 us, doubled from 1000 bytes on; 2 ns a byte below 2000 bytes and 1 ns from there; 16 more.
    segments = wire_segments(dict(platform().options), 10e-6, 1e9)
    expected = [(0, 10e-6 + 32e-9, 2e-9), (1000, 20e-6 + 32e-9, 2e-9), (2000, 20e-6 + 16e-9, 1e-9)]
    assert np.array(segments) == pytest.approx(np.array(expected))


def test_ranks_fill_nodes_and_threads_share_a_rank(tmp_path):
    table = tmp_path / "dgemm.csv"
    table.write_text("node,cpu,s_per_mnk,intercept_s\n1,0,2e-10,1e-6\n1,1,4e-10,3e-6\n")
    made = cluster_of(platform(), read_products(str(table)), threads=1, within_Bps=1e9, memory_Bps=60e9)
    machine = made.machine(6)
    assert machine.node.tolist() == [0, 0, 0, 0, 1, 1]
    assert machine.gemm_s.tolist() == [2e-10, 2e-10, 4e-10, 4e-10, 2e-10, 2e-10]  # the second half is CPU 1
    assert (machine.gemm_call_s, machine.panel_s_per_byte) == pytest.approx((2e-6, 4 / 60e9))
    threads = cluster_of(platform(), nominal_products(10e9), threads=2, within_Bps=1e9, memory_Bps=None)
    assert (threads.ranks_of_node, threads.most_ranks) == (2, 4)
    assert threads.machine(2).gemm_s.tolist() == [1e-10, 1e-10]  # by hand: 2 operations at 20 Gflop/s
    with pytest.raises(UserError, match="Give at most 4 ranks"):
        threads.machine(5)


def test_one_rank_takes_its_operations(file, capsys):
    # By hand: 2/3 n^3 operations at 10 Gflop/s, and those of the panels.
    assert main(f"predict --app hpl --platform {file} --core-gflops 10 --size 2000 --grid 1x1 --json".split()) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert run["predicted_s"] == pytest.approx(2 / 3 * 2000**3 / 10e9, rel=0.1)
    assert run["flops"] == pytest.approx(10e9, rel=0.1)


def test_all_grids_are_tried_and_the_best_is_named(file, capsys):
    assert main(f"predict --app hpl --platform {file} --core-gflops 10 --size 500,1000 --json".split()) == 0
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert [(run["rows"], run["columns"]) for run in runs] == [(1, 8), (2, 4), (4, 2), (8, 1)] * 2
    for n in (500, 1000):
        times = {run["predicted_s"]: run["best"] for run in runs if run["n"] == n}
        assert [time_s for time_s, best in times.items() if best] == [min(times)]
    assert main(f"predict --app hpl --platform {file} --core-gflops 10 --size 500 --ranks 4".split()) == 0
    text = capsys.readouterr().out
    assert text.count("best") == 1 and "caution: the memory's bandwidth is not known" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--core-gflops 0", "--core-gflops 0: not a positive number"),
        ("--core-gflops 10 --grid 3x3", "9 ranks: 2 nodes take 4 ranks of 1 threads each"),
        ("--core-gflops 10 --threads 9", "--threads 9: a node has 4 cores"),
        ("--core-gflops 10 --ranks 3 --grid 2x2", "--grid has another number of ranks"),
        ("--dgemm nowhere.csv", "nowhere.csv"),
    ],
)
def test_wrong_options_are_refused_in_one_line(file, capsys, words, said):
    assert main(f"predict --app hpl --platform {file} --size 500 {words}".split()) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_a_panel_is_packed_before_it_is_sent_and_rows_are_copied_by_their_owner():
    # Two ranks beside each other; messages, products and the factorisation itself cost nothing.
    free = Curves(((0.0, 0.0, 0.0),), ((0.0, 0.0, 0.0),))
    n, nb = 512, 256

    def time_s(rows, columns, **costs):
        machine = Machine(np.zeros(2, np.int64), np.zeros(2), free, cache_bytes=math.inf, **costs)
        return evaluate(Problem(n, nb, rows, columns), machine).time_s

    # By hand: a panel is nb (1 + nb + rows below) numbers, the second without such; packing moves 3 times its bytes.
    packed = 3 * 8 * nb * ((1 + nb + nb) + (1 + nb + 0))
    assert time_s(1, 2, panel_s_per_byte=1e-9) == pytest.approx(1e-9 * packed, rel=1e-6)
    # The rows of U: nb x (nb + 1) numbers after the first panel, and one column of the right side after the second;
    # everybody copies them once, the owner of the diagonal block three times.
    copied = 3 * 8 * nb * (nb + 1) + 3 * 8 * nb
    assert time_s(2, 1, copy_s_per_byte=1e-9) == pytest.approx(1e-9 * copied, rel=1e-6)


def test_the_interval_grows_upwards_by_the_messages_of_pivots():
    # By hand: 5 x 1 ranks, the first four on a node; of the distances 1, 2 and 4 only the last one leaves it.
    curves = Curves(((0.0, 9e-6, 0.0),), ((0.0, 1e-6, 0.0),), ((0.0, 2e-6, 0.0),), ((0.0, 3e-6, 0.0),))
    machine = Machine(np.array([0, 0, 0, 0, 1]), np.zeros(5), curves)
    problem = Problem(1000, 128, 5, 1)
    assert pivots_s(problem, machine) == pytest.approx(1000 * (3 * 5e-6 + 2 * 1e-6 + 9e-6))
    low_s, high_s = interval(problem, machine, 1.0)
    assert (low_s, high_s) == pytest.approx((np.exp(-0.085), np.exp(0.085) + 0.5 * 0.026))
