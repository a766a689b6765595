"""What models and their commands refuse, each in one line."""

import dataclasses
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from apps.catalog import problem
from apps.spec import Target
from platforms.errors import UserError
from platforms.platform import Cluster, Host, Link, Platform, Route
from predictor.base import OutOfRange
from predictor.blocks.calibration.fit import linear_fit
from predictor.design.output import _ranks
from predictor.dpgraph.draw import _scaled
from predictor.dpgraph.graphml import read_graphml
from predictor.dpgraph.known import _check_represented, _steps
from predictor.extrap import process
from predictor.hierarchical.kernels import _cg_grid
from predictor.hierarchical.polynomial import parse
from predictor.hierarchical.predictor import memory_time_s, shape
from predictor.npt.configuration import Configuration
from predictor.npt.sizes import paper_sizes
from predictor.optimize.arguments import _full_power_w, construction_from_arguments
from predictor.optimize.drivers import Noise
from predictor.own import own_predictor
from predictor.predict import main as predict
from predictor.reliability.cli import main as reliability
from predictor.reliability.run_times import read_times

# --- reliability ---

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


def test_a_size_without_a_program_is_refused(refused):
    refused(predict, "--scenario grid4x2 --size 100".split(), "--size 100: goes with --app. Name one of ")


# --- one's own predictor, and Extra-P's process ---


def test_a_module_that_lacks_another_is_broken(tmp_path, monkeypatch):
    (tmp_path / "lacking_one.py").write_text("import no_such_module_anywhere\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UserError, match="No module named 'no_such_module_anywhere'"):
        own_predictor("lacking_one:Mine")


def test_extra_p_that_is_not_there_or_goes_is_out_of_range(tmp_path, monkeypatch):
    monkeypatch.setattr(process, "python", lambda: None)
    with pytest.raises(OutOfRange, match="Extra-P is not installed"):
        process.model([1], [1.0], 2, negative_exponents=False)
    odd = tmp_path / "python"
    odd.write_text("no program\n")
    odd.chmod(0o755)
    with pytest.raises(OutOfRange, match="cannot be started: Exec format error"):
        process._Worker(odd)
    odd.write_text('#!/bin/sh\necho \'{"version": "1"}\'\nexec <&-\necho gone >&2\n')
    worker = process._Worker(odd)
    worker._process.wait(10)
    with pytest.raises(OutOfRange, match="gone"):
        worker.ask({"values": [0.0] * 100_000})


# --- blocks ---


def test_a_fit_is_kept_above_zero_by_squares_too():
    # By hand: of 3 x - 2 with no constant the slope is sum(x y) / sum(x^2), at x = 1, 2, 3: (1 + 8 + 21) / 14.
    features = np.array([[1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
    assert linear_fit(features, [1.0, 4.0, 7.0], error="mse") == pytest.approx([-2, 3])
    assert linear_fit(features, [1.0, 4.0, 7.0], error="mse", nonnegative=True) == pytest.approx([0, 30 / 14], abs=1e-6)
    with pytest.raises(ValueError, match="error 'cube' is not of "):
        linear_fit(features, [1.0, 4.0, 7.0], error="cube")


# --- graphs ---


def test_a_graph_that_cannot_be_read_or_written_is_said(tmp_path):
    with pytest.raises(UserError, match="cannot be read: No such file"):
        read_graphml(tmp_path / "none.graphml")


@pytest.mark.parametrize(("value", "text"), [(7.71e6, "7.71 Mflop"), (0.5, "0.5 flop"), (0, "0 flop")])
def test_amounts_have_three_digits_and_a_prefix(value, text):
    assert _scaled(value, "flop") == text


def test_factors_that_are_no_list_are_refused():
    with pytest.raises(UserError, match="smpi/bw-factor:fast: not a list of THRESHOLD:FACTOR"):
        _steps("fast", "smpi/bw-factor")


# --- clusters of equal nodes ---


def test_unequal_nodes_of_one_cluster_are_no_machine_of_the_hierarchical_model():
    hosts = Host("a", 1e9, 2), Host("b", 2e9, 2)
    platform = Platform("p", Path("/p.xml"), "", (Cluster("c", hosts),))
    with pytest.raises(OutOfRange, match="the model's nodes are equal"):
        shape(Target(problem("cg", "S"), platform, ("a", "b")))


def test_memory_takes_its_bytes_over_its_bandwidth():
    # By hand: 8 byte per operation over 16 GB/s.
    host = dataclasses.replace(Host("a", 1e9, 2), memory_Bps=16e9)
    platform = Platform("p", Path("/p.xml"), "", (Cluster("c", (host,)),))
    target = Target(problem("cg", "S"), platform, ("a",))
    for bus, expected_s in ((None, 0), (16e9, 5e-10), ("platform", 5e-10)):
        record = SimpleNamespace(identity={"memory_bus": bus, "bytes_per_flop": 8.0})
        assert memory_time_s(record, target) == pytest.approx(expected_s)


def test_polynomials_put_into_each_other_keep_exact_powers():
    assert str(parse("n^3 + n").substitute({"n": parse("2 q")})) == "8 q^3 + 2 q"
    assert str(parse("x^(1/2)").substitute({"x": parse("q^4")})) == "q^2"
    assert str(parse("x^-2").substitute({"x": parse("2 q")})) == "1/4 q^-2"
    with pytest.raises(ValueError, match=r"\(2 q\)\^\(1/2\) is not rational"):
        parse("x^(1/2)").substitute({"x": parse("2 q")})
    with pytest.raises(ValueError, match=r"1 / \(.*\) is no polynomial"):
        parse("x^-1").substitute({"x": parse("q + 1")})


def test_a_configuration_counts_from_zero():
    with pytest.raises(UserError, match="a number below zero"):
        Configuration(((-1, 1),))


@pytest.mark.parametrize(
    ("ranks", "said"), [(None, "a rank on each core"), (1, "1 rank on each node"), (4, "4 ranks on each node")]
)
def test_a_design_says_how_many_ranks_it_is_for(ranks, said):
    assert _ranks(SimpleNamespace(ranks_per_node=ranks)) == said


# --- choices of nodes ---


def test_the_papers_benchmarks_have_their_sizes_of_construction():
    assert (
        construction_from_arguments(SimpleNamespace(construction=None, app="hpl")) == paper_sizes()["hpl"].construction
    )
    with pytest.raises(UserError, match="--construction: cg is not of the paper's benchmarks"):
        construction_from_arguments(SimpleNamespace(construction=None, app="cg"))


def test_energy_needs_watts():
    platform = Platform("p", Path("/p.xml"), "", (Cluster("c", (Host("a", 1e9, 2),)),))
    with pytest.raises(UserError, match="--objective energy, cluster c: the platform gives no watts"):
        _full_power_w(platform, "energy")


def test_noise_is_written_out():
    assert str(Noise()) == "none"
    assert str(Noise(sigma=0.05, seed=3, glitch_share=0.1, glitch_factor=2)) == "5 %, 10 % glitches of 2 times, seed 3"


# --- networks and evidence ---


@pytest.mark.parametrize("sharing", ["wifi", "nonlinear"])
def test_links_that_the_fluid_model_does_not_have_are_out_of_range(sharing):
    route = Route("a", "b", 1e-3, (Link("air", 1e6, 1e-3, sharing),))
    with pytest.raises(OutOfRange, match=f"link 'air' from a to b: its sharing is {sharing}"):
        _check_represented([route])


def test_a_recording_knows_no_memory_bus(refused):
    arguments = "--scenario grid4x2 --app cg --class S --predictor dpgraph-known --memory-bus 20 --no-store"
    refused(predict, arguments.split(), "--memory-bus")


def test_grids_of_cg_for_other_numbers_of_nodes_are_about_square():
    # k R^2 with k = 1, 2 or 3: 12 = 3 * 2^2; 7 is none, so 3 groups of 7 / 3 nodes.
    assert _cg_grid(12) == (2, 6) and _cg_grid(7) == (3, 7 / 3)
