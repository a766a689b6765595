"""The example of docs/programs/own-program.md, from source to prediction, and measured times as truth."""

import json
from pathlib import Path

import pytest

from apps.programs.problem import problem
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.grids.scenario import named_grid
from platforms.model.placement import MAPPINGS
from platforms.read.read import materialise
from validation.comparison.truth import read_measured
from validation.run import main

JACOBI = Path(__file__).parents[2] / "examples" / "jacobi"
PROGRAM = [
    *("--scenario", "grid4x2", "--program", str(JACOBI / "jacobi.c")),
    *("--program-args", "4000 {iterations} charged", "--program-iterations", "500"),
]


def run(capsys, *arguments):
    status = main([*PROGRAM, *arguments, "--json"])
    out, err = capsys.readouterr()
    return status, json.loads(out)["results"] if status == 0 else err


def test_the_example_is_predicted_and_simulated(capsys, tmp_path):
    status, rows = run(capsys, "--predictor", "hcf,dpgraph:known", "--out", str(tmp_path))
    assert status == 0
    hcf, graph = rows
    assert (hcf["app"], hcf["class"], hcf["ranks"]) == ("jacobi", None, 8)
    assert (hcf["iterations"], hcf["iterations_simulated"], hcf["truth"]) == (500, 500, "simulation")
    # By hand: the slowest rank computes 500 x 6 flop x 4000 x 4000 / 8 points at 40 Gflop/s.
    assert hcf["compute_share"] * hcf["simulated_s"] == pytest.approx(500 * 6 * 4000 * 4000 / 8 / 40e9, rel=1e-6)
    assert graph["abs_error_pct"] < 1
    assert hcf["abs_error_pct"] > 10  # more nodes do not make its messages longer
    assert (tmp_path / "times-jacobi.png").stat().st_size > 0


def test_measured_times_take_the_place_of_simulated_ones(capsys):
    status, (row,) = run(capsys, "--predictor", "dpgraph:known", "--truth", str(JACOBI / "measured.csv"))
    assert status == 0
    # The file has three runs of this case; the median counts.
    assert (row["simulated_s"], row["truth"], row["simulation_wall_s"]) == (1.85, "measurement", 0)
    assert row["error_pct"] == pytest.approx(100 * (row["predicted_s"] - 1.85) / 1.85)
    assert row["compute_share"] is None and row["extrapolation_bound"] is None


def test_a_case_that_was_not_measured_is_refused(capsys, tmp_path):
    (tmp_path / "t.csv").write_text("app,platform,ranks,time_s\njacobi,grid4x2,4,1\n")
    status, err = run(capsys, "--truth", str(tmp_path / "t.csv"))
    assert status == 2 and "no measured time of jacobi on 8 ranks of grid4x2" in err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no column app or program, platform, ranks, time_s"),
        ("app,platform,ranks\n", "no column time_s"),
        ("app,platform,ranks,time_s\n", "no times"),
        ("app,platform,ranks,time_s\na,b,4,fast\n", "line 2, time_s: 'fast' is not a positive number"),
        ("app,platform,ranks,time_s\na,b,4,-1\n", "line 2, time_s: '-1'"),
        ("app,platform,ranks,time_s\na,b,4.5,1\n", "line 2, ranks: '4.5'"),
        ("app,platform,ranks,time_s\n,b,4,1\n", "line 2: no app or program, or no platform"),
        ("app,platform,ranks,time_s\na,b\n", "line 2, ranks: ''"),
    ],
)
def test_files_of_measured_times_are_checked(text, message, tmp_path, capsys):
    (tmp_path / "t.csv").write_text(text)
    status, err = run(capsys, "--truth", str(tmp_path / "t.csv"))
    assert status == 2 and message in err and err.count("\n") == 1


def test_a_class_may_be_named(tmp_path):
    (tmp_path / "t.csv").write_text(
        "app,class,platform,ranks,time_s\ncg,B,p,4,2\ncg,,p,4,3\ncg,B,p,4,4\ncg,B,p,4,2.5\n"
    )
    found = read_measured(tmp_path / "t.csv")
    assert found.time_s("cg", "p", 4, classes=("B", None), networks=(None,), mappings=(None,)) == 2.5
    assert found.time_s("cg", "p", 4, classes=("S", None), networks=(None,), mappings=(None,)) == 3.0


def test_a_network_and_a_mapping_may_be_named(tmp_path):
    (tmp_path / "t.csv").write_text(
        "app,platform,network,mapping,ranks,time_s\nep,grid4x2,metro,,8,2\nep,grid4x2,gigabit,cyclic,8,3\n"
    )
    found = read_measured(tmp_path / "t.csv")
    known = [
        (network, mapping)
        for network in ("metro", "gigabit") for mapping in ("block", "cyclic")
        for platform in [materialise(named_grid("grid4x2", network))]
        if found.knows(Target(problem("ep", "S"), platform, MAPPINGS[mapping](platform, 8)))
    ]  # fmt: skip
    assert known == [("metro", "block"), ("metro", "cyclic"), ("gigabit", "cyclic")]
    (tmp_path / "t.csv").write_text("app,platform,mapping,ranks,time_s\nep,grid4x2,cylic,8,2\n")
    with pytest.raises(UserError, match=r"line 2, mapping: no mapping 'cylic'\. .*cyclic"):
        read_measured(tmp_path / "t.csv")
