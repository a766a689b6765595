"""Measured models of programs that the paper does not have: their terms, their sizes, and machines."""

import json
import math

import numpy as np
import pytest

from apps.programs.problem import problem
from platforms.errors import UserError
from platforms.grids.scenario import named_grid
from platforms.read.read import materialise
from predictor.allocation.configuration import Configuration
from predictor.nodes import command
from predictor.nodes.changed_clusters import asked_shares
from predictor.nodes.cli import main
from predictor.nodes.own_measurements import read_measured, write_measured
from predictor.nodes.sizes import classes_as_sizes
from predictor.npt.chosen_terms import chosen_terms, declared_equations
from predictor.npt.measurements import Measurement, Measurements

GRID = "--scenario ichikawa --nodes 4,4,0 --processes 1,1,1".split()


def runs(time_s, sizes=(100, 200, 400, 800, 1600), most=5):
    """Return runs of one process on each of 1 to ``most`` nodes of each of two clusters, the second twice as fast."""
    return Measurements.of(
        Measurement(Configuration(shares), N, time_s(N, P) / speed)
        for N in sizes
        for P in range(1, most + 1)
        for shares, speed in ((((P, 1), (0, 0)), 1), (((0, 0), (P, 1)), 2))
    )


@pytest.mark.parametrize(
    ("time_s", "needed"),
    [
        (lambda N, P: 2e-6 * N**2 / P + (1e-2 * math.log(P) if P > 1 else 0), {"N^2/P", "log P"}),
        (lambda N, P: 1e-8 * N**3 / P + (1e-6 * N**2 if P > 1 else 0), {"N^3/P", "N^2"}),
        (lambda N, P: 1e-4 * N / P + (2e-3 * P if P > 1 else 0), {"N/P", "P"}),
    ],
)
def test_the_terms_of_a_known_law_are_found_again(time_s, needed):
    chosen = chosen_terms(runs(time_s))
    assert {str(term) for term in chosen.equations.npt} == needed
    assert chosen.why.startswith("terms ") and "chosen by cross-validation" in chosen.why


def test_terms_need_runs_of_several_sizes_or_nodes():
    with pytest.raises(UserError, match="the runs suffice for no term of its time"):
        chosen_terms(runs(lambda N, P: N / P, sizes=(100, 200), most=2))


def test_declared_terms_have_their_functions_of_n_on_one_node():
    equations = declared_equations(["N^3/P", "N^2/P^(1/2)", "log P"])
    assert list(map(str, equations.npt)) == ["N^3/P", "N^2/P^(1/2)", "log P"]
    assert list(map(str, equations.nt)) == ["N^3", "N^2", "1"]
    with pytest.raises(UserError, match="T is a time"):
        declared_equations(["T/P"])


def law_s(target):
    """Return work on the slowest node of a target and a time of messages, s; N is CG's na."""
    N = dict(target.problem.params)["na"]
    slowest_flops = min(target.platform.host(host).speed_flops for host in target.placement)
    exchange_s = 1e-5 * math.log(target.nranks) if target.nodes > 1 else 0.0
    return 1e3 * N / target.nranks / slowest_flops + exchange_s


def test_the_classes_of_a_kernel_are_its_sizes(pretend, capsys):
    # S, W and A with 15 iterations are measured, and B with 75 chosen for.  A pretended record has the date of one
    # iteration, so that each of the 60 further ones takes as long: 61 times the law.
    done = pretend(law_s, command)
    words = [
        *GRID,
        "--app",
        "cg",
        "--class",
        "B",
        "--predictor",
        "npt",
        "--terms",
        "N/P,log P",
        "--probe",
        "0",
        "--json",
    ]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["construction"] == [1400, 7000, 14_000] and found["size"] == 75_000
    assert {target.problem.preset for target in done.targets} == {"S", "W", "A"}
    # By hand, eight nodes of which the Xeon is the slowest: 1e3 x 75,000 / 8 flops, and log 8.
    assert found["chosen"] == "(4,1,4,1,0,0)"
    assert found["estimated_s"] == pytest.approx(61 * (1e3 * 75_000 / 8 / 5.6e9 + 1e-5 * math.log(8)), rel=1e-6)
    assert found["predictor_chosen_because"] == "terms N/P, log P, as declared"


def test_only_classes_up_to_the_asked_one_are_sizes():
    size, at_size = classes_as_sizes(problem("cg", "A"))
    assert size == 14_000 and at_size(7000).preset == "W"
    with pytest.raises(UserError, match=r"cg has no such class up to cg A. Known: 1400 \(S\)"):
        at_size(75_000)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--app cg --class B --predictor npt:pt --terms N/P", "gives the terms of the models npt, not npt:pt"),
        ("--app dot --size 1000 --predictor npt:pt", "only those of npt are chosen by the runs"),
        ("--app dot --size 1000 --terms N/Q", "no such term"),
        ("--program examples/jacobi/jacobi.c --size 100", "no argument of examples/jacobi/jacobi.c is its size"),
        ("--app dot --size 1000 --write-measurements m.csv --predictor dpgraph", "measures no runs"),
        ("--app dot --size 1000 --machine examples/machines/local.toml --noise 0.1", "a machine has its own"),
        ("--app dot --size 1000 --efficiency none.csv", "none.csv"),
    ],
)
def test_what_does_not_fit_gets_one_line(words, said, refused, monkeypatch):
    arguments = words.split() if "--machine" in words else [*GRID, *words.split()]
    refused(main, arguments, said)


def test_measured_runs_are_written_and_read_with_every_repeat(tmp_path):
    measurements = Measurements.of(
        [
            Measurement(Configuration(((1, 1), (0, 0))), 100, 0.25, 1e6),
            Measurement(Configuration(((1, 1), (0, 0))), 100, 0.5, 1e6),
            Measurement(Configuration(((0, 0), (3, 2))), 200, 1 / 3),
        ]
    )
    path = tmp_path / "runs.csv"
    write_measured(str(path), measurements)
    again = read_measured(str(path), "any", 2).measurements
    for name in ("pes", "processes", "size", "time_s", "work_flops"):
        assert np.array_equal(getattr(again, name), getattr(measurements, name), equal_nan=True)


def test_runs_of_one_process_tell_what_each_cpu_sustains(tmp_path):
    # 7.2 Gflop/s and 0.72 Gflop in 1 s, 5.6 Gflop/s and 0.28: 0.1 and 0.05.  The Celeron was not measured.
    path = tmp_path / "runs.csv"
    path.write_text(
        "size,configuration,time_s,work_flops\n"
        '100,"(1,1,0,0,0,0)",1,0.72e9\n100,"(1,1,0,0,0,0)",2,0.72e9\n100,"(1,1,0,0,0,0)",1,0.72e9\n'
        '100,"(0,0,1,1,0,0)",1,0.28e9\n100,"(2,1,0,0,0,0)",1,9e9\n'
    )
    shares = asked_shares(str(path), "dot", materialise(named_grid("ichikawa")))
    assert shares.base == "reference"
    assert shares.clusters == pytest.approx({"pentium4": 0.1, "xeon": 0.05})
