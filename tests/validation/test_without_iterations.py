"""The main commands on EP, a kernel without iterations."""

import json

import pytest

from predictor.predict import main as predict
from validation.campaign import main as campaign
from validation.run import main as run

PROBE = 2**25 / 4 / (0.0017 * 40e9)  # s: class S has 2^25 random numbers; 4 nodes, the slowest of 40 Gflop/s at 0.17 %


def test_tables_show_no_iterations_and_figures_are_drawn(capsys, tmp_path):
    arguments = f"--scenario grid4x2 --app ep --class S --predictor hcf --no-store --wide --out {tmp_path}"
    assert run(arguments.split()) == 0
    heading, line = capsys.readouterr().out.splitlines()[:2]
    assert "iterations  bound" in heading and " -  0e+00 " in line
    assert (tmp_path / "times-ep.png").read_bytes().startswith(b"\x89PNG")


def test_results_say_that_there_are_none(capsys):
    assert run("--scenario grid4x2 --app ep --class S --predictor hcf --no-store --json".split()) == 0
    (row,) = json.loads(capsys.readouterr().out)["results"]
    assert (row["iterations"], row["iterations_simulated"]) == (0, 0)
    assert (row["period"], row["extrapolation_bound"]) == (None, 0)
    assert row["probe_cp_s"] == pytest.approx(PROBE, rel=1e-9)
    # Computation dominates and is predicted exactly; the error is HCF's communication time of three sums.
    assert row["abs_error_pct"] < 10


def test_a_prediction_needs_no_iterations(capsys):
    assert predict("--scenario grid4x2 --app ep --class S --no-store --json".split()) == 0
    (answer,) = json.loads(capsys.readouterr().out)["predictions"]
    assert answer["prediction"]["parts"]["compute_s"] == pytest.approx(PROBE / 2, rel=1e-9)


def test_counted_iterations_are_refused_in_one_line(capsys):
    assert run("--scenario grid4x2 --app ep --class S --no-store --iterations 5".split()) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "error: iterations 5: ep S has no iterations to be counted. Give steady or full."
    ]


@pytest.mark.parametrize("iterations", ["steady", "full"])
def test_a_campaign_takes_it_beside_others(capsys, tmp_path, iterations):
    file = tmp_path / "campaign.toml"
    file.write_text(
        'scenarios = ["grid4x2"]\napps = ["ep", "mg"]\nclasses = ["S"]\npredictors = ["hcf"]\n'
        f'iterations = "{iterations}"\n'
    )
    assert campaign([str(file), "--no-store", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["results"]
    assert [(row["app"], row["iterations"]) for row in rows] == [("ep", 0), ("mg", 4)]
